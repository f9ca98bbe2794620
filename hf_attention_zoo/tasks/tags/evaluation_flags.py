"""The flags of `attention-zoo evaluate` for taggers."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import add_common_flags
from hf_attention_zoo.flags import FlagParser

COLUMNS = ("words_column", "tags_column")


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(prog=program, description="Score a saved tagger and write metrics.json.")
    add_common_flags(parser, COLUMNS, "sentences")
    return parser
