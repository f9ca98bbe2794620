"""Making a checkpoint: the command that is recorded with its numbers gives them again."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path

from hf_attention_zoo.evaluation.caption_evaluation import build_parser

SPEC = importlib.util.spec_from_file_location(
    "make_checkpoint", Path(__file__).parents[2] / "scripts" / "make_checkpoint.py"
)
make_checkpoint = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_checkpoint)


def test_the_recorded_command_has_every_choice_of_the_evaluation() -> None:
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
    assert make_checkpoint.evaluation_command(Path("a"), {}) == "attention-zoo evaluate a --split test"
