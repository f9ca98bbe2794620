"""Sequence to sequence learning with a deep LSTM (Sutskever, Vinyals and Le 2014)."""
