"""Claims are run unit by unit: what is kept is not run again, and planted claims get the verdict that was planted."""

from __future__ import annotations

import dataclasses
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.evaluation.terminal_columns import columns_of
from hf_attention_zoo.history import kept_results, running
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import KEPT, Results, read_results, results_file
from hf_attention_zoo.history.table import CLAIMS, load_claim
from hf_attention_zoo.history.telling import KOREAN, OLDER, duration, tell_claim
from hf_attention_zoo.history.verdict import HOLDS, IN_PART, NOT_HERE, UNDECIDED

ROOT = Path(__file__).resolve().parents[2]
COUNTED: list[tuple[str, int]] = []


def drawn(arm: str, mean: float, seed: int, budget: Budget) -> Measures:
    """A number around a mean, with noise of its seed."""
    COUNTED.append((arm, seed))
    return {"score": mean + float(np.random.default_rng([seed, len(arm)]).normal(0, 0.1)), "curve": [mean, mean]}


def planted(higher: float, **changes: object) -> Claim:
    """A claim that `first` is above `second`, where it is by so much."""
    arms = {"first": partial(drawn, "first", higher), "second": partial(drawn, "second", 0.0)}
    parts = (Difference("first over second", "first/score", "second/score"),)
    return dataclasses.replace(load_claim("A1"), parts=parts, arms=arms, **changes)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch):
    """Puts a planted claim in the place of A1."""

    def put(higher: float, **changes: object) -> Claim:
        claim = planted(higher, **changes)
        monkeypatch.setattr(running, "load_claim", lambda number: claim)
        COUNTED.clear()
        return claim

    return put


@pytest.mark.parametrize(("higher", "verdict"), [(2.0, HOLDS), (-2.0, NOT_HERE), (0.0, UNDECIDED)])
def test_a_planted_claim_comes_out_as_planted(plant, tmp_path: Path, higher: float, verdict: str) -> None:
    found = running.run_claims([plant(higher)], tmp_path, "command")["A1"]
    assert found.verdict().verdict == verdict
    facts = json.loads(results_file(tmp_path, "A1").read_text())
    assert facts["verdict"] == verdict and facts["seeds"] == [1, 2, 3] and facts["command"] == "command"
    assert facts["hardware"] and facts["versions"]["torch"] and len(facts["units"]) == 6


def test_a_claim_of_which_one_part_holds_holds_in_part(plant, tmp_path: Path) -> None:
    claim = plant(2.0)
    more = (*claim.parts, Difference("second over first", "second/score", "first/score"))
    found = running.run_claims([dataclasses.replace(claim, parts=more)], tmp_path, "command")["A1"]
    assert found.verdict().verdict == IN_PART


def test_what_is_kept_is_not_run_again(plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, keep = plant(1.0), running.write_results

    def stopped(path: Path, results: Results, command: str) -> None:
        keep(path, results, command)
        if len(results.units) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "write_results", stopped)
    with pytest.raises(KeyboardInterrupt):
        running.run_claims([claim], tmp_path, "command")
    kept = read_results(results_file(tmp_path, "A1"), claim)
    assert kept is not None and len(kept.units) == 3
    monkeypatch.setattr(running, "write_results", keep)
    found = running.run_claims([claim], tmp_path, "command")["A1"]
    assert len(COUNTED) == len(set(COUNTED)) == 6
    whole = running.run_claims([plant(1.0)], tmp_path / "other", "command")["A1"]
    assert found.units == whole.units
    running.run_claims([claim], tmp_path, "command", seeds=4)
    assert {seed for _, seed in COUNTED[6:]} == {4}


def test_results_of_another_experiment_are_not_mixed_in(plant, tmp_path: Path, monkeypatch) -> None:
    claim = plant(1.0)
    running.run_claims([claim], tmp_path, "command", seeds=1)
    more = (*claim.parts, Difference("not measured then", "first/other", "second/other"))
    with pytest.raises(ValueError, match=r"another experiment: it has no first/other, which claim A1 compares"):
        running.run_claims([dataclasses.replace(claim, parts=more)], tmp_path, "command", seeds=2)
    monkeypatch.setattr(kept_results, "fingerprint", lambda number: "another")
    with pytest.raises(ValueError, match=r"another experiment.*--output"):
        running.run_claims([claim], tmp_path, "command", seeds=2)
    for text in ("not a result", '{"claim": "A1", "units": [{"arm": "first"}]}'):
        results_file(tmp_path, "A1").write_text(text)
        with pytest.raises(ValueError, match=r"holds no results of claim A1.*--output"):
            running.run_claims([claim], tmp_path, "command")


