"""Flags with a section before their name, such as `--generation.num_beams 5`: settings without flags of their own."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml


def split_dotted(argv: Sequence[str], sections: Iterable[str]) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Take `--section.name value` (or `=value`) out of the arguments; values are read as YAML, an empty one as "".

    Returns what is left and the settings by section. Raises ValueError for an unknown section, a missing value, or one
    that is no YAML.
    """
    rest: list[str] = []
    settings: dict[str, dict[str, Any]] = {section: {} for section in sections}
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if not (name.startswith("--") and "." in name):
            rest.append(word)
            continue
        section, _, key = name[2:].partition(".")
        if section not in settings or not key:
            raise ValueError(f"unknown flag {name}; sections are {', '.join(f'--{known}.' for known in settings)}")
        if not equals:
            following = next(words, None)
            if following is None:
                raise ValueError(f"{name} needs a value")
            value = following
        try:
            settings[section][key] = yaml.safe_load(value) if value else ""
        except (yaml.YAMLError, RecursionError) as error:
            raise ValueError(f"{name} {value[:80]!r} is no value: {' '.join(str(error).split())}") from None
    return rest, settings
