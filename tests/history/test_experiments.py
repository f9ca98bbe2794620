"""What tells experiments of a claim apart: the code that its arms reach, and nothing else."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

from hf_attention_zoo.history import running
from hf_attention_zoo.history.experiment import Package, checksum, experiment, text_now
from hf_attention_zoo.history.table import CLAIMS

ROOM = "hf_attention_zoo/history/"
RUNNING = {"running.run_unit", "table.load_claim"}  # run every unit and belong to none


def edited(path: str, old: str, new: str) -> set[str]:
    """The claims whose checksum is another one when a file is edited."""

    def source(asked: str) -> str | None:
        text = text_now(asked)
        if asked != path:
            return text
        assert text is not None and old in text
        return text.replace(old, new, 1)

    package = Package(source)
    return {number for number in CLAIMS if checksum(experiment(number, package)) != now(number)}


@cache
def now(number: str) -> str:
    return checksum(experiment(number))


def reaching(name: str) -> set[str]:
    """The claims that reach a part."""
    return {number for number in CLAIMS if f"hf_attention_zoo.history.{name}" in experiment(number)}


@pytest.mark.parametrize(
    ("path", "old", "new", "reached"),
    [
        ("synthetic.py", "    for place, row in", "    fill += 0\n    for place, row in", "synthetic.padded"),
        ("training.py", "optimizer = torch.optim.Adam", "optimizer = torch.optim.SGD", "training.train"),
        ("tagging.py", "return symbols[:, ::-1]", "return symbols", "tagging.reversed_tags"),
        ("planted_text.py", "HABIT = 0.6", "HABIT = 0.7", "planted_text.HABIT"),
        ("deep_encoder.py", "nn.ReLU()", "nn.GELU()", "deep_encoder.Layer"),
        ("claim.py", "min(full, quick)", "quick", "claim.Budget"),
        ("claims/a1_fixed_vector.py", '"fixed", 128', '"fixed", 96', "claims.a1_fixed_vector.CLAIM"),
        ("../losses/token_loss.py", "IGNORED = -100", "IGNORED = -101", "training.IGNORED"),
    ],
)
def test_a_change_counts_for_the_claims_that_reach_it(path: str, old: str, new: str, reached: str) -> None:
    place = "hf_attention_zoo/losses/token_loss.py" if path.startswith("..") else ROOM + path
    changed = edited(place, old, new)
    assert changed and changed >= reaching(reached)
    if not path.startswith(".."):  # a value from outside is reached on several ways
        assert changed == reaching(reached)
    assert changed == set(CLAIMS) if path == "claim.py" else changed < set(CLAIMS)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (
            "synthetic.py",
            "def training_draws",
            "def another(count: int) -> int:\n    return count\n\n\ndef training_draws",
        ),
        ("synthetic.py", "END, FIRST = 0, 1, 2, 3, 4", "END, FIRST, LAST = 0, 1, 2, 3, 4, 5"),
        ("training.py", '"""The share of words that are right', '"""How many words are right'),
        ("training.py", "curve: list[float]", "curve: Sequence[float]"),
        ("training.py", "    optimizer =", "    # as in the papers\n    optimizer ="),
        ("claims/a1_fixed_vector.py", "8, 3.2", "9, 3.2"),
        ("claims/a1_fixed_vector.py", "One vector is not enough", "A vector is not enough"),
        ("claims/a1_fixed_vector.py", "least=0.2", "least=0.3"),
        ("table.py", '"A1": "a1', '"A0": "a0_nothing",\n    "A1": "a1'),
    ],
)
def test_words_pictures_and_what_nobody_reaches_do_not_count(path: str, old: str, new: str) -> None:
    assert edited(ROOM + path, old, new) == set()


def test_a_function_may_move_to_another_shared_file() -> None:
    training, synthetic, a1 = (f"{ROOM}{name}.py" for name in ("training", "synthetic", "claims/a1_fixed_vector"))
    text = text_now(training) or ""
    begin = text.index("def parameters_of(")
    moved = text[begin : text.index("@torch", begin)]
    claim = (text_now(a1) or "").replace(" decode, parameters_of,", " decode,")
    claim = claim.replace("synthetic import FIRST,", "synthetic import FIRST, parameters_of,")
    texts = {training: text.replace(moved, ""), synthetic: f"{text_now(synthetic)}\n\n{moved}", a1: claim}
    parts = experiment("A1", Package(lambda path: texts.get(path, text_now(path))))
    assert "hf_attention_zoo.history.synthetic.parameters_of" in parts and checksum(parts) == now("A1")


def called(number: str, arms: int = 1) -> set[str]:
    """The functions of the room that a smoke run of a claim calls."""
    found: set[str] = set()
    room = str(Path(running.__file__).parent)

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(room):
            name = code.co_qualname.partition(".")[0]
            file = Path(code.co_filename).relative_to(room).with_suffix("").as_posix().replace("/", ".")
            if not name.startswith("<"):
                found.add(f"{file}.{name}")

    for arm in list(running.load_claim(number).arms)[:arms]:
        sys.setprofile(note)
        try:
            running.run_unit(number, arm, 1, quick=True)
        finally:
            sys.setprofile(None)
    return found - RUNNING


@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=() if number == "E4" else pytest.mark.slow) for number in CLAIMS],
)
def test_what_a_run_calls_counts(number: str) -> None:
    names = called(number, arms=1 if number == "E4" else 99)
    assert names and {f"hf_attention_zoo.history.{name}" for name in names} <= set(experiment(number))
