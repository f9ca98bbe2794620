"""One file a claim, listed in `history/table.py`."""
