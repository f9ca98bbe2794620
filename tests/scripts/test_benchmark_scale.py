"""What is counted and weighed of growth: calls by position, a text handed over, a stopped run that goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest


def test_calls_grow_with_positions_where_a_model_steps_through_them(load_script: Callable[[str], ModuleType]) -> None:
    counts = load_script("call_counts")
    steps, reads = (counts.counted(name) for name in ("rnnsearch", "bert2018"))
    assert steps["training"]["calls_per_position"] > 10 > reads["training"]["calls_per_position"]
    assert 0 < steps["greedy"]["calls"] < steps["beams"]["calls"] and reads["beams"] is None


def test_a_call_whose_parts_compute_counts_as_its_parts(load_script: Callable[[str], ModuleType]) -> None:
    def event(name: str, *inside: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(name=name, cpu_children=inside)

    product = event("aten::linear", event("aten::t", event("aten::transpose")), event("aten::addmm"))
    events = [product, event("aten::view"), event("step", event("aten::add"), event("aten::exp"))]
    assert load_script("call_counts").computing(events) == 3


def test_a_text_is_as_large_as_asked_for_and_memory_is_seen_along_it(load_script: Callable[[str], ModuleType]) -> None:
    growth = load_script("text_growth")
    text = growth.RepeatedDocuments([["ein Haus", "ja"], ["x" * 1000]], 0.1)
    handed = sum(len(line) + 1 for document in text for line in document)
    assert 0.1 * 2**20 <= handed < 0.1 * 2**20 + 1100
    assert len(text.seen) == 8 and all(memory > 0 for _, memory in text.seen)


def test_a_stopped_run_goes_on(
    load_script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale, file = load_script("benchmark_scale"), tmp_path / "scale.json"
    ran: list[str] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        ran.append(command[-1])
        return SimpleNamespace(stdout='a warning\n{"ms": 1.0, "words_per_second": 2}\n')

    monkeypatch.setattr(scale.subprocess, "run", run)
    monkeypatch.setattr("sys.argv", ["benchmark_scale.py", "--sections", "processes", "--json", str(file)])
    scale.main()
    kept = json.loads(file.read_text())
    assert len(ran) == 6 and kept["rows"]["processes luong 2"]["words_per_second"] == 2
    del kept["rows"]["processes luong 2"]
    file.write_text(json.dumps(kept))
    scale.main()
    assert ran[6:] == ['["processes", "luong", 2]']
