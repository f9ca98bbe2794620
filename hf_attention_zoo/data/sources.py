"""Where rows come from: local files and folders by split, and data sets of the Hugging Face Hub."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.entry_words import said
from hf_attention_zoo.data.record_files import (
    FORMATS,
    FORMATS_SAID,
    SplitFile,
    described,
    format_of,
    read_rows,
    split_files_of_folder,
)
from hf_attention_zoo.data.samples import SAMPLES, similar_samples, unknown_sample
from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.near_names import did_you_mean

DataFiles = str | os.PathLike | Sequence[str | os.PathLike] | Mapping[str, Any]


def warn_of_empty(empty: int, rows: int, where: str, first: str) -> None:
    """Warn that rows with an empty side are dropped."""
    warnings.warn(
        f"{where}: dropped {empty} of {rows} rows whose source or target is empty (first: {first})",
        UserWarning,
        stacklevel=3,
    )


def refuse_arguments(name: str, what: str, **arguments: Any) -> None:
    """Raise a ValueError for the first argument that was given although it says nothing about `name`."""
    for argument, value in arguments.items():
        if value is not None:
            raise ValueError(f"{argument}={value!r} does not apply: {name!r} is {what}; leave it out")


def local_files(
    name: str, data_files: DataFiles | None, source_lang: str | None, target_lang: str | None
) -> dict[str, list[SplitFile]] | None:
    """Files per split, or `None` where the name is no local thing but may be one of the Hub."""
    if not name:
        raise ValueError(f"an empty data set name; name an embedded sample ({_sample_names()}), a path or a Hub id")
    path = Path(name).expanduser()
    formats = set(FORMATS.values())
    if name in formats and not path.exists():
        if data_files is None:
            which = said("say which files with data_files", "name files or a folder: --train_file, --dataset FILE")
            raise ValueError(f"the data set {name!r} is a file format; {which}")
        return _named_files(data_files, Path(), only_format=name)
    if path.is_dir():
        return (
            split_files_of_folder(path, source_lang, target_lang)
            if data_files is None
            else _named_files(data_files, path)
        )
    if path.is_file():
        refuse_arguments(name, "a single file", data_files=data_files)
        if format_of(path) is None:
            if not path.stat().st_size:
                raise ValueError(f"file {path} is empty; files that can be read: {FORMATS_SAID}")
            raise ValueError(f"file {path} is of no known format; files that can be read: {FORMATS_SAID}")
        return {"train": [path]}
    looks_like_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name or format_of(path)
    if looks_like_path:
        raise ValueError(f"{name} does not exist (looked from {Path.cwd()}); check the path")
    if "/" not in name and similar_samples(name):
        raise ValueError(f"{unknown_sample(name)}. A data set of the Hub has its owner in front: owner/{name}")
    return None


def _named_files(data_files: DataFiles, base: Path, only_format: str | None = None) -> dict[str, list[SplitFile]]:
    by_split = data_files if isinstance(data_files, Mapping) else {"train": data_files}
    files: dict[str, list[SplitFile]] = {}
    for split, named in by_split.items():
        patterns = [named] if isinstance(named, str | os.PathLike) else list(named)
        paths: list[Path] = []
        for pattern in patterns:
            path = base / Path(pattern).expanduser()
            matching = sorted(path.parent.glob(path.name)) if any(c in path.name for c in "*?[") else [path]
            matching = [found for found in matching if found.is_file()]
            if not matching:
                raise ValueError(f"data_files for split '{split}': {path} does not exist (looked from {Path.cwd()})")
            paths += matching
        for found in paths:
            if format_of(found) is None or only_format not in (None, format_of(found)):
                wanted = FORMATS_SAID if only_format is None else f"{only_format} files"
                raise ValueError(f"file {found} is of another format; expected {wanted}")
        files[canonical_split(split)] = list(paths)
    return files


def chosen_splits(there: Mapping[str, Any], splits: Sequence[str] | None, name: str) -> dict[str, Any]:
    """The splits asked for, in that order, all of them without a wish; a ValueError names those that are there."""
    if splits is None:
        return dict(there)
    chosen = {}
    for split in splits:
        if canonical_split(split) not in there:
            raise ValueError(f"{name} has no split '{split}'{did_you_mean(split, there)}; it has {', '.join(there)}")
        chosen[canonical_split(split)] = there[canonical_split(split)]
    if not chosen:
        raise ValueError(f"splits is empty; {name} has {', '.join(there)}")
    return chosen


def first_row(files: Sequence[SplitFile]) -> tuple[str, Mapping[str, Any]]:
    """The first row of some files and the file that it stands in; a ValueError if they hold none."""
    for file in files:
        for _, row in read_rows(file):
            return described(file), row
    raise ValueError(f"{' and '.join(described(file) for file in files)}: no rows; the file is empty")


def fetch_from_hub(
    name: str, dataset_config: str | None, data_files: DataFiles | None, streaming: bool
) -> Mapping[str, Any]:
    """Splits of a data set of the Hub, as they are there.

    Raises:
        ValueError: there is no such data set, or it cannot be loaded.
        ConnectionError: the Hub cannot be reached.
    """
    import datasets

    try:
        return datasets.load_dataset(name, dataset_config, data_files=data_files, streaming=streaming)
    except FileNotFoundError as error:
        if _offline():
            raise _unreachable(name, error) from error
        raise ValueError(
            f"{name!r} is no embedded sample ({_sample_names()}), no file or folder here ({Path.cwd()}), and the Hub "
            f"does not have it or does not show it to you: {error}"
        ) from error
    except OSError as error:
        raise _unreachable(name, error) from error
    except (ValueError, RuntimeError) as error:
        how = said("dataset_config=", "--dataset_config")
        hint = "" if dataset_config else f"; if it has several configurations, choose one with {how}"
        raise ValueError(f"data set {name!r} of the Hub cannot be loaded{hint}: {error}") from error


def _unreachable(name: str, error: BaseException) -> ConnectionError:
    offline = "HF_HUB_OFFLINE is set" if _offline() else "the Hub cannot be reached"
    return ConnectionError(
        f"{name!r} is no embedded sample and no file or folder here ({Path.cwd()}), so it is looked for on the Hub, "
        f"but {offline} and it is not in the cache. Connect (or unset HF_HUB_OFFLINE) and run again, or download the "
        f"data elsewhere and pass their folder, or take an embedded sample: {_sample_names()}. "
        f"Cause: {type(error).__name__}: {_first_line(error)}"
    )


def _offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or ["no details"])[0]


def _sample_names() -> str:
    return ", ".join(sample.name for sample in SAMPLES)
