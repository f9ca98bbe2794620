"""What each architecture learns from raw text: one module per objective.

`attention-zoo pretrain` runs every row: documents, tokenizer, examples, Trainer, perplexities. Recipes are plain data
beside the model: `PRETRAINING_RECIPES` in `models/<name>/pretraining_<name>.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from torch.utils.data import IterableDataset

from hf_attention_zoo.registry import CAUSAL, Architecture, list_architectures, load_object
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.rows import Document

TEXT_STRETCHES = "hf_attention_zoo.tasks.running_text.text_stretches:TextStretchesObjective"

# model_type -> "module:class"; language models that are not named here learn next tokens of stretches of text
OBJECTIVES: dict[str, str] = {
    "bert2018": "hf_attention_zoo.tasks.running_text.masked_pairs:MaskedPairsObjective",
    "elmo": "hf_attention_zoo.tasks.running_text.bidirectional_words:BidirectionalWordsObjective",
    "word2vec": "hf_attention_zoo.tasks.running_text.word_windows:WordWindowsObjective",
}


class Lines:
    """The sentences of documents, which can be read again as often as the documents can."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents = documents

    def __iter__(self) -> Iterator[str]:
        return (line for document in self.documents for line in document)


class Objective(ABC):
    """What is learnt from raw text. The methods are called in the order in which they stand here.

    Attributes:
        auto_class: the Auto class of the model that is trained.
        task: the pipeline that a pre-trained model serves.
        shown: validation numbers that the command prints.
        settings: the names and defaults of what a recipe, a run file or `--objective.NAME` may set.
    """

    auto_class: str
    task: ClassVar[str] = "text-generation"
    shown: tuple[str, ...] = ("loss", "perplexity")
    settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, row: Architecture, **settings: Any) -> None:
        unknown = sorted(set(settings) - set(self.settings))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no setting {', '.join(unknown)}; it has "
                f"{', '.join(f'{name} (default {value!r})' for name, value in self.settings.items()) or 'none'}"
            )
        self.row = row
        self.chosen: dict[str, Any] = {**self.settings, **settings}

    @classmethod
    def settings_of(cls, model: Any) -> dict[str, Any]:
        """Settings that a model shows by what it is, whether or not a file tells how it was trained."""
        return {}

    def train_tokenizer(self, documents: Iterable[Document], **options: Any) -> Any:
        """A tokenizer learnt from the sentences, read once, or several times where phrases are learnt.

        Args:
            documents: lists of sentences.
            options: keywords of the tokenizer's own `train`.
        """
        return self.row.train_tokenizer(Lines(documents), **options)

    def config_fields(self, tokenizer: Any, longest: int) -> dict[str, Any]:
        """Fields of a new model's config that follow from the tokenizer and the longest example; they win."""
        return {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}

    def text_fields(self, tokenizer: Any, documents: Iterable[Document]) -> dict[str, Any]:
        """Fields of a new model's config that are counted in the training text; they win."""
        return {}

    def check_model(self, config: Any) -> None:  # noqa: B027 (most objectives fit any model of the architecture)
        """Raises ValueError if a model of this config learns something else than the objective asks for."""

    def check_held_out(  # noqa: B027 (most objectives score any number of documents)
        self, tokenizer: Any, documents: Iterable[Document], length: int
    ) -> None:
        """Raises ValueError if held-out documents are too few to be scored at this length."""

    def measures(self) -> tuple[str, ...]:
        """The numbers of `evaluate` by which the best model can be chosen, the usual one first."""
        return self.shown

    @abstractmethod
    def dataset(
        self,
        documents: Iterable[Document],
        tokenizer: Any,
        *,
        seed: int,
        batch_size: int,
        phases: Sequence[Phase],
        cache_dir: str | Path,
    ) -> IterableDataset:
        """Endless training examples, a function of the seed alone (see `ExampleStream`, of which a run that goes on
        does not have made again what it has seen).

        Args:
            documents: may be read more than once.
            batch_size: examples of a batch, of all processes together.
            phases: lengths in tokens and how many examples they have.
            cache_dir: a folder for encoded text; what is there already is taken if it fits.
        """

    @abstractmethod
    def collator(self, tokenizer: Any) -> Callable[[list[dict[str, Any]]], dict[str, Any]]:
        """Examples -> padded tensors, `labels` among them."""

    @abstractmethod
    def evaluate(
        self, model: Any, tokenizer: Any, documents: Iterable[Document], *, length: int, batch_size: int
    ) -> dict[str, float]:
        """Numbers on held-out text, without randomness: `loss` and `perplexity` at least.

        Args:
            model: in evaluation mode.
            documents: held-out text.
            length: tokens of an example at most.
        """

    def baselines(
        self, tokenizer: Any, documents: Iterable[Document], held_out: Iterable[Document], *, length: int
    ) -> dict[str, dict[str, float]]:
        """Numbers of simpler models, learnt from `documents`, on the same held-out text: name -> numbers."""
        return {}


def objective_class(row: Architecture) -> type[Objective]:
    """The objective of an architecture. Raises ValueError if it has none."""
    if not learns_from_text(row):
        able = [other.model_type for other in list_architectures() if learns_from_text(other)]
        raise ValueError(
            f"{row.model_type} is not pre-trained on raw text; {', '.join(able[:-1])} and {able[-1]} are. Train it "
            f"with `attention-zoo train {row.model_type}`"
        )
    return load_object(OBJECTIVES.get(row.model_type, TEXT_STRETCHES))


def learns_from_text(row: Architecture) -> bool:
    """Whether an architecture is pre-trained on raw text."""
    return row.model_type in OBJECTIVES or CAUSAL in row.models


def pretraining_recipes(row: Architecture) -> dict[str, dict[str, Any]]:
    """The named settings of an architecture's pre-training. Raises ValueError if it is not pre-trained."""
    objective_class(row)
    return row.pretraining_recipes
