"""Questions answered by a part of a text."""
