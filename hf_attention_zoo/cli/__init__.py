"""The attention-zoo command."""
