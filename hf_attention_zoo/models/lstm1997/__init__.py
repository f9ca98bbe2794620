"""Long short-term memory, as it began (Hochreiter and Schmidhuber 1997), and with its later gates."""
