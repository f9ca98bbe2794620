"""A slice of the bad inputs, and what counts as a failure."""

import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CASES = 4  # of each reader and command


@pytest.fixture(scope="module")
def fuzz(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("fuzz_inputs")


def test_a_slice_of_the_bad_inputs_is_refused_cleanly_or_read(fuzz: ModuleType) -> None:
    results = [fuzz.run_case(reader, number, seed=0) for reader in fuzz.MAKERS for number in range(CASES)]
    assert [result for result in results if result["outcome"] == "failure"] == []
    assert sum(result["outcome"] == "error" for result in results) > len(results) / 2


def test_a_whole_run_has_more_than_a_thousand(fuzz: ModuleType) -> None:
    assert sum(count for count, _ in fuzz.MAKERS.values()) > 1000


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def writing(text: str, code: int) -> Callable[[], int]:
    def call() -> int:
        import sys

        sys.stderr.write(text)
        return code

    return call


@pytest.mark.parametrize(
    ("call", "must_fail", "expected"),
    [
        (raising(KeyError("a")), False, "failure"),
        (raising(ValueError("")), False, "failure"),
        (raising(UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")), False, "failure"),
        (raising(ValueError("a.txt is damaged")), False, "error"),
        (raising(SystemExit(2)), False, "failure"),
        (lambda: time.sleep(5), False, "failure"),
        (lambda: [1, 2], False, "success"),
        (lambda: [1, 2], True, "failure"),
        (writing("attention-zoo: a.txt is damaged\n", 2), False, "error"),
        (writing("attention-zoo: a.txt is\ndamaged\n", 2), False, "failure"),
        (writing("attention-zoo: \x1b[31m is damaged\n", 2), False, "failure"),
        (writing("", 1), False, "failure"),
        (writing("", 0), True, "failure"),
    ],
)
def test_what_is_no_clean_error_is_a_failure(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any], must_fail: bool, expected: str
) -> None:
    monkeypatch.setattr(fuzz, "LIMIT", 1)
    assert fuzz.outcome(fuzz.Case(call, "", must_fail))[0] == expected


def test_a_run_that_was_stopped_goes_on(fuzz: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--only", "indices of TensorFlow", "--output", str(tmp_path / "found.json")]
    assert fuzz.main([*argv, "--cases", "2"]) == 0
    kept = (tmp_path / "found.cases.jsonl").read_text()
    assert fuzz.main([*argv, "--cases", "3"]) == 0
    assert (tmp_path / "found.cases.jsonl").read_text().startswith(kept)
    assert "3 bad inputs, 0 failures" in capsys.readouterr().out
