"""How much a hierarchical model attends to one word, label by label, and what becomes of its predictions without it.

Figures 3 and 4 of Yang et al. (2016) show the distribution of the word weight of "good" and of "bad" by rating. A
weight says where a model looked, not what the look was worth, so each document is read again without the word, and
once more without as many other words of the same sentences, drawn at random.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import BatchEncoding, PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.records import written
from hf_attention_zoo.data.labels import MULTI_LABEL, REGRESSION, label_info_of
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode

Ids = list[list[int]]
BINS = 20


class Reading(NamedTuple):
    """What the model made of one document."""

    scores: np.ndarray  # probability of each label, or the values of a regression
    words: np.ndarray  # (S, T) word weights
    sentences: np.ndarray  # (S) sentence weights


@dataclass
class LabelShare:
    """The documents of one label that have the word.

    Attributes:
        weights: the word weight of each occurrence (the sum over its pieces).
        shares: sentence weight times word weight, summed over the occurrences, of each document.
        without_word: score of the predicted label without the word minus the score with it, of each document.
        without_others: the same for as many random other words of the same sentences; NaN where there are none.
        changed, changed_by_others: how many predictions change.
    """

    weights: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    without_word: list[float] = field(default_factory=list)
    without_others: list[float] = field(default_factory=list)
    changed: int = 0
    changed_by_others: int = 0

    def record(self) -> dict[str, Any]:
        """Counts and summaries, as plain numbers."""
        counts, _ = np.histogram(self.weights, bins=BINS, range=(0.0, 1.0))
        quartiles = np.quantile(self.weights, (0.25, 0.5, 0.75)).tolist() if self.weights else []
        others = [value for value in self.without_others if np.isfinite(value)]
        return {
            "documents": len(self.shares),
            "occurrences": len(self.weights),
            "mean_weight": _mean(self.weights),
            "weight_quartiles": quartiles,
            "histogram": counts.tolist(),
            "change_without_word": _mean(self.without_word),
            "change_without_random_words": _mean(others),
            "predictions_changed_without_word": self.changed,
            "predictions_changed_without_random_words": self.changed_by_others,
        }


@dataclass(frozen=True)
class WordWeights:
    """The weights of one word over a data set, by label.

    Attributes:
        word: as it was asked for.
        by_label: label -> its documents; labels without the word are there, empty.
        documents: documents of the data set, with and without the word.
    """

    word: str
    by_label: Mapping[str, LabelShare]
    documents: int

    def together(self) -> LabelShare:
        """All labels as one."""
        parts = list(self.by_label.values())
        whole = LabelShare(
            changed=sum(part.changed for part in parts),
            changed_by_others=sum(part.changed_by_others for part in parts),
        )
        for name in ("weights", "shares", "without_word", "without_others"):
            getattr(whole, name).extend(value for part in parts for value in getattr(part, name))
        return whole

    def agreement(self) -> float | None:
        """Rank correlation, over documents, of the word's share with the size of the change that dropping it makes.

        None for fewer than three documents, or where all shares or all changes are equal.
        """
        whole = self.together()
        return rank_correlation(np.array(whole.shares), np.abs(whole.without_word))

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "word": self.word,
            "documents": self.documents,
            "bins": BINS,
            "all": self.together().record(),
            "share_against_change": self.agreement(),
            "labels": {label: part.record() for label, part in self.by_label.items()},
        }

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The record as JSON, written to `path` if given."""
        return written(json.dumps(self.record(), ensure_ascii=False, indent=2), path, end="\n")

    def plot(self, path: str | PathLike[str] | None = None, **options: Any) -> Any:
        """Draw one histogram for all labels and one for each, as figures 3 and 4 of the paper; returns the figure."""
        return drawing("plot_word_weights")(self, path, **options)

    def _repr_png_(self) -> bytes:
        return drawing("figure_png")(self.plot())

    def table(self) -> str:
        """The counts and means as lines of text."""
        head = (
            f"{'label':<20} {'documents':>9} {'times':>6} {'weight':>7} {'change without':>14} {'of random':>10} "
            f"{'flips':>6} {'random':>6}"
        )
        lines = [head]
        for label, part in [*self.by_label.items(), ("all", self.together())]:
            entry = part.record()
            numbers = (entry["change_without_word"], entry["change_without_random_words"])
            changes = ["-" if number is None else f"{number:+.3f}" for number in numbers]
            mean = "-" if entry["mean_weight"] is None else f"{entry['mean_weight']:.3f}"
            lines.append(
                f"{label[:20]:<20} {entry['documents']:>9} {entry['occurrences']:>6} {mean:>7} {changes[0]:>14} "
                f"{changes[1]:>10} {part.changed:>6} {part.changed_by_others:>6}"
            )
        return "\n".join(lines)


