"""What the evaluations of taggers, answerers and choosers share: flags and metrics."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.evaluation.metrics_file import METRICS_FILE
from hf_attention_zoo.flags import FlagParser
from hf_attention_zoo.folders.run_facts import describe_hardware, versions


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


def add_common_flags(parser: FlagParser, columns: Iterable[str], batch_size: int = 32) -> None:
    """Folder, data, columns and output."""
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("--dataset", help="file, folder or Hub id; default: what the model was trained on")
    parser.add_argument("--dataset_config", "--dataset-config", help="configuration of a Hub data set")
    parser.add_argument("--split", default="test")
    for column in columns:
        parser.add_argument(f"--{column}", f"--{column.replace('_', '-')}")
    parser.add_argument("--max_samples", "--max-samples", type=int, help="score only the first rows")
    parser.add_argument("--batch_size", "--batch-size", type=int, default=batch_size)
    parser.add_argument("--no_baselines", "--no-baselines", action="store_true", help="score the model alone")
    parser.add_argument("--output", help=f"file for the metrics; default: FOLDER/{METRICS_FILE}")
    parser.add_argument("--predictions", help="file for the answers, a JSON line each")


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
