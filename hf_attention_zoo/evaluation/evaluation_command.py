"""What the evaluations of tasks share: flags, the run of the command, and the entries of metrics.json."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.flags import FlagParser
from hf_attention_zoo.folders.run_facts import describe_hardware, versions

NO_TRAINING_ROWS = "no baselines: they learn from a training split, and the data have none"


def missing_baselines(
    wanted: bool, split: str, training: bool, *others: str, without: str = NO_TRAINING_ROWS
) -> dict[str, list[str]]:
    """The entry `left_out` of the metrics: why baselines that were wanted are missing; nothing if none is.

    Args:
        wanted: whether baselines are scored at all.
        split: that is scored; over the training split nothing is learnt from it.
        training: whether there are rows to learn from.
        others: what else is missing where there are, a sentence each.
        without: what is said where there are none.
    """
    reasons = [] if not wanted or split == "train" else list(others) if training else [without]
    return {"left_out": reasons} if reasons else {}


def base_metrics(
    task: str, model: Any, dataset: str, split: str, rows: int, seconds: float, command: str
) -> dict[str, Any]:
    """The entries that every metrics.json has."""
    sample = get_sample(dataset) if is_sample(dataset) else None
    data = {"name": str(dataset), "split": split, "rows": rows}
    if sample is not None:
        data |= {"licence": sample.licence, "language": sample.languages[0]}
    return {
        "task": task,
        "dataset": data,
        "model_type": model.config.model_type,
        "parameters": model.num_parameters(),
        "results": {"seconds": round(seconds, 2), "texts_per_second": round(rows / max(seconds, 1e-9), 1)},
        "baselines": {},
        "command": command,
        "hardware": describe_hardware(),
        "versions": versions(),
    }


def run_command(
    parser: FlagParser,
    evaluate: Callable[..., dict[str, Any]],
    summary: Callable[[dict[str, Any]], str],
    argv: Sequence[str],
    program: str,
) -> int:
    """Read the flags, score, print. Returns the exit code."""
    options = vars(parser.parse_args(argv))
    options["baselines"] = not options.pop("no_baselines")
    print(summary(evaluate(options.pop("folder"), command=f"{program} {shlex.join(argv)}", **options)))
    return 0
