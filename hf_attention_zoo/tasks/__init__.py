"""One folder per task; `table.py` has a row for each."""
