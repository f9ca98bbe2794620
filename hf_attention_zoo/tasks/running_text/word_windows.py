"""What word2vec learns from (Mikolov et al. 2013): words and the words around them in stretches of running text.

Documents are put one behind the other and cut into stretches. In each the words that the vocabulary lacks are taken
out, and of the frequent ones a share (Section 2.3); a window is drawn around each word that is left, so that near
words are read more often than far ones, and ends where its document ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.losses.token_loss import IGNORED
from hf_attention_zoo.parts.negative_sampling import noise_distribution
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.objectives import Objective
from hf_attention_zoo.tasks.running_text.rows import Document
from hf_attention_zoo.tasks.running_text.text_stretches import Parts, TextStretchStream, ids_of_documents
from hf_attention_zoo.tasks.running_text.token_store import TokenStore, build_token_store
from hf_attention_zoo.training.fine_tuning import special_ids

KEEPING = ("paper", "code")
NOISE = ("shared", "own")
COUNTED = 1 << 20  # so many ids are counted together


def keep_probabilities(counts: np.ndarray, threshold: float, form: str = "paper") -> np.ndarray:
    """The share of each word that subsampling keeps, (V,).

    With f, a word's share of the text, and the threshold t the paper keeps sqrt(t / f) of it (Equation 5), the
    authors' code sqrt(t / f) + t / f; neither more than all.

    Args:
        threshold: t; 0 keeps all.
        form: "paper" or "code".
    """
    if not threshold:
        return np.ones(len(counts))
    ratio = threshold * counts.sum() / np.maximum(counts, 1)
    return np.minimum(1.0, np.sqrt(ratio) + (ratio if form == "code" else 0.0))


class Stretch:
    """The words of a stretch that are left, and how far around each one its window reaches.

    Args:
        ids: (n,).
        documents: the document of each, (n,), rising.
        windows: words on each side, (n,) or one number for all.
    """

    def __init__(self, ids: np.ndarray, documents: np.ndarray, windows: np.ndarray | int) -> None:
        self.ids = ids
        firsts = np.searchsorted(documents, documents)
        lasts = np.searchsorted(documents, documents, side="right") - 1
        places = np.arange(len(ids))
        self.reach = np.stack([np.minimum(windows, places - firsts), np.minimum(windows, lasts - places)], 1)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Place of the word in the middle and of one in its window, for each pair, in the order of the text."""
        most = int(self.reach.max(initial=0))
        steps = np.concatenate([np.arange(-most, 0), np.arange(1, most + 1)])
        inside = (steps >= -self.reach[:, :1]) & (steps <= self.reach[:, 1:])
        middle, column = inside.nonzero()
        return middle, middle + steps[column]


class WordWindowStream(TextStretchStream):
    """Examples are rows of words with `labels`, `reach` and, for negative sampling, `noise_ids`.

    Args:
        store: the text.
        unknown: id of the words that are taken out.
        keep: share of each word that stays, (V,).
        noise: cumulative sum of the noise, (V,); None for the hierarchical softmax.
        window: c.
        samples: words of noise: for a stretch, or k for each prediction with `own`.
        own: whether each prediction is a row of its own with noise of its own; otherwise a stretch is one row.
        skip_gram: what a prediction is: one pair, or a word and all of its window.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        unknown: int | None,
        keep: np.ndarray,
        noise: np.ndarray | None,
        window: int,
        samples: int,
        own: bool,
        skip_gram: bool,
        **settings: Any,
    ) -> None:
        super().__init__(store, None, **settings)
        self.unknown, self.keep, self.noise = unknown, keep, noise
        self.window, self.samples, self.own, self.skip_gram = window, samples, own, skip_gram

    def make(self, description: Parts, random: np.random.Generator) -> dict[str, Any]:
        ids, documents = self.words(description)
        left = random.random(len(ids)) < self.keep[ids]
        ids, documents = ids[left], documents[left]
        stretch = Stretch(ids, documents, random.integers(1, self.window + 1, len(ids)))
        if not self.own:
            rows = {"input_ids": ids[None], "labels": ids[None], "reach": stretch.reach[None]}
        else:
            rows = pair_rows(stretch) if self.skip_gram else window_rows(stretch, self.window)
        if self.noise is not None:
            drawn = random.random((len(rows["input_ids"]), self.samples))
            rows["noise_ids"] = np.searchsorted(self.noise, drawn * self.noise[-1], side="right")
        return rows

    def words(self, description: Parts) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the known words of a stretch, and their documents, (n,) each."""
        pieces: list[np.ndarray] = []
        owners: list[np.ndarray] = []
        for document, start, end in description:
            base = int(self.store.bounds[self.store.documents[document]])
            pieces.append(self.store.read(base + start, base + end))
            owners.append(np.full(end - start, len(owners)))
        ids, documents = np.concatenate(pieces), np.concatenate(owners)
        known = ids != self.unknown
        return ids[known], documents[known]


