"""`attention-zoo score FOLDER PAIRS`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

CHUNK = 4096


def read_pairs(given: str) -> Iterator[list[str]]:
    """The columns of each line of a file, or of standard input for "-": source, target, and what else there is.

    Raises ValueError for a file that is missing or not UTF-8 text, or a line without a tab.
    """
    if given != "-" and not Path(given).is_file():
        raise ValueError(f"no such file: {given}; give a file with a source, a tab and a target on each line, or -")
    try:
        with nullcontext(sys.stdin) if given == "-" else open(given, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                columns = line.rstrip("\r\n").split("\t")
                if len(columns) < 2:
                    raise ValueError(f"line {number} of {given} has no tab; a source, a tab and a target are wanted")
                yield columns
    except UnicodeDecodeError:
        raise ValueError(f"{given} is not UTF-8 text") from None


def build_parser() -> argparse.ArgumentParser:
    """The flags of `attention-zoo score`."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo score",
        description="Write each pair of texts again with log p(target | source), the end symbol included, behind it.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument(
        "pairs", help="a file, or - for standard input; on each line a source, a tab, a target, perhaps more columns"
    )
    parser.add_argument("--batch_size", "--batch-size", type=int, default=64)
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

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.cli.translate_text import chunks
    from hf_attention_zoo.evaluation.checkpoint_evaluation import load_checkpoint
    from hf_attention_zoo.evaluation.phrase_scoring import score, unknown_words

    silence_libraries()
    pairs = chunks(read_pairs(options.pairs), CHUNK)
    first = next(pairs, [])  # a file that cannot be read is found before the model is loaded
    model, tokenizer = load_checkpoint(options.folder)
    with nullcontext(sys.stdout) if not options.output else open(options.output, "w", encoding="utf-8") as out:
        while first:
            sources, targets = [row[0] for row in first], [row[1] for row in first]
            added = [
                [f"{value:.6f}"] for value in score(model, tokenizer, sources, targets, batch_size=options.batch_size)
            ]
            if options.unknown_words:
                for columns, count in zip(added, unknown_words(tokenizer, targets), strict=True):
                    columns.append(str(count))
            out.writelines("\t".join(row + more) + "\n" for row, more in zip(first, added, strict=True))
            out.flush()
            first = next(pairs, [])
    return 0
