"""The tokenizer of models that write one language and read none: captions of pictures."""

from collections.abc import Iterable
from typing import Any

from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.subword import train_subword
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts
from hf_attention_zoo.tokenization.word_level import train_word_level

LEARNERS = {"word": train_word_level, "subword": train_subword}


class CaptionTokenizer(OwnBackend):
    """Captions as one row of ids that ends with `</s>`; decoding restores the text.

    Args:
        kind: "word" or "subword", as trained.
        lowercase: whether the backend lower-cases its input.
        language: code of the captions' language, such as "ko".
    """

    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"

    def __init__(
        self,
        *args: Any,
        kind: str | None = None,
        lowercase: bool = False,
        language: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.kind, self.lowercase, self.language = kind, lowercase, language
        super().__init__(*args, kind=kind, lowercase=lowercase, language=language, **kwargs)

    def is_whole_in_its_file(self) -> bool:
        return True

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 10_000,
        kind: str = "word",
        lowercase: bool = False,
        min_frequency: int | None = None,
        language: str | None = None,
    ) -> "CaptionTokenizer":
        """Learn a vocabulary from captions; the iterable is read once.

        Args:
            texts: captions, or lists of them (several of one picture).
            vocab_size: rows, the four special tokens included; small data may give fewer: `len(tok)` tells.
            kind: "word" (the most frequent words, as the paper) or "subword" (byte pairs).
            min_frequency: how often a word (default 1) or a pair of pieces (default 2) must occur.
            language: code of the language.

        Raises:
            ValueError: a value of the wrong type or range, or captions without text.
        """
        if kind not in LEARNERS:
            raise ValueError(f"kind={kind!r} is not known; choose from {', '.join(map(repr, LEARNERS))}")
        check_vocab_size(vocab_size)
        options: dict[str, Any] = {} if min_frequency is None else {"min_frequency": min_frequency}
        backend = LEARNERS[kind](
            checked_texts(texts, "caption"), vocab_size=vocab_size, lowercase=lowercase, **options
        )
        return cls(tokenizer_object=backend, kind=kind, lowercase=lowercase, language=language)
