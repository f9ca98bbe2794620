"""Real text for claims on next words: descriptions of software that come with the package, as one stream of words.

A seed draws which descriptions are learnt from; what is validated and tested on is the same for all seeds.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hf_attention_zoo import NNLMConfig, NNLMForCausalLM
from hf_attention_zoo.history.claim import Budget
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.training import train, watched
from hf_attention_zoo.tasks.running_text.rows import read_documents

VOCABULARY = 2000  # the unknown word and the end of a document among them
UNKNOWN, END = 0, 1
LEARNT, HELD_OUT = 150_000, 15_000  # words
ROW, BATCH = 33, 32  # words of a row in training, rows
QUICK = 0.05  # of the words, in a smoke run
CONTEXT = 4  # words before the first that is scored in a row


@dataclass
class Words:
    """Ids of words in a row: what is learnt, what decides when to stop, what is tested."""

    learnt: np.ndarray
    validated: np.ndarray
    tested: np.ndarray


def words_of(documents: Iterable[list[str]], most: int) -> list[str]:
    """The words and signs of documents in lower case, so many at most; "" ends a document."""
    words: list[str] = []
    for sentences in documents:
        words += [*re.findall(r"\w+|[^\w\s]", " ".join(sentences).lower()), ""]
        if len(words) >= most:
            break
    return words[:most]


def drawn_words(seed: int, budget: Budget) -> Words:
    """The text of a seed, for a smoke run a small part of it; its most frequent words are the vocabulary."""
    share = QUICK if budget.quick else 1.0
    documents = list(read_documents("lm_debian", split="train"))
    order = training_draws(seed).permutation(len(documents))
    learnt = words_of((documents[place] for place in order), int(share * LEARNT))
    held_out = [
        words_of(read_documents("lm_debian", split=split), int(share * HELD_OUT)) for split in ("validation", "test")
    ]
    frequent = [word for word, _ in Counter(word for word in learnt if word).most_common(VOCABULARY - 2)]
    ids = {"": END, **{word: number for number, word in enumerate(frequent, 2)}}
    return Words(*(np.array([ids.get(word, UNKNOWN) for word in words]) for words in (learnt, *held_out)))


def rows_of(words: np.ndarray, length: int = 100) -> np.ndarray:
    """Rows of so many words, each with the `CONTEXT` words before it: (rows, CONTEXT + length)."""
    starts = np.arange(0, len(words) - CONTEXT - length + 1, length)
    return words[starts[:, None] + np.arange(CONTEXT + length)]


@torch.no_grad()
def scored(model: NNLMForCausalLM, words: np.ndarray) -> np.ndarray:
    """log p of each word of the rows behind its context, in nats: (rows, length)."""
    model.eval()
    ids = torch.from_numpy(rows_of(words))
    found = [
        functional.log_softmax(model(input_ids=some).logits[:, CONTEXT - 1 : -1].float(), -1) for some in ids.split(20)
    ]
    return torch.cat(found).gather(2, ids[:, CONTEXT:, None])[..., 0].numpy()


def streamed(random: np.random.Generator, words: np.ndarray) -> Iterator[dict[str, Tensor]]:
    """Endless batches of rows from drawn places of the text."""
    while True:
        starts = random.integers(0, len(words) - ROW, (BATCH, 1))
        ids = torch.from_numpy(words[starts + np.arange(ROW)])
        yield {"input_ids": ids, "labels": ids}


def neural_model(order: int, direct: bool, hidden: int = 100) -> NNLMForCausalLM:
    """A small network of Bengio et al. 2003, m = 30 and h = 100 as the best of their Table 1."""
    return NNLMForCausalLM(
        NNLMConfig(
            vocab_size=VOCABULARY,
            order=order,
            embedding_size=30,
            hidden_size=hidden,
            direct_connections=direct,
            pad_token_id=None,
        )
    )


def learn(
    model: NNLMForCausalLM, words: Words, random: np.random.Generator, steps: int, every: int, rate: float
) -> list[float]:
    """Train, and keep the weights that validate best; returns the validation in nats before each `every` steps."""
    curve: list[float] = []
    best = copy.deepcopy(model.state_dict())

    def validate() -> None:
        nonlocal best
        curve.append(-float(scored(model, words.validated).mean()))
        if curve[-1] == min(curve):
            best = copy.deepcopy(model.state_dict())

    train(model, streamed(random, words.learnt), steps, rate=rate, loss_of=watched(every, validate))
    validate()
    model.load_state_dict(best)
    return curve