def measure_word_weights(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    word: str,
    texts: Sequence[str | Sequence[str]],
    labels: Sequence[Any],
    *,
    batch_size: int = 64,
    seed: int = 0,
) -> WordWeights:
    """Collect the word weights of `word` in documents with known labels, and read the documents without it.

    Args:
        texts: documents, or lists of their sentences.
        labels: of each: a class number, a number (grouped by the nearest whole number), or a list of 0 and 1, in which
            case the document counts for each of its labels.
        seed: of the random words that are left out for comparison.

    Raises:
        ValueError: a word that the tokenizer does not know or that no document has, texts and labels that differ in
            number, or a model that gives no weights to words.
    """
    if len(texts) != len(labels):
        raise ValueError(f"{len(texts)} texts, but {len(labels)} labels; give one for each")
    info = label_info_of(model.config)
    wanted = word_ids(tokenizer, word)
    documents: list[Ids] = tokenizer(list(texts))["input_ids"]
    inner = inner_pieces(tokenizer, documents)
    found = [(index, places) for index, ids in enumerate(documents) if (places := places_of(ids, wanted, inner))]
    if not found:
        raise ValueError(f"none of the {len(texts)} documents has the word {word!r}")
    rng = np.random.default_rng(seed)
    groups = [_groups(labels[index], info.names, info.problem_type) for index, _ in found]
    names = (
        info.names if info.problem_type != REGRESSION else sorted({g for group in groups for g in group}, key=float)
    )
    by_label = {name: LabelShare() for name in names}
    as_they_are = [documents[index] for index, _ in found]
    without = [_left_out(documents[index], places) for index, places in found]
    others = [_left_out(documents[index], _other_places(documents[index], places, rng)) for index, places in found]
    with evaluation_mode(model):
        before = _read(model, tokenizer, as_they_are, batch_size, attentions=True)
        after = _read(model, tokenizer, without, batch_size)
        beside = _read(model, tokenizer, others, batch_size)
    for group, (index, places), read, bare, control, kept in zip(
        groups, found, before, after, beside, others, strict=True
    ):
        weights: dict[tuple[int, int], float] = {}
        for sentence, start, stop in places:
            weights[sentence, start] = float(read.words[sentence, start:stop].sum())
        share = sum(float(read.sentences[sentence]) * weight for (sentence, _), weight in weights.items())
        best = int(read.scores.argmax())
        compared = kept != documents[index]
        for name in group:
            part = by_label[name]
            part.weights.extend(weights.values())
            part.shares.append(share)
            part.without_word.append(float(bare.scores[best] - read.scores[best]))
            part.without_others.append(float(control.scores[best] - read.scores[best]) if compared else float("nan"))
            part.changed += _differ(read.scores, bare.scores, info.problem_type)
            part.changed_by_others += _differ(read.scores, control.scores, info.problem_type)
    return WordWeights(word, by_label, len(texts))


def word_ids(tokenizer: PreTrainedTokenizerBase, word: str) -> list[int]:
    """The ids of one word. Raises ValueError if it is none, more than one, or unknown."""
    encoded = tokenizer(word)["input_ids"] if word.strip() else []
    if len(word.split()) != 1 or len(encoded) != 1:
        raise ValueError(f"{word!r} is not one word; give a single word as it stands in the texts")
    if tokenizer.unk_token_id in encoded[0]:
        raise ValueError(f"the model does not know {word!r}: it is not in its vocabulary")
    return encoded[0]


