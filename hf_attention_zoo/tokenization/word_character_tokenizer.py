"""The tokenizer of models that know words by their characters (Peters et al. 2018): 50 ids for each word.

A word is its UTF-8 bytes between two marks, then padding: [begin, bytes, end, pad, pad, ...]. Ids are those of the
authors' files and 1 more (bytes 1 to 256, `<S>` 257, `</S>` 258, begin 259, end 260, padding 261), so that 0, in all
50 places, is a pad of the sentence. A word has 48 places: of a longer one the first 48 bytes are read, even if that
cuts the last character: of Korean syllables, three bytes each, 16. The words `<S>` and `</S>` are boundaries of a
sentence, each a single mark; models put them around a text themselves. Where symbols are text (files), they are words
like any other, spelt with their bytes.

`input_ids` are the words' numbers in the vocabulary of a language model's softmax: `<S>`, `</S>`, `<UNK>`, then words
by frequency, as its sampling needs it. No model reads them; they are labels, and what pipelines know a word by.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tokenizers import Encoding, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import BatchEncoding
from transformers.utils import to_py_obj

from hf_attention_zoo.tokenization.own_backend import OwnBackend, encodings_of
from hf_attention_zoo.tokenization.surfaces import composed
from hf_attention_zoo.tokenization.text_vocabulary import MARK
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts
from hf_attention_zoo.tokenization.word_level import learn_words

START, END, UNKNOWN = "<S>", "</S>", "<UNK>"
# In the order of their ids: 0, 1, 2. A pad has no row of its own in the softmax; nothing reads what stands there.
SENTENCE_TOKENS: dict[str, str] = {"bos_token": START, "eos_token": END, "unk_token": UNKNOWN, "pad_token": END}

MAX_CHARACTERS = 50
SENTENCE_MARKS = {START: 257, END: 258}
BEGIN, FINISH, PADDING = 259, 260, 261
SPLITTING = ("marks", "spaces")

# What a text without words becomes, column by column.
_EMPTY = {"attention_mask": 0, "special_tokens_mask": 1, "offset_mapping": (0, 0)}


class WordAsWritten(NamedTuple):
    """A word: `text[start:end]` of the text in NFC."""

    token: str
    start: int
    end: int


def character_row(word: str, length: int = MAX_CHARACTERS, *, symbols_as_text: bool = False) -> list[int]:
    """The ids of a word's characters.

    Args:
        symbols_as_text: spell `<S>` and `</S>`, too, which are a mark each otherwise.

    Raises:
        ValueError: the word holds a lone surrogate, or there is no room for a character between its marks.
    """
    if length < 3:
        raise ValueError(f"{length} places for a word; its marks alone take two: give at least 3")
    if word in SENTENCE_MARKS and not symbols_as_text:
        inside = [SENTENCE_MARKS[word]]
    else:
        try:
            inside = [byte + 1 for byte in word.encode("utf-8")[: length - 2]]
        except UnicodeEncodeError as error:
            raise ValueError(f"the word {word!r} holds a lone surrogate; every text must be valid Unicode") from error
    row = [BEGIN, *inside, FINISH]
    return row + [PADDING] * (length - len(row))


def word_of_row(row: Sequence[int]) -> str | None:
    """The word of character ids, None for a pad; bytes of a cut character are left out."""
    inside = [number for number in row if 0 < number < BEGIN]
    if not any(row):
        return None
    if len(inside) == 1 and inside[0] in SENTENCE_MARKS.values():
        return next(word for word, number in SENTENCE_MARKS.items() if number == inside[0])
    return bytes(number - 1 for number in inside).decode("utf-8", errors="ignore")


class _Remembered:
    """What is quickly made again: no part of a tokenizer's state, so that keys of data caches do not change with it.

    Attributes:
        rows: word -> its character ids.
        whole: a vocabulary, and the backend that splits no words of it.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self.whole: tuple[Any, Tokenizer] | None = None

    def __reduce__(self) -> tuple[type[_Remembered], tuple[()]]:
        return _Remembered, ()


