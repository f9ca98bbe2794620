"""Score a saved classifier on a split and write metrics.json: accuracy and F1, or errors, beside simple baselines."""

import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from transformers import DataCollatorWithPadding

from hf_attention_zoo.data.labels import MULTI_LABEL, SINGLE_LABEL, LabelInfo, label_info_of
from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.data.text_encoding import Text, encode_texts, symbols_as_text
from hf_attention_zoo.evaluation.class_table import class_lines
from hf_attention_zoo.evaluation.evaluation_command import missing_baselines
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics, write_predictions
from hf_attention_zoo.folders.run_facts import describe_hardware, versions
from hf_attention_zoo.folders.saved_model import load_checkpoint, process_state
from hf_attention_zoo.metrics.label_scoring import SCORERS, class_scores, confusion_matrix, mean_loss, set_scores
from hf_attention_zoo.tasks.labels.baselines import (
    NEEDS_SCIKIT_LEARN,
    cosine_logits,
    majority_logits,
    tfidf_available,
    tfidf_logits,
)
from hf_attention_zoo.tasks.labels.evaluation_flags import build_parser
from hf_attention_zoo.tasks.labels.named_classes import read_with_names
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.training.scored_data import chosen_data

DATA_FIELDS = ("dataset_config", "text_column", "text_pair_column", "label_column", "label_separator")


@torch.no_grad()
def predict_logits(
    model: Any, tokenizer: Any, texts: Sequence[Text], pairs: Sequence[Text] | None = None, batch_size: int = 64
) -> np.ndarray:
    """Logits (N, C) in float32 of texts, documents as lists of sentences, or pairs, in their order."""
    reader, collate = symbols_as_text(tokenizer), DataCollatorWithPadding(tokenizer)
    order = sorted(range(len(texts)), key=lambda index: -len(str(texts[index])))
    found: dict[int, np.ndarray] = {}
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        encoded = encode_texts(
            reader, [texts[i] for i in rows], [pairs[i] for i in rows] if pairs is not None else None
        )
        names = [name for name in tokenizer.model_input_names if name in encoded]
        batch: Any = collate([{name: encoded[name][k] for name in names} for k in range(len(rows))])
        found.update(zip(rows, model(**batch.to(model.device)).logits.float().cpu().numpy(), strict=True))
    return np.stack([found[index] for index in range(len(texts))])


