"""Scores from predictions and references alone."""
