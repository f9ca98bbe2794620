"""`attention-zoo score FOLDER PAIRS`."""

from collections.abc import Iterator, Sequence
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser

CHUNK = 4096


def build_parser() -> CommandParser:
    """The flags of `attention-zoo score`."""
    parser = CommandParser(
        "score",
        description="Write each pair of texts again with log p(target | source), the end symbol included, behind it.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument(
        "pairs", help="a file, or - for standard input; on each line a source, a tab, a target, perhaps more columns"
    )
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=64, help="pairs at a time; default: %(default)s"
    )
    parser.add_argument(
        "--unknown_words",
        "--unknown-words",
        action="store_true",
        help="add the number of target words that the model does not know, as a word penalty",
    )
    parser.add_argument("--output", help="file to write in place of standard output")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.cli.pair_files import answer_pairs
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import load_checkpoint
    from hf_attention_zoo.tasks.translation.phrase_scoring import score, unknown_words

    def scored(loaded: Any, rows: list[list[str]]) -> Iterator[str]:
        sources, targets = [row[0] for row in rows], [row[1] for row in rows]
        model, tokenizer = loaded
        scores = score(model, tokenizer, sources, targets, batch_size=options.batch_size)
        added = [[f"{value:.6f}"] for value in scores]
        if options.unknown_words:
            for columns, count in zip(added, unknown_words(tokenizer, targets), strict=True):
                columns.append(str(count))
        return ("\t".join(row + more) for row, more in zip(rows, added, strict=True))

    silence_libraries()
    answer_pairs(options.pairs, options.output, CHUNK, lambda: load_checkpoint(options.folder), scored)
    return 0
