"""The simple recurrent network, whose context units hold what the hidden units were (Elman 1990)."""
