"""GPT's tokenizer: lower-cased words cut into byte pairs, and the formats in which tasks are written as texts.

The last piece of a word carries `</w>`. Case and the spacing of marks are lost, as in the paper; a line end is a word.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors

from hf_attention_zoo.tokenization.old_text_rules import original_words, piece_spans, plain_words
from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.special_tokens import BYTE_PAIR_TOKENS, TASK_TOKENS
from hf_attention_zoo.tokenization.surfaces import composed, composed_spans, span_through
from hf_attention_zoo.tokenization.training_texts import check_vocab_size, checked_texts

WORD_END = "</w>"
_SEPARATOR = "\u2002"  # stands between words on their way to the backend; line ends are words and must stay


def _backend(vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    unknown = BYTE_PAIR_TOKENS["unk_token"]
    backend = Tokenizer(models.BPE(vocabulary, merges, unk_token=unknown, end_of_word_suffix=WORD_END))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(f"[{_SEPARATOR} ]+"), behavior="removed")
    backend.decoder = decoders.BPEDecoder(suffix=WORD_END)
    return backend


class GPT2018Tokenizer(OwnBackend):
    """Texts as byte pairs of lower-cased words.

    ```python
    tok = GPT2018Tokenizer.train(texts, vocab_size=8000)
    tok("A text")                       # nothing is added: a prompt to continue
    tok.use_task_format()               # saved with the tokenizer
    tok("A text")                       # _start_ text _classify_
    tok("A premise", "a hypothesis")    # _start_ premise _delimiter_ hypothesis _classify_
    ```

    Args:
        text_packages: whether words are cut as by the authors' packages, ftfy and spaCy, as trained. Neither is needed
            beside this package (`old_text_rules.py`).
        task_format: whether texts are written in the formats of fine-tuning (Section 3.3).
    """

    own_tokens = BYTE_PAIR_TOKENS
    model_input_names = ["input_ids", "attention_mask"]
    padding_side = "right"

    def __init__(self, *args: Any, text_packages: bool = False, task_format: bool = False, **kwargs: Any) -> None:
        self.text_packages, self.task_format = text_packages, task_format
        super().__init__(*args, text_packages=text_packages, task_format=task_format, **kwargs)
        self._find_whole_words()

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | Iterable[list[str]],
        *,
        vocab_size: int = 40_478,
        text_packages: bool = True,
        min_frequency: int = 2,
        alphabet_size: int | None = None,
        task_format: bool = False,
        model_max_length: int | None = None,
    ) -> "GPT2018Tokenizer":
        """Learn merges from texts; the iterable is read once.

        The symbols of the task formats are in the vocabulary from the start, so that fine-tuning needs no new rows.

        Args:
            texts: strings, or lists of strings.
            vocab_size: rows, the five special symbols included; a small text may give fewer: `len(tok)` tells.
            text_packages: cut words as ftfy and spaCy do, or by simpler rules.
            min_frequency: how often a pair must occur to be merged.
            alphabet_size: keep only so many characters; others become `<unk>`.
            task_format: see `use_task_format`.
            model_max_length: where `truncation=True` cuts.

        Raises:
            ValueError: a value of the wrong type or range, or texts without text.
        """
        from hf_attention_zoo.tokenization.piece_training import learn_pieces

        check_vocab_size(vocab_size)
        specials = [*BYTE_PAIR_TOKENS.values(), *TASK_TOKENS.values()]
        cut = original_words if text_packages else plain_words
        vocabulary, merges = learn_pieces(
            (cut(composed(text)) for text in checked_texts(texts, "text")),
            vocab_size=vocab_size,
            special_tokens=specials,
            min_frequency=min_frequency,
            alphabet_size=alphabet_size,
            suffix=WORD_END,
        )
        backend = _backend(vocabulary, merges)
        backend.add_special_tokens(specials)
        limit: dict[str, Any] = {} if model_max_length is None else {"model_max_length": model_max_length}
        tokenizer = cls(tokenizer_object=backend, text_packages=text_packages, **limit)
        return tokenizer.use_task_format(task_format)

    @classmethod
    def from_release(
        cls,
        vocabulary: str | os.PathLike[str],
        merges: str | os.PathLike[str],
        *,
        text_packages: bool = True,
        model_max_length: int = 512,
    ) -> "GPT2018Tokenizer":
        """The tokenizer of the release's `encoder_bpe_40000.json` and `vocab_40000.bpe`.

        It has no symbols for tasks and no pad: `add_task_symbols` adds them.

        Raises:
            ValueError: a file is missing.
        """
        for path in (vocabulary, merges):
            if not Path(path).is_file():
                raise ValueError(f"no such file: {path}")
        pieces = json.loads(Path(vocabulary).read_text(encoding="utf-8"))
        lines = Path(merges).read_text(encoding="utf-8").split("\n")
        pairs = [(pair[0], pair[1]) for line in lines[1:] if len(pair := line.split()) == 2]
        return cls.from_pieces(pieces, pairs, text_packages=text_packages, model_max_length=model_max_length)

    @classmethod
    def from_pieces(
        cls,
        pieces: dict[str, int],
        merges: list[tuple[str, str]],
        *,
        text_packages: bool = True,
        model_max_length: int = 512,
    ) -> "GPT2018Tokenizer":
        """As `from_release`, from the contents of the files: pieces with their ids, merges in their order."""
        backend = _backend(pieces, merges)
        backend.add_special_tokens([BYTE_PAIR_TOKENS["unk_token"]])
        return cls(
            tokenizer_object=backend, text_packages=text_packages, pad_token=None, model_max_length=model_max_length
        )

    def begins_word(self, token_id: int) -> bool:
        """Whether a space stands before a token that is written behind a text: always, whose last word is whole."""
        return True

    def add_task_symbols(self, model: Any = None) -> "GPT2018Tokenizer":
        """Add those of the pad and the task symbols that are missing, and their rows to a model.

        New rows are drawn as the model's first ones were. Returns the tokenizer.
        """
        if self.pad_token is None:
            self.add_special_tokens({"pad_token": BYTE_PAIR_TOKENS["pad_token"]})
        known = self.get_vocab()
        self.add_tokens([token for token in TASK_TOKENS.values() if token not in known], special_tokens=True)
        if model is not None:
            old = model.get_input_embeddings().weight.shape[0]
            table = model.resize_token_embeddings(len(self), mean_resizing=False).weight
            table.data[old:].normal_(std=model.config.initializer_range)
            model.config.pad_token_id, model.config.delimiter_token_id = self.pad_token_id, self.delimiter_token_id
        return self

    @property
    def delimiter_token_id(self) -> int | None:
        """The id of the symbol between two texts."""
        return self._tokenizer.token_to_id(TASK_TOKENS["delimiter"])

    def use_task_format(self, on: bool = True) -> "GPT2018Tokenizer":
        """Write texts as tasks (Section 3.3), or plainly; the choice is saved. Returns the tokenizer.

        Single texts become `start text extract`, pairs `start text delimiter text extract`: premise and hypothesis,
        context and one answer, or two texts whose other order a model with `similarity=True` reads, too.

        Raises:
            ValueError: the vocabulary has no symbols for tasks.
        """
        self.task_format = self.init_kwargs["task_format"] = on
        if not on:
            self._tokenizer.post_processor = processors.TemplateProcessing(
                single="$A", pair="$A $B:0", special_tokens=[]
            )
            return self
        symbols = [(token, self._tokenizer.token_to_id(token)) for token in TASK_TOKENS.values()]
        if any(number is None for _, number in symbols):
            raise ValueError("the vocabulary has no symbols for tasks; add them with add_task_symbols(model)")
        start, delimiter, extract = TASK_TOKENS.values()
        self._tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{start} $A {extract}", pair=f"{start} $A {delimiter} $B:0 {extract}", special_tokens=symbols
        )
        return self

    def words(self, text: str) -> list[str]:
        """The lower-cased words into which a text is cut before byte pairs."""
        cut = original_words if self.text_packages else plain_words
        return cut(composed(text))

    def _as_read(self, text: Any, symbols_as_text: bool) -> Any:
        if isinstance(text, str):
            pieces = self._around_symbols(composed(text), symbols_as_text)
            return composed(_SEPARATOR.join(word for word, _ in pieces))
        if isinstance(text, list | tuple):
            return type(text)(self._as_read(item, symbols_as_text) for item in text)
        return text

    def _spans_read(self, text: str, symbols_as_text: bool) -> list[tuple[int, int]]:
        """As for any tokenizer.

        Raises:
            ValueError: ftfy mended the text, and nothing tells which characters became which.
        """
        whole = composed(text)
        pieces = list(self._around_symbols(whole, symbols_as_text))
        cut: list[tuple[int, int]] = []
        for number, spans in enumerate(piece_spans(pieces, whole)):
            separator = [(spans[0][0], spans[0][0])] if number else []
            cut += [*separator, *spans]
        given, joined = composed_spans(text), _SEPARATOR.join(piece for piece, _ in pieces)
        return [
            span_through(given, *span_through(cut, start, end)) if start < end else (0, 0)
            for start, end in composed_spans(joined)
        ]

    def _around_symbols(self, text: str, symbols_as_text: bool) -> Iterator[tuple[str, bool]]:
        """Words of a text and what stays whole, True with these: words that were added to the vocabulary and, unless
        they are text, symbols such as `_delimiter_`."""
        whole = self._added_words if symbols_as_text else self._symbols
        for number, part in enumerate(whole.split(text)):
            if number % 2:
                yield part, True
            else:
                yield from ((word, False) for word in self.words(part))

    def _add_tokens(self, *args: Any, **kwargs: Any) -> int:
        added = super()._add_tokens(*args, **kwargs)
        self._find_whole_words()
        return added

    def _find_whole_words(self) -> None:
        """Note what is written as it stands; of what begins at one place that which was added first.

        When it is added and not when a text is read: the state of a tokenizer is a key of data caches.
        """
        added = [token for _, token in sorted(self._tokenizer.get_added_tokens_decoder().items())]
        self._symbols = _any_of(token.content for token in added)
        self._added_words = _any_of(token.content for token in added if not token.special)


def _any_of(tokens: Iterable[str]) -> re.Pattern[str]:
    escaped = [re.escape(token) for token in tokens if token]
    return re.compile(f"({'|'.join(escaped)})" if escaped else "(?!)()")
