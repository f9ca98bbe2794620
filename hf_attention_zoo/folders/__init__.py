"""A saved folder: what it holds, which model it is, what it was made with."""
