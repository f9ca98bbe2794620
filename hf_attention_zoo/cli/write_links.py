"""`attention-zoo links FOLDER PAIRS`."""

from collections.abc import Iterator, Sequence
from typing import Any

from hf_attention_zoo.cli.align_text import add_row_flags, number_or_name
from hf_attention_zoo.cli.command_parser import CommandParser

CHUNK = 1024


def build_parser() -> CommandParser:
    """The flags of `attention-zoo links`."""
    parser = CommandParser(
        "links",
        description="Write the links that a translator's attention makes between the words of sentence pairs, one "
        "pair a line, source-target counted from 0, words being what stands between white space; `attention-zoo aer` "
        "scores them.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("pairs", help="a file, or - for standard input; on each line a source, a tab, a target")
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=32, help="pairs at a time; default: %(default)s"
    )
    add_row_flags(parser)
    parser.add_argument("--head", type=number_or_name, help="a number, or mean (default)")
    parser.add_argument("--output", help="file to write in place of standard output")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.results.word_links import word_links
    from hf_attention_zoo.cli.pair_files import answer_pairs
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import load_checkpoint

    where = {name: getattr(options, name) for name in ("layer", "head", "shift") if getattr(options, name) is not None}

    def linked(loaded: Any, rows: list[list[str]]) -> Iterator[str]:
        sources, targets = [row[0] for row in rows], [row[1] for row in rows]
        model, tokenizer = loaded
        for links in word_links(model, tokenizer, sources, targets, batch_size=options.batch_size, **where):
            yield " ".join(f"{source}-{target}" for source, target in sorted(links))

    silence_libraries()
    answer_pairs(options.pairs, options.output, CHUNK, lambda: load_checkpoint(options.folder), linked)
    return 0
