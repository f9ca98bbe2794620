"""The language model of GPT (Radford et al. 2018, Section 3.1) and of those before it: stretches of running text.

The documents of a pass are put one behind the other in a random order, each closed by one token, and the whole is cut
into stretches of the full length: no padding, and a long text stays together from one stretch to the next. Stretches
are shuffled; or, for networks that carry their state from batch to batch, each row of a batch goes on where the same
row of the last one ended.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from hf_attention_zoo.metrics.ngram_perplexity import NGramModel
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.running_text.examples import ExampleStream, Phase
from hf_attention_zoo.tasks.running_text.masked_pairs import SHUFFLED, PaddingCollator
from hf_attention_zoo.tasks.running_text.objectives import Objective
from hf_attention_zoo.tasks.running_text.rows import Document
from hf_attention_zoo.tasks.running_text.token_store import TokenStore, build_token_store, encode_sentences
from hf_attention_zoo.training.fine_tuning import special_ids

BATCHINGS = ("shuffled", "contiguous")
# How a line end is written in the vocabulary of GPT, whose words end so.
LINE_END = "\n</w>"
# Parts of a stretch: document, first token, token behind the last. The token that closes a document is its last one.
Parts = tuple[tuple[int, int, int], ...]


class TextStretchStream(ExampleStream):
    """Examples with `input_ids` and `labels`, the same ids (the model shifts them).

    Args:
        store: the text.
        closing: id of the token behind each document; None for nothing.
        contiguous: whether row r of each batch goes on where row r of the last one ended.
    """

    def __init__(
        self,
        store: TokenStore,
        closing: int | None,
        contiguous: bool = False,
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
    ) -> None:
        super().__init__(seed=seed, batch_size=batch_size, phases=phases)
        self.store = store
        self.closing, self.contiguous = closing, contiguous

    def descriptions(self, epoch: int, length: int) -> Iterator[Parts]:
        random = self.random(0, epoch)
        stream = self.cut(random.permutation(self.store.num_documents).tolist(), length)
        if self.contiguous:
            stretches = list(stream)
            batches = len(stretches) // self.batch_size  # what is left at the end is left out
            for batch in range(batches):
                yield from (stretches[row * batches + batch] for row in range(self.batch_size))
            return
        while block := list(islice(stream, SHUFFLED)):
            for place in random.permutation(len(block)):
                yield block[place]

    def cut(self, order: Iterable[int], length: int) -> Iterator[Parts]:
        """The stretches of documents in a given order; what is left at the end is left out."""
        parts: list[tuple[int, int, int]] = []
        room = length
        for document in order:
            start, end = 0, self.store.document_length(document) + (self.closing is not None)
            while start < end:
                taken = min(room, end - start)
                parts.append((document, start, start + taken))
                start, room = start + taken, room - taken
                if not room:
                    yield tuple(parts)
                    parts, room = [], length

    def make(self, description: Parts, random: np.random.Generator) -> dict[str, Any]:
        pieces = []
        for document, start, end in description:
            count = self.store.document_length(document)
            base = int(self.store.bounds[self.store.documents[document]])
            pieces.append(self.store.read(base + start, base + min(end, count)))
            if end > count:
                pieces.append(np.array([self.closing]))
        ids = np.concatenate(pieces)
        return {"input_ids": ids, "labels": ids}


class TextStretchesObjective(Objective):
    """Next tokens of stretches of running text.

    Settings:
        closing_token: token behind each document; left out, the tokenizer's token for the end of a text, else that
            for the end of a line, if it has one. "" for none.
        batching: "shuffled" stretches, each read from the beginning; or "contiguous" ones, where each row of a batch
            goes on where it ended in the last one, for a model that carries its state (`stateful`).
    """

    auto_class = "AutoModelForCausalLM"
    shown = ("loss", "perplexity", "perplexity_per_word")
    settings = {"closing_token": None, "batching": "shuffled"}

    def __init__(self, row: Architecture, **settings: Any) -> None:
        super().__init__(row, **settings)
        if self.chosen["batching"] not in BATCHINGS:
            raise ValueError(f"batching={self.chosen['batching']!r}; choose one of {', '.join(BATCHINGS)}")

    def check_model(self, config: Any) -> None:
        contiguous, stateful = self.chosen["batching"] == "contiguous", getattr(config, "stateful", None)
        if contiguous and not stateful:
            raise ValueError(
                "in contiguous batches rows go on where they ended, but this model begins each of them anew; "
                + (
                    f"{self.row.model_type} carries no state: leave out --objective.batching"
                    if stateful is None
                    else "give --config.stateful True, too, or leave out --objective.batching"
                )
            )
        if stateful and not contiguous:
            raise ValueError(
                "a stateful model goes on where its rows ended, but shuffled stretches do not follow one another; "
                "give --objective.batching contiguous, or --config.stateful False"
            )

    def train_tokenizer(self, documents: Iterable[Document], **options: Any) -> Any:
        """As for any objective; a line end stands between two documents, so that it becomes a token."""

        def with_line_ends() -> Iterator[Document]:
            before = ""
            for document in documents:
                yield [f"{before}{document[0]}", *document[1:-1]]
                before = f"{document[-1]}\n" if len(document) > 1 else "\n"
            yield [before]

        return super().train_tokenizer(with_line_ends(), **options)

    def config_fields(self, tokenizer: Any, longest: int) -> dict[str, Any]:
        return special_ids(tokenizer, self.row.config_class)

    def closing(self, tokenizer: Any) -> int | None:
        """Id of the token behind each document.

        Raises:
            ValueError: the tokenizer does not know the token that was set.
        """
        token = self.chosen["closing_token"]
        if token is None:
            return tokenizer.eos_token_id or tokenizer.get_vocab().get(LINE_END)
        if not token:
            return None
        found = tokenizer.convert_tokens_to_ids(token)
        if found is None or found == tokenizer.unk_token_id:
            raise ValueError(f"closing_token={token!r} is none of the tokenizer's tokens; leave it out, or give ''")
        return found

    def dataset(
        self,
        documents: Iterable[Document],
        tokenizer: Any,
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
        cache_dir: str | Path,
    ) -> TextStretchStream:
        store = build_token_store(documents, tokenizer, cache_dir)
        return TextStretchStream(
            store,
            self.closing(tokenizer),
            self.chosen["batching"] == "contiguous",
            seed=seed,
            batch_size=batch_size,
            phases=phases,
        )

    def collator(self, tokenizer: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
        return PaddingCollator(tokenizer.pad_token_id or 0)

    def held_out(self, tokenizer: Any, documents: Iterable[Document], length: int) -> np.ndarray:
        """Stretches of held-out documents in their order, (N, length); the last, shorter one is left out.

        Raises:
            ValueError: the documents have less than one stretch.
        """
        with tempfile.TemporaryDirectory() as folder:
            store = build_token_store(documents, tokenizer, folder)
            stream = TextStretchStream(store, self.closing(tokenizer), seed=0, batch_size=1, phases=[Phase(length)])
            rows = [
                stream.make(parts, stream.random(0))["input_ids"]
                for parts in stream.cut(range(store.num_documents), length)
            ]
        if not rows:
            raise _too_short(length)
        return np.stack(rows)

    def check_held_out(self, tokenizer: Any, documents: Iterable[Document], length: int) -> None:
        marks, tokens = int(self.closing(tokenizer) is not None), 0
        for ids in ids_of_documents(documents, tokenizer):
            tokens += len(ids) + marks
            if tokens >= length:
                return
        raise _too_short(length)

    @torch.no_grad()
    def log_probabilities(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> np.ndarray:
        """log p of all but the first token of each stretch, in nats: (N, length - 1)."""
        stretches = self.held_out(tokenizer, documents, length)
        logs = []
        for start in range(0, len(stretches), batch_size):
            ids = torch.from_numpy(stretches[start : start + batch_size]).to(model.device)
            logits = model(input_ids=ids).logits[:, :-1].float()
            losses = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
            logs.append(-losses.view(len(ids), -1).cpu().double().numpy())
        return np.concatenate(logs)

    def evaluate(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> dict[str, float]:
        """Perplexity per token of all but the first token of each stretch, and per word.

        The perplexity per word is the exponential of the mean loss of a token times the tokens per word, a word being
        what stands between white space: comparable between tokenizers.
        """
        documents = list(documents)
        logs = self.log_probabilities(model, tokenizer, documents, length=length, batch_size=batch_size)
        return self.scores(logs, tokenizer, documents)

    def scores(self, logs: np.ndarray, tokenizer: Any, documents: list[Document]) -> dict[str, float]:
        """What `evaluate` gives, from the log-probabilities of documents, whichever model made them."""
        loss = -float(logs.mean())
        return {"loss": loss, "tokens": logs.size, **perplexities(loss, documents, tokenizer)}

    def running_text(self, tokenizer: Any, documents: Iterable[Document]) -> np.ndarray:
        """The ids of documents as one text, each closed as for the model."""
        closing = self.closing(tokenizer)
        chunks = ids_of_documents(documents, tokenizer)
        return np.concatenate([chunk if closing is None else np.append(chunk, closing) for chunk in chunks])

    def counted(self, counts: Any, tokenizer: Any, documents: Iterable[Document], length: int) -> np.ndarray:
        """`log_probabilities` of an n-gram model."""
        return np.stack([counts.log_probabilities(row)[1:] for row in self.held_out(tokenizer, documents, length)])

    def baselines(
        self, tokenizer: Any, documents: Iterable[Document], held_out: Iterable[Document], *, length: int
    ) -> dict[str, dict[str, float]]:
        """Kneser-Ney models of one to four tokens on the same tokens of the same stretches.

        They learn from all documents as one text, each closed as for the model, and see up to three tokens before.
        """
        held = list(held_out)
        learnt = self.running_text(tokenizer, documents)
        stretches = list(self.held_out(tokenizer, held, length))
        found = {}
        for order in (1, 2, 3, 4):
            model = NGramModel([learnt], len(tokenizer), order)
            nats = math.log(model.perplexity(stretches, skip=1))
            found[f"{order}-gram"] = {"loss": nats, **perplexities(nats, held, tokenizer)}
        return found


def _too_short(length: int) -> ValueError:
    return ValueError(f"the held-out text has fewer than {length} tokens; give more, or a smaller length")


def ids_of_documents(documents: Iterable[Document], tokenizer: Any) -> Iterator[np.ndarray]:
    """The ids of each document."""
    for document in documents:
        yield np.array([one for ids in encode_sentences(tokenizer, document) for one in ids], dtype=np.int64)


def perplexities(nats: float, documents: list[Document], tokenizer: Any) -> dict[str, float]:
    """Perplexity per token and per word from the mean loss of a token, in nats."""
    sentences = [sentence for document in documents for sentence in document]
    words = sum(len(sentence.split()) for sentence in sentences)
    tokens = sum(map(len, encode_sentences(tokenizer, sentences)))
    per_word = nats * tokens / words
    return {"perplexity": math.exp(min(nats, 700.0)), "perplexity_per_word": math.exp(min(per_word, 700.0))}
