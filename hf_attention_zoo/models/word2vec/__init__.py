"""word2vec: vectors of words from the words around them (Mikolov et al. 2013)."""
