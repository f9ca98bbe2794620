"""Aligned attention and its drawings."""
