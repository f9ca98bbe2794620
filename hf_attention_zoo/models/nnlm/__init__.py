"""A neural probabilistic language model, whose words have vectors (Bengio et al. 2003)."""
