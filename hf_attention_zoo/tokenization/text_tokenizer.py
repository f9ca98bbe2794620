"""The tokenizer of models that read one text or a pair of texts, and of those that go on with a text word by word.

Nothing is put between the texts of a pair or behind a text: `token_type_ids` tell the two apart. A text without any
token is one `<pad>` that the attention mask leaves out, so that it can be a batch of its own. Everything is composed
(NFC) first.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tokenizers import processors
from transformers import BatchEncoding

from hf_attention_zoo.tokenization.own_backend import OwnBackend, encodings_of
from hf_attention_zoo.tokenization.subword import SPACE_MARK
from hf_attention_zoo.tokenization.surfaces import readable_token, spans_without_marks
from hf_attention_zoo.tokenization.text_vocabulary import (
    KINDS,
    TEXT_SPECIAL_TOKENS,
    train_text_characters,
    train_text_vocabulary,
)
from hf_attention_zoo.tokenization.training_texts import DISCOUNT

# What a text without tokens becomes, column by column.
_EMPTY = {"attention_mask": 0, "token_type_ids": 0, "special_tokens_mask": 1, "offset_mapping": (0, 0)}


class WrittenToken(NamedTuple):
    """A token as it is written: `text[start:end]` of the text in NFC, and how to show it."""

    token: str
    start: int
    end: int


class TextTokenizer(OwnBackend):
    """Single texts and pairs of texts as one row of ids.

    ```python
    tok("A text")                      # token_type_ids are 0
    tok("A text", "and another one")   # token_type_ids are 1 at the second
    ```

    Args:
        kind: "word", "subword" or "character", as trained. lowercase: whether the backend lower-cases its input.
    """

    own_tokens = TEXT_SPECIAL_TOKENS
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    padding_side = "right"

    def __init__(self, *args: Any, kind: str | None = None, lowercase: bool = False, **kwargs: Any) -> None:
        self.kind, self.lowercase = kind, lowercase
        super().__init__(*args, kind=kind, lowercase=lowercase, **kwargs)

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 30_000,
        kind: str = "word",
        lowercase: bool = True,
        min_frequency: int | None = None,
        model_max_length: int | None = None,
        phrase_thresholds: Sequence[float] = (),
        phrase_discount: int = DISCOUNT,
    ) -> "TextTokenizer":
        """Learn a vocabulary from texts; the iterable is read once, with phrases several times.

        Args:
            texts: strings, or lists of strings (both texts of pairs).
            vocab_size: rows, `<pad>` and `<unk>` included; a small text may give fewer: `len(tok)` tells.
            kind: "word" (the most frequent words and marks), "subword" (byte pairs) or "character" (each character
                by itself, spaces and line ends, too).
            min_frequency: how often a word or a character (default 1) or a pair of pieces (default 2) must occur.
            model_max_length: where `truncation=True` cuts.
            phrase_thresholds: of kind "word", for each pass the score from which on two neighbours become one entry,
                "new york" (Mikolov et al. 2013, Equation 6, times the words of the text); [200, 100] finds phrases of
                up to four words.
            phrase_discount: delta, the count up to which two neighbours are no phrase.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        backend = train_text_vocabulary(
            texts,
            "text",
            kind=kind,
            vocab_size=vocab_size,
            lowercase=lowercase,
            min_frequency=min_frequency,
            learners={**KINDS, "character": train_text_characters},
            phrase_thresholds=phrase_thresholds,
            phrase_discount=phrase_discount,
        )
        backend.post_processor = processors.TemplateProcessing(single="$A:0", pair="$A:0 $B:1", special_tokens=[])
        limit: dict[str, Any] = {} if model_max_length is None else {"model_max_length": model_max_length}
        return cls(tokenizer_object=backend, kind=kind, lowercase=lowercase, **limit)

    def _encode_plus(self, text: Any, *args: Any, return_tensors: Any = None, **kwargs: Any) -> BatchEncoding:
        encoded = super()._encode_plus(text, *args, **kwargs)
        if self.is_empty_batch(text, kwargs.get("is_split_into_words", False)):
            return encoded
        single = not encoded["input_ids"] or not isinstance(encoded["input_ids"][0], list)
        columns = {name: [values] if single else list(values) for name, values in encoded.items()}
        for row, ids in enumerate(columns["input_ids"]):
            if not ids:
                for name, fill in {"input_ids": self.pad_token_id, **_EMPTY}.items():
                    if name in columns:
                        columns[name][row] = [fill]
        if single and return_tensors is None:
            columns = {name: values[0] for name, values in columns.items()}
        return BatchEncoding(columns, encoded.encodings, tensor_type=return_tensors)

    def begins_word(self, token_id: int) -> bool:
        """Whether a space stands before a token that is written behind a text."""
        if self.kind == "subword":
            return str(self.convert_ids_to_tokens(token_id)).startswith(SPACE_MARK)
        return self.kind == "word"

    def surface(self, text: str, text_pair: str | None = None, **kwargs: Any) -> tuple[list[WrittenToken], ...]:
        """What stands behind the ids of `tok(text, text_pair)`, for pictures: a list for each text.

        Args:
            kwargs: what the call was given, such as `truncation` and `max_length`.
        """
        encoding = encodings_of(self(text, text_pair, **kwargs))[0]
        written: list[list[WrittenToken]] = []
        for kind, given in enumerate([text] if text_pair is None else [text, text_pair]):
            whole = unicodedata.normalize("NFC", given)
            mine = [place for place, type_id in enumerate(encoding.type_ids) if type_id == kind]
            tokens = [encoding.tokens[place] for place in mine]
            spans = spans_without_marks(tokens, [encoding.offsets[place] for place in mine])
            written.append(
                [
                    WrittenToken(whole[start:end] or readable_token(token), start, end)
                    for token, (start, end) in zip(tokens, spans, strict=True)
                ]
            )
        return tuple(written)
