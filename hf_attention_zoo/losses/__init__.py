"""Losses from predictions and labels."""
