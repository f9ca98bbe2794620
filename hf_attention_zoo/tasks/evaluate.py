"""`attention-zoo evaluate`: hands on to the task of the model that a folder holds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.tasks.table import TASKS, task_for


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo evaluate") -> int:
    """The command line; without a folder, that of the first task. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    folders = [word for word in argv if (Path(word) / "config.json").is_file()]
    folder = (folders or [word for word in argv[:1] if not word.startswith("-")] or [None])[0]
    task = TASKS[0] if folder is None else task_for(folder)
    return task.evaluation_command(argv, program)
