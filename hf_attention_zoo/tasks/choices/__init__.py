"""One of several endings."""
