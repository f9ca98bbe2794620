"""Metrics and scoring."""
