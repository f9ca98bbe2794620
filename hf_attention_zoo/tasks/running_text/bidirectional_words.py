"""ELMo's two language models (Peters et al. 2018, Section 3.1): the next word and the word before, from characters.

"bucketed" batches hold single sentences of about one length, each read from zero. "contiguous" batches are the
authors': every row is an endless stream of sentences, cut into stretches, and the state is carried from stretch to
stretch; the backward model reads streams of its own, in another order of the sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from hf_attention_zoo.metrics.ngram_perplexity import NGramModel
from hf_attention_zoo.tasks.running_text.examples import ExampleStream, Phase
from hf_attention_zoo.tasks.running_text.objectives import Objective
from hf_attention_zoo.tasks.running_text.rows import Document
from hf_attention_zoo.tasks.running_text.token_store import (
    STATE,
    TokenStore,
    build_token_store,
    encode_sentences,
    read_state,
)
from hf_attention_zoo.whole_files import json_if_any, write_json

BATCHINGS = ("bucketed", "contiguous")
POOLED_BATCHES = 64  # so many batches' sentences are sorted by length together
TABLE_CHUNK = 4096  # so many words become characters together
WORDS_FILE = "words.json"
IGNORED = -100


class WholeWords:
    """All different words of a text, numbered as they come: what a token store encodes with, so that no word is lost.

    Args:
        tokenizer: splits sentences into words; its vocabulary is not used.
    """

    def __init__(self, tokenizer: Any, words: Iterable[str] = ()) -> None:
        self.tokenizer = tokenizer
        self.backend_tokenizer = tokenizer.backend_tokenizer
        self.numbers: dict[str, int] = {word: number for number, word in enumerate(words)}

    def __len__(self) -> int:
        """More than any number of words: how many there will be is not known before."""
        return 2**32

    def __call__(self, sentences: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[self._number(word) for word in words] for words in self.split(sentences)]}

    def split(self, sentences: list[str]) -> list[list[str]]:
        """The words of sentences as they are written."""
        return self.tokenizer.split(sentences, split_special_tokens=True)

    def _number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))


class WordTable(NamedTuple):
    """What the models read and predict of each different word.

    Attributes:
        characters: (words, L) character ids. labels: (words,) numbers in the softmax.
    """

    characters: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str], tokenizer: Any, *, symbols_as_text: bool = False) -> WordTable:
        """The table of words, in their order.

        Args:
            symbols_as_text: whether `<S>` and `</S>` among them are words of a text and not boundaries.
        """
        meant = {"split_special_tokens": symbols_as_text}
        rows, labels = np.empty((len(words), tokenizer.max_characters), np.int16), np.empty(len(words), np.int64)
        for first in range(0, len(words), TABLE_CHUNK):  # as Python numbers all rows would be many times as large
            chunk, place = list(words[first : first + TABLE_CHUNK]), slice(first, first + TABLE_CHUNK)
            rows[place] = tokenizer.characters_of(chunk, **meant)
            labels[place] = tokenizer.numbers_of(chunk, **meant)
        return cls(rows, labels)


def known_words(folder: Path) -> list[str]:
    """The words that the numbers of a finished token store mean.

    A store whose words are not those of the file beside it, since a run was killed between the two, is made anew.
    """
    state, kept = read_state(folder), json_if_any(folder / WORDS_FILE)
    if state is not None and kept and kept.get("store") == state["identity"]:
        return kept["words"]
    for name in (STATE, WORDS_FILE):
        (folder / name).unlink(missing_ok=True)
    return []


class Stretch(NamedTuple):
    """Words `start` to `end - 1` of the whole text, a sentence or a piece of one."""

    start: int
    end: int


class Streams(NamedTuple):
    """What each direction reads in one stretch: words and boundaries as numbers, one more than inputs."""

    forwards: tuple[int, ...]
    backwards: tuple[int, ...]


class BidirectionalWordStream(ExampleStream):
    """Examples with `character_ids` and `labels`, and in contiguous batches those of the backward model.

    Args:
        store, table: the text as numbers of whole words, and what they are.
        boundaries: what `<S>` and `</S>` are.
        batching: "bucketed" or "contiguous".
    """

    def __init__(
        self,
        store: TokenStore,
        table: WordTable,
        boundaries: WordTable,
        batching: str,
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
    ) -> None:
        super().__init__(seed=seed, batch_size=batch_size, phases=phases)
        self.store, self.batching = store, batching
        self.start, self.end = len(table.labels), len(table.labels) + 1  # numbers of the boundaries
        self.characters = np.concatenate([table.characters, boundaries.characters])
        self.labels = np.concatenate([table.labels, boundaries.labels])

    def descriptions(self, epoch: int, length: int) -> Iterator[Stretch | Streams]:
        if self.batching == "contiguous":
            return self._streams(epoch, length)
        return self._sentences(epoch, length)

    def _sentences(self, epoch: int, length: int) -> Iterator[Stretch]:
        """Sentences in a random order, those of a batch about equally long; longer ones in pieces."""
        random = self.random(0, epoch)
        bounds = np.asarray(self.store.bounds)
        pool = POOLED_BATCHES * self.batch_size
        pieces: list[Stretch] = []
        for number in random.permutation(len(bounds) - 1):
            start, last = int(bounds[number]), int(bounds[number + 1])
            pieces += [Stretch(first, min(first + length, last)) for first in range(start, last, length)]
            if len(pieces) >= pool:
                yield from self._sorted(pieces[:pool], random)
                pieces = pieces[pool:]
        rest = len(pieces) % self.batch_size if len(pieces) > self.batch_size else 0
        yield from self._sorted(pieces[: len(pieces) - rest], random)  # whole batches: the next pass begins with one

    def _sorted(self, pieces: list[Stretch], random: np.random.Generator) -> Iterator[Stretch]:
        pieces = sorted(pieces, key=lambda piece: piece.end - piece.start)
        batches = [pieces[first : first + self.batch_size] for first in range(0, len(pieces), self.batch_size)]
        for place in random.permutation(len(batches)):
            yield from batches[place]

    def _streams(self, epoch: int, length: int) -> Iterator[Streams]:
        """Row r of each batch goes on where row r of the last one ended; what is left of an epoch is left out."""
        rows = self.batch_size
        sides = [self._rows(self.random(side, epoch).permutation(len(self.store.bounds) - 1)) for side in (0, 2)]
        buffers: list[list[list[int]]] = [[[] for _ in range(rows)] for _ in sides]
        while True:
            for side, readers in enumerate(sides):
                for row, reader in enumerate(readers):
                    buffer = buffers[side][row]
                    while len(buffer) <= length:
                        sentence = next(reader, None)
                        if sentence is None:
                            return
                        buffer += sentence if side == 0 else sentence[::-1]
            for row in range(rows):
                yield Streams(*(tuple(read[row][: length + 1]) for read in buffers))
            for read in buffers:
                for row in range(rows):
                    del read[row][:length]

    def _rows(self, order: np.ndarray) -> list[Iterator[list[int]]]:
        """A reader for each row of a batch: `<S>`, the words and `</S>` of its share of the sentences."""
        bounds = np.asarray(self.store.bounds)

        def read(share: np.ndarray) -> Iterator[list[int]]:
            for number in share:
                words = self.store.read(int(bounds[number]), int(bounds[number + 1]))
                yield [self.start, *words.tolist(), self.end]

        return [read(share) for share in np.array_split(order, self.batch_size)]

    def make(self, description: Stretch | Streams, random: np.random.Generator) -> dict[str, Any]:
        if isinstance(description, Stretch):
            words = self.store.read(*description)
            return {
                "character_ids": self.characters[words],
                "labels": np.append(self.labels[words], self.labels[self.end]),
            }
        forwards, backwards = (np.asarray(side) for side in description)
        return {
            "character_ids": self.characters[forwards[:-1]],
            "labels": self.labels[forwards[1:]],
            # in the order of the text: the model reads from right to left
            "backward_character_ids": self.characters[backwards[:-1][::-1]],
            "backward_targets": self.labels[backwards[1:][::-1]],
        }


class WordCollator:
    """Examples -> tensors, padded on the right: character ids with 0, labels with -100."""

    def __call__(self, examples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batch = {}
        for name in examples[0]:
            given = [np.asarray(example[name]) for example in examples]
            fill = IGNORED if name.endswith("labels") else 0
            made = np.full((len(given), max(map(len, given)), *given[0].shape[1:]), fill, np.int64)
            for row, values in zip(made, given, strict=True):
                row[: len(values)] = values
            batch[name] = torch.from_numpy(made)
        return batch


class BidirectionalWordsObjective(Objective):
    """The next word and the word before.

    Settings:
        batching: "bucketed" or "contiguous"; see the module.
    """

    auto_class = "AutoModelForPreTraining"
    task = "feature-extraction"
    shown = ("loss", "perplexity", "forward_perplexity", "backward_perplexity")
    settings = {"batching": "bucketed"}

    def __init__(self, row: Any, **settings: Any) -> None:
        super().__init__(row, **settings)
        if self.chosen["batching"] not in BATCHINGS:
            raise ValueError(f"batching={self.chosen['batching']!r}; choose {' or '.join(BATCHINGS)}")

    def config_fields(self, tokenizer: Any, longest: int) -> dict[str, Any]:
        return {
            "vocab_size": len(tokenizer),
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        }

    def check_model(self, config: Any) -> None:
        samples = config.num_negative_samples
        if samples and samples >= config.vocab_size:
            raise ValueError(
                f"targets are compared with num_negative_samples={samples:,} words, the softmax has "
                f"{config.vocab_size:,}; give fewer with --config.num_negative_samples, or 0 to compare with all"
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
    ) -> BidirectionalWordStream:
        words = WholeWords(tokenizer, known_words(Path(cache_dir)))
        store = build_token_store(documents, words, cache_dir)
        kept = {"store": store.state["identity"], "words": list(words.numbers)}
        write_json(Path(cache_dir) / WORDS_FILE, kept)
        return BidirectionalWordStream(
            store,
            WordTable.of(list(words.numbers), tokenizer, symbols_as_text=True),
            self.boundaries(tokenizer),
            self.chosen["batching"],
            seed=seed,
            batch_size=batch_size,
            phases=phases,
        )

    def collator(self, tokenizer: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
        return WordCollator()

    def boundaries(self, tokenizer: Any) -> WordTable:
        """`<S>` and `</S>`."""
        return WordTable.of([tokenizer.bos_token, tokenizer.eos_token], tokenizer)

    @torch.no_grad()
    def evaluate(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> dict[str, float]:
        """Perplexity of each direction over all words and the end (the beginning) of each sentence, each from zero.

        `perplexity` is the exponential of the mean of both losses, as the paper reports it. Words that the softmax
        does not have count as `<UNK>`; `unknown_share` says how many those are.
        """
        words = WholeWords(tokenizer)
        sentences = [words([sentence])["input_ids"][0] for document in documents for sentence in document]
        table = WordTable.of(list(words.numbers), tokenizer, symbols_as_text=True)
        end = self.boundaries(tokenizer).labels[1]
        pieces = [one[first : first + length] for one in sentences for first in range(0, len(one), length)]
        if not pieces:
            raise ValueError("the held-out documents have no words; give more text")
        pieces.sort(key=len)
        collate, totals, count, unknown = WordCollator(), [0.0, 0.0], 0, 0
        for first in range(0, len(pieces), batch_size):
            rows = [np.asarray(one) for one in pieces[first : first + batch_size]]
            batch = collate(
                [{"character_ids": table.characters[row], "labels": np.append(table.labels[row], end)} for row in rows]
            )
            labels = batch["labels"]
            targets = int((labels != IGNORED).sum())
            out = model(**{name: tensor.to(model.device) for name, tensor in batch.items()})
            for side, loss in enumerate((out.forward_loss, out.backward_loss)):
                totals[side] += loss.item() * targets
            count += targets
            unknown += int((labels == tokenizer.unk_token_id).sum())
        forwards, backwards = (total / count for total in totals)
        return {
            "loss": (forwards + backwards) / 2,
            "perplexity": math.exp(min((forwards + backwards) / 2, 700.0)),
            "forward_perplexity": math.exp(min(forwards, 700.0)),
            "backward_perplexity": math.exp(min(backwards, 700.0)),
            "unknown_share": unknown / count,
            "targets": count,
        }

    def baselines(
        self, tokenizer: Any, documents: Iterable[Document], held_out: Iterable[Document], *, length: int
    ) -> dict[str, dict[str, float]]:
        """Kneser-Ney models of one to four words on the same targets: sentences from left to right and back.

        Each learns its direction from all documents, sees no word beyond its sentence, and counts the same unknown
        words as `<UNK>`; sentences longer than `length` are cut as for the model, those that are learnt from, too.
        """

        def rows(texts: Iterable[Document]) -> list[np.ndarray]:
            ids = (one for document in texts for one in encode_sentences(tokenizer, document) if one)
            pieces = (one[first : first + length] for one in ids for first in range(0, len(one), length))
            return [np.array([tokenizer.bos_token_id, *piece, tokenizer.eos_token_id]) for piece in pieces]

        learnt, held = rows(documents), rows(held_out)
        found = {}
        for order in (1, 2, 3, 4):
            sides = []
            for turn in (1, -1):
                model = NGramModel([row[::turn] for row in learnt], len(tokenizer), order)
                sides.append(model.perplexity([row[::turn] for row in held], skip=1))
            loss = sum(map(math.log, sides)) / 2
            names = ("loss", "perplexity", "forward_perplexity", "backward_perplexity")
            found[f"{order}-gram"] = dict(zip(names, (loss, math.exp(loss), *sides), strict=True))
        return found