def pair_rows(stretch: Stretch) -> dict[str, np.ndarray]:
    """Each pair as a row of two words, of which the first predicts the second."""
    middle, other = stretch.pairs()
    ids = np.stack([stretch.ids[middle], stretch.ids[other]], 1)
    reach = np.zeros((len(ids), 2, 2), dtype=np.int64)
    reach[:, 0, 1] = 1
    return {"input_ids": ids, "labels": np.stack([np.full(len(ids), IGNORED), ids[:, 1]], 1), "reach": reach}


def window_rows(stretch: Stretch, window: int) -> dict[str, np.ndarray]:
    """Each word that has others around it as a row with its window, which predicts it."""
    middle = np.flatnonzero(stretch.reach.sum(1))
    width = 2 * window + 1
    places = middle[:, None] + np.arange(-window, window + 1)
    ids = stretch.ids[np.clip(places, 0, len(stretch.ids) - 1)]
    labels, reach = np.full(ids.shape, IGNORED), np.zeros((len(middle), width, 2), dtype=np.int64)
    labels[:, window], reach[:, window] = ids[:, window], stretch.reach[middle]
    return {"input_ids": ids, "labels": labels, "reach": reach}


class RowCollator:
    """The rows of all examples as one batch, padded on the right: labels with -100, the rest with the pad or 0."""

    def __init__(self, pad_token_id: int) -> None:
        self.fills = {"input_ids": pad_token_id, "labels": IGNORED}

    def __call__(self, examples: list[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
        width = max(1, *(example["input_ids"].shape[1] for example in examples))
        total = sum(len(example["input_ids"]) for example in examples)
        rows = max(1, total)  # a batch of nothing is one pad
        batch = {
            name: np.full((rows, width, *values.shape[2:]), self.fills.get(name, 0))
            for name, values in examples[0].items()
            if name != "noise_ids"
        }
        batch["attention_mask"] = np.zeros((rows, width), dtype=np.int64)
        first = 0
        for example in examples:
            count, length = example["input_ids"].shape
            for name in batch:
                batch[name][first : first + count, :length] = example.get(name, 1)
            first += count
        if "noise_ids" in examples[0]:
            noise = np.concatenate([example["noise_ids"] for example in examples])
            batch["noise_ids"] = noise if total else np.zeros((1, noise.shape[1]), dtype=np.int64)
        return {name: torch.from_numpy(values) for name, values in batch.items()}


class WordWindowsObjective(Objective):
    """Words from the words around them.

    Settings:
        subsampling: t, the share of the text from which on a word is left out now and then; 0 for none. The paper
            names 1e-5, for a billion words; the authors' code takes 1e-3.
        keeping: "paper" or "code", see `keep_probabilities`.
        noise: "shared", `shared_noise` words for all of a stretch, of which the expectation is estimated; or "own", k
            words for each prediction, as in the authors' code.
        shared_noise: how many.
    """

    auto_class = "AutoModelForPreTraining"
    task = "feature-extraction"
    shown = ("loss", "context_perplexity")
    settings = {"subsampling": 1e-5, "keeping": "paper", "noise": "shared", "shared_noise": 64}

    def __init__(self, row: Architecture, **settings: Any) -> None:
        super().__init__(row, **settings)
        chosen = self.chosen
        for name, allowed in (("keeping", KEEPING), ("noise", NOISE)):
            if chosen[name] not in allowed:
                raise ValueError(f"{name}={chosen[name]!r}; choose {' or '.join(allowed)}")
        if not 0 <= chosen["subsampling"] < 1:
            raise ValueError(f"subsampling={chosen['subsampling']}; it is a share of the text, 0 for none, below 1")
        if chosen["shared_noise"] < 1:
            raise ValueError(f"shared_noise={chosen['shared_noise']}; give 1 word or more")

    def config_fields(self, tokenizer: Any, longest: int) -> dict[str, Any]:
        return special_ids(tokenizer, self.row.config_class)

    def text_fields(self, tokenizer: Any, documents: Iterable[Document]) -> dict[str, Any]:
        """How often each word occurs, by which noise is drawn and the tree is made."""
        counts = count_words(ids_of_documents(documents, tokenizer), tokenizer)
        if (counts > 0).sum() < 2:
            raise ValueError(
                "the training text has fewer than two words that are in the vocabulary; give more text, or let more "
                "words in with a smaller --tokenizer.min_frequency"
            )
        return {"word_counts": counts.tolist()}

    def check_model(self, config: Any) -> None:
        """Any model fits; its window, form and output are kept for the examples."""
        self.config = config

    def check_held_out(self, tokenizer: Any, documents: Iterable[Document], length: int) -> None:
        if not any(len(row) > 1 for row in self.rows_of(tokenizer, documents, length)):
            raise ValueError(
                "no held-out document has two words that are in the vocabulary, so there is nothing to predict; give "
                "more text"
            )

    def dataset(
        self,
        documents: Iterable[Document],
        tokenizer: Any,
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
        cache_dir: str | Path,
    ) -> WordWindowStream:
        config, own = self.config, self.chosen["noise"] == "own"
        store = build_token_store(documents, tokenizer, cache_dir)
        pieces = (
            store.read(first, min(first + COUNTED, store.num_tokens)) for first in range(0, store.num_tokens, COUNTED)
        )
        counts = count_words(pieces, tokenizer)
        drawn = config.output == "negative_sampling"
        return WordWindowStream(
            store,
            unknown=tokenizer.unk_token_id,
            keep=self._keep(counts),
            noise=noise_distribution(counts.tolist(), config.noise_power).double().cumsum(0).numpy()
            if drawn
            else None,
            window=config.window,
            samples=config.num_negative_samples if own else self.chosen["shared_noise"],
            own=own,
            skip_gram=config.form == "skip_gram",
            seed=seed,
            batch_size=batch_size,
            phases=phases,
        )

    def collator(self, tokenizer: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
        return RowCollator(tokenizer.pad_token_id or 0)

    def rows_of(self, tokenizer: Any, documents: Iterable[Document], length: int) -> Iterator[np.ndarray]:
        """The known words of each document, in pieces of so many at most."""
        for ids in ids_of_documents(documents, tokenizer):
            known = ids[ids != tokenizer.unk_token_id]
            yield from (known[first : first + length] for first in range(0, len(known), length))

    @torch.no_grad()
    def evaluate(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> dict[str, float]:
        """Perplexity of the words that are predicted, each from a word or from all words of a whole window.

        The skip-gram model's p(w | h) is the softmax of its scores over the vocabulary, whatever it was trained by, so
        that models and the frequencies of the words can be compared. Unknown words are left out, as in training; a
        prediction counts as often as subsampling leaves its words, which is the text that was learnt.
        """
        self.config = model.config
        counts = np.array(model.config.word_counts or [1] * model.config.vocab_size)
        keep = torch.from_numpy(self._keep(counts)).to(model.device)
        total = weight = 0.0
        predictions = 0
        for ids, mask in self._batches(tokenizer, documents, length, batch_size):
            ids, mask = ids.to(model.device), mask.to(model.device)
            scores = model(input_ids=ids, attention_mask=mask).logits.float()
            around = model.around(mask)
            if model.config.form == "cbow":  # what is around a word predicts it
                around = torch.diag_embed(around.any(-1))
            rows, reading, predicted = around.nonzero(as_tuple=True)
            read, wanted = ids[rows, reading], ids[rows, predicted]
            nats = scores.logsumexp(-1)[rows, reading] - scores[rows, reading, wanted]
            kept = keep[wanted] if model.config.form == "cbow" else keep[wanted] * keep[read]
            total += (nats.double() * kept).sum().item()
            weight += kept.sum().item()
            predictions += len(rows)
        if not predictions:
            raise ValueError("the held-out documents have no words to predict; give more text")
        loss = total / weight
        return {"loss": loss, "context_perplexity": math.exp(min(loss, 700.0)), "predictions": predictions}

    def baselines(
        self, tokenizer: Any, documents: Iterable[Document], held_out: Iterable[Document], *, length: int
    ) -> dict[str, dict[str, float]]:
        """The frequencies of the words in the training text that subsampling leaves, on the same predictions."""
        counts = count_words(ids_of_documents(documents, tokenizer), tokenizer)
        keep = self._keep(counts)
        shares = np.maximum(counts, 1) * keep
        shares[list(tokenizer.all_special_ids)] = 0
        shares /= shares.sum()
        nats = weight = 0.0
        for row in self.rows_of(tokenizer, held_out, length):
            stretch = Stretch(row, np.zeros(len(row)), self.config.window)
            middle, other = stretch.pairs()
            if self.config.form == "cbow":
                predicted = row[stretch.reach.sum(1) > 0]
                kept = keep[predicted]
            else:
                predicted, kept = row[other], keep[row[other]] * keep[row[middle]]
            nats -= float((np.log(shares[predicted]) * kept).sum())
            weight += float(kept.sum())
        return {"frequencies": {"loss": nats / weight, "context_perplexity": math.exp(min(nats / weight, 700.0))}}

    def _keep(self, counts: np.ndarray) -> np.ndarray:
        return keep_probabilities(counts, self.chosen["subsampling"], self.chosen["keeping"])

    def _batches(
        self, tokenizer: Any, documents: Iterable[Document], length: int, batch_size: int
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Ids and mask of the rows of documents, those of like lengths together."""
        rows = sorted((row for row in self.rows_of(tokenizer, documents, length) if len(row) > 1), key=len)
        for first in range(0, len(rows), batch_size):
            part = [torch.from_numpy(row) for row in rows[first : first + batch_size]]
            ids = torch.nn.utils.rnn.pad_sequence(part, batch_first=True, padding_value=tokenizer.pad_token_id or 0)
            yield ids, torch.arange(ids.shape[1]) < torch.tensor([len(row) for row in part])[:, None]


def count_words(pieces: Iterable[np.ndarray], tokenizer: Any) -> np.ndarray:
    """How often each word of the vocabulary occurs in pieces of a text, (V,); symbols and unknown words count 0."""
    counts = np.zeros(len(tokenizer), dtype=np.int64)
    for piece in pieces:
        ids, times = np.unique(piece, return_counts=True)
        counts[ids] += times
    counts[list(tokenizer.all_special_ids)] = 0
    return counts
