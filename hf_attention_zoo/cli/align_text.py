"""`attention-zoo align FOLDER TEXT --output FILE`."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.data.text_lines import check_apart
from hf_attention_zoo.flags import FIRST

WRITERS = {".html": "to_html", ".json": "to_json"}
TRANSLATOR_FLAGS = ("target", "num_beams", "kind", "layer", "head", "shift")


def number_or_name(value: str) -> int | str:
    """ "2" is layer or head 2, "mean" and "all" are names."""
    return int(value) if value.lstrip("-").isdigit() else value


def translation_inputs(options: argparse.Namespace, model: Any) -> tuple[Any, dict[str, Any]]:
    """The text and the options of `align` for a translator."""
    if options.pair is not None:
        raise ValueError("--pair is for classifiers that read two texts; a translation is given with --target")
    beams = options.num_beams or model.generation_config.num_beams or 1
    given = options.target is not None
    names = ("kind", "layer", "head", "shift")
    where = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return options.text, {"targets": [options.target] if given else None, "num_beams": 1 if given else beams, **where}


def label_inputs(options: argparse.Namespace, model: Any) -> tuple[Any, dict[str, Any]]:
    """The text or pair of texts and the options of `align` for a classifier."""
    for name in TRANSLATOR_FLAGS:
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is for translators; {model.config.model_type} gives labels")
    return options.text if options.pair is None else {"text": options.text, "text_pair": options.pair}, {}


def token_inputs(options: argparse.Namespace, model: Any) -> tuple[Any, dict[str, Any]]:
    """The text or pair of texts and the options of `align` for a model with self-attention over its text."""
    for name in ("target", "num_beams", "kind", "shift"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is for translators; {model.config.model_type} reads one text")
    where = {name: getattr(options, name) for name in ("layer", "head") if getattr(options, name) is not None}
    return options.text if options.pair is None else {"text": options.text, "text_pair": options.pair}, where


def said_labels(found: Any) -> str:
    """The predicted label and the scores of the best ones."""
    best = sorted(found.scores.items(), key=lambda entry: -entry[1])[:5]
    return f"{found.label} ({', '.join(f'{name} {score:.3f}' for name, score in best)})"


def caption_inputs(options: argparse.Namespace, model: Any) -> tuple[Any, dict[str, Any]]:
    """The picture and the options of `align` for a captioner."""
    for name in ("pair", "kind", "layer", "head", "shift"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} says nothing to a captioner; give the path of a picture")
    if options.target is not None:
        return options.text, {"captions": [options.target]}
    return options.text, {"num_beams": options.num_beams or model.generation_config.num_beams or 1}


# Auto class -> (what `align` is given, what is printed of what it returns)
KINDS: dict[str, tuple[Callable[..., tuple[Any, dict[str, Any]]], Callable[[Any], str]]] = {
    "AutoModelForSeq2SeqLM": (translation_inputs, lambda found: found.target_text),
    "AutoModelForSequenceClassification": (label_inputs, said_labels),
    "AutoModelForImageTextToText": (caption_inputs, lambda found: found.caption),
}
# Those whose registry row names this aligner are given and print the same, whatever their head is.
TOKEN_ALIGNER = "hf_attention_zoo.alignment.results.token_alignment:align_tokens"


def add_row_flags(parser: CommandParser) -> None:
    """The flags that say which rows of a translator's attention belong to its words."""
    parser.add_argument("--layer", type=number_or_name, help="a number, or mean (default: the last layer)")
    parser.add_argument(
        "--shift",
        type=int,
        choices=(0, 1),
        help="steps from a word's prediction to its row (default: the model's own; 1 for Luong's content scores)",
    )


def build_parser() -> CommandParser:
    """The flags of `attention-zoo align`."""
    parser = CommandParser(
        "align",
        description="Translate or classify a text, or caption a picture, and show what the model attended to.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("text", help="the text to translate or to classify, or the path of a picture")
    parser.add_argument("--target", help="align this translation or caption in place of the model's own")
    parser.add_argument("--pair", help="the second text, for a classifier of pairs")
    parser.add_argument(
        "--output", default="alignment.png", help="picture (.png, .svg, .pdf), page (.html) or numbers (.json)"
    )
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument(
        "--kind", choices=("cross", "encoder", "decoder"), help="which attention of a Transformer (default: cross)"
    )
    add_row_flags(parser)
    parser.add_argument("--head", type=number_or_name, help="a number, mean (default), or all: drawn as two columns")
    parser.add_argument("--pieces", action="store_true", help="show the tokens as they are, in place of words")
    parser.flags_by_group({FIRST: ("--output", "--target", "--pair", "--num_beams")}, rest="which attention")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.aligning import align
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import aligner_of, load_checkpoint, load_reader, saved_auto_class

    check_apart(options.output, options.text)
    if not options.text.strip():
        raise ValueError("TEXT is empty, so that there is nothing to look at; give a text")
    silence_libraries()
    auto_class = saved_auto_class(options.folder)
    tokens = aligner_of(options.folder) == TOKEN_ALIGNER
    if not tokens and auto_class not in KINDS:
        raise ValueError(f"{options.folder} holds a model for {auto_class}; drawn are those for {' and '.join(KINDS)}")
    inputs_of, said = (token_inputs, lambda found: found.target_text) if tokens else KINDS[auto_class]
    model, _ = load_checkpoint(options.folder)
    text, settings = inputs_of(options, model)
    (found,) = align(model, load_reader(options.folder), [text], **settings)
    writer = WRITERS.get(Path(options.output).suffix.lower(), "plot")
    shown = {} if writer == "to_json" else {"pieces": options.pieces}  # numbers are those of tokens, with their words
    getattr(found, writer)(options.output, **shown)
    print(said(found))
    print(f"alignment written to {options.output}")
    return 0
