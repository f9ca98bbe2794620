"""What the tokenizers of this package share beyond transformers' class for tokenizers with a backend."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

from tokenizers import Encoding, Tokenizer
from transformers import BatchEncoding, TokenizersBackend

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS
from hf_attention_zoo.tokenization.surfaces import composed, composed_spans, first_unreadable, span_through

# How a tokenizer was loaded is no property of it; saved, it would make a reloaded copy's files differ.
HOW_IT_WAS_LOADED = ("is_local", "local_files_only")

# Where this package was not imported, transformers reads `tokenizer.json` with a class of its own and gives other ids
# without a word. The version is the one place in that file whose text the backend repeats when it refuses the file.
PLAIN_VERSION = '"version": "1.0"'
GUARDED_VERSION = (
    '"version": "1.0, and read by hf_attention_zoo: pip install hf_attention_zoo, then import hf_attention_zoo before '
    'AutoTokenizer is called"'
)


def guard_backend_file(path: str | os.PathLike[str]) -> None:
    """Make a `tokenizer.json` one that only this package reads; others stop with a message that names it."""
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(text.replace(PLAIN_VERSION, GUARDED_VERSION, 1), encoding="utf-8", newline="\n")


def read_backend_file(path: str | os.PathLike[str]) -> Tokenizer:
    """The backend in a `tokenizer.json`, guarded or not."""
    return Tokenizer.from_str(Path(path).read_text(encoding="utf-8").replace(GUARDED_VERSION, PLAIN_VERSION, 1))


def encodings_of(encoded: BatchEncoding) -> list[Encoding]:
    """What the backend made of each text, beside the columns.

    Raises:
        ValueError: it was not kept, as in what was loaded or padded anew.
    """
    if encoded.encodings is None:
        raise ValueError("this encoding has lost its places in the text; give what the tokenizer itself returned")
    return encoded.encodings


class OwnBackend(TokenizersBackend):
    """A tokenizer that stays what it was trained as, and reads every text composed (NFC).

    `offset_mapping` counts the characters of the text as it was given; what else knows of characters (`encodings`,
    `char_to_token` and the like) those of the text as it is read.

    With `split_special_tokens=True`, in a call or of the tokenizer, a symbol such as `</s>` that stands in a text is
    text, as in files: its pieces, or an unknown word where the vocabulary could only give the symbol itself.

    Attributes:
        own_tokens: the special tokens of a tokenizer that is told no others.
    """

    own_tokens: ClassVar[dict[str, str]] = SPECIAL_TOKENS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        file = kwargs.get("tokenizer_file")
        if file is not None and os.path.isfile(file) and kwargs.get("tokenizer_object") is None:
            kwargs["tokenizer_object"] = read_backend_file(kwargs.pop("tokenizer_file"))
        super().__init__(*args, **{**self.own_tokens, **kwargs})
        for name in HOW_IT_WAS_LOADED:
            self.init_kwargs.pop(name, None)

    if TYPE_CHECKING:
        # transformers says None where it means that a subclass without a backend has none yet.
        _tokenizer: Tokenizer  # type: ignore[assignment]

        @classmethod
        def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike, *args: Any, **kwargs: Any) -> Self:
            """transformers' own, which names no type."""

        @overload
        def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = False) -> str: ...
        @overload
        def convert_ids_to_tokens(self, ids: list[int], skip_special_tokens: bool = False) -> list[str]: ...
        def convert_ids_to_tokens(self, ids: int | list[int], skip_special_tokens: bool = False) -> str | list[str]:
            """transformers' own, whose type says neither that one id gives one token nor that several give a list."""

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Hand the files through: a class with its own `__init__` would otherwise lose normaliser and decoder."""
        return kwargs

    def is_whole_in_its_file(self) -> bool:
        """Whether `tokenizer.json` alone, read by any other program, gives the same ids and texts."""
        return False

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike,
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        files = super()._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
        if not self.is_whole_in_its_file():
            guard_backend_file(files[-1])
        return files

    @staticmethod
    def is_empty_batch(text: Any, is_split_into_words: bool = False) -> bool:
        """Whether no text at all was given, which is not the same as an empty one."""
        return isinstance(text, list | tuple) and not text and not is_split_into_words

    def _encode_plus(
        self, text: Any, text_pair: Any = None, *args: Any, split_special_tokens: bool | None = None, **kwargs: Any
    ) -> BatchEncoding:
        if self.is_empty_batch(text, kwargs.get("is_split_into_words", False)):
            return BatchEncoding({name: [] for name in self.model_input_names})
        as_text = self._reads_symbols_as_text(split_special_tokens)
        read, read_pair = self._as_read(text, as_text), self._as_read(text_pair, as_text)
        try:
            with self._symbols_as_text(as_text):
                encoded = super()._encode_plus(read, read_pair, *args, **{**kwargs, "split_special_tokens": as_text})
        except (TypeError, UnicodeEncodeError) as error:
            wrong = first_unreadable(read) or first_unreadable(read_pair)
            if wrong is None:
                raise
            raise ValueError(f"{wrong}; every text must be a string of valid Unicode") from error
        finally:
            # No property of the tokenizer: left there, it would change saved files and the keys of data caches.
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        if "offset_mapping" in encoded and (read != text or read_pair != text_pair):
            self._count_as_given(encoded, text, text_pair, kwargs.get("is_split_into_words", False), as_text)
        return encoded

    # ---- symbols that stand in texts

    def _reads_symbols_as_text(self, split_special_tokens: bool | None = None) -> bool:
        """What a call says, or else the tokenizer."""
        return self.split_special_tokens if split_special_tokens is None else split_special_tokens

    @contextmanager
    def _symbols_as_text(self, as_text: bool) -> Iterator[None]:
        """While it lasts, the backend cuts no symbols out of texts, or does; it keeps nothing of a single call."""
        backend = self._tokenizer
        backend.encode_special_tokens = as_text
        try:
            yield
        finally:
            backend.encode_special_tokens = self.split_special_tokens

    def _convert_encoding(
        self, encoding: Encoding, *args: Any, **kwargs: Any
    ) -> tuple[dict[str, Any], list[Encoding]]:
        columns, encodings = super()._convert_encoding(encoding, *args, **kwargs)
        if self._tokenizer.encode_special_tokens:
            columns["input_ids"] = [self._ids_of_text(one) for one in encodings]
        return columns, encodings

    def _ids_of_text(self, encoding: Encoding) -> list[int]:
        """The ids of a text in which symbols are text: a vocabulary of words finds a symbol by its name all the same.

        What the template adds, and pads, are no part of the text.
        """
        unknown, symbols = self.unk_token_id, set(self.all_special_ids)
        if unknown is None or symbols.isdisjoint(encoding.ids):
            return encoding.ids
        ids = zip(encoding.ids, encoding.special_tokens_mask, strict=True)
        return [unknown if number in symbols and not added else number for number, added in ids]

    # ---- characters as they are given and as they are read

    def _as_read(self, text: Any, symbols_as_text: bool) -> Any:
        """Texts, inside lists too, as they go to the backend."""
        return composed(text)

    def _spans_read(self, text: str, symbols_as_text: bool) -> list[tuple[int, int]]:
        """For each character of a text as it is read, those of the given text: the first, and behind the last."""
        return composed_spans(text)

    def _count_as_given(
        self, encoded: BatchEncoding, text: Any, text_pair: Any, is_split_into_words: bool, symbols_as_text: bool
    ) -> None:
        """Let the offsets, which count characters of what was read, count those of what was given."""
        samples = list(text) if isinstance(text, list | tuple) else [text]
        if is_split_into_words and samples and isinstance(samples[0], str):
            samples, text_pair = [samples], None if text_pair is None else [text_pair]
        elif isinstance(text_pair, str):
            text_pair = [text_pair]
        rows = encoded["offset_mapping"]
        if isinstance(rows, list) and rows and isinstance(rows[0], tuple):
            rows = [rows]
        known: dict[str, list[tuple[int, int]]] = {}
        for row, encoding in enumerate(encodings_of(encoded)):
            sample = (
                int(encoded["overflow_to_sample_mapping"][row]) if "overflow_to_sample_mapping" in encoded else row
            )
            sides: Any = samples[sample] if text_pair is None else (samples[sample], text_pair[sample])
            if isinstance(sides, str) or (is_split_into_words and text_pair is None and isinstance(sides[0], str)):
                sides = (sides,)
            for place, (side, word) in enumerate(zip(encoding.sequence_ids, encoding.word_ids, strict=True)):
                if side is None or (is_split_into_words and word is None):
                    continue
                given = sides[side][word] if is_split_into_words else sides[side]
                if given not in known:
                    known[given] = self._spans_read(given, symbols_as_text)
                start, end = rows[row][place]
                span = span_through(known[given], int(start), int(end))
                if isinstance(rows, list):
                    rows[row][place] = span
                else:  # a tensor
                    rows[row, place, 0], rows[row, place, 1] = span
