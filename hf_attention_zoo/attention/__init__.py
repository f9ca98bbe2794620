"""Attention mechanisms: one equation block a file, no config, no transformers import."""
