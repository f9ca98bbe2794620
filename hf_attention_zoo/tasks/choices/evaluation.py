"""Score a saved model that chooses among endings and write metrics.json: accuracy, beside simple guesses."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.evaluation.class_table import class_lines
from hf_attention_zoo.evaluation.evaluation_command import base_metrics, missing_baselines, run_command
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics, write_predictions
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.answer_scoring import normal_answer
from hf_attention_zoo.metrics.label_scoring import class_scores, confusion_matrix
from hf_attention_zoo.tasks.choices.evaluation_flags import build_parser
from hf_attention_zoo.tasks.choices.examples import ChoiceCollator, encode_choices
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.training.scored_data import chosen_data

NO_USUAL_PLACE = "the most frequent place is left out: it is learnt from a training split, and the data have none"


@torch.no_grad()
def predict_choices(
    model: Any, tokenizer: Any, contexts: Sequence[str], choices: Sequence[Sequence[str]], batch_size: int = 16
) -> np.ndarray:
    """Logits (N, C) of the endings of each context."""
    rows, collate = encode_choices(tokenizer, contexts, choices), ChoiceCollator(tokenizer)
    order = sorted(range(len(rows)), key=lambda number: -sum(map(len, rows[number]["input_ids"])))
    found = np.zeros((len(rows), len(choices[0]) if len(rows) else 0), dtype=np.float32)
    for first in range(0, len(order), batch_size):
        numbers = order[first : first + batch_size]
        batch = {name: value.to(model.device) for name, value in collate([rows[n] for n in numbers]).items()}
        found[numbers] = model(**batch).logits.float().cpu().numpy()
    return found


def choice_scores(logits: np.ndarray, labels: Sequence[int]) -> dict[str, float]:
    """Share of contexts whose right ending has the highest logit."""
    return {"accuracy": float((logits.argmax(1) == np.asarray(labels)).mean())}


def evaluate_chooser(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    context_column: str | None = None,
    choices_column: str | None = None,
    right_column: str | None = None,
    max_samples: int | None = None,
    batch_size: int = 16,
    baselines: bool = True,
    output: str | Path | None = None,
    predictions: str | Path | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Choose and score on a split; writes and returns the metrics.

    Args:
        folder: saved model with tokenizer.
        dataset, split, ...: as for `load_choices`; without a dataset those of the training are taken.
        max_samples: score only the first rows.
        baselines: score chance, the ending that shares the most words with the context and, where there is a training
            split, the place that is right most often in it, too; else `left_out` says why it is missing.
        output: file to write, by default metrics.json in the folder.
        predictions: file for the answers, a JSON line each.

    Raises:
        ValueError: no such folder, data set or split.
    """
    given = {
        "dataset": dataset,
        "dataset_config": dataset_config,
        "context_column": context_column,
        "choices_column": choices_column,
        "right_column": right_column,
    }
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_data(folder, given)
    data = chosen.arguments
    splits = data.read(
        load_choices,
        context=data.context_column,
        choices=data.choices_column,
        right=data.right_column,
        needed=[split],
    )
    splits = chosen.rows(splits)
    rows = rows_of_split(splits, split, max_samples)
    contexts, choices, labels = list(rows["context"]), list(rows["choices"]), list(rows["label"])
    started = time.monotonic()
    logits = predict_choices(model, tokenizer, contexts, choices, batch_size)
    metrics = base_metrics(
        "multiple-choice", model, chosen.name, split, len(rows), time.monotonic() - started, command
    )
    metrics["results"]["accuracy"] = round(choice_scores(logits, labels)["accuracy"], 4)
    places = [str(place) for place in range(len(choices[0]))]
    confusion = confusion_matrix(labels, logits.argmax(1), len(places))
    metrics["classes"] = [score.as_dict() for score in class_scores(confusion, places)]
    metrics["confusion"] = confusion.tolist()
    if baselines:
        metrics["baselines"]["chance"] = {"accuracy": round(1 / len(places), 4)}
        shared = choice_scores(shared_words(contexts, choices), labels)
        metrics["baselines"]["shared_words"] = {"accuracy": round(shared["accuracy"], 4)}
        if split != "train" and "train" in splits:
            place, _ = Counter(splits["train"]["label"]).most_common(1)[0]
            metrics["baselines"]["majority"] = {"accuracy": round(labels.count(place) / max(1, len(labels)), 4)}
    metrics |= missing_baselines(baselines, split, "train" in splits, without=NO_USUAL_PLACE)
    write_metrics(metrics, folder, output)
    entries = (
        {**row, "predicted": int(scores.argmax()), "logits": [round(float(s), 4) for s in scores]}
        for row, scores in zip(rows, logits, strict=True)
    )
    write_predictions(predictions, entries)
    return metrics


def shared_words(contexts: Sequence[str], choices: Sequence[Sequence[str]]) -> np.ndarray:
    """Share of each ending's words that the context has, (N, C)."""
    table = np.zeros((len(contexts), len(choices[0])))
    for number, (context, endings) in enumerate(zip(contexts, choices, strict=True)):
        known = set(normal_answer(context).split())
        for place, ending in enumerate(endings):
            words = normal_answer(ending).split()
            table[number, place] = sum(word in known for word in words) / max(1, len(words))
    return table


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them."""
    data, simple = metrics["dataset"], metrics["baselines"]
    said = {"shared_words": "most shared words", "majority": "most frequent place"}
    beside = "".join(f"   {said.get(name, name)} {scores['accuracy']:.3f}" for name, scores in simple.items())
    lines = [
        f"{data['name']}, {data['split']} split, {data['rows']:,} contexts",
        f"  accuracy  {metrics['results']['accuracy']:6.3f}{beside}",
        *(f"  {reason}" for reason in metrics.get("left_out", [])),
        *class_lines(metrics.get("classes", []), "place of the right choice"),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    return run_command(build_parser(program), evaluate_chooser, summary, argv, program)
