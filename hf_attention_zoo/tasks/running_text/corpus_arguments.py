"""Which text is read for pre-training, as flags and entries of run files."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.tasks.running_text.rows import BLANK_LINE, WHOLE_FILE, DocumentSource

if TYPE_CHECKING:
    from hf_attention_zoo.tasks.running_text.examples import Phase


@dataclass
class CorpusArguments:
    """Which text is read for pre-training, and in which lengths."""

    dataset: str | None = field(
        default=None, metadata={"help": "Embedded sample (lm_debian), file or folder of text, or Hub data set id."}
    )
    dataset_config: str | None = field(default=None, metadata={"help": "Configuration name of a Hub data set."})
    train_file: str | None = field(
        default=None, metadata={"help": "Training text in place of --dataset: .txt, JSON lines, CSV, TSV or Parquet."}
    )
    validation_file: str | None = field(default=None, metadata={"help": "Held-out text, same formats."})
    test_file: str | None = field(default=None, metadata={"help": "Text that `evaluate` scores, same formats."})
    text_column: str | None = field(
        default=None, metadata={"help": "Column with the document: a text, its sentences, or paragraphs of sentences."}
    )
    text_documents: str = field(
        default=BLANK_LINE,
        metadata={
            "help": "In .txt files, documents stand between blank lines, or each file is one.",
            "choices": [BLANK_LINE, WHOLE_FILE],
        },
    )
    language: str = field(default="en", metadata={"help": "Language code that guides the splitting into sentences."})
    train_split: str = field(default="train", metadata={"help": "Name of the split that is trained on."})
    validation_split: str = field(default="validation", metadata={"help": "Name of the split that is held out."})
    held_out_documents: int = field(
        default=0, metadata={"help": "Hold out the first N training documents where there is no validation text."}
    )
    max_train_documents: int | None = field(default=None, metadata={"help": "Use only the first N documents."})
    max_eval_documents: int | None = field(default=None, metadata={"help": "Use only the first N held-out documents."})
    tokenizer_documents: int = field(
        default=1_000_000, metadata={"help": "At most this many documents are read to train the tokenizer."}
    )
    length: int = field(default=128, metadata={"help": "Tokens of an example at most."})
    second_length: int | None = field(
        default=None, metadata={"help": "Tokens of an example in a second phase, e.g. 512; none without."}
    )
    second_share: float = field(default=0.1, metadata={"help": "Share of the steps that the second phase has."})
    cache_dir: str | None = field(
        default=None,
        metadata={"help": "Keep the encoded text in this folder, to be used again; default: for this run only."},
    )

    def source(self, split: str) -> DocumentSource | None:
        """The documents of "train" or "validation"; None if there is no held-out text.

        Raises:
            ValueError: nothing to read was named.
        """
        training = split == "train"
        named = self.train_file if training else self.validation_file
        shared = self.reading()
        limit = self.max_train_documents if training else self.max_eval_documents
        if named is not None:
            skip = self.held_out_documents if training and self.validation_file is None else 0
            return DocumentSource(named, skip=skip, limit=limit, **shared)
        place = self.dataset if self.dataset is not None else self.train_file
        if place is None:
            raise ValueError("which text? Give --dataset (a sample, a file, a folder or a Hub id) or --train_file")
        if training:
            skip = 0 if self._has_held_out_text() else self.held_out_documents
            return DocumentSource(place, split=self.train_split, skip=skip, limit=limit, **shared)
        if self._has_held_out_text():
            return DocumentSource(place, split=self.validation_split, limit=limit, **shared)
        if self.held_out_documents:
            most = min(limit or self.held_out_documents, self.held_out_documents)
            split_name = "train" if self.dataset is None else self.train_split
            return DocumentSource(place, split=split_name, limit=most, **shared)
        return None

    def reading(self) -> dict[str, Any]:
        """How documents are read, whatever their place."""
        return {
            "column": self.text_column,
            "text_documents": self.text_documents,
            "language": self.language,
            "dataset_config": self.dataset_config,
        }

    def parts(self) -> DocumentSource | None:
        """The one text that is to be parted into train, validation and test: files that have training text alone,
        where nothing is named or held out to validate on."""
        if self.held_out_documents or self.validation_file is not None or (self.dataset and self.train_file):
            return None
        whole = DocumentSource(self.dataset or self.train_file, **self.reading())
        return whole if whole.is_for_training_alone() else None

    def _has_held_out_text(self) -> bool:
        if self.validation_file is not None:
            return True
        return self.dataset is not None and DocumentSource(self.dataset, split=self.validation_split).has_split()

    def phases(self, steps: int, global_batch: int) -> list[Phase]:
        """The lengths in their order and how many examples each but the last has.

        Raises:
            ValueError: lengths or shares that make no sense.
        """
        from hf_attention_zoo.tasks.running_text.examples import Phase

        if self.length < 8 or (self.second_length is not None and self.second_length < 8):
            raise ValueError(f"length={self.length}, second_length={self.second_length}: give at least 8 tokens")
        if not 0 < self.second_share < 1:
            raise ValueError(f"second_share={self.second_share}; it is a share of the steps, above 0 and below 1")
        if self.second_length is None:
            return [Phase(self.length)]
        first = steps - math.ceil(self.second_share * steps)
        return [Phase(self.length, first * global_batch), Phase(self.second_length)]

    def longest(self) -> int:
        """Tokens of the longest example."""
        return max(self.length, self.second_length or 0)
