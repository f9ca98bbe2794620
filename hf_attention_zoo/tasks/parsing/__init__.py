"""Constituency trees by translation."""
