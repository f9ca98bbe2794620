"""What a model looked at, as data."""
