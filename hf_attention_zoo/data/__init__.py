"""Data sets, collators and batches."""
