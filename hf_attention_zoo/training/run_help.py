"""The commands that train, and their help: the flags that matter first, then the others by group.

The help is made of the fields of `run_arguments.py`, so that it is there before torch and transformers are. Flags of
transformers' own arguments, more than a hundred, are listed by --help_all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from hf_attention_zoo.flags import FIRST, MOST_FIRST, FlagParser
from hf_attention_zoo.registry import load_object
from hf_attention_zoo.training.run_arguments import DataArguments, HistoricalArguments, ModelArguments

DOTTED_SECTIONS = ("config", "tokenizer", "generation")
HELP_FLAGS = ("-h", "--help")
ALL_FLAGS = ("--help_all", "--help-all")

USAGE = """attention-zoo train ARCHITECTURE [RUN.yaml] --dataset DATASET --output_dir FOLDER [--recipe NAME] [flags]

Trains an architecture of the zoo: a translator on sentence pairs, a classifier on labelled texts, a captioner on
pictures; or fine-tunes a pre-trained folder (--model) on labels, tags, questions or choices (--task). Flags win over
the run file, the run file over the recipe. Besides the flags below, every field of the model's configuration, of the
tokenizer's training and of the saved generation settings is a flag with its section before it:
--config.hidden_size 256 --tokenizer.vocab_size 8000 --generation.num_beams 5."""

# What a first run needs of transformers' own arguments, in our words: they cannot be read without importing them.
OF_TRANSFORMERS = {
    "output_dir": "Folder for the model, its checkpoints and training.json.",
    "num_train_epochs": "Passes over the training rows.",
    "max_steps": "Updates, in place of passes over the rows.",
    "learning_rate": "The highest rate of the schedule.",
    "per_device_train_batch_size": "Rows of a batch on each device.",
    "seed": "Of the weights, the order of the rows and dropout.",
}


@dataclass(frozen=True)
class RunKind:
    """What differs between the commands that train.

    Attributes:
        program: how the command is called.
        usage: its first lines of help.
        data_class: the arguments that say which data are read.
        sections: flags with a section before their name.
        example: an architecture, for messages.
        recipes: registry row -> named settings; None for those of the row.
    """

    program: str
    usage: str
    data_class: type[Any]
    sections: tuple[str, ...]
    example: str
    recipes: Callable[[Any], dict[str, dict[str, Any]]] | None = None
    first: tuple[str, ...] = (
        "dataset",
        "output_dir",
        "recipe",
        "task",
        "model",
        "num_train_epochs",
        "learning_rate",
        "per_device_train_batch_size",
        "seed",
        "overwrite_output_dir",
    )


TRAINING = RunKind("attention-zoo train", USAGE, DataArguments, DOTTED_SECTIONS, "rnnsearch")


def groups_of(kind: RunKind) -> dict[str, list[str]]:
    """Title -> flags: those that matter first, the model, the data, and what this package adds to the training."""
    first = kind.first[:MOST_FIRST]
    parts: dict[str, Any] = {
        "model": ModelArguments,
        "data": kind.data_class,
        "training as in the papers": HistoricalArguments,
    }
    groups = {title: [f"--{item.name}" for item in fields(part)] for title, part in parts.items()}
    shown = {f"--{name}" for name in first}
    others = {title: [flag for flag in flags if flag not in shown] for title, flags in groups.items()}
    return {FIRST: [f"--{name}" for name in first], **others}


def help_parser(kind: RunKind, tasks: Sequence[str] = ()) -> FlagParser:
    """A parser that is there for its help alone.

    Args:
        tasks: the values of --task.
    """
    parser = FlagParser(
        prog=kind.program,
        usage=kind.usage,
        add_help=False,
        epilog=f"All flags of transformers' Seq2SeqTrainingArguments work, too: `{kind.program} {ALL_FLAGS[0]}` lists "
        "every flag there is.",
    )
    for part in (ModelArguments, kind.data_class, HistoricalArguments):
        for item in fields(part):
            said = item.metadata["help"].replace("%", "%%")
            if item.name == "task" and tasks:
                said = with_tasks(said, tasks)
            if item.default not in (None, False, MISSING):
                said += f" Default: {item.default}"
            parser.add_argument(f"--{item.name}", choices=item.metadata.get("choices"), help=said)
    for name, said in OF_TRANSFORMERS.items():
        parser.add_argument(f"--{name}", help=said)
    parser.flags_by_group(groups_of(kind), rest="steps and rates")
    return parser


def with_tasks(said: str, tasks: Sequence[str]) -> str:
    """The help of --task with its values."""
    return f"{said} One of: {', '.join(tasks)}."


def help_text(argv: Sequence[str], kind: RunKind, tasks: Sequence[str] = ()) -> str | None:
    """The help that a command line asks for; None if it asks for none.

    Without arguments it is the help, too; --help_all imports transformers to list every flag.
    """
    if any(word in ALL_FLAGS for word in argv):
        parser = load_object("hf_attention_zoo.training.run_plan:build_parser")(kind)
        for action in parser._actions:
            if action.dest == "task" and tasks:
                action.help = with_tasks(str(action.help), tasks)
        return parser.format_help()
    if not argv or any(word in HELP_FLAGS for word in argv):
        return help_parser(kind, tasks).format_help()
    return None
