"""The small experiments of 1990 and 1997: every system runs, a stopped comparison goes on, what is kept is whole."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

KEPT = Path(__file__).parents[2] / "scripts" / "comparisons"


def test_the_adding_problem_is_given_to_every_system_and_goes_on_where_it_stopped(
    load_script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_script("recurrent_experiments")
    script.run_adding(tmp_path, lags=[4], seeds=[1], steps=2)
    found = json.loads((tmp_path / "adding.json").read_text(encoding="utf-8"))["runs"]
    assert list(found) == [f"{system} | 4 | 1" for system in script.SYSTEMS]
    assert (tmp_path / "adding.png").read_bytes()[:4] == b"\x89PNG"
    monkeypatch.setattr(script, "adding_error", lambda *given: pytest.fail("it was there already"))
    script.run_adding(tmp_path, lags=[4], seeds=[1], steps=2)


def test_errors_of_a_stream_are_of_its_second_half(load_script: Callable[[str], ModuleType]) -> None:
    script = load_script("recurrent_experiments")
    stream = torch.tensor([0.0, 1.0]).repeat(200)[:, None]
    errors = script.squared_errors(stream, hidden=3, passes=150, rows=10, rate=0.05, seed=1)
    assert errors.shape == (199, 1) and errors.mean() < 0.05


def test_what_is_kept_has_every_system_and_seed(load_script: Callable[[str], ModuleType]) -> None:
    script = load_script("recurrent_experiments")
    runs = json.loads((KEPT / "adding.json").read_text(encoding="utf-8"))["runs"]
    lags = {key.split(" | ")[1] for key in runs}
    assert {key for key in runs if key.endswith(" | 1")} == {
        f"{s} | {lag} | 1" for s in script.SYSTEMS for lag in lags
    }
    kept = json.loads((KEPT / "elman.json").read_text(encoding="utf-8"))
    for name in ("exclusive_or", "letters", "sentences"):
        assert set(kept[name]) == set(map(str, script.SEEDS))
