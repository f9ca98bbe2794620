"""What training.json says of a finished run's folder: which files are ours, so that nothing else is ever replaced with
the run, and with which arguments and data it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.privacy import PLACES, path_of_place
from hf_attention_zoo.whole_files import checksum, json_if_any, write_json

FACTS_FILE = "training.json"


def note_files(folder: Path, *names: str) -> None:
    """List more files, such as a card, in a finished run's training.json; nothing in other folders."""
    facts = json_if_any(folder / FACTS_FILE)
    if "files" in facts:
        facts["files"] |= {name: checksum(folder / name) for name in names}
        write_json(folder / FACTS_FILE, facts)


def recorded_arguments(folder: str | Path, check_dataset: bool = False) -> dict[str, Any]:
    """The arguments of the run that made a folder, by its training.json; its data as paths.

    training.json names no folders of the machine, but how to come from the run to its data.

    Args:
        check_dataset: whether the data set of the training must be where it was.

    Raises:
        ValueError: it must, and is not.
    """
    facts = json_if_any(Path(folder) / FACTS_FILE)
    arguments, places = facts.get("arguments"), facts.get(PLACES)
    found = dict(arguments) if isinstance(arguments, dict) else {}
    for name, place in places.items() if isinstance(places, dict) else ():
        path = path_of_place(folder, str(place))
        named = str(found.get(name))
        if path.exists() or not Path(named).exists():
            found[name] = str(path)
        if check_dataset and name == "dataset" and not Path(found[name]).exists():
            raise ValueError(
                f"{folder} was trained on {named}, which is not at {found[name]} any more; give --dataset with a copy "
                "of it (a file, a folder or a Hub id)"
            )
    return found
