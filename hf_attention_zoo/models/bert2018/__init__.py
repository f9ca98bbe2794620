"""BERT, a bidirectional Transformer that predicts hidden words (Devlin et al. 2018)."""
