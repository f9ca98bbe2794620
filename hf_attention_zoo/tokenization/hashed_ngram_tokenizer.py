"""The tokenizer of fastText (Joulin et al. 2016): a text is its words, the end of its line, and hashed n-grams.

Ids are `<pad>` 0, `<unk>` 1, `</s>` 2, then words by frequency, and behind them the buckets: an n-gram is the id
`number of words + hash mod number of buckets`. The hashes are the authors', bit for bit. A word that the vocabulary
lacks has no id, but takes part in n-grams. `</s>` is counted and hashed as a word.

With `word_ngrams=1` and no n-grams of characters there are no buckets, as in the authors' code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import BatchEncoding
from transformers.tokenization_utils_base import PaddingStrategy, TruncationStrategy

from hf_attention_zoo.tokenization.ngram_hashing import character_buckets, fnv1a, word_ngram_buckets
from hf_attention_zoo.tokenization.own_backend import OwnBackend, encodings_of
from hf_attention_zoo.tokenization.surfaces import composed
from hf_attention_zoo.tokenization.text_vocabulary import MARK
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts
from hf_attention_zoo.tokenization.word_level import learn_words

# In the order of their ids: 0, 1, 2.
LINE_TOKENS: dict[str, str] = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
SPLITTING = ("marks", "spaces")


class Feature(NamedTuple):
    """An id of a bag, and the words that it stands for: `first` to `last`; the end of the line is behind the words."""

    id: int
    first: int
    last: int


class WrittenFeature(NamedTuple):
    """A feature as it is written: `text[start:end]` of the text in NFC."""

    token: str
    start: int
    end: int


class HashedNGramTokenizer(OwnBackend):
    """Texts as bags of words and hashed n-grams.

    ```python
    tok("A text")["input_ids"]         # a, text, </s>, then "a text" and "text </s>" as buckets
    tok.bag(["a", "text"])             # the same from words
    ```

    `truncation=True` cuts behind the last word of which all ids fit.

    Args:
        word_ngrams: n-grams of words up to this length, 1 for words alone.
        num_buckets: rows that n-grams share.
        min_char_ngram, max_char_ngram: lengths of n-grams of characters of `<word>`; none if the second is 0.
        lowercase, splitting: as trained; "marks" parts punctuation marks from words, "spaces" splits at white space.
    """

    own_tokens = LINE_TOKENS
    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"

    def __init__(
        self,
        *args: Any,
        word_ngrams: int = 1,
        num_buckets: int = 0,
        min_char_ngram: int = 0,
        max_char_ngram: int = 0,
        lowercase: bool = False,
        splitting: str = "marks",
        **kwargs: Any,
    ) -> None:
        self.word_ngrams, self.num_buckets = word_ngrams, num_buckets
        self.min_char_ngram, self.max_char_ngram = min_char_ngram, max_char_ngram
        self.lowercase, self.splitting = lowercase, splitting
        settings = {
            "word_ngrams": word_ngrams,
            "num_buckets": num_buckets,
            "min_char_ngram": min_char_ngram,
            "max_char_ngram": max_char_ngram,
        }
        for name, value in settings.items():
            least = 1 if name == "word_ngrams" else 0
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}; give an integer of {least} or more")
        if self.hashes_ngrams and not num_buckets:
            raise ValueError("n-grams are hashed into buckets, but num_buckets is 0; give a number such as 100000")
        super().__init__(*args, **settings, lowercase=lowercase, splitting=splitting, **kwargs)
        self._subwords: dict[str, list[int]] = {}

    @property
    def hashes_ngrams(self) -> bool:
        """Whether anything but words has ids."""
        return self.word_ngrams > 1 or self.max_char_ngram > 0

    def __getstate__(self) -> dict[str, Any]:
        """For copies and other processes: without what is only remembered and quickly made again."""
        return {**self.__dict__, "_subwords": {}}

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 100_000,
        word_ngrams: int = 1,
        num_buckets: int = 0,
        min_char_ngram: int = 0,
        max_char_ngram: int = 0,
        lowercase: bool = True,
        splitting: str = "marks",
        min_frequency: int = 1,
        model_max_length: int | None = None,
    ) -> HashedNGramTokenizer:
        """Learn a vocabulary from texts; the iterable is read once.

        Args:
            texts: strings, or lists of strings.
            vocab_size: rows of words, the three special ones included and buckets not; a small text may give fewer.
            min_frequency: how often a word must occur.
            model_max_length: where `truncation=True` cuts, in ids.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        check_vocab_size(vocab_size)
        backend = learn_words(
            _backend(splitting, lowercase),
            checked_texts(texts, "text"),
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=LINE_TOKENS.values(),
        )
        settings = dict(word_ngrams=word_ngrams, min_char_ngram=min_char_ngram, max_char_ngram=max_char_ngram)
        limit = {} if model_max_length is None else {"model_max_length": model_max_length}
        return cls._of_backend(backend, num_buckets, lowercase=lowercase, splitting=splitting, **settings, **limit)

    @classmethod
    def from_words(
        cls,
        words: Iterable[str],
        *,
        num_buckets: int = 0,
        lowercase: bool = False,
        splitting: str = "spaces",
        **settings: Any,
    ) -> HashedNGramTokenizer:
        """A tokenizer with these words, in this order, behind the three special ones."""
        backend = _backend(splitting, lowercase)
        listed = dict.fromkeys((*LINE_TOKENS.values(), *words))
        backend.model = models.WordLevel({word: row for row, word in enumerate(listed)}, unk_token="<unk>")
        backend.add_special_tokens(list(LINE_TOKENS.values()))
        return cls._of_backend(backend, num_buckets, lowercase=lowercase, splitting=splitting, **settings)

    @classmethod
    def _of_backend(cls, backend: Tokenizer, num_buckets: int, **settings: Any) -> HashedNGramTokenizer:
        hashes = settings.get("word_ngrams", 1) > 1 or settings.get("max_char_ngram", 0) > 0
        return cls(tokenizer_object=backend, num_buckets=num_buckets if hashes else 0, **settings)

    # ---- ids

    @property
    def num_words(self) -> int:
        """Rows of the vocabulary; the first bucket is the id behind them."""
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    def __len__(self) -> int:
        """All rows that a model needs, buckets included."""
        return self.num_words + (self.num_buckets if self.hashes_ngrams else 0)

    def _add_tokens(self, new_tokens: list[Any], special_tokens: bool = False) -> int:
        known = self._tokenizer.get_vocab(with_added_tokens=True)
        new = [str(token) for token in new_tokens if str(token) not in known]
        if new and self.hashes_ngrams:
            raise ValueError(
                f"{new[0]!r} would take the place of the first bucket; train the tokenizer on texts that hold it"
            )
        return super()._add_tokens(new_tokens, special_tokens)

    def ids_of_word(self, word: str, symbols: bool = False) -> list[int]:
        """The ids of a word alone: its own, if it has one, and those of its n-grams of characters.

        Args:
            symbols: whether `</s>` and the like are what they stand for, and not words that the vocabulary lacks.
        """
        if word in self.own_tokens.values():
            ids: Any = self.convert_tokens_to_ids([word]) if symbols else []
            return list(ids)
        row = self._tokenizer.token_to_id(word)
        own = [] if row is None else [row]
        if not self.max_char_ngram:
            return own
        found = self._subwords.get(word)
        if found is None:
            if len(self._subwords) > 200_000:
                self._subwords.clear()
            lengths = self.min_char_ngram, self.max_char_ngram
            found = [self.num_words + one for one in character_buckets(word, *lengths, self.num_buckets)]
            self._subwords[word] = found
        return own + found

    def bag(self, words: list[str], end: bool = True, symbols: bool = False) -> list[Feature]:
        """The features of a text: each word and its n-grams of characters, then n-grams of words.

        Args:
            words: as the vocabulary spells them. end: whether `</s>` follows. symbols: as in `ids_of_word`.
        """
        features = [
            Feature(one, place, place) for place, word in enumerate(words) for one in self.ids_of_word(word, symbols)
        ]
        line = list(words)
        if end:
            features.append(Feature(self.eos_token_id, len(words), len(words)))
            line.append(self.eos_token)
        if self.word_ngrams > 1:
            base = self.num_words
            buckets = word_ngram_buckets([fnv1a(word) for word in line], self.word_ngrams, self.num_buckets)
            features += [Feature(base + bucket, first, last) for bucket, first, last in buckets]
        return features

    def _fitting(self, words: list[str], limit: int, end: bool, symbols: bool) -> slice:
        """As many words as have a bag within the limit."""

        def kept(count: int) -> slice:
            return slice(0, count) if self.truncation_side == "right" else slice(len(words) - count, len(words))

        few, many = 0, len(words)
        while few < many:
            half = (few + many + 1) // 2
            few, many = (half, many) if len(self.bag(words[kept(half)], end, symbols)) <= limit else (few, half - 1)
        return kept(few)

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *args: Any,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        **kwargs: Any,
    ) -> BatchEncoding:
        if text_pair is not None:
            raise ValueError("fastText reads single texts; encode the texts of a pair one by one, or join them")
        if return_overflowing_tokens:
            raise ValueError("a bag that is cut has no rest in order; leave out return_overflowing_tokens")
        if self.is_empty_batch(text, is_split_into_words):
            return BatchEncoding({name: [] for name in self.model_input_names})
        split = super()._encode_plus(
            text,
            add_special_tokens=False,
            is_split_into_words=is_split_into_words,
            return_offsets_mapping=True,
            return_attention_mask=False,
            **{**kwargs, "stride": 0, "verbose": False},
        )
        single = isinstance(text, str) or (is_split_into_words and (not text or isinstance(text[0], str)))
        texts, spans = ([text], [split["offset_mapping"]]) if single else (text, split["offset_mapping"])
        symbols = not self._reads_symbols_as_text(kwargs.get("split_special_tokens"))
        limit = None if truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else max_length
        columns: dict[str, list[Any]] = {
            name: [] for name in ("input_ids", "attention_mask", "special_tokens_mask", "offset_mapping")
        }
        for encoding, given, offsets in zip(encodings_of(split), texts, spans, strict=True):
            words = self._words(encoding, composed(given), is_split_into_words)
            features = self.bag(words, add_special_tokens, symbols)
            if limit is not None and len(features) > limit:
                kept = self._fitting(words, limit, add_special_tokens, symbols)
                words, offsets = words[kept], offsets[kept]
                features = self.bag(words, add_special_tokens, symbols)[:limit]
            places = [*offsets, (0, 0)]  # that of the end of the line is nowhere
            columns["input_ids"].append([one.id for one in features] or [self.pad_token_id])
            columns["attention_mask"].append([1] * len(features) or [0])
            columns["special_tokens_mask"].append([int(one.first == len(words)) for one in features] or [1])
            columns["offset_mapping"].append(
                [(places[one.first][0], max(places[one.first][1], places[one.last][1])) for one in features]
                or [(0, 0)]
            )
        columns["length"] = [len(ids) for ids in columns["input_ids"]]
        wanted = {
            "input_ids": True,
            "attention_mask": return_attention_mask is not False,
            "special_tokens_mask": return_special_tokens_mask,
            "offset_mapping": return_offsets_mapping,
            "length": return_length,
        }
        chosen = {name: columns[name] for name, is_wanted in wanted.items() if is_wanted}
        if single and return_tensors is None:
            chosen = {name: values[0] for name, values in chosen.items()}
        if padding_strategy == PaddingStrategy.DO_NOT_PAD:
            return BatchEncoding(chosen, tensor_type=return_tensors)
        return self.pad(
            chosen,
            padding=padding_strategy,
            max_length=max_length,
            pad_to_multiple_of=pad_to_multiple_of,
            padding_side=padding_side,
            return_attention_mask=return_attention_mask,
            return_tensors=return_tensors,
        )

    def _words(self, encoding: Any, text: Any, is_split_into_words: bool) -> list[str]:
        """The words of a text as the vocabulary would spell them, those that it lacks, too."""
        normalizer, unknown = self._tokenizer.normalizer, self.unk_token
        found = []
        for token, (start, end), word in zip(encoding.tokens, encoding.offsets, encoding.word_ids, strict=True):
            whole = text[word] if is_split_into_words else text
            found.append(normalizer.normalize_str(whole[start:end]) if token == unknown else token)
        return found

    # ---- back to text

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """As ever; a bucket, which stands for many n-grams, is `<bucket 7>`."""
        words = self.num_words
        if isinstance(ids, int):
            return super().convert_ids_to_tokens(ids) if ids < words else f"<bucket {ids - words}>"
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        return [self.convert_ids_to_tokens(int(one)) for one in ids if int(one) not in skipped]

    def _decode(self, token_ids: int | list[int], *args: Any, **kwargs: Any) -> str:
        """The words with a space between them; buckets say nothing that can be read."""
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        return super()._decode([one for one in ids if one < self.num_words], *args, **kwargs)

    def surface(self, text: str, **kwargs: Any) -> list[WrittenFeature]:
        """What stands behind the ids of `tok(text)`, for tables: words and n-grams as they are written.

        Args:
            kwargs: what the call was given, such as `truncation` and `max_length`.
        """
        whole = composed(text)
        encoded = self(whole, return_offsets_mapping=True, **kwargs)
        tokens = self.convert_ids_to_tokens(encoded["input_ids"])
        return [
            WrittenFeature(whole[start:end] or token, start, end)
            for token, (start, end) in zip(tokens, encoded["offset_mapping"], strict=True)
        ]


def _backend(splitting: str, lowercase: bool) -> Tokenizer:
    if splitting not in SPLITTING:
        raise ValueError(f"splitting={splitting!r} is not known; choose from {', '.join(map(repr, SPLITTING))}")
    backend = Tokenizer(models.WordLevel({token: row for row, token in enumerate(LINE_TOKENS.values())}, "<unk>"))
    backend.normalizer = normalizers.Sequence([*([normalizers.Lowercase()] if lowercase else []), normalizers.NFC()])
    steps: list[Any] = [pre_tokenizers.WhitespaceSplit()]
    if splitting == "marks":
        steps.append(pre_tokenizers.Split(Regex(MARK), behavior="isolated"))
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    backend.decoder = decoders.WordPiece(prefix="\0", cleanup=False)  # words with a space between them
    return backend