def test_a_run_is_kept_as_of_the_code_with_which_it_began(plant, tmp_path: Path, monkeypatch) -> None:
    claim, began = plant(1.0), kept_results.fingerprint("A1")
    trial = claim.arms["second"]

    def edited_meanwhile(seed: int, budget: Budget) -> Measures:
        monkeypatch.setattr(kept_results, "fingerprint", lambda number: "another")
        return trial(seed, budget)

    running_one = dataclasses.replace(claim, arms={**claim.arms, "second": edited_meanwhile})
    monkeypatch.setattr(running, "load_claim", lambda number: running_one)
    running.run_claims([running_one], tmp_path, "command", seeds=1)
    assert json.loads(results_file(tmp_path, "A1").read_text())["experiment"] == began


def test_the_list_outlives_results_of_an_older_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in ("A2", "B1"):
        shutil.copy(results_file(KEPT, number), tmp_path)
    results_file(tmp_path, "C3").write_text("not a result")
    now = kept_results.fingerprint
    monkeypatch.setattr(kept_results, "fingerprint", lambda number: "new" if number in ("A1", "B1") else now(number))
    flags = ["--output", str(tmp_path)]
    for language, not_run in (("en", OLDER), ("ko", KOREAN[OLDER])):
        assert main(["reproduce", *flags, "--language", language]) == 0
        lines = capsys.readouterr().out.splitlines()
        row = {line.split()[0]: line for line in lines if line and line.split()[0] in CLAIMS}
        assert not_run in row["A1"] and not_run in row["B1"] and not_run not in row["C3"]
        assert row["A2"].endswith(f"{results_file(tmp_path, 'A2')})")
        assert [line for line in lines if "B1.json was made by another experiment" in line and "--output" in line]
        assert [line for line in lines if "C3.json holds no results of claim C3" in line]
    assert main(["reproduce", "--all", *flags]) == 2  # before anything is run, each that is refused by its name
    refused = capsys.readouterr().err
    assert "B1.json was made by another experiment" in refused and "C3.json holds no results" in refused
    assert {path.name for path in tmp_path.iterdir()} == {"A2.json", "B1.json", "C3.json"}


def test_the_list_tells_times_and_the_machine_that_took_them(capsys: pytest.CaptureFixture[str]) -> None:
    minutes = (0.001, 0.45, 0.98, 0.999, 1.6)
    assert [duration(one) for one in minutes] == ["1 s", "27 s", "59 s", "1 min", "2 min"]
    assert duration(0.45, "ko") == "27초" and duration(1.6, "ko") == "2분"
    for language in ("en", "ko"):
        assert main(["reproduce", "--language", language]) == 0
        listed = capsys.readouterr().out
        for file in KEPT.glob("*.json"):
            facts = json.loads(file.read_text())
            assert facts["hardware"] in listed and f"  {duration(facts['minutes'], language)} " in listed
        assert "  0" not in listed


def test_columns_stand_below_one_another_in_korean_as_in_english(capsys: pytest.CaptureFixture[str]) -> None:
    for language, head in (("en", "verdict so far"), ("ko", "지금까지의 판정")):
        main(["reproduce", "--language", language])
        lines = capsys.readouterr().out.splitlines()
        verdicts = [HOLDS, IN_PART, NOT_HERE, UNDECIDED]
        said = [head, *(KOREAN[verdict] if language == "ko" else verdict for verdict in verdicts)]
        table = lines[: lines.index("")]
        begins = {columns_of(line[: -len(word)]) for line in table for word in said if line.endswith("  " + word)}
        assert len(begins) == 1


