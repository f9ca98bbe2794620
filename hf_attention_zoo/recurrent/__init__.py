"""Cells and pad-proof encoders, as the formula."""
