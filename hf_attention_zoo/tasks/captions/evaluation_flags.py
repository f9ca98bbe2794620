"""The flags of `attention-zoo evaluate` for captioners."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import COLUMNS, add_column_flags, add_data_flags
from hf_attention_zoo.flags import FIRST, FlagParser

FLAGS = ("--dataset", "--split", "--max_samples", "--batch_size", "--no_baselines", "--num_beams", "--output")


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(
        prog=program,
        description="Score a saved captioner on a split and write metrics.json into its folder.",
        epilog="Any other decoding setting: --generation.NAME VALUE",
    )
    add_data_flags(parser, "pictures")
    parser.add_argument("--target_lang", "--target-lang", help="language of the captions; default: the tokenizer's")
    add_column_flags(parser, ("source_column", "target_column"))
    parser.add_argument("--group_column", "--group-column", help="score the rows of each value of this column apart")
    parser.add_argument(
        "--pictures_outside",
        "--pictures-outside",
        action="store_true",
        help="let rows name pictures outside the folder of the data",
    )
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument("--no_baselines", "--no-baselines", action="store_true", help="score the model alone")
    parser.add_argument("--captions", help="file for the captions, one a line")
    parser.flags_by_group({FIRST: (*FLAGS, "--captions")}, rest=COLUMNS)
    return parser