def inner_pieces(tokenizer: PreTrainedTokenizerBase, documents: Sequence[Ids]) -> frozenset[int]:
    """Those ids of the documents that stand inside of words: pieces of letters without the mark of a space."""
    if getattr(tokenizer, "kind", None) != "subword":
        return frozenset()
    ids = sorted({number for document in documents for sentence in document for number in sentence})
    pieces = zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True)
    return frozenset(number for number, piece in pieces if piece[:1].isalnum())


def places_of(document: Ids, wanted: list[int], inner: frozenset[int] = frozenset()) -> list[tuple[int, int, int]]:
    """Where a word's ids stand in a document: (sentence, start, stop), from left to right, without overlaps.

    Where one of `inner` follows, they are only the beginning of another word.
    """
    places = []
    for number, sentence in enumerate(document):
        start = 0
        while start + len(wanted) <= len(sentence):
            stop = start + len(wanted)
            if sentence[start:stop] == wanted and not inner.intersection(sentence[stop : stop + 1]):
                places.append((number, start, stop))
                start = stop
            else:
                start += 1
    return places


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's correlation with equal values sharing their mean rank; None where it does not exist."""
    if len(first) < 3 or len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        return None
    ranks = []
    for values in (first, second):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        last = counts.cumsum()
        ranks.append((last - (counts - 1) / 2)[inverse])
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _groups(label: Any, names: Sequence[str], problem_type: str) -> list[str]:
    if problem_type == REGRESSION:
        return [str(round(float(np.ravel(label)[0])))]
    if problem_type == MULTI_LABEL:
        return [name for name, member in zip(names, label, strict=True) if member]
    return [names[int(label)]]


def _left_out(document: Ids, places: Sequence[tuple[int, int, int]]) -> Ids:
    """A document without the words at the places, and without sentences that are empty then."""
    gone = {(sentence, position) for sentence, start, stop in places for position in range(start, stop)}
    kept = [
        [word for position, word in enumerate(sentence) if (number, position) not in gone]
        for number, sentence in enumerate(document)
    ]
    return [sentence for sentence in kept if sentence]


def _other_places(
    document: Ids, places: Sequence[tuple[int, int, int]], rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    """As many places in the same sentences, away from the word; fewer where a sentence has no more words."""
    chosen = []
    for number in sorted({sentence for sentence, _, _ in places}):
        taken = {position for s, start, stop in places if s == number for position in range(start, stop)}
        free = [position for position in range(len(document[number])) if position not in taken]
        for position in rng.permutation(free)[: len(taken)].tolist():
            chosen.append((number, int(position), int(position) + 1))
    return chosen


@torch.no_grad()
def _read(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    documents: Sequence[Ids],
    batch_size: int,
    attentions: bool = False,
) -> list[Reading]:
    """Scores of encoded documents and, if asked for, their weights."""
    kind = label_info_of(model.config).problem_type
    readings: list[Reading] = []
    nothing = np.zeros(0, dtype=np.float32)
    for start in range(0, len(documents), batch_size):
        rows: Any = {
            "input_ids": list(documents[start : start + batch_size])
        }  # documents, unlike texts, have two axes
        # places of words count from the left
        batch: BatchEncoding = tokenizer.pad(rows, return_tensors="pt", padding_side="right").to(model.device)
        made = model(**batch, output_attentions=attentions)
        logits = made.logits.float()
        squash = {REGRESSION: logits, MULTI_LABEL: logits.sigmoid()}
        scores = squash.get(kind, logits.softmax(-1)).cpu().numpy()
        if attentions:
            words, sentences = (weights.float().cpu().numpy() for weights in made.attentions)
            readings += [Reading(*row) for row in zip(scores, words, sentences, strict=True)]
        else:
            readings += [Reading(row, nothing, nothing) for row in scores]
    return readings


def _differ(before: np.ndarray, after: np.ndarray, problem_type: str) -> bool:
    """Whether the prediction is another one; numbers of a regression always differ a little and do not count."""
    if problem_type == REGRESSION:
        return False
    if problem_type == MULTI_LABEL:
        return bool(((before > 0.5) != (after > 0.5)).any())
    return bool(before.argmax() != after.argmax())


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None
