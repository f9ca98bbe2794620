"""Trials: every setting and seed becomes one row, finished ones are left alone, and the test split is not scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("trials")


@pytest.fixture
def protocol_file(tmp_path: Path) -> Path:
    data = tmp_path / "texts"
    data.mkdir()
    for split in ("train", "validation"):
        lines = [{"text": f"{'ab'[k % 2]} c", "label": "xy"[k % 2]} for k in range(8)]
        (data / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    protocol = {
        "seeds": [1],
        "settings": {"recipe": "small", "dataset": str(data), "num_train_epochs": 1, "use_cpu": True},
        "scores": {"validation": ["accuracy"]},
        "systems": {
            "hops": {
                "model": "self_attentive",
                "settings": {"config.hidden_size": 4, "config.embedding_size": 4, "tokenizer.min_frequency": 1},
                "trials": {"one": {"config.num_hops": 1}, "two": {"config.num_hops": 2, "seeds": [1, 2]}},
            }
        },
    }
    path = tmp_path / "trials_x.yaml"
    path.write_text(yaml.safe_dump(protocol, sort_keys=False), encoding="utf-8")
    return path


def test_every_trial_becomes_a_row_and_finished_ones_are_left_alone(
    script: ModuleType, protocol_file: Path, tmp_path: Path
) -> None:
    script.run_all(protocol_file, tmp_path / "work", "one")
    assert [row["trial"] for row in script.read_rows(protocol_file.with_suffix(".csv"))] == ["one"]
    script.run_all(protocol_file, tmp_path / "work", "")
    script.run_all(protocol_file, tmp_path / "work", "")
    rows = script.read_rows(protocol_file.with_suffix(".csv"))
    assert [(row["trial"], row["seed"]) for row in rows] == [("one", "1"), ("two", "1"), ("two", "2")]
    assert all(0 <= float(row["validation_accuracy"]) <= 1 and int(row["parameters"]) > 0 for row in rows)
    assert script.table(protocol_file).splitlines()[0].startswith("| system | trial | seed |")


def test_the_test_split_is_refused(script: ModuleType, protocol_file: Path, tmp_path: Path) -> None:
    protocol = yaml.safe_load(protocol_file.read_text())
    protocol_file.write_text(yaml.safe_dump({**protocol, "scores": {"test": ["accuracy"]}}))
    with pytest.raises(SystemExit, match="leave the test split out"):
        script.run_all(protocol_file, tmp_path / "work", "")