@pytest.mark.parametrize("number", [number for number in CLAIMS if results_file(KEPT, number).is_file()])
def test_what_came_out_is_told_in_both_languages(number: str) -> None:
    claim = load_claim(number)
    results = read_results(results_file(KEPT, number), claim)
    assert results is not None
    for language in ("en", "ko"):
        told = tell_claim(results, language)
        assert claim.metric in told and claim.printed[0] in told and getattr(claim.title, language) in told
        english = [*(f" {verdict}:" for verdict in (HOLDS, NOT_HERE, UNDECIDED)), "seeds", "interval", "would decide"]
        assert any(word in told for word in english) is (language == "en")


@pytest.mark.slow  # two processes import everything anew
def test_processes_share_the_units(tmp_path: Path) -> None:
    alone = running.run_claims([load_claim("A1")], tmp_path / "alone", "command", quick=True)["A1"]
    shared = running.run_claims([load_claim("A1")], tmp_path / "shared", "command", quick=True, processes=2)["A1"]
    assert alone.units == shared.units


def test_parts_name_arms_and_margins(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'third/score' is no arm/measure; arms are fixed, wide, attention"):
        dataclasses.replace(load_claim("A1"), parts=(Difference("x", "third/score", "fixed/words_4"),))


def test_the_command_lists_runs_draws_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for language in ("en", "ko"):
        assert main(["reproduce", "--language", language]) == 0
        listed = capsys.readouterr().out
        assert all(getattr(load_claim(number).title, language) in listed for number in CLAIMS)
    assert main(["reproduce", "a1", "--quick", "--processes", "1", "--output", str(tmp_path)]) == 0
    assert "a smoke run" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"A1.quick.json", "A1.quick.png"}
    assert "verdict" not in json.loads((tmp_path / "A1.quick.json").read_text())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["A1.5"], "no claim 'A1.5' (did you mean 'A1'?)"),
        (["A1", "--all"], "leave out A1 or --all"),
        (["A1", "--seeds", "0"], "--seeds is 0; give 1 or more"),
        (["A1", "--processes", "-1"], "--processes is -1; give 1 or more"),
    ],
)
def test_what_cannot_be_run_is_one_line(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *flags]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("number", list(CLAIMS))
def test_what_is_kept_follows_from_its_claim(number: str) -> None:
    claim = load_claim(number)
    assert claim.number == number and claim.title.ko and claim.statement.ko and claim.printed
    results = read_results(results_file(KEPT, number), claim)  # raises where the experiment was changed since
    if results is None:
        return
    facts = json.loads(results_file(KEPT, number).read_text())
    assert set(results.seeds()) == set(range(1, claim.seeds + 1)) and not results.quick
    assert facts["verdict"] == results.verdict().verdict
    assert [part["verdict"] for part in facts["parts"]] == [part.verdict for part in results.verdict().parts]
    assert "/" not in facts["command"].replace("attention-zoo reproduce", "")
    assert (ROOT / "docs" / "pictures" / "history" / f"{number}.png").is_file()
    for language in ("en", "ko"):
        assert len(results.filled(claim.seen, language)) > 40


def test_every_kept_file_is_of_a_claim() -> None:
    assert {path.stem for path in KEPT.glob("*.json")} <= set(CLAIMS)


def test_texts_are_filled_with_measured_numbers(plant, tmp_path: Path) -> None:
    claim = plant(1.0, seen=Text("first has {first/score:.1f}", "첫째는 {first/score:.1f}"))
    found = running.run_claims([claim], tmp_path, "command")["A1"]
    assert found.filled(claim.seen) == f"first has {found.mean('first/score'):.1f}"
    assert found.filled(claim.seen, "ko").startswith("첫째는 ")


@pytest.mark.slow  # minutes: two steps or so of everything
def test_every_claim_runs_in_a_smoke_run(tmp_path: Path) -> None:
    assert main(["reproduce", "--quick", "--all", "--processes", "2", "--output", str(tmp_path)]) == 0
    for number in CLAIMS:
        results = read_results(results_file(tmp_path, number, quick=True), load_claim(number))
        assert results is not None and results.quick and results.seeds(), number
