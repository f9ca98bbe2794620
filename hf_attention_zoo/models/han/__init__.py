"""Hierarchical attention networks for document classification (Yang et al. 2016)."""
