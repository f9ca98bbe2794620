"""`attention-zoo align FOLDER TEXT --output FILE`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

WRITERS = {".html": "to_html", ".json": "to_json"}


def build_parser() -> argparse.ArgumentParser:
    """The flags of `attention-zoo align`."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo align",
        description="Translate a text and show which source tokens each target token attended to.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("text", help="the text to translate")
    parser.add_argument("--target", help="align this translation in place of the model's own")
    parser.add_argument(
        "--output", default="alignment.png", help="picture (.png, .svg, .pdf), page (.html) or numbers (.json)"
    )
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.seq2seq_alignment import align_seq2seq
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.evaluation.checkpoint_evaluation import load_checkpoint

    silence_libraries()
    model, tokenizer = load_checkpoint(options.folder)
    beams = options.num_beams or model.generation_config.num_beams or 1
    (alignment,) = align_seq2seq(
        model,
        tokenizer,
        [options.text],
        targets=[options.target] if options.target is not None else None,
        num_beams=1 if options.target is not None else beams,
    )
    getattr(alignment, WRITERS.get(Path(options.output).suffix.lower(), "plot"))(options.output)
    print(alignment.target_text)
    print(f"alignment written to {options.output}")
    return 0
