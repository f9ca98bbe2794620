"""From texts to padded model inputs and back to the raw words: what every token of the source stands for.

A token is shown by the characters that it covers in the text as given, so an unknown word keeps its own spelling. A
word is a run of letters, digits and marks; every other visible character is a word by itself. Words that one token
covers together count as one.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.tokenization.word_groups import Words, decoded_spans, word_groups, word_spans

WORD_START = "▁"  # how metaspace vocabularies write the space before a word
VISIBLE_SPACE = "␣"

Word = tuple[int, int, list[int]]  # start and end in the text, indices of its tokens


@dataclass(frozen=True)
class SourceSentence:
    """One encoded source text.

    Args:
        text: as given.
        input_ids: S token ids, special tokens included.
        spans: for each token the (start, end) of its characters in `text`, empty for special tokens; None where the
            tokenizer cannot tell (a tokenizer written in Python).
        special: True for tokens that the tokenizer added and that stand for no text (end of sentence, language code).
    """

    text: str
    input_ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...] | None
    special: tuple[bool, ...]

    def words(self) -> list[Word]:
        """The words of the text in order; special tokens belong to none."""
        if self.spans is None:
            return []
        words: list[Word] = [(start, end, []) for start, end in word_spans(self.text)]
        for index, (start, end) in enumerate(self.spans):
            if self.special[index] or start == end:
                continue
            touched = [word for word in words if word[0] < end and start < word[1]]
            if not touched:
                continue  # a token that covers nothing but spaces
            first = words.index(touched[0])
            tokens = [token for word in touched for token in word[2]] + [index]
            words[first : first + len(touched)] = [(touched[0][0], touched[-1][1], tokens)]
        return [word for word in words if word[2]]


def checked_texts(texts: str | Sequence[str], name: str = "texts") -> list[str]:
    """A list of strings from one string or several; anything else is a ValueError that says where it is."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, (bytes, dict)) or not hasattr(texts, "__iter__"):
        raise ValueError(f"{name} must be a string or a list of strings, got {type(texts).__name__}")
    result = list(texts)
    for index, text in enumerate(result):
        if not isinstance(text, str):
            raise ValueError(f"{name}[{index}] is of type {type(text).__name__}; every text must be a string")
    return result


def position_limit(model: PreTrainedModel) -> int | None:
    """How many tokens a side may have, None where any number is fine (recurrence, relative positions)."""
    limit = getattr(model.config, "max_position_embeddings", None)
    return limit if isinstance(limit, int) else None


def cutting(tokenizer: PreTrainedTokenizerBase, limit: int | None, truncation: bool) -> dict[str, Any]:
    """The tokenizer's arguments that cut texts, if it is wanted: at its own limit, and at the model's if that is less.

    Args:
        limit: as `position_limit` gives it.
    """
    lower = truncation and limit is not None and limit < tokenizer.model_max_length
    return {"truncation": truncation, **({"max_length": limit} if lower else {})}


def encode_sources(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], *, truncation: bool = False
) -> list[SourceSentence]:
    """Tokenise without padding.

    Raises:
        ValueError: a text that gives no token at all, or more tokens than the model has positions.
    """
    if not texts:
        return []
    has_offsets = bool(getattr(tokenizer, "is_fast", False))
    limit = position_limit(model)
    encoded = tokenizer(
        list(texts),
        return_offsets_mapping=has_offsets,
        return_special_tokens_mask=True,
        **cutting(tokenizer, limit, truncation),
    )
    sentences = []
    for index, text in enumerate(texts):
        ids = tuple(encoded["input_ids"][index])
        if not ids:
            raise ValueError(
                f"text {index} ({text!r:.60}) gives no token at all: the tokenizer adds no end-of-sentence "
                f"mark, so an empty text cannot be translated"
            )
        if limit is not None and len(ids) > limit:
            raise ValueError(
                f"text {index} has {len(ids)} tokens, the positions of {type(model).__name__} end at {limit}; split "
                f"the text or pass truncation=True"
            )
        spans = tuple(map(tuple, encoded["offset_mapping"][index])) if has_offsets else None
        # an unknown word of the text is special by its id only: nobody added it
        special = tuple(
            bool(mask) and token != tokenizer.unk_token_id
            for token, mask in zip(ids, encoded["special_tokens_mask"][index], strict=True)
        )
        sentences.append(SourceSentence(text, ids, spans, special))
    return sentences


def pad_sources(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[SourceSentence], device: torch.device
) -> dict[str, torch.Tensor]:
    """`input_ids` and `attention_mask`, both (B, S), padded on the tokenizer's own side."""
    rows = {"input_ids": [list(sentence.input_ids) for sentence in sentences]}
    if tokenizer.pad_token_id is None:
        if len({len(row) for row in rows["input_ids"]}) > 1:
            raise ValueError("the tokenizer has no pad_token, so texts of different lengths need batch_size=1")
        ids = torch.tensor(rows["input_ids"], device=device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    padded: Any = tokenizer.pad(rows, return_tensors="pt", return_attention_mask=True)
    return {name: padded[name].to(device) for name in ("input_ids", "attention_mask")}


def readable_tokens(tokenizer: PreTrainedTokenizerBase, sentence: SourceSentence) -> list[str]:
    """For each source token the characters that it covers, or its own name for special tokens."""
    names = [readable(name) for name in tokenizer.convert_ids_to_tokens(list(sentence.input_ids))]
    if sentence.spans is None:
        return names
    surfaces = [unicodedata.normalize("NFC", sentence.text[start:end].strip()) for start, end in sentence.spans]
    rows = zip(names, surfaces, sentence.special, strict=True)
    return [name if special or not surface or name == VISIBLE_SPACE else surface for name, surface, special in rows]


def readable_target_tokens(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> list[str]:
    """Names of target ids for a picture, from the target vocabulary where the tokenizer has one of its own."""
    if hasattr(tokenizer, "target_surface"):
        return tokenizer.target_surface(list(ids))
    return [readable(name) for name in tokenizer.convert_ids_to_tokens(list(ids))]


def source_words(tokenizer: PreTrainedTokenizerBase, sentence: SourceSentence) -> Words:
    """The words that the source tokens are pieces of, by the characters that they cover; see `word_groups`."""
    names = readable_tokens(tokenizer, sentence)
    if sentence.spans is None:
        return word_groups(*decoded_spans(tokenizer, sentence.input_ids), names)
    return word_groups(sentence.text, sentence.spans, sentence.special, names)


def target_words(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> Words:
    """The words that target ids are pieces of, by the text that they are decoded to; see `word_groups`."""
    return word_groups(*decoded_spans(tokenizer, ids), readable_target_tokens(tokenizer, ids))


def readable(token: str) -> str:
    """A vocabulary entry without the mark of a word start; the mark alone becomes a visible space."""
    return token.replace(WORD_START, "") or VISIBLE_SPACE
