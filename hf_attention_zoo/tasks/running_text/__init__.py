"""Pre-training on running text."""
