"""The flags of `attention-zoo evaluate` for classifiers."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import add_common_flags
from hf_attention_zoo.flags import FlagParser

COLUMNS = ("text_column", "text_pair_column", "label_column")


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(
        prog=program, description="Score a saved classifier on a split and write metrics.json into its folder."
    )
    parser.add_argument("--label_separator", "--label-separator", help="what stands between the classes of a text")
    add_common_flags(parser, COLUMNS, "texts", batch_size=64)
    return parser
