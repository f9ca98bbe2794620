"""`attention-zoo translate FOLDER TEXT|FILE|-`."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from hf_attention_zoo.training.dotted_flags import split_dotted

CHUNK = 512


def lines_of(given: str) -> Iterator[str]:
    """The texts to translate: the lines of a file, those of standard input for "-", otherwise the text itself.

    Raises ValueError for a file that is not UTF-8 text.
    """
    if given == "-":
        yield from (line.rstrip("\n") for line in sys.stdin)
    elif len(given) < 4096 and "\n" not in given and Path(given).is_file():
        try:
            with open(given, encoding="utf-8") as file:
                yield from (line.rstrip("\n") for line in file)
        except UnicodeDecodeError:
            raise ValueError(f"{given} is not UTF-8 text") from None
    else:
        yield given


def chunks(items: Iterable[str], size: int) -> Iterator[list[str]]:
    """The items in lists of at most `size`, as soon as they are there."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def build_parser() -> argparse.ArgumentParser:
    """The flags of `attention-zoo translate`."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo translate",
        description="Translate a text, the lines of a file, or standard input (-), one line out for each line in.",
        epilog="Any other decoding setting: --generation.NAME VALUE, e.g. --generation.gnmt_length_penalty 0.6",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("text", help="a text, a file, or - for standard input")
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument("--max_new_tokens", "--max-new-tokens", type=int)
    parser.add_argument("--batch_size", "--batch-size", type=int, default=32)
    parser.add_argument(
        "--replace_unknown", "--replace-unknown", action="store_true", help="copy source words for unknown words"
    )
    parser.add_argument("--dictionary", help="with --replace_unknown: file of source and target words, tab between")
    parser.add_argument("--output", help="file to write in place of standard output")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    rest, dotted = split_dotted(argv, ("generation",))
    options = build_parser().parse_args(rest)
    if options.dictionary and not options.replace_unknown:
        raise ValueError("--dictionary is used by --replace_unknown; give both")
    for name in ("num_beams", "max_new_tokens"):
        if getattr(options, name) is not None:
            dotted["generation"].setdefault(name, getattr(options, name))

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.seq2seq.translating import translate
    from hf_attention_zoo.tasks.translation.evaluation import load_checkpoint

    silence_libraries()
    model, tokenizer = load_checkpoint(options.folder)
    one_by_one = options.text == "-" and sys.stdin.isatty()
    out = open(options.output, "w", encoding="utf-8") if options.output else sys.stdout  # noqa: SIM115
    try:
        for chunk in chunks(lines_of(options.text), 1 if one_by_one else CHUNK):
            translated = translate(
                model,
                tokenizer,
                chunk,
                batch_size=options.batch_size,
                replace_unknown=options.replace_unknown,
                dictionary=options.dictionary,
                **dotted["generation"],
            )
            out.writelines(" ".join(text.split()) + "\n" for text in translated)
            out.flush()
    finally:
        if options.output:
            out.close()
    return 0
