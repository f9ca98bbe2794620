"""Score a saved tagger on a split and write metrics.json: accuracy and F1, beside each word's most frequent tag."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from hf_attention_zoo.data.labels import known_names, label_info_of
from hf_attention_zoo.data.text_encoding import row_limit, symbols_as_text
from hf_attention_zoo.evaluation.class_table import class_lines
from hf_attention_zoo.evaluation.evaluation_command import (
    base_metrics,
    missing_baselines,
    run_command,
)
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics, write_predictions
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.tag_scoring import entity_scores, most_frequent_tags, scores_by_tag, tag_scores
from hf_attention_zoo.tasks.tags.evaluation_flags import build_parser
from hf_attention_zoo.tasks.tags.examples import first_pieces, fitting_parts
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.training.scored_data import chosen_data


@torch.no_grad()
def predict_tags(
    model: Any, tokenizer: Any, sentences: Sequence[Sequence[str]], batch_size: int = 32
) -> list[list[int]]:
    """The tag of each word of each sentence; -1 for a word of which no piece is left (white space alone)."""
    reader, limit = symbols_as_text(tokenizer), row_limit(tokenizer)
    parts = [
        (number, start, end)
        for number, words in enumerate(sentences)
        if words
        for start, end in fitting_parts(reader, words, limit)
    ]
    parts.sort(key=lambda part: part[1] - part[2])
    found = [[-1] * len(words) for words in sentences]
    for first in range(0, len(parts), batch_size):
        chosen = parts[first : first + batch_size]
        words = [list(sentences[number][start:end]) for number, start, end in chosen]
        encoded = reader(words, is_split_into_words=True, truncation=limit is not None)
        names = [name for name in tokenizer.model_input_names if name in encoded]
        columns = {name: encoded[name] for name in names}
        batch = tokenizer.pad(columns, padding_side="right", return_tensors="pt")  # places count from the first piece
        best = model(**batch.to(model.device)).logits.argmax(-1).tolist()
        for row, (number, start, end) in enumerate(chosen):
            for word, place in enumerate(first_pieces(encoded, row, end - start)):
                if place is not None:
                    found[number][start + word] = best[row][place]
    return found


def evaluate_tagger(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    words_column: str | None = None,
    tags_column: str | None = None,
    max_samples: int | None = None,
    batch_size: int = 32,
    baselines: bool = True,
    output: str | Path | None = None,
    predictions: str | Path | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Tag and score a split; writes and returns the metrics.

    Args:
        folder: saved model with tokenizer.
        dataset, split, ...: as for `load_tagged`; without a dataset those of the training are taken.
        max_samples: score only the first sentences.
        baselines: score the most frequent tag and each word's most frequent tag, too, if there is a training split;
            else `left_out` says why they are missing.
        output: file to write, by default metrics.json in the folder.
        predictions: file for the answers, a JSON line each.

    Raises:
        ValueError: no such folder, data set or split, or tags that the model does not know.
    """
    given = {
        "dataset": dataset,
        "dataset_config": dataset_config,
        "words_column": words_column,
        "tags_column": tags_column,
    }
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_data(folder, given)
    data = chosen.arguments
    names = list(known_names(label_info_of(model.config)))
    splits, _ = data.read(
        load_tagged,
        words=data.words_column,
        tags=data.tags_column,
        tag_names=names,
        needed=[split],
    )
    splits = chosen.rows(splits)
    rows = rows_of_split(splits, split, max_samples)
    words, tags = list(rows["words"]), list(rows["tags"])
    started = time.monotonic()
    predicted = predict_tags(model, tokenizer, words, batch_size)
    seconds = time.monotonic() - started
    metrics = base_metrics("token-classification", model, chosen.name, split, len(words), seconds, command)
    metrics["results"] |= {name: round(value, 4) for name, value in tag_scores(predicted, tags, names).items()}
    metrics["results"]["words"] = sum(map(len, words))
    metrics["classes"] = [score.as_dict() for score in scores_by_tag(predicted, tags, names)]
    metrics["entities"] = [score.as_dict() for score in entity_scores(predicted, tags, names)]
    if baselines and split != "train" and "train" in splits:
        usual = most_frequent_tags(splits["train"]["words"], splits["train"]["tags"])
        guesses = {
            "majority": [[usual[""]] * len(row) for row in words],
            "most_frequent_tag": [[usual.get(word, usual[""]) for word in row] for row in words],
        }
        for baseline, guessed in guesses.items():
            metrics["baselines"][baseline] = {
                name: round(value, 4) for name, value in tag_scores(guessed, tags, names).items()
            }
    metrics |= missing_baselines(baselines, split, "train" in splits)
    write_metrics(metrics, folder, output)
    entries = (
        {
            "words": row,
            "tags": [names[tag] for tag in right],
            "predicted": [names[tag] if tag >= 0 else None for tag in guess],
        }
        for row, guess, right in zip(words, predicted, tags, strict=True)
    )
    write_predictions(predictions, entries)
    return metrics


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them."""
    results, data = metrics["results"], metrics["dataset"]
    lines = [f"{data['name']}, {data['split']} split, {data['rows']:,} sentences, {results['words']:,} words"]
    said = {"majority": "the most frequent tag", "most_frequent_tag": "each word's most frequent tag"}
    for name in ("accuracy", "macro_f1", "entity_f1"):
        if name in results:
            beside = "".join(
                f"   {said[baseline]} {scores[name]:6.3f}"
                for baseline, scores in metrics["baselines"].items()
                if name in scores
            )
            lines.append(f"  {name:<9} {results[name]:6.3f}{beside}")
    lines += [f"  {reason}" for reason in metrics.get("left_out", [])]
    by_kind, by_tag = class_lines(metrics.get("entities", []), "names"), class_lines(metrics.get("classes", []), "tag")
    return "\n".join([*lines, *by_kind, *by_tag])


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    return run_command(build_parser(program), evaluate_tagger, summary, argv, program)
