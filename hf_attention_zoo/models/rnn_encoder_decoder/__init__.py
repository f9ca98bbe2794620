"""The RNN encoder-decoder (Cho et al. 2014)."""