def evaluate_classifier(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    text_column: str | None = None,
    text_pair_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    max_samples: int | None = None,
    batch_size: int = 64,
    baselines: bool = True,
    output: str | Path | None = None,
    predictions: str | Path | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Classify and score a split; writes and returns the metrics.

    Args:
        folder: saved model with tokenizer.
        dataset, split, dataset_config, ..._column, label_separator: as for `load_labelled`; several label columns with
            commas. Without a dataset those of the training are taken (training.json).
        max_samples: score only the first texts.
        batch_size: texts read at a time.
        baselines: score what is to be beaten, too, if the data set has a training split. Under `left_out` the metrics
            say which baselines are missing, and why.
        output: file to write, by default metrics.json in the folder (for a Hub id nothing).
        predictions: file for the answers: a JSON line with the label and the scores of each text.
        command: what to note as the command that was used.

    Raises:
        ValueError: no such folder, data set or split, or labels that the model does not know.
    """
    state = process_state()
    model, tokenizer = load_checkpoint(folder)
    info = label_info_of(model.config)
    given = {
        "dataset": dataset,
        "dataset_config": dataset_config,
        "text_column": text_column,
        "text_pair_column": text_pair_column,
        "label_column": label_column,
        "label_separator": label_separator,
    }
    chosen = chosen_data(folder, given)
    settings, dataset = chosen.arguments, chosen.name
    wanted = {**settings.label_settings(), "problem_type": info.problem_type}
    splits, _ = read_with_names(
        folder, info, lambda names: settings.read(load_labelled, **{**wanted, "label_names": names})
    )
    splits = chosen.rows(splits)
    rows = rows_of_split(splits, split, max_samples, " with labels")
    texts, labels = list(rows["text"]), np.asarray(rows["label"])
    pairs = list(rows["text_pair"]) if "text_pair" in rows.column_names else None

    mine = range(state.process_index, len(texts), state.num_processes)
    started = time.monotonic()
    logits = predict_logits(
        model, tokenizer, [texts[i] for i in mine], [pairs[i] for i in mine] if pairs is not None else None, batch_size
    )
    seconds = time.monotonic() - started
    gathered = gather_object([(list(mine), logits, seconds)])
    logits = np.empty((len(texts), logits.shape[1]), dtype=np.float32)
    for indices, part, _ in gathered:
        logits[indices] = part
    seconds = max(part[2] for part in gathered)

    score = SCORERS[info.problem_type]
    train = splits["train"] if baselines and "train" in splits and split != "train" else None
    metrics: dict[str, Any] = {
        "task": "text-classification",
        "dataset": _without_none(
            {
                "name": str(dataset),
                "split": split,
                "rows": len(texts),
                "label_column": settings.label_column,
                "problem_type": info.problem_type,
                "licence": get_sample(dataset).licence if is_sample(dataset) else None,
                "language": get_sample(dataset).languages[0] if is_sample(dataset) else None,
            }
        ),
        "model_type": model.config.model_type,
        "parameters": model.num_parameters(),
        "results": {
            **_rounded(score(logits, labels)),
            "loss": round(mean_loss(logits, labels, info.problem_type), 4),
            "seconds": round(seconds, 2),
            "texts_per_second": round(len(texts) / max(seconds, 1e-9), 1),
        },
        "baselines": _baselines(train, texts, pairs, labels, info) if train is not None else {},
        **missing_baselines(baselines, split, train is not None, *([] if tfidf_available() else [NEEDS_SCIKIT_LEARN])),
        **_by_class(logits, labels, info),
        "command": command,
        "hardware": describe_hardware(),
        "versions": versions(),
    }
    if state.is_main_process:
        write_metrics(metrics, folder, output)
        write_predictions(predictions, _entries(logits, labels, info))
    return metrics


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them, with the baselines beside them."""
    results, data = metrics["results"], metrics["dataset"]
    lines = [f"{data['name']}, {data['split']} split, {data['rows']:,} texts"]
    said = {"majority": "most frequent", "tfidf": "tf-idf, linear", "tfidf_cosine": "tf-idf cosine"}
    for name in ("accuracy", "micro_f1", "macro_f1", "mse", "mae", "pearson"):
        if name in results:
            beside = "".join(
                f"   {said.get(baseline, baseline)} {values[name]:6.3f}"
                for baseline, values in metrics["baselines"].items()
                if name in values
            )
            lines.append(f"  {name:<9} {results[name]:6.3f}{beside}")
    lines.append(f"  loss {results['loss']:.3f}, read in {results['seconds']:.1f} s")
    lines += [f"  {reason}" for reason in metrics.get("left_out", [])]
    return "\n".join([*lines, *class_lines(metrics.get("classes", []))])


def _baselines(
    train: Any, texts: list[Text], pairs: list[Text] | None, labels: np.ndarray, info: LabelInfo
) -> dict[str, dict[str, float]]:
    score, train_texts, train_labels = SCORERS[info.problem_type], list(train["text"]), list(train["label"])
    found = {
        "majority": _rounded(
            score(majority_logits(train_labels, len(texts), info.num_labels, info.problem_type), labels)
        )
    }
    if not tfidf_available():
        return found
    train_pairs = list(train["text_pair"]) if pairs is not None else None
    logits = tfidf_logits(
        train_texts,
        train_labels,
        texts,
        num_labels=info.num_labels,
        problem_type=info.problem_type,
        train_pairs=train_pairs,
        pairs=pairs,
    )
    found["tfidf"] = _rounded(score(logits, labels))
    if pairs is not None and train_pairs is not None and info.problem_type == SINGLE_LABEL and info.num_labels == 2:
        found["tfidf_cosine"] = _rounded(
            score(cosine_logits(train_texts, train_pairs, train_labels, texts, pairs), labels)
        )
    return found


def _by_class(logits: np.ndarray, labels: np.ndarray, info: LabelInfo) -> dict[str, Any]:
    if info.problem_type == SINGLE_LABEL:
        confusion = confusion_matrix(labels, logits.argmax(1), info.num_labels)
        classes = [score.as_dict() for score in class_scores(confusion, info.names)]
        return {"classes": classes, "confusion": confusion.tolist()}
    if info.problem_type == MULTI_LABEL:
        return {"classes": [score.as_dict() for score in set_scores(logits, labels, info.names)]}
    return {}


def _entries(logits: np.ndarray, labels: np.ndarray, info: LabelInfo) -> Iterator[dict[str, Any]]:
    for row, label in zip(logits, labels, strict=True):
        scores = [round(float(value), 4) for value in row]
        if info.problem_type == SINGLE_LABEL:
            yield {"label": info.names[int(label)], "predicted": info.names[int(row.argmax())], "logits": scores}
        else:
            yield {"label": np.asarray(label).tolist(), "logits": scores}


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}


def _without_none(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    options = vars(build_parser(program).parse_args(argv))
    baselines = not options.pop("no_baselines")
    metrics = evaluate_classifier(
        options.pop("folder"), baselines=baselines, command=f"{program} {shlex.join(argv)}", **options
    )
    if process_state().is_main_process:
        print(summary(metrics))
    return 0
