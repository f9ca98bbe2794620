"""Cells, pad-proof encoders, the decoder loop and the decoding state."""
