"""The authors' package of fastText (`pip install fasttext-wheel`) on the words that the zoo's tokenizer makes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hf_attention_zoo.tokenization.hashed_ngram_tokenizer import HashedNGramTokenizer


@dataclass(frozen=True)
class Found:
    """The trial that was right most often on the validation split.

    Attributes:
        validation_accuracy: its share of right answers there.
        logits: log-probabilities of the test texts, (N, labels).
        passes, seconds: over the training texts.
        parameters: numbers of both tables.
    """

    validation_accuracy: float
    logits: np.ndarray
    passes: int
    seconds: float
    parameters: int


def best_of_trials(
    texts: dict[str, list[str]],
    labels: dict[str, np.ndarray],
    num_labels: int,
    file: Path,
    *,
    seed: int,
    size: int,
    buckets: int,
    trials: Sequence[tuple[float, int]],
    lowercase: bool,
    min_frequency: int,
) -> Found:
    """Train with each rate and number of passes, bigrams of words hashed into buckets.

    Args:
        texts, labels: of the splits train, validation and test.
        file: where the training lines are written.
        seed: shuffles the lines; the package has no other chance in one thread.
        trials: rates, each with its number of passes.

    Raises:
        ValueError: no trial.
    """
    import fasttext

    backend = HashedNGramTokenizer.train(["one text"], lowercase=lowercase).backend_tokenizer

    def line(text: str) -> str:
        parts = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        return " ".join(word for word, _ in parts)

    def logits(model: Any, split: str) -> np.ndarray:
        found = np.full((len(texts[split]), num_labels), -np.inf)  # a label without training texts is unknown to it
        for row, text in enumerate(texts[split]):
            for probability, label in model.f.predict(f"{line(text)}\n", -1, 0.0, "strict"):
                found[row, int(label.removeprefix("__label__"))] = np.log(probability)
        return found

    rows = [f"__label__{label} {line(text)}\n" for text, label in zip(texts["train"], labels["train"], strict=True)]
    np.random.default_rng(seed).shuffle(rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(rows), encoding="utf-8")
    best: Found | None = None
    for rate, passes in trials:
        started = time.monotonic()
        model = fasttext.train_supervised(
            str(file),
            lr=rate,
            epoch=passes,
            dim=size,
            bucket=buckets,
            minCount=min_frequency,
            wordNgrams=2,
            thread=1,
            verbose=0,
        )
        seconds = time.monotonic() - started
        accuracy = float((logits(model, "validation").argmax(1) == labels["validation"]).mean())
        print(f"    rate {rate}, {passes} passes: {100 * accuracy:.1f} on validation", flush=True)
        if best is None or accuracy > best.validation_accuracy:
            numbers = model.get_input_matrix().size + model.get_output_matrix().size
            best = Found(accuracy, logits(model, "test"), passes, seconds, int(numbers))
    if best is None:
        raise ValueError("no trials; give rates with numbers of passes")
    return best
