"""The Transformer, attention alone (Vaswani et al. 2017)."""
