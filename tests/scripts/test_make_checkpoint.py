"""Making a checkpoint: the command that is recorded with its numbers gives them again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from hf_attention_zoo.tasks.captions.evaluation import build_parser


def test_the_recorded_command_has_every_choice_of_the_evaluation(load_script: Callable[[str], ModuleType]) -> None:
    make_checkpoint = load_script("make_checkpoint")
    chosen = {"dataset": "data/my pictures", "group_column": "seen_base"}
    command = make_checkpoint.evaluation_command(Path("model_cards") / "a", chosen)
    program, evaluate, *words = shlex.split(command)
    options = vars(build_parser("attention-zoo evaluate").parse_args(words))
    assert (program, evaluate, options["folder"], options["split"]) == (
        "attention-zoo",
        "evaluate",
        "model_cards/a",
        "test",
    )
    assert {name: options[name] for name in chosen} == chosen
    assert make_checkpoint.evaluation_command(Path("a"), {"seen": True}).split() == [
        *("attention-zoo", "evaluate", "a", "--seen", "--split", "test")
    ]
    assert make_checkpoint.evaluation_command(Path("a"), {}) == "attention-zoo evaluate a --split test"
