"""`attention-zoo train`: finds the task of an architecture and hands it to the engine.

The engine is imported when there is something to train, so that --help answers at once.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.table import task_class, trained_tasks
from hf_attention_zoo.training.run_help import TRAINING, help_text

if TYPE_CHECKING:
    from hf_attention_zoo.training.entry_point import TrainingResult
    from hf_attention_zoo.training.run_plan import RunPlan
    from hf_attention_zoo.training.task_contract import TrainingTask


def task_of(plan: RunPlan) -> TrainingTask:
    """What a plan trains. Raises ValueError if its architecture does not do the task that it names."""
    row = get_architecture(plan.architecture)
    return task_class(row, plan.model.task)(plan, row)


def run_training(plan: RunPlan, *, task: TrainingTask | None = None, **options: Any) -> TrainingResult:
    """Train what the plan says and fill its output folder; see `run_task`.

    Args:
        plan: see `parse_run`.
        task: what is trained, if it is not the task of the plan's architecture.
        options: keywords of `run_task`.
    """
    from hf_attention_zoo.training.entry_point import run_task

    return run_task(plan, task_of(plan) if task is None else task, **options)


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo train") -> int:
    """The command line: train, print the validation numbers and where the model is. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    said = help_text(argv, TRAINING, [task.name for task in trained_tasks()])
    if said is not None:
        print(said)
        return 0
    from hf_attention_zoo.training.entry_point import run_and_report
    from hf_attention_zoo.training.run_plan import parse_run

    plan = parse_run(argv, command=f"{program} {shlex.join(argv)}")
    return run_and_report(plan, task_of(plan))
