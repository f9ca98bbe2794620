"""The flags of `attention-zoo evaluate` for translators."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import COLUMNS, add_column_flags, add_data_flags
from hf_attention_zoo.flags import FIRST, FlagParser

FLAGS = ("--dataset", "--split", "--max_samples", "--batch_size", "--num_beams", "--seen", "--output")
DECODING = ("--length_penalty", "--max_new_tokens", "--replace_unknown")


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(
        prog=program,
        description="Score a saved translator on a split and write metrics.json into its folder.",
        epilog="Any other decoding setting: --generation.NAME VALUE, e.g. --generation.gnmt_length_penalty 0.6",
    )
    add_data_flags(parser, "sentences")
    parser.add_argument("--source_lang", "--source-lang", help="default: the tokenizer's")
    parser.add_argument("--target_lang", "--target-lang", help="default: the tokenizer's")
    add_column_flags(parser, ("source_column", "target_column"))
    parser.add_argument("--max_words", "--max-words", type=int, help="leave out longer pairs")
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument("--length_penalty", "--length-penalty", type=float, help="default: the model's own setting")
    parser.add_argument("--max_new_tokens", "--max-new-tokens", type=int, help="limit of each translation's length")
    parser.add_argument(
        "--replace_unknown",
        "--replace-unknown",
        action="store_true",
        help="put the aligned source word where the model writes an unknown one",
    )
    parser.add_argument(
        "--quantize", choices=("int8",), help="linear layers in eight bits, on the CPU; default: as they were saved"
    )
    parser.add_argument("--tokenize", help="tokeniser of sacreBLEU; default: by target language")
    parser.add_argument(
        "--seen",
        action="store_true",
        help="score the training split, too, and of the split that is scored the rows that it does not have apart",
    )
    parser.add_argument("--translations", help="file for the translations, one a line")
    parser.flags_by_group({FIRST: [*FLAGS, "--translations"], "decoding": DECODING}, rest=COLUMNS)
    return parser
