"""Tasks that transformers v5 dropped."""
