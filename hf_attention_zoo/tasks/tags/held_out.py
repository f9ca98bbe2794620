"""Held-out sentences with their tags, for the examples of a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.data.labels import known_names, label_info_of
from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.evaluation.metrics_file import rows_of_split
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.tasks.tags.evaluation import predict_tags
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.training.scored_data import chosen_data


def held_out_rows(folder: str | Path, *, split: str = "validation", dataset: str | None = None) -> HeldOut:
    """Sentences of a split; right is one whose tags are all right, of others the wrong ones are told.

    Args:
        dataset: where the data lie; default: those of the training.

    Raises:
        ValueError: no such folder, data set or split, or tags that the model does not know.
    """
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_data(folder, {"dataset": dataset})
    data = chosen.arguments
    names = list(known_names(label_info_of(model.config)))
    splits, _ = data.read(load_tagged, words=data.words_column, tags=data.tags_column, tag_names=names, needed=[split])
    rows = rows_of_split(chosen.rows(splits), split, None)
    sentences, tags = list(rows["words"]), list(rows["tags"])

    def judge(places: Sequence[int]) -> list[JudgedRow]:
        guessed = predict_tags(model, tokenizer, [sentences[place] for place in places])
        return [
            judged(sentences[place], guess, tags[place], names) for place, guess in zip(places, guessed, strict=True)
        ]

    return HeldOut([len(words) for words in sentences], judge)


def judged(words: Sequence[str], guess: Sequence[int], tags: Sequence[int], names: Sequence[str]) -> JudgedRow:
    """A sentence with `word TAG` for each word, or for those alone that are tagged wrong."""
    wrong = [place for place, tag in enumerate(tags) if guess[place] != tag]
    told = wrong or range(len(words))

    def said(given: Sequence[int]) -> str:
        return ", ".join(f"{words[k]} {names[given[k]] if given[k] >= 0 else 'nothing'}" for k in told)

    return JudgedRow(" ".join(words), said(guess), said(tags), not wrong)
