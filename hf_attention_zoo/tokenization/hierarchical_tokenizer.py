"""The tokenizer of hierarchical models: a document becomes sentences, a sentence becomes words, both axes are padded.

A text is split into sentences by `sentencex`, which knows abbreviations, quotation marks and some 300 languages; an
empty line always ends a sentence, a line break inside a paragraph never does by itself. Sentences that are known
already are given as a list. Everything is composed (NFC) first.
"""

import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy, to_py_obj

from hf_attention_zoo.tokenization.document_grids import Ids, as_lists, depth, grid, is_one_document
from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.surfaces import readable_token, spans_without_marks
from hf_attention_zoo.tokenization.text_vocabulary import TEXT_SPECIAL_TOKENS, train_text_vocabulary

logger = logging.getLogger(__name__)

Document = str | list[str]


class HierarchicalTokenizer(OwnBackend):
    """Documents as ids (documents, sentences, words).

    ```python
    tok("One sentence. Another one.")             # one document: input_ids[sentence][word]
    tok(["A document.", "Another. Document."])    # a batch of documents
    tok([["One sentence.", "Another one."]])      # a batch of documents whose sentences are known
    tok(texts, return_tensors="pt").input_ids     # (documents, sentences, words), padded on both axes
    ```

    Without tensors and without `padding=True` sentences keep their own lengths, so that data sets stay small;
    `pad`, and with it `DataCollatorWithPadding`, pads both axes. A sentence without a word is dropped; a document
    without a sentence has no ids at all, and as a tensor a row of pads.

    Args:
        language: ISO 639-1 code of the texts, for splitting them into sentences.
        max_sentences, max_words: limits; what is longer is cut at its end, and the first time the log says so. None,
            the default, cuts nothing. Both can be given with a call, too.
        kind, lowercase: as trained.

    Raises:
        ValueError: limits that are no positive whole numbers.
    """

    own_tokens = TEXT_SPECIAL_TOKENS
    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"

    def __init__(
        self,
        *args: Any,
        language: str = "en",
        max_sentences: int | None = None,
        max_words: int | None = None,
        kind: str | None = None,
        lowercase: bool = False,
        **kwargs: Any,
    ) -> None:
        self.language, self.kind, self.lowercase = language, kind, lowercase
        self.max_sentences, self.max_words = _checked_limits(max_sentences, max_words)
        self._told_about_cutting = False
        super().__init__(
            *args,
            language=language,
            max_sentences=max_sentences,
            max_words=max_words,
            kind=kind,
            lowercase=lowercase,
            **kwargs,
        )

    @classmethod
    def train(
        cls,
        texts: Iterable[Document],
        *,
        vocab_size: int = 30_000,
        kind: str = "word",
        lowercase: bool = True,
        min_frequency: int | None = None,
        language: str = "en",
        max_sentences: int | None = None,
        max_words: int | None = None,
    ) -> "HierarchicalTokenizer":
        """Learn a vocabulary from documents; the iterable is read once.

        Args:
            texts: documents, or lists of sentences.
            vocab_size: rows, `<pad>` and `<unk>` included; a small text may give fewer: `len(tok)` tells.
            kind: "word" (the most frequent words and marks) or "subword" (byte pairs).
            min_frequency: how often a word (default 1) or a pair of pieces (default 2) must occur. The paper keeps
                words that occur more than 5 times: 6.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        _checked_limits(max_sentences, max_words)
        backend = train_text_vocabulary(
            texts, "document", kind=kind, vocab_size=vocab_size, lowercase=lowercase, min_frequency=min_frequency
        )
        return cls(
            tokenizer_object=backend,
            language=language,
            max_sentences=max_sentences,
            max_words=max_words,
            kind=kind,
            lowercase=lowercase,
        )

    # ---- documents and sentences

    def sentences_of(self, document: Document) -> list[str]:
        """The sentences of a document, in NFC, without white space at their ends and without empty ones.

        Args:
            document: a text, or its sentences.

        Raises:
            ValueError: it is neither.
        """
        if isinstance(document, str):
            from sentencex import segment

            text = unicodedata.normalize("NFC", document)
            try:
                pieces: Iterable[str] = list(segment(self.language, text))
            except UnicodeEncodeError as error:
                raise ValueError(f"the text holds a lone surrogate at character {error.start}") from error
        elif isinstance(document, list | tuple) and all(isinstance(sentence, str) for sentence in document):
            pieces = (unicodedata.normalize("NFC", sentence) for sentence in document)
        else:
            raise ValueError(f"a document is a text or a list of sentences, got {document!r:.80}")
        return [stripped for piece in pieces if (stripped := piece.strip())]

    def surface(self, document: Document, **limits: Any) -> list[list[str]]:
        """The words of a document as they are written, unknown ones too: for each id of `tok(document)` its text.

        Args:
            limits: `max_sentences` and `max_words`, where the call had them.
        """
        return [tokens for tokens, _ in self.surface_with_words(document, **limits)]

    def surface_with_words(self, document: Document, **limits: Any) -> list[tuple[list[str], Any]]:
        """`surface`, and beside each sentence's tokens their words, as `word_groups` gives them."""
        from hf_attention_zoo.tokenization.word_groups import word_groups

        written = []
        (encoded,) = self._encode_documents([document], self.split_special_tokens, **limits)
        for sentence, encoding in encoded:
            limit = self._limits(**limits)[1]
            spans = spans_without_marks(encoding.tokens, encoding.offsets)[:limit]
            texts = (sentence[start:end].strip() for start, end in spans)
            shown = [text or readable_token(token) for text, token in zip(texts, encoding.tokens, strict=False)]
            written.append((shown, word_groups(sentence, spans, [False] * len(spans), shown)))
        return written

    def tokenize(
        self, text: Document, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """The tokens of all sentences, one after the other."""
        if pair is not None:
            raise ValueError("a hierarchical tokenizer reads documents, not pairs of texts; leave the second text out")
        (encoded,) = self._encode_documents([text], self._reads_symbols_as_text(kwargs.get("split_special_tokens")))
        limit = self._limits()[1]
        return [token for _, encoding in encoded for token in encoding.tokens[:limit]]

    # ---- encoding

    def _get_padding_truncation_strategies(
        self,
        padding: bool | str | PaddingStrategy = False,
        truncation: bool | str | TruncationStrategy | None = None,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        verbose: bool = True,
        **kwargs: Any,
    ) -> tuple[PaddingStrategy, TruncationStrategy, None, dict[str, Any]]:
        """There are two lengths here, so the one of other tokenizers says nothing; limits always cut."""
        if max_length is not None:
            raise ValueError(
                f"max_length={max_length}: documents have two lengths; give max_sentences and max_words, or set them "
                "on the tokenizer"
            )
        if isinstance(padding, bool):
            strategy = PaddingStrategy.LONGEST if padding else PaddingStrategy.DO_NOT_PAD
        else:
            strategy = PaddingStrategy(padding)
        return strategy, TruncationStrategy.DO_NOT_TRUNCATE, None, kwargs

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        *args: Any,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        return_tensors: Any = None,
        return_attention_mask: bool | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        is_split_into_words: bool = False,
        max_sentences: int | None = None,
        max_words: int | None = None,
        split_special_tokens: bool | None = None,
        **kwargs: Any,
    ) -> BatchEncoding:
        if text_pair is not None:
            raise ValueError("a hierarchical tokenizer reads documents, not pairs of texts; leave text_pair out")
        if is_split_into_words:
            raise ValueError("is_split_into_words=True: give sentences as strings, [['One sentence.', 'Another.']]")
        for name in ("return_offsets_mapping", "return_overflowing_tokens"):
            if kwargs.get(name):
                raise ValueError(f"{name}=True is not known here; `surface(document)` gives the words as written")
        single = isinstance(text, str)
        if not single and not isinstance(text, list | tuple):
            raise ValueError(f"the text is {type(text).__name__} ({text!r:.60}); give a string or a list")
        limits = {"max_sentences": max_sentences, "max_words": max_words}
        limit = self._limits(**limits)[1]
        documents = [text] if single else list(text)
        as_text = self._reads_symbols_as_text(split_special_tokens)
        ids = [
            [(self._ids_of_text(made) if as_text else made.ids)[:limit] for _, made in encoded]
            for encoded in self._encode_documents(documents, as_text, **limits)
        ]
        batch: dict[str, Any] = {"input_ids": ids}
        if return_attention_mask is not False:
            batch["attention_mask"] = [[[1] * len(sentence) for sentence in document] for document in ids]
        if return_tensors is not None and padding_strategy == PaddingStrategy.DO_NOT_PAD:
            padding_strategy = PaddingStrategy.LONGEST  # a tensor has one width
        batch = self._pad_batch(batch, padding_strategy, pad_to_multiple_of, padding_side, **limits)
        if return_tensors is None:
            batch = as_lists(batch, single)
        return BatchEncoding(batch, tensor_type=return_tensors)

    def _limits(self, max_sentences: int | None = None, max_words: int | None = None) -> tuple[int | None, int | None]:
        """The limits of a call: its own, or else the tokenizer's."""
        max_sentences, max_words = _checked_limits(max_sentences, max_words)
        return (
            self.max_sentences if max_sentences is None else max_sentences,
            self.max_words if max_words is None else max_words,
        )

    def _encode_documents(
        self, documents: Sequence[Document], symbols_as_text: bool, **limits: int | None
    ) -> list[list[tuple[str, Any]]]:
        """Sentences and their encodings for each document; sentences without a token and those too many are left out.

        Words beyond the limit are still there.
        """
        most_sentences, most_words = self._limits(**limits)
        sentences = [self.sentences_of(document) for document in documents]
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        try:
            with self._symbols_as_text(symbols_as_text):
                flat = iter(
                    self._tokenizer.encode_batch(
                        [one for document in sentences for one in document], add_special_tokens=False
                    )
                )
        except (TypeError, UnicodeEncodeError) as error:
            raise ValueError("a text holds a lone surrogate; every text must be valid Unicode") from error
        encoded = [[(sentence, next(flat)) for sentence in document] for document in sentences]
        encoded = [[(sentence, made) for sentence, made in document if made.ids] for document in encoded]
        cut = [document[:most_sentences] for document in encoded]
        if not self._told_about_cutting:
            longest = max((len(made.ids) for document in cut for _, made in document), default=0)
            most = max(map(len, encoded), default=0)
            if most > (most_sentences or most) or longest > (most_words or longest):
                self._told_about_cutting = True
                logger.warning(
                    "documents of up to %d sentences and sentences of up to %d words are cut to max_sentences=%s and "
                    "max_words=%s; this is said once",
                    most,
                    longest,
                    most_sentences,
                    most_words,
                )
        return cut

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """The text of a document's ids, its sentences behind one another; a list of texts for a batch."""
        ids = to_py_obj(token_ids)
        if depth(ids) < 2:
            return super().decode(ids, skip_special_tokens=skip_special_tokens, **kwargs)
        if depth(ids) > 2:
            documents: list[Any] = [self.decode(document, skip_special_tokens, **kwargs) for document in ids]
            return documents
        plain: Any = super().decode  # which gives one text for the ids of one sentence
        sentences: list[str] = [plain(one, skip_special_tokens, **kwargs) for one in ids]
        return " ".join(sentence for sentence in sentences if sentence)

    def pad(
        self,
        encoded_inputs: Any,
        padding: bool | str | PaddingStrategy = True,
        max_length: int | None = None,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: str | None = None,
        verbose: bool = True,
        max_sentences: int | None = None,
        max_words: int | None = None,
    ) -> BatchEncoding:
        """Pad documents on both axes to the longest of them, or with padding="max_length" to the two limits.

        Args:
            encoded_inputs: what `tok(...)` gave for one document or several, or a list of what it gave for one each.
                Other columns, such as labels, are kept.
            pad_to_multiple_of: of the words.

        Raises:
            ValueError: there are no `input_ids`, padding to limits that are not set, or a `max_length`.
        """
        strategy = self._get_padding_truncation_strategies(padding, None, max_length)[0]
        single = isinstance(encoded_inputs, Mapping)
        if single:
            columns = {name: to_py_obj(values) for name, values in encoded_inputs.items()}
        else:
            columns = {name: [to_py_obj(one[name]) for one in encoded_inputs] for name in encoded_inputs[0]}
        if "input_ids" not in columns:
            raise ValueError(f"input_ids are wanted for padding, got {', '.join(map(str, columns))}")
        single = single and is_one_document(columns["input_ids"])
        if single:
            columns = {name: [values] for name, values in columns.items()}
        if return_attention_mask is False:
            columns.pop("attention_mask", None)
        elif "attention_mask" not in columns:
            ids = columns["input_ids"]
            columns["attention_mask"] = [[[1] * len(sentence) for sentence in document] for document in ids]
        columns = self._pad_batch(columns, strategy, pad_to_multiple_of, padding_side, max_sentences, max_words)
        if return_tensors is None:
            columns = as_lists(columns, single)
        return BatchEncoding(columns, tensor_type=return_tensors)

    def _pad_batch(
        self,
        batch: dict[str, Any],
        strategy: PaddingStrategy,
        multiple: int | None = None,
        side: str | None = None,
        max_sentences: int | None = None,
        max_words: int | None = None,
    ) -> dict[str, Any]:
        """The columns of a batch, those of words padded: then arrays, (documents, sentences, words)."""
        if strategy == PaddingStrategy.DO_NOT_PAD:
            return batch
        height, width = self._padded_shape(batch["input_ids"], strategy, multiple, max_sentences, max_words)
        side = side or self.padding_side
        fills = {"input_ids": self.pad_token_id, "attention_mask": 0}
        return {
            name: grid(values, height, width, fills[name], side) if name in fills else values
            for name, values in batch.items()
        }

    def _padded_shape(
        self,
        ids: list[Ids],
        strategy: PaddingStrategy,
        multiple: int | None,
        max_sentences: int | None,
        max_words: int | None,
    ) -> tuple[int, int]:
        """Sentences and words of each padded document; at least one of each, so that tensors keep three axes."""
        height = max([1, *map(len, ids)])
        width = max([1, *(len(sentence) for document in ids for sentence in document)])
        if strategy == PaddingStrategy.MAX_LENGTH:
            most_sentences, most_words = self._limits(max_sentences, max_words)
            if most_sentences is None or most_words is None:
                raise ValueError(
                    f"padding='max_length' with max_sentences={most_sentences} and max_words={most_words}: set both, "
                    "or use padding=True"
                )
            height, width = max(height, most_sentences), max(width, most_words)
        if multiple:
            width = -(-width // multiple) * multiple
        return height, width


def _checked_limits(max_sentences: int | None, max_words: int | None) -> tuple[int | None, int | None]:
    for name, limit in (("max_sentences", max_sentences), ("max_words", max_words)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ValueError(f"{name}={limit!r}; give a whole number of 1 or more, or None for no limit")
    return max_sentences, max_words
