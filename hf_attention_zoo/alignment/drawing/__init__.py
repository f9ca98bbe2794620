"""How what a model looked at is drawn."""
