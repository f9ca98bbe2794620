"""RNNsearch (Bahdanau, Cho and Bengio 2015)."""
