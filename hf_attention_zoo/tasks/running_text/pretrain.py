"""`attention-zoo pretrain`: raw text in, a pre-trained model and its tokenizer out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.corpus_arguments import CorpusArguments
from hf_attention_zoo.training.run_help import RunKind, help_text

if TYPE_CHECKING:
    from hf_attention_zoo.tasks.running_text.training import PretrainingTask
    from hf_attention_zoo.training.run_plan import RunPlan

USAGE = """attention-zoo pretrain ARCHITECTURE [RUN.yaml] --dataset TEXT --output_dir FOLDER [--recipe NAME] [flags]

Pre-trains an architecture on raw text: files (.txt, JSON lines, Parquet, ...), a folder, a Hub data set or the sample
lm_debian. Flags win over the run file, the run file over the recipe. Besides the flags below, every field of the
model's configuration, of the tokenizer's training and of the objective is a flag with its section before it:
--config.hidden_size 256 --tokenizer.vocab_size 8000 --objective.next_sentence False."""


def _recipes(row: Any) -> dict[str, dict[str, Any]]:
    from hf_attention_zoo.tasks.running_text.objectives import pretraining_recipes

    return pretraining_recipes(row)


PRETRAINING = RunKind(
    "attention-zoo pretrain",
    USAGE,
    CorpusArguments,
    ("config", "tokenizer", "objective"),
    "bert2018",
    _recipes,
    first=(
        "dataset",
        "output_dir",
        "recipe",
        "model",
        "length",
        "max_steps",
        "learning_rate",
        "per_device_train_batch_size",
        "seed",
        "overwrite_output_dir",
    ),
)


def pretraining_plan(argv: Sequence[str], command: str = "") -> tuple[RunPlan, PretrainingTask]:
    """The plan of a command line and the task that it sets. Raises ValueError for anything wrong."""
    from hf_attention_zoo.tasks.running_text.training import PretrainingTask
    from hf_attention_zoo.training.run_plan import parse_run

    plan = parse_run(argv, command=command, kind=PRETRAINING)
    return plan, PretrainingTask(plan, get_architecture(plan.architecture))


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo pretrain") -> int:
    """The command line. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    said = help_text(argv, PRETRAINING)
    if said is not None:
        print(said)
        return 0
    from hf_attention_zoo.training.entry_point import run_and_report

    plan, task = pretraining_plan(argv, command=f"{program} {shlex.join(argv)}")
    return run_and_report(plan, task)
