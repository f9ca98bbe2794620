"""The kept table of speed: ratios, spreads, what a stopped run keeps, and who may share a file."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def peers(load_script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark, with works of no time in which one program has a bound of its own."""
    found, works = load_script("benchmark_peers"), load_script("peer_works")
    names = ("bound", "here", "JoeyNMT's bound", "JoeyNMT")
    runs: dict[str, Callable[[], object]] = {name: lambda: sum(range(1000)) for name in names}
    cases = works.Cases(runs, {"JoeyNMT": "JoeyNMT's bound"})
    monkeypatch.setattr(found, "WORKS", {"nothing": works.Work("nothing at all", 1.0, lambda _: cases, (1, 2))})
    monkeypatch.setattr(found, "PACKAGES", ("torch",))
    return found


def test_a_ratio_is_to_its_own_bound_round_by_round(peers: ModuleType) -> None:
    cases = peers.WORKS["nothing"].make(1)
    seconds = {"bound": [1.0, 2.0, 4.0], "here": [2.0, 6.0, 4.0], "JoeyNMT's bound": [4.0] * 3, "JoeyNMT": [6.0] * 3}
    rows = {row["candidate"]: row for row in peers.candidates(cases, seconds)}
    assert rows["here"]["ratio"] == 2.0 and rows["here"]["ratio_quartiles"] == [1.5, 2.5]
    assert rows["JoeyNMT"]["ratio"] == 1.5 and rows["JoeyNMT"]["bound"] == "JoeyNMT's bound"
    assert rows["here"]["ms"] == 4000.0


def test_what_is_done_is_kept_and_not_done_again(
    peers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "peers.json"
    command = ["benchmark_peers.py", "--repeats", "2", "--json", str(file)]
    monkeypatch.setattr("sys.argv", [*command, "--threads", "1"])
    peers.main()
    first = json.loads(file.read_text())["rows"]
    assert list(first) == ["nothing, 1"] and first["nothing, 1"]["rounds"] == 2
    monkeypatch.setattr("sys.argv", command)
    peers.main()
    both = json.loads(file.read_text())["rows"]
    assert both["nothing, 1"] == first["nothing, 1"] and both["nothing, 2"]["threads"] == 2
    report = json.loads(file.read_text())
    report["machine"]["processor"] = "another"
    file.write_text(json.dumps(report))
    with pytest.raises(SystemExit, match="processor differ"):
        peers.main()
