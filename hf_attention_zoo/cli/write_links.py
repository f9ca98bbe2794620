"""`attention-zoo links FOLDER PAIRS`."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from hf_attention_zoo.cli.align_text import number_or_name
from hf_attention_zoo.cli.score_pairs import read_pairs

CHUNK = 1024


def build_parser() -> argparse.ArgumentParser:
    """The flags of `attention-zoo links`."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo links",
        description="Write the links that a translator's attention makes between the words of sentence pairs, one "
        "pair a line, source-target counted from 0, words being what stands between white space; `attention-zoo aer` "
        "scores them.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("pairs", help="a file, or - for standard input; on each line a source, a tab, a target")
    parser.add_argument("--batch_size", "--batch-size", type=int, default=32)
    parser.add_argument("--layer", type=number_or_name, help="a number, or mean (default: the last layer)")
    parser.add_argument("--head", type=number_or_name, help="a number, or mean (default)")
    parser.add_argument(
        "--shift",
        type=int,
        choices=(0, 1),
        help="steps from a word's prediction to its row (default: the model's own; 1 for Luong's content scores)",
    )
    parser.add_argument("--output", help="file to write in place of standard output")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.word_links import word_links
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.cli.translate_text import chunks
    from hf_attention_zoo.evaluation.saved_model import load_checkpoint, saved_auto_class

    silence_libraries()
    pairs = chunks(read_pairs(options.pairs), CHUNK)
    first = next(pairs, [])  # a file that cannot be read is found before the model is loaded
    if saved_auto_class(options.folder) != "AutoModelForSeq2SeqLM":
        raise ValueError(f"{options.folder} holds no translator; links are between a text and its translation")
    model, tokenizer = load_checkpoint(options.folder)
    where = {name: getattr(options, name) for name in ("layer", "head", "shift") if getattr(options, name) is not None}
    with nullcontext(sys.stdout) if not options.output else open(options.output, "w", encoding="utf-8") as out:
        while first:
            sources, targets = [row[0] for row in first], [row[1] for row in first]
            for links in word_links(model, tokenizer, sources, targets, batch_size=options.batch_size, **where):
                out.write(" ".join(f"{source}-{target}" for source, target in sorted(links)) + "\n")
            out.flush()
            first = next(pairs, [])
    return 0
