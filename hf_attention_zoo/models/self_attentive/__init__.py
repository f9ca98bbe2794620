"""Structured self-attentive sentence embedding (Lin et al. 2017)."""
