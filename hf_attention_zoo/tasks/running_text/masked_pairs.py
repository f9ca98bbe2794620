"""BERT's two tasks (Devlin et al. 2018, Sections 3.3.1 and 3.3.2): hidden words, and whether a text follows another.

Examples are made as the authors' script makes them. The sentences of a document are gathered up to the length wanted
(one document in ten: up to a random shorter one) and cut in two at random. Half of the second texts, and the second
text of everything that is one sentence, are replaced by sentences of another document, and the sentences that they
replace are read again. 15 % of the tokens are predicted, exactly and not on average: 80 % of these are hidden behind
[MASK], 10 % become a random token, 10 % stay.

Unlike the script, which masks ten copies of the text once, every pass draws new pairs and new masks.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from hf_attention_zoo.metrics.ngram_perplexity import NGramModel
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.running_text.examples import ExampleStream, Phase
from hf_attention_zoo.tasks.running_text.objectives import Objective
from hf_attention_zoo.tasks.running_text.rows import Document
from hf_attention_zoo.tasks.running_text.token_store import TokenStore, build_token_store, encode_sentences

# Examples whose order is mixed; documents come in a random order before.
SHUFFLED = 4096
TRIES_FOR_ANOTHER_DOCUMENT = 10
FOLLOWS, OTHER = 0, 1


class PairOfTexts(NamedTuple):
    """Sentences `first` to `last - 1` of two documents, whether the second was drawn at random, and the tokens that
    both and the special tokens may have together."""

    document: int
    first: int
    last: int
    second_document: int
    second_first: int
    second_last: int
    label: int
    length: int


class MaskedPairStream(ExampleStream):
    """Examples with `input_ids`, `token_type_ids`, `labels` (-100 where nothing is predicted) and, with pairs,
    `next_sentence_label`: 0 where the second text follows the first, 1 where it is another.

    Args:
        store: the text.
        tokenizer: has [CLS], [SEP] and [MASK].
        settings: see `MaskedPairsObjective.settings`.
    """

    def __init__(
        self,
        store: TokenStore,
        tokenizer: Any,
        settings: dict[str, Any],
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
    ) -> None:
        super().__init__(seed=seed, batch_size=batch_size, phases=phases)
        self.store = store
        self.settings = settings
        self.cls, self.sep, self.mask = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id
        if None in (self.cls, self.sep, self.mask):
            raise ValueError(
                f"{type(tokenizer).__name__} has no [CLS], [SEP] or [MASK]; take this architecture's own tokenizer"
            )
        self.vocabulary = len(tokenizer)

    def descriptions(self, epoch: int, length: int) -> Iterator[PairOfTexts]:
        order = self.random(0, epoch).permutation(self.store.num_documents)
        chance = random.Random(f"{self.seed} {epoch}")
        make = self._pairs if self.settings["next_sentence"] else self._singles
        stream = (one for document in order for one in make(int(document), length, chance))
        while block := list(islice(stream, SHUFFLED)):
            chance.shuffle(block)
            yield from block

    def _pairs(self, document: int, length: int, chance: random.Random) -> Iterator[PairOfTexts]:
        """The examples of a document (authors' create_instances_from_document)."""
        room = length - 3  # [CLS], [SEP], [SEP]
        lengths = self.store.sentence_lengths(document)
        target = chance.randint(2, room) if chance.random() < self.settings["short_share"] else room
        first = position = gathered = 0
        while position < len(lengths):
            gathered += lengths[position]
            position += 1
            if position < len(lengths) and gathered < target:
                continue
            cut = first + (chance.randint(1, position - first - 1) if position - first > 1 else 1)
            if position - first == 1 or chance.random() < 0.5:
                other = self._another(document, chance)
                other_lengths = self.store.sentence_lengths(other)
                start = end = chance.randrange(len(other_lengths))
                wanted = target - sum(lengths[first:cut])
                taken = 0
                while end < len(other_lengths) and (end == start or taken < wanted):
                    taken += other_lengths[end]
                    end += 1
                yield PairOfTexts(document, first, cut, other, start, end, OTHER, length)
                position = cut  # what was replaced is read again
            else:
                yield PairOfTexts(document, first, cut, document, cut, position, FOLLOWS, length)
            first, gathered = position, 0

    def _singles(self, document: int, length: int, chance: random.Random) -> Iterator[PairOfTexts]:
        """Without the second task: sentences that follow one another, as one text."""
        room = length - 2
        lengths = self.store.sentence_lengths(document)
        target = chance.randint(2, room) if chance.random() < self.settings["short_share"] else room
        first = gathered = 0
        for position, count in enumerate(lengths, 1):
            gathered += count
            if position == len(lengths) or gathered >= target:
                yield PairOfTexts(document, first, position, document, position, position, FOLLOWS, length)
                first, gathered = position, 0

    def _another(self, document: int, chance: random.Random) -> int:
        other = document
        for _ in range(TRIES_FOR_ANOTHER_DOCUMENT):
            other = chance.randrange(self.store.num_documents)
            if other != document:
                break
        return other

    def make(self, description: PairOfTexts, random: np.random.Generator) -> dict[str, Any]:
        pair, with_pairs = description, self.settings["next_sentence"]
        one = self.store.sentence_ids(pair.document, pair.first, pair.last)
        two = self.store.sentence_ids(pair.second_document, pair.second_first, pair.second_last)
        one, two = cut_to_fit(one, two, pair.length - (3 if with_pairs else 2), random)
        parts: list[Any] = [[self.cls], one, [self.sep], *([two, [self.sep]] if with_pairs else [])]
        ids = np.concatenate(parts).astype(np.int64)
        kinds = np.zeros(len(ids), dtype=np.int64)
        if with_pairs:
            kinds[len(one) + 2 :] = 1
        example: dict[str, Any] = {"token_type_ids": kinds}
        if self.settings["left_to_right"]:
            labels = np.full(len(ids), -100, dtype=np.int64)
            labels[:-1] = ids[1:]
            example |= {"input_ids": ids, "labels": labels}
        else:
            ids, labels = self.hide(ids, pair.length, random)
            example |= {"input_ids": ids, "labels": labels}
        if with_pairs:
            example["next_sentence_label"] = pair.label
        return example

    def hide(self, ids: np.ndarray, length: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Ids with some of them hidden, and the labels: `ids` where they are predicted, -100 elsewhere.

        round(0.15 n) tokens, at least one, of all but [CLS] and [SEP]; n counts these, too. At most 0.15 of the
        length allowed: 20 of 128, 77 of 512.
        """
        share = self.settings["masked_share"]
        wanted = min(math.ceil(share * length), max(1, round(share * len(ids))))
        candidates = np.flatnonzero((ids != self.cls) & (ids != self.sep))
        chosen = random.permutation(candidates)[:wanted]
        labels = np.full(len(ids), -100, dtype=np.int64)
        labels[chosen] = ids[chosen]
        hidden = ids.copy()
        fate = random.random(len(chosen))
        random_below = self.settings["mask_token_share"] + self.settings["random_token_share"]
        hidden[chosen[fate < self.settings["mask_token_share"]]] = self.mask
        become_random = chosen[(fate >= self.settings["mask_token_share"]) & (fate < random_below)]
        hidden[become_random] = random.integers(0, self.vocabulary, len(become_random))
        return hidden, labels


def cut_to_fit(
    one: np.ndarray, two: np.ndarray, room: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Drop tokens of the longer text, the first or the last by chance, until both have room."""
    starts, ends = [0, 0], [len(one), len(two)]
    while (excess := sum(ends) - sum(starts) - room) > 0:
        fronts = random.random(excess) < 0.5
        for front in fronts:
            longer = 0 if ends[0] - starts[0] > ends[1] - starts[1] else 1
            if front:
                starts[longer] += 1
            else:
                ends[longer] -= 1
    return one[starts[0] : ends[0]], two[starts[1] : ends[1]]


class PaddingCollator:
    """Examples of different lengths as one batch, padded on the right.

    Args:
        pad_token_id: of `input_ids`; labels are padded with -100, everything else with 0.
    """

    def __init__(self, pad_token_id: int) -> None:
        self.pad_token_id = pad_token_id

    def __call__(self, examples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """`input_ids`, `labels`, ... (B, T) with `attention_mask`, and numbers such as `next_sentence_label` (B,)."""
        lengths = torch.tensor([len(example["input_ids"]) for example in examples])
        width = int(lengths.max())
        batch: dict[str, torch.Tensor] = {}
        for name, first in examples[0].items():
            if isinstance(first, int):
                batch[name] = torch.tensor([example[name] for example in examples])
                continue
            fill = {"input_ids": self.pad_token_id, "labels": -100}.get(name, 0)
            rows = np.full((len(examples), width), fill, dtype=np.int64)
            for row, example in enumerate(examples):
                rows[row, : len(example[name])] = example[name]
            batch[name] = torch.from_numpy(rows)
        batch["attention_mask"] = (torch.arange(width)[None] < lengths[:, None]).long()
        return batch


class MaskedPairsObjective(Objective):
    """Hidden words and following texts; the ablations of Section 5.1 are settings.

    Settings:
        next_sentence: learn to tell following texts from others; without, an example is one text.
        left_to_right: predict each next token instead of hidden ones, with attention to the left only.
        masked_share, mask_token_share, random_token_share: 15 % are predicted; of these 80 % are hidden, 10 % become
            a random token and the rest stay.
        short_share: documents of which shorter examples are made.
    """

    task = "fill-mask"
    shown = ("loss", "masked_perplexity", "masked_accuracy", "next_sentence_accuracy", "perplexity")
    settings = {
        "next_sentence": True,
        "left_to_right": False,
        "masked_share": 0.15,
        "mask_token_share": 0.8,
        "random_token_share": 0.1,
        "short_share": 0.1,
    }

    def __init__(self, row: Architecture, **settings: Any) -> None:
        super().__init__(row, **settings)
        for name in ("masked_share", "mask_token_share", "random_token_share", "short_share"):
            if not 0 <= self.chosen[name] <= 1:
                raise ValueError(f"{name}={self.chosen[name]}; it is a share, from 0 to 1")
        if self.chosen["mask_token_share"] + self.chosen["random_token_share"] > 1:
            raise ValueError(
                f"mask_token_share={self.chosen['mask_token_share']} and random_token_share="
                f"{self.chosen['random_token_share']} are more than 1 together"
            )
        if self.chosen["left_to_right"] and self.chosen["next_sentence"]:
            raise ValueError(
                "left_to_right is the paper's ablation without the second task (Section 5.1, LTR & No NSP); give "
                "--objective.next_sentence False, too"
            )
        self.auto_class = "AutoModelForPreTraining" if self.chosen["next_sentence"] else "AutoModelForMaskedLM"

    @classmethod
    def settings_of(cls, model: Any) -> dict[str, Any]:
        onward = model.config.left_to_right
        return {"left_to_right": onward, "next_sentence": hasattr(model, "next_sentence") and not onward}

    def config_fields(self, tokenizer: Any, longest: int) -> dict[str, Any]:
        return {**super().config_fields(tokenizer, longest), "left_to_right": self.chosen["left_to_right"]}

    def check_model(self, config: Any) -> None:
        if config.left_to_right != self.chosen["left_to_right"]:
            raise ValueError(
                f"the model has left_to_right={config.left_to_right}, the objective left_to_right="
                f"{self.chosen['left_to_right']}; give --objective.left_to_right {config.left_to_right}, or another "
                "--model"
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
    ) -> MaskedPairStream:
        store = build_token_store(documents, tokenizer, cache_dir)
        self._check_documents(store, "training")
        return MaskedPairStream(store, tokenizer, self.chosen, seed=seed, batch_size=batch_size, phases=phases)

    def _check_documents(self, store: TokenStore, said: str) -> None:
        if self.chosen["next_sentence"] and store.num_documents < 2:
            raise ValueError(
                f"the second texts come from other documents, but the {said} text is one document only; in .txt files "
                "part documents by blank lines, or give several files with --text_documents file; or learn from "
                "single texts with --objective.next_sentence False"
            )

    def collator(self, tokenizer: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
        return PaddingCollator(tokenizer.pad_token_id)

    def held_out(self, tokenizer: Any, documents: Iterable[Document], length: int) -> list[dict[str, Any]]:
        """One pass over held-out documents, always with the same draws."""
        with tempfile.TemporaryDirectory() as folder:
            store = build_token_store(documents, tokenizer, folder)
            self._check_documents(store, "held-out")
            stream = MaskedPairStream(store, tokenizer, self.chosen, seed=0, batch_size=1, phases=[Phase(length)])
            described = sorted(stream.descriptions(0, length))
            return [stream.make(one, stream.random(1, number)) for number, one in enumerate(described)]

    @torch.no_grad()
    def evaluate(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> dict[str, float]:
        """Perplexity and accuracy of the hidden tokens, accuracy of the following texts, on one pass with fixed draws.

        `masked_perplexity` is that of hidden tokens, which see both sides: not comparable with a perplexity of next
        tokens, which `perplexity` is for a model that reads from left to right.
        """
        examples = self.held_out(tokenizer, documents, length)
        examples.sort(key=lambda example: -len(example["input_ids"]))
        collate = self.collator(tokenizer)
        sums = np.zeros(3)
        pairs = np.zeros(3)
        for start in range(0, len(examples), batch_size):
            batch = {
                name: rows.to(model.device) for name, rows in collate(examples[start : start + batch_size]).items()
            }
            labels, following = batch.pop("labels"), batch.pop("next_sentence_label", None)
            output = model(**batch)
            logits = output.prediction_logits if "prediction_logits" in output else output.logits
            chosen = labels != -100
            scores, wanted = logits[chosen].float(), labels[chosen]
            loss = functional.cross_entropy(scores, wanted, reduction="sum")
            sums += [loss.item(), (scores.argmax(-1) == wanted).sum().item(), len(wanted)]
            if following is not None:
                decided = output.seq_relationship_logits.float()
                loss = functional.cross_entropy(decided, following, reduction="sum")
                pairs += [loss.item(), (decided.argmax(-1) == following).sum().item(), len(following)]
        mean = sums[0] / sums[2]
        kind = "perplexity" if self.chosen["left_to_right"] else "masked_perplexity"
        found = {"loss": mean, kind: math.exp(min(mean, 700.0)), "predicted_tokens": sums[2]}
        if not self.chosen["left_to_right"]:
            found["masked_accuracy"] = sums[1] / sums[2]
        if self.chosen["next_sentence"]:
            found |= {
                "loss": mean + pairs[0] / pairs[2],
                "masked_loss": mean,
                "next_sentence_loss": pairs[0] / pairs[2],
                "next_sentence_accuracy": pairs[1] / pairs[2],
            }
        return {**found, "examples": len(examples)}

    def measures(self) -> tuple[str, ...]:
        words = ("perplexity",) if self.chosen["left_to_right"] else ("masked_perplexity", "masked_accuracy")
        pairs = ("masked_loss", "next_sentence_loss", "next_sentence_accuracy") if self.chosen["next_sentence"] else ()
        return ("loss", *words, *pairs)

    def baselines(
        self, tokenizer: Any, documents: Iterable[Document], held_out: Iterable[Document], *, length: int
    ) -> dict[str, dict[str, float]]:
        """Kneser-Ney models of one to three tokens at the same predicted places, with the text before them unhidden.

        They see what is hidden from the model before a place, and nothing behind it. Beside a model that reads from
        left to right they learn from rows as it does, [CLS], some sentences and [SEP], for which [SEP] is a target.
        """
        texts = list(self._rows(tokenizer, documents, length))
        rows = []
        for example in self.held_out(tokenizer, held_out, length):
            if self.chosen["left_to_right"]:
                rows.append((example["input_ids"], np.arange(len(example["input_ids"])) > 0))
                continue
            whole = np.where(example["labels"] != -100, example["labels"], example["input_ids"])
            for kind in (0, 1):
                mine = np.flatnonzero(example["token_type_ids"] == kind)
                mine = mine[(kind == 0) : -1]  # without [CLS] and [SEP]
                rows.append((whole[mine], example["labels"][mine] != -100))
        number = "perplexity" if self.chosen["left_to_right"] else "masked_perplexity"
        found: dict[str, dict[str, float]] = {}
        for order in (1, 2, 3):
            model = NGramModel(texts, len(tokenizer), order)
            logs = np.concatenate([model.log_probabilities(ids)[wanted] for ids, wanted in rows])
            found[f"{order}-gram"] = {"loss": -float(logs.mean()), number: math.exp(-float(logs.mean()))}
        return found

    def _rows(self, tokenizer: Any, documents: Iterable[Document], length: int) -> Iterator[np.ndarray]:
        """What n-grams learn from: whole documents, or the rows of a pass in full, with their ends."""
        if not self.chosen["left_to_right"]:
            for document in documents:
                yield np.array([one for ids in encode_sentences(tokenizer, document) for one in ids], dtype=np.int64)
            return
        with tempfile.TemporaryDirectory() as folder:
            store = build_token_store(documents, tokenizer, folder)
            stream = MaskedPairStream(store, tokenizer, self.chosen, seed=0, batch_size=1, phases=[Phase(length)])
            for row in stream.descriptions(0, length):
                yield np.array([stream.cls, *store.sentence_ids(row.document, row.first, row.last), stream.sep])
