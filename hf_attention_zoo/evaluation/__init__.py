"""What every evaluation does around its scores: flags, files, remembered data."""
