"""`attention-zoo evaluate`: hands on to the task of the model that a folder holds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.evaluation.evaluation_flags import add_data_flags
from hf_attention_zoo.flags import FIRST, FlagParser
from hf_attention_zoo.tasks.table import TASKS, task_for

DESCRIPTION = (
    "Score a saved model on a split and write metrics.json into its folder. What is scored follows from the model, as "
    "do the flags: with its folder before --help, those of its kind alone are shown."
)


def general_parser(program: str) -> FlagParser:
    """A parser for the help alone: the flags of every kind of model, then those of each kind, by task."""
    parser = FlagParser(prog=program, description=DESCRIPTION)
    add_data_flags(parser)
    of_all = {action.option_strings[0]: action for action in parser._actions if action.option_strings}
    of_all["--batch_size"].help = "rows at a time"
    by_task = {task.name: task.evaluation_parser(program)._actions for task in TASKS}
    flags = {name: {a.option_strings[0]: a for a in actions if a.option_strings} for name, actions in by_task.items()}
    shared = [flag for flag in of_all if flag != "-h" and all(flag in known for known in flags.values())]
    parser.flags_by_group({FIRST: shared})
    parser._action_groups.pop()  # what not every kind has stands under the kinds that have it
    for title, known in flags.items():
        own = [action for flag, action in known.items() if flag != "-h" and flag not in shared]
        parser.add_argument_group(f"models for {title}")._group_actions.extend(own)
    return parser


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo evaluate") -> int:
    """The command line; without a folder, that of the first task. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    folders = [word for word in argv if (Path(word) / "config.json").is_file()]
    named = folders or [word for word in argv[:1] if not word.startswith("-")]
    folder = named[0] if named else None
    if folder is None and {"-h", "--help"} & set(argv):
        general_parser(program).parse_args(["--help"])
    task = TASKS[0] if folder is None else task_for(folder)
    return task.evaluation_command(argv, program)
