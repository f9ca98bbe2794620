"""Constituency parsing as translation: trees in Penn brackets, their linear form, and bracket scores."""
