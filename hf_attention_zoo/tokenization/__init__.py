"""Tokenizers that several models share."""
