"""log p(target | source) of pairs of texts: how Cho et al. (2014, Section 3.1) score the pairs of a phrase table.

Works with every sequence-to-sequence model. The number of unknown words is the paper's second feature (Section 4.1,
"word penalty"): all unknown words share one entry of the vocabulary, so its probability is too high for each of them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from hf_attention_zoo.losses.token_loss import log_likelihood
from hf_attention_zoo.metrics.likelihood import IGNORED_LABEL
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.seq2seq.source_text import (
    checked_texts,
    cutting,
    encode_sources,
    pad_sources,
    position_limit,
)


@torch.no_grad()
def score(
    model: Any,
    tokenizer: Any,
    sources: str | Sequence[str],
    targets: str | Sequence[str],
    *,
    batch_size: int = 64,
    truncation: bool = False,
) -> list[float]:
    """The natural logarithm of p(target | source) for each pair, the end symbol of the target included.

    Pairs of similar length share a batch; the result is in the order of the input. The model is put in evaluation
    mode for the call and then back.

    Args:
        sources, targets: as many texts on both sides; an empty text is its end symbol alone.
        batch_size: pairs at a time.
        truncation: cut texts at the tokenizer's `model_max_length`, or where the model's positions end.

    Raises:
        ValueError: a model that does not translate, a text that is no string, sides of different length, or a pair
            beyond the model's positions.
    """
    if not getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{type(model).__name__} has no p(target | source); give a sequence-to-sequence model, such as one that "
            "`attention-zoo list` shows with the task translation"
        )
    sources, targets = checked_texts(sources, "sources"), checked_texts(targets, "targets")
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources and {len(targets)} targets; give one target for each source")
    encoded = encode_sources(model, tokenizer, sources, truncation=truncation)
    labels = target_ids(model, tokenizer, targets, truncation=truncation)
    lengths = [(len(sentence.input_ids), len(ids)) for sentence, ids in zip(encoded, labels, strict=True)]
    scores = [0.0] * len(lengths)
    with evaluation_mode(model):
        for rows in _batches(lengths, batch_size):
            inputs = pad_sources(tokenizer, [encoded[row] for row in rows], model.device)
            wanted = _pad_labels([labels[row] for row in rows], model.device)
            words = model.prepare_decoder_input_ids_from_labels(wanted)
            made = model(**inputs, decoder_input_ids=words, use_cache=False, return_dict=True)
            for row, value in zip(rows, log_likelihood(made.logits, wanted).tolist(), strict=True):
                scores[row] = value
    return scores


def unknown_words(tokenizer: Any, texts: str | Sequence[str], *, side: str = "target") -> list[int]:
    """How many tokens of each text the vocabulary of its side does not know.

    With a vocabulary of words that is the paper's word penalty. A vocabulary of pieces knows nearly everything.

    Raises:
        ValueError: a text that is no string, another side than "source" or "target", or a tokenizer without an
            unknown token.
    """
    if side not in ("source", "target"):
        raise ValueError(f"side is {side!r}; choose 'source' or 'target'")
    if tokenizer.unk_token_id is None:
        raise ValueError(f"{type(tokenizer).__name__} has no unknown token, so no word is unknown to it")
    texts = checked_texts(texts)
    if not texts:
        return []
    encoded = tokenizer(text_target=texts) if side == "target" else tokenizer(texts)
    return [sum(token == tokenizer.unk_token_id for token in ids) for ids in encoded["input_ids"]]


def target_ids(model: Any, tokenizer: Any, targets: Sequence[str], *, truncation: bool = False) -> list[list[int]]:
    """Token ids of targets with their end symbols.

    Raises:
        ValueError: a text that gives no token at all, or more than the model has positions.
    """
    if not targets:
        return []
    limit = position_limit(model)
    rows = tokenizer(text_target=list(targets), **cutting(tokenizer, limit, truncation))["input_ids"]
    for index, ids in enumerate(rows):
        if not ids:
            raise ValueError(
                f"target {index} ({targets[index]!r:.60}) gives no token at all: the tokenizer adds no "
                "end-of-sentence mark, so an empty text cannot be scored"
            )
        if limit is not None and len(ids) > limit:
            raise ValueError(
                f"target {index} has {len(ids)} tokens, the positions of {type(model).__name__} end at {limit}; "
                "shorten it or pass truncation=True"
            )
    return rows


def _batches(lengths: Sequence[tuple[int, int]], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, the longest first, so that memory runs out at once or never."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}")
    order = sorted(range(len(lengths)), key=lambda row: (max(lengths[row]), lengths[row]), reverse=True)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def _pad_labels(rows: Sequence[list[int]], device: torch.device) -> torch.Tensor:
    """(B, T), always padded on the right: a decoder reads from the left."""
    labels = torch.full((len(rows), max(map(len, rows))), IGNORED_LABEL, dtype=torch.long)
    for row, ids in enumerate(rows):
        labels[row, : len(ids)] = torch.tensor(ids)
    return labels.to(device)
