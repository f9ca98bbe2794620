"""`attention-zoo train`: finds the task of an architecture and hands it to the engine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.table import task_class
from hf_attention_zoo.training.entry_point import TrainingResult, run_and_report, run_task
from hf_attention_zoo.training.run_plan import RunPlan, build_parser, parse_run
from hf_attention_zoo.training.task_contract import TrainingTask


def task_of(plan: RunPlan) -> TrainingTask:
    """What a plan trains. Raises ValueError if its architecture does not do the task that it names."""
    row = get_architecture(plan.model.architecture)
    return task_class(row, plan.model.task)(plan, row)


def run_training(plan: RunPlan, *, task: TrainingTask | None = None, **options: Any) -> TrainingResult:
    """Train what the plan says and fill its output folder; see `run_task`.

    Args:
        plan: see `parse_run`.
        task: what is trained, if it is not the task of the plan's architecture.
        options: keywords of `run_task`.
    """
    return run_task(plan, task_of(plan) if task is None else task, **options)


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo train") -> int:
    """The command line: train, print the validation numbers and where the model is. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or "--help" in argv or "-h" in argv:
        print(build_parser().format_help())
        return 0
    plan = parse_run(argv, command=f"{program} {shlex.join(argv)}")
    return run_and_report(plan, task_of(plan))
