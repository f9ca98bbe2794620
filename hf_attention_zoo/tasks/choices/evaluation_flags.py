"""The flags of `attention-zoo evaluate` for models that choose among endings."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import add_common_flags
from hf_attention_zoo.flags import FlagParser

COLUMNS = ("context_column", "choices_column", "right_column")


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(prog=program, description="Score choices and write metrics.json.")
    add_common_flags(parser, COLUMNS, "contexts", batch_size=16)
    return parser
