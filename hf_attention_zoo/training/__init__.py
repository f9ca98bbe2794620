"""Recipes, optimisers and the training entry point."""
