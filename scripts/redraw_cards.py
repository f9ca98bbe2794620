"""Choose the examples of published folders, draw their pictures, write their cards: after a change of any of them.

    python scripts/redraw_cards.py [model_cards/NAME ...] [--data NAME=FOLDER ...]

Weights and scores stay as they are. Where answers are right or wrong, the examples are rows of the validation split,
by the rule of `hf_attention_zoo.hub.judged_examples`; elsewhere they are those that facts.json names. Data sets that
do not come with the package are named with --data; without one its folders keep the examples and the pictures that
they have, and a line says so.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from make_checkpoint import draw

from hf_attention_zoo.cli.quiet_libraries import silence_libraries
from hf_attention_zoo.data.samples import is_sample
from hf_attention_zoo.hub.card_pictures import ALIGNMENT_FILE, SENTENCES_FILE, WORDS_FILE
from hf_attention_zoo.hub.cards import write_card
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint, dataset_name
from hf_attention_zoo.hub.judged_examples import choose_examples
from hf_attention_zoo.whole_files import json_if_any

CARDS = Path(__file__).resolve().parents[1] / "model_cards"


def redraw(folder: Path, places: dict[str, str]) -> str:
    """The examples of one folder, its picture, if it has one, and its card. Returns what is said of it.

    Args:
        places: name of a data set -> where it lies.
    """
    dataset = json_if_any(folder / "metrics.json")["dataset"]
    name = dataset_name(dataset["name"])
    place = places.get(name, name if is_sample(name) else None)
    if place is not None:
        choose_examples(folder, dataset=place)
        if any((folder / picture).is_file() for picture in (ALIGNMENT_FILE, SENTENCES_FILE, WORDS_FILE)):
            example = Checkpoint(folder).example
            if example is None:
                raise SystemExit(f"{folder} has no example: no held-out row is right, and facts.json names none")
            draw(folder, example, {**dataset, "name": place})
    write_card(folder, run=True)
    return folder.name if place is not None else f"{folder.name}: examples and picture kept, {name} is not here"


def main() -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, help="default: all under model_cards/")
    parser.add_argument("--data", action="append", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    places = dict(entry.split("=", 1) for entry in options.data)
    silence_libraries()
    for folder in options.folders or sorted(path.parent for path in CARDS.glob("*/config.json")):
        print(redraw(folder, places), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
