"""Held-out pictures with their captions, for the examples of a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.evaluation.metrics_file import rows_of_split
from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader
from hf_attention_zoo.metrics.caption_scoring import exact_matches
from hf_attention_zoo.tasks.captions.evaluation import caption_rows, read_captions
from hf_attention_zoo.training.scored_data import chosen_data


def held_out_rows(folder: str | Path, *, split: str = "validation", dataset: str | None = None) -> HeldOut:
    """Pictures of a split; right is one of their captions, whatever its case.

    Args:
        dataset: where the data lie; default: those of the training.

    Raises:
        ValueError: no such folder, data set or split.
    """
    model, tokenizer = load_checkpoint(folder)
    processor = load_reader(folder)
    processor.tokenizer = tokenizer  # which reads files
    chosen = chosen_data(folder, {"dataset": dataset})
    language = chosen.arguments.target_lang or getattr(tokenizer, "language", None)
    rows = rows_of_split(read_captions(chosen, language), split, None)

    def judge(places: Sequence[int]) -> list[JudgedRow]:
        captions = caption_rows(model, processor, rows, places).captions
        return [
            JudgedRow(
                "",
                caption,
                rows.captions[place][0],
                exact_matches([caption], [rows.captions[place]]) == 100,
                picture=None if model.config.image_encoder == "regions" else rows.picture(place),
            )
            for place, caption in zip(places, captions, strict=True)
        ]

    return HeldOut([len(listed[0].split()) for listed in rows.captions], judge)
