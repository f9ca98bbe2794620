"""BERT's tokenizer: word pieces between `[CLS]` and `[SEP]`, learnt from raw text or read from a `vocab.txt`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.special_tokens import WORD_PIECE_TOKENS
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts


class BERT2018Tokenizer(OwnBackend):
    """Texts and pairs of texts as word pieces.

    ```python
    tok = BERT2018Tokenizer.train(texts, vocab_size=8000)          # uncased
    tok = BERT2018Tokenizer.train(texts, vocab_size=8000, lowercase=False)
    tok("A text", "and another one")   # token_type_ids are 1 at the second and its [SEP]
    ```

    Args:
        lowercase, strip_accents, recompose: as trained; the backend does it.
    """

    own_tokens = WORD_PIECE_TOKENS
    model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    padding_side = "right"

    def __init__(
        self,
        *args: Any,
        lowercase: bool = False,
        strip_accents: bool = False,
        recompose: bool = True,
        **kwargs: Any,
    ) -> None:
        self.lowercase, self.strip_accents, self.recompose = lowercase, strip_accents, recompose
        super().__init__(*args, lowercase=lowercase, strip_accents=strip_accents, recompose=recompose, **kwargs)

    def is_whole_in_its_file(self) -> bool:
        return self.recompose  # otherwise texts are composed here and nowhere else

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 30_522,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        recompose: bool = True,
        min_frequency: int = 2,
        alphabet_size: int | None = None,
        model_max_length: int | None = None,
    ) -> "BERT2018Tokenizer":
        """Learn pieces from texts; the iterable is read once.

        Args:
            texts: strings, or lists of strings.
            vocab_size: rows, the five special tokens included; a small text may give fewer: `len(tok)` tells.
            lowercase: the uncased form.
            strip_accents: as `lowercase` if not given, as in the paper.
            recompose: compose letters that taking off the accents left decomposed. Without it, as in the authors'
                code, Korean falls into jamo.
            min_frequency: how often a pair of pieces must occur to be merged.
            alphabet_size: keep only so many characters; words with others become `[UNK]`.
            model_max_length: where `truncation=True` cuts.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        from hf_attention_zoo.tokenization.word_pieces import train_word_pieces

        check_vocab_size(vocab_size)
        strip = lowercase if strip_accents is None else strip_accents
        choices = {"lowercase": lowercase, "strip_accents": strip, "recompose": recompose}
        backend = train_word_pieces(
            checked_texts(texts, "text"),
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            alphabet_size=alphabet_size,
            **choices,
        )
        limit: dict[str, Any] = {} if model_max_length is None else {"model_max_length": model_max_length}
        return cls(tokenizer_object=backend, **choices, **limit)

    @classmethod
    def from_vocabulary(
        cls,
        path: str | os.PathLike[str],
        *,
        lowercase: bool,
        strip_accents: bool | None = None,
        recompose: bool = False,
        model_max_length: int = 512,
    ) -> "BERT2018Tokenizer":
        """The tokenizer of a released `vocab.txt`, one piece a line, with the ids that its model was trained on.

        Args:
            lowercase: whether the vocabulary is uncased; the file does not say.
            strip_accents: as `lowercase` if not given.
            recompose: not, as the released models were trained; with it, uncased models read Korean as `[UNK]`.

        Raises:
            ValueError: the file is missing, or a special token is not in it.
        """
        from hf_attention_zoo.tokenization.word_pieces import enclose_texts, word_piece_backend

        path = Path(path)
        if not path.is_file():
            raise ValueError(f"no such file: {path}")
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        vocabulary = {line.strip(): number for number, line in enumerate(lines)}
        missing = [token for token in WORD_PIECE_TOKENS.values() if token not in vocabulary]
        if missing:
            raise ValueError(f"{path} has no {', '.join(missing)}; give the vocab.txt of a BERT")
        strip = lowercase if strip_accents is None else strip_accents
        choices = {"lowercase": lowercase, "strip_accents": strip, "recompose": recompose}
        backend = word_piece_backend(vocabulary, **choices)
        backend.add_special_tokens(list(WORD_PIECE_TOKENS.values()))
        enclose_texts(backend)
        return cls(tokenizer_object=backend, model_max_length=model_max_length, **choices)
