"""GPT, a Transformer that is trained to continue texts and then fine-tuned (Radford et al. 2018)."""
