"""fastText, a linear classifier of averaged words and hashed n-grams (Joulin et al. 2016)."""
