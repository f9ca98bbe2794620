"""`attention-zoo translate FOLDER TEXT|FILE|-`."""

from collections.abc import Iterator, Sequence
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.data.text_lines import given_lines, one_line, typed_by_hand, write_answers
from hf_attention_zoo.flags import FIRST
from hf_attention_zoo.training.dotted_flags import split_dotted

CHUNK = 512


def build_parser() -> CommandParser:
    """The flags of `attention-zoo translate`."""
    parser = CommandParser(
        "translate",
        description="Translate a text, the lines of a file, or standard input (-), one line out for each line in.",
        epilog="Any other decoding setting: --generation.NAME VALUE, e.g. --generation.gnmt_length_penalty 0.6",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("text", help="a text, a file, or - for standard input")
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument("--max_new_tokens", "--max-new-tokens", type=int, help="limit of each translation's length")
    parser.add_argument("--batch_size", "--batch-size", type=int, default=32, help="lines at a time; default: 32")
    parser.add_argument(
        "--replace_unknown", "--replace-unknown", action="store_true", help="copy source words for unknown words"
    )
    parser.add_argument("--dictionary", help="with --replace_unknown: file of source and target words, tab between")
    parser.add_argument("--quantize", choices=("int8",), help="linear layers in eight bits, on the CPU")
    parser.add_argument("--output", help="file to write in place of standard output")
    parser.flags_by_group(
        {FIRST: ("--num_beams", "--output", "--batch_size", "--max_new_tokens", "--quantize")},
        rest="words that the model does not know",
    )
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
    from hf_attention_zoo.folders.saved_model import load_checkpoint
    from hf_attention_zoo.seq2seq.translating import translate

    def translated(loaded: Any, texts: list[str]) -> Iterator[str]:
        model, tokenizer = loaded
        return map(
            one_line,
            translate(
                model,
                tokenizer,
                texts,
                batch_size=options.batch_size,
                replace_unknown=options.replace_unknown,
                dictionary=options.dictionary,
                **dotted["generation"],
            ),
        )

    silence_libraries()
    write_answers(
        given_lines(options.text),
        options.output,
        size=1 if typed_by_hand(options.text) else CHUNK,
        load=lambda: load_checkpoint(options.folder, quantize=options.quantize),
        answer=translated,
    )
    return 0