class WordCharacterTokenizer(OwnBackend):
    """Words as character ids, (words, 50), beside their numbers in a vocabulary.

    ```python
    tok("A text")                                            # raw text: words and marks
    tok(["Words", "as", "they", "are"], is_split_into_words=True)
    tok(texts, padding=True, return_tensors="pt").character_ids    # (texts, words, 50), 0 at pads
    ```

    Args:
        max_characters: places for a word, its two marks included.
        splitting: how raw text becomes words: "marks" parts punctuation marks from words, "spaces" only splits at
            white space. Words that are given are never split.
    """

    own_tokens = SENTENCE_TOKENS
    model_input_names = ["input_ids", "attention_mask", "character_ids"]
    padding_side = "right"

    def __init__(
        self, *args: Any, max_characters: int = MAX_CHARACTERS, splitting: str = "marks", **kwargs: Any
    ) -> None:
        self.max_characters, self.splitting = max_characters, splitting
        character_row("", max_characters)
        super().__init__(*args, max_characters=max_characters, splitting=splitting, **kwargs)
        self._remembered = _Remembered()

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 30_000,
        min_frequency: int = 1,
        splitting: str = "marks",
        max_characters: int = MAX_CHARACTERS,
        model_max_length: int | None = None,
    ) -> WordCharacterTokenizer:
        """Learn the vocabulary of a softmax from texts, or from lists of texts; the iterable is read once.

        Args:
            vocab_size: rows, the three special ones included; a small text may give fewer: `len(tok)` tells.
            min_frequency: how often a word must occur.
            model_max_length: where `truncation=True` cuts, in words.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        check_vocab_size(vocab_size)
        backend = _backend(splitting)
        learn_words(
            backend,
            checked_texts(texts, "text"),
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=(START, END, UNKNOWN),
        )
        limit = {} if model_max_length is None else {"model_max_length": model_max_length}
        return cls(tokenizer_object=backend, max_characters=max_characters, splitting=splitting, **limit)

    @classmethod
    def from_words(
        cls, words: Iterable[str] = (), *, splitting: str = "marks", max_characters: int = MAX_CHARACTERS
    ) -> WordCharacterTokenizer:
        """A tokenizer with these words, in this order, behind the three special ones; without any, for vectors only.

        Args:
            words: such as the lines of a vocabulary file of the authors; special words may stand among them.
        """
        listed = dict.fromkeys((START, END, UNKNOWN, *words))
        backend = _backend(splitting)
        backend.model = models.WordLevel({word: number for number, word in enumerate(listed)}, unk_token=UNKNOWN)
        backend.add_special_tokens([START, END, UNKNOWN])
        return cls(tokenizer_object=backend, max_characters=max_characters, splitting=splitting)

    # ---- characters

    def characters_of(self, words: Iterable[str], *, split_special_tokens: bool | None = None) -> list[list[int]]:
        """Character ids of words, (words, max_characters); `split_special_tokens` as in a call."""
        as_text = self._reads_symbols_as_text(split_special_tokens)
        return [
            character_row(unicodedata.normalize("NFC", word), self.max_characters, symbols_as_text=as_text)
            for word in words
        ]

    def numbers_of(self, words: Iterable[str], *, split_special_tokens: bool | None = None) -> list[int]:
        """Numbers of words in the vocabulary; `split_special_tokens` as in a call."""
        numbers = to_py_obj(self.convert_tokens_to_ids(list(words)))
        if not self._reads_symbols_as_text(split_special_tokens):
            return numbers
        symbols = set(self.all_special_ids)
        return [self.unk_token_id if number in symbols else number for number in numbers]

    def split(self, texts: Sequence[str], *, split_special_tokens: bool | None = None) -> list[list[str]]:
        """The words of texts in NFC as they are written; `split_special_tokens` as in a call."""
        with self._symbols_as_text(self._reads_symbols_as_text(split_special_tokens)):
            encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [
            [text[start:end] for start, end in encoding.offsets]
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def words_of(self, character_ids: Any) -> Any:
        """The words of character ids, without pads: a list for (words, places), a list of lists for a batch."""
        rows = to_py_obj(character_ids)
        if rows and rows[0] and isinstance(rows[0][0], list):
            return [self.words_of(one) for one in rows]
        return [word for row in rows if (word := word_of_row(row)) is not None]

    def _row(self, word: str, symbols_as_text: bool) -> list[int]:
        if symbols_as_text and word in SENTENCE_MARKS:
            return character_row(word, self.max_characters, symbols_as_text=True)
        rows = self._remembered.rows
        row = rows.get(word)
        if row is None:
            if len(rows) > 200_000:  # words of running text are few; a stream of all words has no end
                rows.clear()
            row = rows[word] = character_row(word, self.max_characters)
        return row

    # ---- encoding

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *args: Any,
        return_tensors: Any = None,
        is_split_into_words: bool = False,
        split_special_tokens: bool | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        if text_pair is not None:
            raise ValueError("ELMo reads single texts; encode the texts of a pair one by one")
        given, text = text, composed(text)
        as_text = self._reads_symbols_as_text(split_special_tokens)
        if is_split_into_words:
            _check_words(text)
        splitting = self._tokenizer
        if is_split_into_words:
            self._tokenizer = self._without_splitting()
        try:
            encoded = super()._encode_plus(
                given,
                None,
                *args,
                is_split_into_words=is_split_into_words,
                split_special_tokens=as_text,
                **kwargs,
            )
        finally:
            self._tokenizer = splitting
        if self.is_empty_batch(text, is_split_into_words):
            return encoded
        single = not encoded["input_ids"] or not isinstance(encoded["input_ids"][0], list)
        columns = {name: [values] if single else list(values) for name, values in encoded.items()}
        origin = columns.get("overflow_to_sample_mapping") or range(len(columns["input_ids"]))
        one = single or isinstance(text, str) or (is_split_into_words and bool(text) and isinstance(text[0], str))
        rows = []
        for number, encoding in zip(origin, encodings_of(encoded), strict=True):
            rows.append(self._rows_of(encoding, text if one else text[number], is_split_into_words, as_text))
        columns["character_ids"] = rows
        for row, ids in enumerate(columns["input_ids"]):
            if not ids:
                columns["character_ids"][row] = [[0] * self.max_characters]
                for name, fill in {"input_ids": self.pad_token_id, **_EMPTY}.items():
                    if name in columns:
                        columns[name][row] = [fill]
        if single and return_tensors is None:
            columns = {name: values[0] for name, values in columns.items()}
        return BatchEncoding(columns, encoded.encodings, tensor_type=return_tensors)

    def _without_splitting(self) -> Tokenizer:
        """The same vocabulary for words that are given: each stays one word, whatever it is written with.

        Made once for a vocabulary: large ones take longer than texts.
        """
        backend = self._tokenizer
        vocabulary = (
            backend,
            backend.get_vocab_size(with_added_tokens=False),
            len(backend.get_added_tokens_decoder()),
        )
        kept = self._remembered
        if kept.whole is None or kept.whole[0] != vocabulary:
            kept.whole = (vocabulary, Tokenizer(models.WordLevel(backend.get_vocab(), unk_token=UNKNOWN)))
        return kept.whole[1]

    def _rows_of(self, encoding: Encoding, text: Any, is_split_into_words: bool, as_text: bool) -> list[list[int]]:
        places = zip(encoding.attention_mask, encoding.offsets, encoding.word_ids, strict=True)
        pad = [0] * self.max_characters
        if is_split_into_words:
            return [self._row(text[word], as_text) if real else pad for real, _, word in places]
        return [self._row(text[start:end], as_text) if real else pad for real, (start, end), _ in places]

    def _pad(self, encoded_inputs: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        before = len(encoded_inputs[self.model_input_names[0]])
        padded = super()._pad(encoded_inputs, *args, **kwargs)
        missing = len(padded[self.model_input_names[0]]) - before
        if "character_ids" in padded and missing:
            rest = [[0] * self.max_characters for _ in range(missing)]
            given = [list(row) for row in padded["character_ids"]]
            side = kwargs.get("padding_side") or self.padding_side
            padded["character_ids"] = [*rest, *given] if side == "left" else [*given, *rest]
        return padded

    def surface(self, text: str, **kwargs: Any) -> list[WordAsWritten]:
        """What stands behind the ids of `tok(text)`, for pictures and tables.

        Args:
            kwargs: what the call was given, such as `truncation` and `max_length`.
        """
        encoding = encodings_of(self(text, **kwargs))[0]
        whole = unicodedata.normalize("NFC", text)
        return [WordAsWritten(whole[start:end], start, end) for start, end in encoding.offsets]


def _backend(splitting: str) -> Tokenizer:
    if splitting not in SPLITTING:
        raise ValueError(f"splitting={splitting!r} is not known; choose from {', '.join(map(repr, SPLITTING))}")
    backend = Tokenizer(models.WordLevel({START: 0, END: 1, UNKNOWN: 2}, unk_token=UNKNOWN))
    backend.normalizer = normalizers.NFC()
    steps: list[Any] = [pre_tokenizers.WhitespaceSplit()]
    if splitting == "marks":
        steps.append(pre_tokenizers.Split(Regex(MARK), behavior="isolated"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    backend.decoder = decoders.WordPiece(prefix="\0", cleanup=False)  # words with a space between them
    return backend


def _check_words(text: Any) -> None:
    """Words that are given are strings, and none is empty."""
    one = isinstance(text, list | tuple) and (not text or isinstance(text[0], str))
    texts: Sequence[Any] = [text] if one else text
    for number, words in enumerate(texts):
        if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
            raise ValueError(f"text {number} is {words!r:.80}; with is_split_into_words=True give lists of words")
        if "" in words:
            raise ValueError(f"word {list(words).index('')} of text {number} is empty; leave it out")
