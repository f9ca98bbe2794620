"""Language models of several seeds: what is kept is whole, a comparison goes on, means are those of the runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> Any:
    return load_script("language_model_seeds")


def run_of(perplexity: float) -> dict[str, Any]:
    """What is kept of a run."""
    mixtures = [{"with": "4-gram", "weight": 0.5, "fitted_on": None, "mixed_perplexity": perplexity - 20}]
    mixtures.append({**mixtures[0], "weight": 0.6, "fitted_on": "validation"})
    numbers = {"perplexity": perplexity, "perplexity_per_word": 4 * perplexity}
    return {**numbers, "validation_perplexity": perplexity - 1, "mixtures": mixtures, "baselines": {"4-gram": numbers}}


def test_only_what_is_missing_is_made_and_written_at_once(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, asked = tmp_path / "kept.json", []

    def scored(folder: Path, data: Path, work_dir: Path) -> dict[str, Any]:
        asked.append(folder.name)
        return run_of(100.0 + len(asked))

    monkeypatch.setattr(script, "RESULTS", kept)
    monkeypatch.setattr(script, "folder_of", lambda model, seed, data, work_dir: work_dir / f"{model}-{seed}")
    monkeypatch.setattr(script, "scores", scored)
    arguments = ["x", "--data", "d", "--work_dir", str(tmp_path), "--only", "nnlm", "--seeds"]
    monkeypatch.setattr("sys.argv", [*arguments, "1"])
    script.main()
    monkeypatch.setattr("sys.argv", [*arguments, "1", "2"])
    script.main()
    assert asked == ["nnlm-1", "nnlm-2"]
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert list(found["runs"]) == ["nnlm | 1", "nnlm | 2"] and list(found["baselines"]) == ["4-gram"]
    assert "| `nnlm` | 2 | 100.5 ± 0.7 | 101.5 ± 0.7 | 406.0 ± 2.8 | 81.5 ± 0.7 |" in capsys.readouterr().out


def test_what_is_kept_has_a_published_folder_for_every_first_seed(script: Any) -> None:
    found = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    for model, name in script.PUBLISHED.items():
        metrics = json.loads((script.ROOT / "model_cards" / name / "metrics.json").read_text(encoding="utf-8"))
        run = found["runs"][f"{model} | 1"]
        assert run["perplexity"] == pytest.approx(metrics["results"]["perplexity"], rel=1e-3)
        assert all(one["mixed_perplexity"] < run["perplexity"] for one in run["mixtures"])
