"""The tokenizer of the translation models: one class for words or subwords, one vocabulary or two.

Text goes in through the source vocabulary, `text_target=` through the target vocabulary, and `decode` always reads
target ids, since what a translation model generates is target text; `decode_source` reads source ids. With a shared
vocabulary the two are one and the difference disappears.
"""

import os
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from tokenizers import AddedToken, Encoding, Tokenizer
from transformers import BatchEncoding

from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.subword import train_subword
from hf_attention_zoo.tokenization.surfaces import readable_token, spans_without_marks
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts
from hf_attention_zoo.tokenization.word_level import train_symbols, train_word_level

TARGET_TOKENIZER_FILE = "target_tokenizer.json"
KINDS = ("subword", "word", "symbols")
_TRAINERS: dict[str, Callable[..., Tokenizer]] = dict(
    zip(KINDS, (train_subword, train_word_level, train_symbols), strict=True)
)


class _Mode(threading.local):
    """Which vocabulary each thread speaks; a copy or a pickle starts anew in source mode."""

    target: bool = False

    def __reduce__(self) -> tuple[type["_Mode"], tuple[()]]:
        return _Mode, ()


class _Lock:
    """A re-entrant lock that can be copied and pickled, as a fresh one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["_Lock"], tuple[()]]:
        return _Lock, ()


class TranslationTokenizer(OwnBackend):
    """A pair of `tokenizers` backends behind the interface of a transformers tokenizer.

    `len(tok)` and `get_vocab()` speak of the source vocabulary, `target_vocab_size` and `get_target_vocab()` of the
    target one. Special tokens have the same ids on both sides: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3.

    Args:
        tokenizer_object, tokenizer_file: the source backend (the only one of a shared vocabulary).
        target_tokenizer_object, target_tokenizer_file: the target backend.
        shared_vocabulary: one vocabulary for both sides; by default, whether no target backend is given.
        kind: "subword", "word" or "symbols", as the source was trained. lowercase: whether the backends lower-case
            their input.
        source_lang, target_lang: language codes, kept for cards and metrics.

    Raises:
        ValueError: two vocabularies are asked for and one is missing.
    """

    vocab_files_names = {"tokenizer_file": "tokenizer.json", "target_tokenizer_file": TARGET_TOKENIZER_FILE}
    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"

    def __init__(
        self,
        *args: Any,
        shared_vocabulary: bool | None = None,
        kind: str | None = None,
        lowercase: bool = False,
        source_lang: str | None = None,
        target_lang: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._source_backend: Tokenizer | None = None
        self._target_backend: Tokenizer | None = None
        self._mode = _Mode()
        # The backends keep padding and truncation as state, set for each call.
        self._backend_lock = _Lock()
        # Like the source's, these two are what the tokenizer is made of, not options to be saved with it.
        target_tokenizer_object: Tokenizer | None = kwargs.pop("target_tokenizer_object", None)
        target_tokenizer_file: str | None = kwargs.pop("target_tokenizer_file", None)
        if shared_vocabulary is None:
            shared_vocabulary = target_tokenizer_object is None and target_tokenizer_file is None
        if not shared_vocabulary:
            if target_tokenizer_object is not None:
                self._target_backend = Tokenizer.from_str(target_tokenizer_object.to_str())
            elif target_tokenizer_file is not None and os.path.isfile(target_tokenizer_file):
                self._target_backend = Tokenizer.from_file(str(target_tokenizer_file))
            else:
                raise ValueError(
                    f"this tokenizer has separate vocabularies, but its target vocabulary ({TARGET_TOKENIZER_FILE}) "
                    f"is missing (looked for: {target_tokenizer_file}); copy the file beside tokenizer.json"
                )
            self._target_backend.no_truncation()
            self._target_backend.no_padding()
        self.shared_vocabulary = shared_vocabulary
        self.kind = kind
        self.lowercase = lowercase
        self.source_lang = source_lang
        self.target_lang = target_lang
        super().__init__(
            *args,
            shared_vocabulary=shared_vocabulary,
            kind=kind,
            lowercase=lowercase,
            source_lang=source_lang,
            target_lang=target_lang,
            **kwargs,
        )

    def is_whole_in_its_file(self) -> bool:
        return self.shared_vocabulary  # no other program knows of a second file

    @classmethod
    def train(
        cls,
        source_texts: Iterable[str] | Iterable[list[str]],
        target_texts: Iterable[str] | Iterable[list[str]] | None = None,
        *,
        kind: str = "subword",
        target_kind: str | None = None,
        vocab_size: int = 8000,
        target_vocab_size: int | None = None,
        shared: bool = False,
        lowercase: bool = False,
        source_lang: str | None = None,
        target_lang: str | None = None,
        min_frequency: int | None = None,
        alphabet_size: int | None = None,
        model_max_length: int | None = None,
        padding_side: str = "right",
    ) -> "TranslationTokenizer":
        """Learn the vocabularies from sentences; each iterable is read once, so generators will do.

        Args:
            source_texts, target_texts: sentences (or lists of sentences). The target may be left out if `shared`.
            kind: "subword" (byte pairs), "word" (a shortlist of the most frequent words, the rest `<unk>`) or
                "symbols" (the same of whatever stands between white space).
            target_kind: the target's, as the source's by default.
            vocab_size, target_vocab_size: rows, the four special tokens included; the target follows the source by
                default. A small text may give fewer rows: `len(tok)` and `tok.target_vocab_size` tell.
            shared: one vocabulary, trained on both sides together.
            min_frequency: how often a word (default 1) or a pair of pieces (default 2) must occur.
            alphabet_size: subword only, see `train_subword`.

        Raises:
            ValueError: a value of the wrong type or range, texts without text, or too small a vocabulary.
        """
        target_kind = target_kind or kind
        for name, value in (("kind", kind), ("target_kind", target_kind)):
            if value not in KINDS:
                raise ValueError(f"{name}={value!r} is not known; choose from {', '.join(map(repr, KINDS))}")
        check_vocab_size(vocab_size)
        if target_vocab_size is not None:
            check_vocab_size(target_vocab_size, "target_vocab_size")
        if shared and target_vocab_size not in (None, vocab_size):
            raise ValueError(
                f"shared=True has one vocabulary, but vocab_size={vocab_size} and "
                f"target_vocab_size={target_vocab_size} differ; leave target_vocab_size out"
            )
        if target_texts is None and not shared:
            raise ValueError("separate vocabularies need target_texts; give them, or shared=True for one vocabulary")
        if shared and target_kind != kind:
            raise ValueError(
                f"shared=True has one vocabulary, but kind={kind!r} and target_kind={target_kind!r} differ; leave "
                "target_kind out"
            )
        if alphabet_size is not None and "subword" not in (kind, target_kind):
            raise ValueError(f"alphabet_size={alphabet_size} is for kind='subword', not for kind={kind!r}")

        options: dict[str, Any] = {"lowercase": lowercase}
        if min_frequency is not None:
            options["min_frequency"] = min_frequency

        def learn(kind: str, texts: Iterable[str], size: int) -> Tokenizer:
            extra = {"alphabet_size": alphabet_size} if kind == "subword" and alphabet_size is not None else {}
            return _TRAINERS[kind](texts, vocab_size=size, **options, **extra)

        source: Iterator[str] = checked_texts(source_texts, "source")
        target = checked_texts(target_texts, "target") if target_texts is not None else iter(())
        if shared:
            backends = {"tokenizer_object": learn(kind, chain(source, target), vocab_size)}
        else:
            backends = {
                "tokenizer_object": learn(kind, source, vocab_size),
                "target_tokenizer_object": learn(target_kind, target, target_vocab_size or vocab_size),
            }
        return cls(
            **backends,
            shared_vocabulary=shared,
            kind=kind,
            lowercase=lowercase,
            source_lang=source_lang,
            target_lang=target_lang,
            padding_side=padding_side,
            **({} if model_max_length is None else {"model_max_length": model_max_length}),
        )

    # ---- which vocabulary is spoken; per thread, so that one thread's targets are not another's sources

    @property  # type: ignore[override]  # transformers declares an attribute that is always None
    def _tokenizer(self) -> Tokenizer:
        """The backend that the inherited methods work with: the source's, unless this thread speaks target."""
        state: Any = self.__dict__  # which has none while transformers' `__init__` looks for it
        if state.get("_target_backend") is not None and state["_mode"].target:
            return state["_target_backend"]
        return state.get("_source_backend")

    @_tokenizer.setter
    def _tokenizer(self, backend: Tokenizer) -> None:
        self._source_backend = backend

    @contextmanager
    def _speaking(self, target: bool) -> Iterator[None]:
        before = self._mode.target
        self._mode.target = target
        try:
            yield
        finally:
            self._mode.target = before

    def _switch_to_target_mode(self) -> None:
        self._mode.target = True

    def _switch_to_input_mode(self) -> None:
        self._mode.target = False

    def _backends(self) -> list[Tokenizer]:
        return [backend for backend in (self._source_backend, self._target_backend) if backend is not None]

    # ---- encoding

    def __call__(self, *args: Any, **kwargs: Any) -> BatchEncoding:
        """As in transformers; `text_target=` goes through the target vocabulary and, beside `text`, gives `labels`.

        Offsets count the characters of the text as it was given and leave out the space before a token.
        """
        with self._speaking(target=False):
            return super().__call__(*args, **kwargs)

    def _encode_plus(self, *args: Any, **kwargs: Any) -> BatchEncoding:
        with self._backend_lock:
            return super()._encode_plus(*args, **kwargs)

    def _convert_encoding(
        self, encoding: Encoding, *args: Any, **kwargs: Any
    ) -> tuple[dict[str, Any], list[Encoding]]:
        columns, encodings = super()._convert_encoding(encoding, *args, **kwargs)
        if "offset_mapping" in columns:
            columns["offset_mapping"] = [spans_without_marks(e.tokens, e.offsets) for e in encodings]
        return columns, encodings

    def source_surface(self, text: str, **kwargs: Any) -> list[tuple[str, int, int]]:
        """What stands behind each source id of `text`, for pictures and for copying unknown words.

        Args:
            text: one sentence. kwargs: what `tok(text, ...)` was given, such as `truncation` and `max_length`.

        Returns:
            As many entries as `tok(text, **kwargs).input_ids`, each `(token, start, end)` where `text[start:end]` is
            the raw text (unknown words too) and `token` its readable NFC form; `("</s>", len(text), len(text))` last.
        """
        encoding = self(text, return_offsets_mapping=True, return_special_tokens_mask=True, **kwargs)
        surface = []
        for token_id, (start, end), special in zip(
            encoding["input_ids"], encoding["offset_mapping"], encoding["special_tokens_mask"], strict=True
        ):
            token = self.convert_ids_to_tokens(token_id)
            if special and start == end:
                surface.append((token, len(text), len(text)))
                continue
            start += len(text[start:end]) - len(text[start:end].lstrip())
            surface.append((unicodedata.normalize("NFC", text[start:end]) or readable_token(token), start, end))
        return surface

    # ---- the target side

    @property
    def target_vocab_size(self) -> int:
        """Rows of the target vocabulary, added tokens included: what a decoder's embedding table needs."""
        with self._speaking(target=True):
            return len(self)

    def get_target_vocab(self) -> dict[str, int]:
        """Token to id on the target side; `get_vocab` is the source's."""
        with self._speaking(target=True):
            return self.get_vocab()

    def convert_target_ids_to_tokens(self, ids: int | list[int], skip_special_tokens: bool = False) -> str | list[str]:
        """Target ids as tokens of the vocabulary, with their marks; `target_surface` gives them readable."""
        with self._speaking(target=True):
            return self.convert_ids_to_tokens(ids, skip_special_tokens=skip_special_tokens)

    def convert_target_tokens_to_ids(self, tokens: str | list[str]) -> int | list[int]:
        """Tokens as target ids, unknown ones as `<unk>`."""
        with self._speaking(target=True):
            return self.convert_tokens_to_ids(tokens)

    def target_surface(self, ids: list[int]) -> list[str]:
        """One readable string for each target id, special tokens included: the labels of a picture."""
        with self._speaking(target=True):
            return [readable_token(token) for token in self.convert_ids_to_tokens(list(ids))]

    def _decode(
        self, token_ids: int | list[int], *args: Any, use_source_tokenizer: bool = False, **kwargs: Any
    ) -> str:
        with self._speaking(target=not use_source_tokenizer), self._backend_lock:
            try:
                return super()._decode(token_ids, *args, **kwargs)
            except OverflowError as error:
                raise ValueError(
                    f"ids to decode must not be negative, got {token_ids!r:.80}; replace the label padding -100 by "
                    f"pad_token_id ({self.pad_token_id}) first"
                ) from error

    def decode_source(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """`decode` for source ids: one sequence, or a batch of them."""
        return self.decode(token_ids, skip_special_tokens=skip_special_tokens, use_source_tokenizer=True, **kwargs)

    # ---- changing and saving

    def _add_tokens(
        self, new_tokens: list[str] | list[AddedToken] | list[str | AddedToken], special_tokens: bool = False
    ) -> int:
        """Add to both vocabularies, where the ids may differ; returns how many rows the source gained."""
        with self._backend_lock:
            added = [
                backend.add_special_tokens(new_tokens) if special_tokens else backend.add_tokens(new_tokens)
                for backend in self._backends()
            ]
        return added[0]

    def update_post_processor(self) -> None:
        """Set the template of `add_bos_token` and `add_eos_token` on both sides."""
        for target in (False, True):
            with self._speaking(target):
                super().update_post_processor()

    def train_new_from_iterator(self, *args: Any, **kwargs: Any) -> "TranslationTokenizer":
        """As in transformers, for a shared vocabulary.

        Raises:
            ValueError: the vocabularies are separate; one iterator cannot tell them apart.
        """
        if not self.shared_vocabulary:
            raise ValueError(
                "one iterator cannot train separate source and target vocabularies; use "
                "TranslationTokenizer.train(source_texts, target_texts, ...)"
            )
        return super().train_new_from_iterator(*args, **kwargs)

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike,
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        target_file = os.path.join(
            str(save_directory), (f"{filename_prefix}-" if filename_prefix else "") + TARGET_TOKENIZER_FILE
        )
        with self._backend_lock:
            files = super()._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
            if self._target_backend is not None:
                self._target_backend.save(target_file)
                return (*files, target_file)
        if os.path.isfile(target_file):  # left by another tokenizer, it would go to the Hub with this one
            os.remove(target_file)
        return files
