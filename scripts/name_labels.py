"""Give the classes of a checkpoint names that say what they mean; weights and order stay as they are.

    python scripts/name_labels.py model_cards/han-nsmc-ko "1-2 of 10 stars" "3-4 of 10 stars" ...

The names go into config.json and metrics.json; training.json keeps what the data call the classes, so that scores stay
what they were.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hf_attention_zoo.whole_files import json_if_any, write_json


def name_labels(folder: Path, names: list[str]) -> None:
    """Write the names, in the order of the classes.

    Raises:
        ValueError: more or fewer names than classes, or a name twice.
    """
    config, metrics = json_if_any(folder / "config.json"), json_if_any(folder / "metrics.json")
    if len(names) != len(config.get("id2label", {})) or len(set(names)) != len(names):
        raise ValueError(
            f"{folder} has {len(config.get('id2label', {}))} classes; give each a name of its own: {names}"
        )
    config["id2label"] = {str(number): name for number, name in enumerate(names)}
    config["label2id"] = {name: number for number, name in enumerate(names)}
    write_json(folder / "config.json", config)
    if "classes" in metrics:
        for entry, name in zip(metrics["classes"], names, strict=True):
            entry["name"] = name
        write_json(folder / "metrics.json", metrics)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", help="in the order of the classes")
    options = parser.parse_args()
    name_labels(options.folder, options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
