"""The data of every kind of training, and undisturbed runs to compare others with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from run_kinds import KINDS, run, write_data


@pytest.fixture(scope="session")
def all_data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The data of each kind of training."""
    folder = tmp_path_factory.mktemp("kinds")
    return {kind: write_data(kind, folder / kind) for kind in KINDS}


@pytest.fixture(scope="session")
def undisturbed(all_data: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Kind and more flags -> the folder of a finished run of it, trained once; not to be changed."""
    made: dict[tuple[str, ...], Path] = {}

    def of(kind: str, *more: str) -> Path:
        if (kind, *more) not in made:
            folder = tmp_path_factory.mktemp("undisturbed") / kind
            run(kind, all_data[kind], folder, *more)
            made[kind, *more] = folder
        return made[kind, *more]

    return of
