"""Held-out sentences with their translations, for the examples of a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.evaluation.metrics_file import rows_of_split
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.scoring import corpus_chrf, is_exact
from hf_attention_zoo.seq2seq.translating import translate
from hf_attention_zoo.tasks.translation.evaluation import read_pairs
from hf_attention_zoo.training.scored_data import chosen_data

WRONG_BELOW = 50.0  # chrF


def held_out_rows(folder: str | Path, *, split: str = "validation", dataset: str | None = None) -> HeldOut:
    """Sentences of a split; right is a translation that is the reference to the letter, wrong one far from it.

    Args:
        dataset: where the data lie; default: those of the training.

    Raises:
        ValueError: no such folder, data set or split.
    """
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_data(folder, {"dataset": dataset})
    rows = rows_of_split(read_pairs(chosen, tokenizer), split, None)
    sources, references = list(rows["source"]), list(rows["target"])

    def judge(places: Sequence[int]) -> list[JudgedRow]:
        said = translate(model, tokenizer, [sources[place] for place in places])
        return [
            JudgedRow(sources[place], text, references[place], is_right(text, references[place]))
            for place, text in zip(places, said, strict=True)
        ]

    return HeldOut([len(text.split()) for text in sources], judge)


def is_right(translation: str, reference: str) -> bool | None:
    """Whether a translation is right; None for one that is not the reference and may say the same."""
    if is_exact(translation, reference):
        return True
    return False if corpus_chrf([translation], [reference]).value < WRONG_BELOW else None
