"""Kept results are renewed where the experiment is the same, and named with what was changed where it is not."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hf_attention_zoo.history import kept_results

ROOT = Path(kept_results.__file__).resolve().parents[2]
KEPT = "hf_attention_zoo/history/kept/A1.json"
TRAINING = "hf_attention_zoo/history/training.py"


@pytest.fixture
def renewing(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("renew_claims")


def repository(root: Path) -> Callable[[str], None]:
    """Makes a repository of what A1 needs, and returns what commits all that there is."""
    for path in ("hf_attention_zoo/history", "hf_attention_zoo/losses"):
        shutil.copytree(ROOT / path, root / path, ignore=shutil.ignore_patterns("__pycache__", "[B-E]*.json"))

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)

    def commit_all(said: str) -> None:
        git("add", "-A")
        git("commit", "-q", "-m", said)

    git("init", "-q")
    return commit_all


def test_an_experiment_that_is_as_it_was_is_told_from_one_that_was_changed(
    renewing: ModuleType, tmp_path: Path
) -> None:
    commit_all, kept, training = repository(tmp_path), tmp_path / KEPT, tmp_path / TRAINING
    text = training.read_text()
    training.write_text(text.replace("torch.optim.Adam", "torch.optim.SGD"))
    commit_all("another optimiser")
    assert renewing.changed_since("A1", kept, tmp_path) == ["hf_attention_zoo.history.training.train"]
    training.write_text(text)
    renewing.renew(kept, "0123456789abcdef")
    commit_all("a new checksum is no new run")
    assert renewing.changed_since("A1", kept, tmp_path) == ["hf_attention_zoo.history.training.train"]

    facts: dict[str, Any] = json.loads(kept.read_text())
    assert facts["experiment"] == "0123456789abcdef"
    facts["units"][0]["minutes"] = 9
    kept.write_text(json.dumps(facts))
    with pytest.raises(ValueError, match=r"A1\.json: no commit has these runs; commit them"):
        renewing.changed_since("A1", kept, tmp_path)
    commit_all("run again")
    assert renewing.changed_since("A1", kept, tmp_path) == []


def test_a_change_without_effect_gives_the_kept_numbers_again(
    renewing: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = {unit["arm"]: unit for unit in json.loads((ROOT / KEPT).read_text())["units"] if unit["seed"] == 1}
    monkeypatch.setattr(renewing, "run_unit", lambda number, arm, seed, quick: (dict(units[arm]["measures"]), 0.1))
    assert renewing.tried_again("A1", ROOT / KEPT) == []
    units["wide"] = {"measures": {**units["wide"]["measures"], "loss": 0.0}}
    assert renewing.tried_again("A1", ROOT / KEPT) == ["wide"]
