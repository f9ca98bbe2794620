"""ELMo: deep contextualized word representations from a bidirectional language model (Peters et al. 2018)."""
