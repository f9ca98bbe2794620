"""Tags of words."""
