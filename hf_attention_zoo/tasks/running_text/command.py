"""`attention-zoo pretrain`: raw text in, a pre-trained model and its tokenizer out."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.objectives import pretraining_recipes
from hf_attention_zoo.tasks.running_text.training import CorpusArguments, PretrainingTask
from hf_attention_zoo.training.entry_point import run_and_report
from hf_attention_zoo.training.run_plan import RunKind, RunPlan, build_parser, parse_run

USAGE = """attention-zoo pretrain ARCHITECTURE [RUN.yaml] --dataset TEXT --output_dir FOLDER [--recipe NAME] [flags]

Pre-trains an architecture on raw text: files (.txt, JSON lines, Parquet, ...), a folder, a Hub data set or the sample
lm_debian. Flags win over the run file, the run file over the recipe. Besides the flags below, every field of the
model's configuration, of the tokenizer's training and of the objective is a flag with its section before it:
--config.hidden_size 256 --tokenizer.vocab_size 8000 --objective.next_sentence False."""

PRETRAINING = RunKind(
    "attention-zoo pretrain",
    USAGE,
    CorpusArguments,
    ("config", "tokenizer", "objective"),
    "bert2018",
    pretraining_recipes,
)


def pretraining_plan(argv: Sequence[str], command: str = "") -> tuple[RunPlan, PretrainingTask]:
    """The plan of a command line and the task that it sets. Raises ValueError for anything wrong."""
    plan = parse_run(argv, command=command, kind=PRETRAINING)
    return plan, PretrainingTask(plan, get_architecture(plan.model.architecture))


def main(argv: Sequence[str] | None = None, program: str = "attention-zoo pretrain") -> int:
    """The command line. Returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or "--help" in argv or "-h" in argv:
        print(build_parser(PRETRAINING).format_help())
        return 0
    plan, task = pretraining_plan(argv, command=f"{program} {shlex.join(argv)}")
    return run_and_report(plan, task)
