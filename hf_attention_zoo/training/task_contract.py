"""The contract between the engine of training and a task: what a task adds for the kind of model that it trains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.registry import Architecture

if TYPE_CHECKING:
    from hf_attention_zoo.training.run_plan import RunPlan
    from hf_attention_zoo.training.zoo_trainer import ZooTrainer


@dataclass
class EncodedData:
    """What the Trainer reads, and what the task keeps for its metrics."""

    train: Any
    validation: Any | None
    dropped: int | None = 0
    kept: dict[str, Any] = field(default_factory=dict)


class TrainingTask(ABC):
    """One kind of training. The methods are called in the order in which they stand here."""

    auto_class: str
    rows_said: str
    shown: tuple[str, ...]

    def __init__(self, plan: RunPlan, row: Architecture) -> None:
        self.plan = plan
        self.row = row

    @abstractmethod
    def load(self) -> tuple[Any, Any | None]:
        """Raw training and validation rows; no validation if nothing asks for it.

        Raises:
            ValueError: settings that say nothing to this task, or a split that is not there.
        """

    @abstractmethod
    def measures(self, validation: Any) -> tuple[str, ...]:
        """The numbers of validation by which the best model can be chosen, the usual one first; `validation` are the
        raw rows."""

    @abstractmethod
    def train_tokenizer(self, rows: Any) -> Any:
        """A tokenizer for the training rows, with the plan's settings."""

    def prepare_tokenizer(self, tokenizer: Any) -> None:  # noqa: B027 (most tasks do nothing)
        """Last settings of a tokenizer that was trained or taken over, before it is saved."""

    def head_fields(self) -> dict[str, Any]:
        """Fields of the config that a model needs which was trained on another task, such as its labels."""
        return {}

    @abstractmethod
    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        """Fields of a new model's config that follow from tokenizer and data; they win over the plan's."""

    def prepare_model(self, model: Any, tokenizer: Any, rows: Any) -> None:  # noqa: B027 (most tasks do nothing)
        """Last settings of the model before it trains; `rows` are the raw training rows."""

    @abstractmethod
    def encode(self, train: Any, validation: Any | None, tokenizer: Any) -> EncodedData:
        """Rows as ids; as they are, where only `trainer`, which has the model, can read them."""

    @abstractmethod
    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> ZooTrainer:
        """The trainer with collator and metrics."""

    def finished(self) -> None:  # noqa: B027 (most tasks leave nothing behind)
        """Clear away what only an unfinished run needs."""

    @abstractmethod
    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        """Entries of training.json that only this task has."""
