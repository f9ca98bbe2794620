"""Draw the pictures of published folders again and write their cards: after a change of drawings or of cards.

    python scripts/redraw_cards.py [model_cards/NAME ...]

Weights and scores stay as they are; what is drawn are the examples that facts.json names.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from make_checkpoint import draw

from hf_attention_zoo.cli.quiet_libraries import silence_libraries
from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader
from hf_attention_zoo.hub.cards import SENTENCES_FILE, WORDS_FILE, write_card
from hf_attention_zoo.whole_files import json_if_any

CARDS = Path(__file__).resolve().parents[1] / "model_cards"


def redraw(folder: Path) -> None:
    """The picture of one folder, if it has one, and its card."""
    if any((folder / name).is_file() for name in ("alignment.png", SENTENCES_FILE, WORDS_FILE)):
        facts, metrics = json_if_any(folder / "facts.json"), json_if_any(folder / "metrics.json")
        model, _ = load_checkpoint(folder, device="cpu")
        example, reader = facts["example"], load_reader(folder)
        if hasattr(reader, "image_processor"):  # the path of a picture, seen from where the folder lies
            example = str(folder.parent / example)
        draw(folder, model, reader, example, facts.get("example_pair"), metrics["dataset"])
    write_card(folder, run=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="default: all under model_cards/")
    options = parser.parse_args()
    silence_libraries()
    for folder in options.folders or sorted(path.parent for path in CARDS.glob("*/config.json")):
        redraw(folder)
        print(folder.name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
