"""Held-out texts with their classes, for the examples of a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.data.labels import SINGLE_LABEL, label_info_of
from hf_attention_zoo.data.text_encoding import joined
from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.evaluation.metrics_file import rows_of_split
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.tasks.labels.evaluation import predict_logits
from hf_attention_zoo.tasks.labels.named_classes import read_with_names
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.training.scored_data import chosen_data


def held_out_rows(folder: str | Path, *, split: str = "validation", dataset: str | None = None) -> HeldOut | None:
    """Texts or pairs of a split; None for models of several labels at once or of numbers.

    Documents are read as one string, as a pipeline is given them.

    Args:
        dataset: where the data lie; default: those of the training.

    Raises:
        ValueError: no such folder, data set or split, or labels that the model does not know.
    """
    model, tokenizer = load_checkpoint(folder)
    info = label_info_of(model.config)
    if info.problem_type != SINGLE_LABEL:
        return None
    chosen = chosen_data(folder, {"dataset": dataset})
    wanted = {**chosen.arguments.label_settings(), "problem_type": info.problem_type}
    splits, _ = read_with_names(
        folder, info, lambda names: chosen.arguments.read(load_labelled, **{**wanted, "label_names": names})
    )
    rows = rows_of_split(chosen.rows(splits), split, None, " with labels")
    labels, texts = list(rows["label"]), [joined(text) for text in rows["text"]]
    pairs = [joined(text) for text in rows["text_pair"]] if "text_pair" in rows.column_names else None

    def judge(places: Sequence[int]) -> list[JudgedRow]:
        second = None if pairs is None else [pairs[place] for place in places]
        best = predict_logits(model, tokenizer, [texts[place] for place in places], second).argmax(1)
        return [
            JudgedRow(
                texts[place],
                info.names[int(said)],
                info.names[labels[place]],
                int(said) == labels[place],
                None if pairs is None else pairs[place],
            )
            for place, said in zip(places, best, strict=True)
        ]

    words = [len(text.split()) for text in texts]
    if pairs is not None:
        words = [count + len(text.split()) for count, text in zip(words, pairs, strict=True)]
    return HeldOut(words, judge)
