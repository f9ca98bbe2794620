"""One folder per architecture."""
