"""What must not leave the machine with a model: access tokens, and where things lie on its owner's disk.

Records (training.json, metrics.json) are written without them; what is published or exported is searched for them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

PLACES = "places"
"""Key of a run's record: its data by argument, as paths from the run's folder. It means nothing elsewhere."""

SECRETS = re.compile(
    rb"hf_[A-Za-z0-9]{20,}"  # the Hub
    rb"|api_org_[A-Za-z0-9]{20,}"
    rb"|\bgh[pousr]_[A-Za-z0-9]{30,}"  # GitHub
    rb"|\bgithub_pat_[A-Za-z0-9_]{30,}"
    rb"|\bglpat-[A-Za-z0-9_-]{20,}"
    rb"|\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,}"
    rb"|\bAKIA[A-Z0-9]{16}\b"
    rb"|\bxox[abpr]-[A-Za-z0-9-]{20,}"
    rb"|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"
    rb"|(?<=://)[^/\s:@\"']+:[^/\s:@\"']+(?=@)"  # an address with a password
)
"""The forms of access tokens and keys."""

HOMES = re.compile(rb"(?:/home|/Users)/[^/\s\"'\\]+|(?<![\w.])/root(?=/)|[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"']+")
"""Folders of a machine's users."""

SECRET_NAMES = re.compile(
    r"-*(?:.*[_.-])?(?:password|passwd|secret|api_?key|access_?key|private_?key|credentials)"
    r"|-*(?:(?:push_to_)?hub_|hf_|auth_|access_|api_|bearer_)?token",
    re.IGNORECASE,
)
"""Names of settings whose value is secret. `pad_token` and the like are none."""

VOCABULARIES = frozenset({"tokenizer.json", "target_tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"})
"""Files of words that were learnt from texts: a folder named in them is a word."""

_PATH_IN_WORD = re.compile(r"(?<![\w.:/~$\\-])(?:~?/|[A-Za-z]:[\\/])[^\s,;'\"=:]*[^\s,;'\"=:/\\]")
_HIDDEN_HOME = "~"


def is_secret_name(name: str) -> bool:
    """Whether a flag or setting of this name holds a token or password."""
    return SECRET_NAMES.fullmatch(name.replace("-", "_").lstrip("_")) is not None


def without_secrets(text: str) -> str:
    """A text with `$HF_TOKEN` in the place of every access token."""
    return SECRETS.sub(b"$HF_TOKEN", text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def without_homes(text: str) -> str:
    """A text with `~` in the place of every user's folder."""
    return HOMES.sub(_HIDDEN_HOME.encode(), text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def is_absolute(text: str) -> bool:
    """Whether a text is a path that begins at a root or a home folder: `/a/b`, `~/a`, `C:\\a`."""
    on_windows = PureWindowsPath(text)
    return re.match(r"(~[^/\s]*)?/.", text) is not None or (bool(on_windows.drive) and len(on_windows.parts) > 1)


def public_path(text: str) -> str:
    """A path without the folders of the machine: the last part of an absolute one, a relative one as it is."""
    if is_absolute(text):
        parts = [part for part in re.split(r"[/\\]", text) if part]
        return without_homes(parts[-1]) if parts else text
    if text.startswith("..") and HOMES.search(("/" + text.lstrip("./")).encode("utf-8", "surrogateescape")):
        return Path(text).name
    return text


def public_command(command: Any) -> str:
    """A command line, or several joined by `&&`, without access tokens and the folders of the machine it ran on."""
    if isinstance(command, str) and " && " in command:
        return " && ".join(map(public_command, command.split(" && ")))
    try:
        words = list(map(str, command)) if isinstance(command, list) else shlex.split(str(command))
    except ValueError:  # a quotation that is never closed
        words = str(command).split()
    shown: list[str] = []
    secret_follows = False
    for word in words:
        flag, given, _ = word.partition("=")
        if secret_follows and not word.startswith("--"):
            word = "$HF_TOKEN"
        elif given and word.startswith("-") and is_secret_name(flag):
            word = f"{flag}=$HF_TOKEN"
        else:
            start = f"{flag}=" if given and word.startswith("-") else ""
            word = start + _public_word(word.removeprefix(start))
        secret_follows = word.startswith("--") and "=" not in word and is_secret_name(word)
        shown.append(without_secrets(word))
    return re.sub(r"'([^'\s]*\$HF_TOKEN[^'\s]*)'", r"\1", shlex.join(shown))  # the shell fills it in


def _public_word(word: str) -> str:
    if "," in word and any(map(is_absolute, word.split(","))):
        return ",".join(map(public_path, word.split(",")))
    if is_absolute(word) or word.startswith(".."):
        return public_path(word)
    return without_homes(_PATH_IN_WORD.sub(lambda found: public_path(found[0]), word))


def public_facts(facts: Any, *, keep_places: bool = False) -> Any:
    """A record as it may be shown: without secrets, and with the last part alone of every absolute path.

    Args:
        facts: what JSON holds.
        keep_places: keep where the data lie, from the folder that the record lies in.
    """
    if isinstance(facts, Mapping):
        found: dict[Any, Any] = {}
        for name, value in facts.items():
            if is_secret_name(str(name)) or (name == PLACES and not keep_places):
                continue
            if name == PLACES:
                found[name] = value
            else:
                found[name] = public_command(value) if name == "command" and value else public_facts(value)
        return found
    if isinstance(facts, (list, tuple)):
        return [public_facts(value) for value in facts]
    if isinstance(facts, os.PathLike):
        facts = os.fspath(facts)
    if isinstance(facts, str):
        return without_secrets(without_homes(public_path(facts)))
    return facts


def place_from(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> str | None:
    """How to get from a folder to a file or folder without naming anybody: `../data`, or `~/data` from elsewhere.

    `None` where the way leads through another user's folder.
    """
    absolute = os.path.abspath(os.path.expanduser(path))
    home, start = os.path.expanduser("~"), os.path.abspath(folder)
    if _is_inside(absolute, home) and not _is_inside(start, home):
        return os.path.join("~", os.path.relpath(absolute, home))
    way = os.path.relpath(absolute, start)
    return None if HOMES.search(("/" + way.lstrip("./")).encode("utf-8", "surrogateescape")) else way


def path_of_place(folder: str | os.PathLike[str], place: str) -> Path:
    """Where `place_from` led, by the same folder."""
    if place.startswith("~"):
        return Path(place).expanduser()
    return Path(os.path.normpath(os.path.join(folder, place)))


def _is_inside(path: str, folder: str) -> bool:
    return folder not in ("", os.sep) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))


class PrivatePart(NamedTuple):
    """Something in a file that must not leave the machine."""

    said: str
    is_secret: bool


def private_parts(name: Path, content: bytes) -> Iterator[PrivatePart]:
    """What of a file must not leave the machine, secrets first.

    Args:
        name: tells whether the file holds learnt words, in which a folder may be named.
        content: of a safetensors file its header is enough.
    """
    for found in SECRETS.finditer(content):
        start = found[0][:7].decode(errors="replace")
        yield PrivatePart(f"what looks like an access token or key ({start}...)", True)
    if name.name not in VOCABULARIES:
        for found in HOMES.finditer(content):
            yield PrivatePart(f"a user's folder ({found[0].decode(errors='replace')})", False)
