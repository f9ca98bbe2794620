"""Model cards, export and publishing."""
