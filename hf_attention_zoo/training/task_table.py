"""What a training run adds for the kind of model that it trains: one row per Auto class, one module per row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hf_attention_zoo.registry import Architecture, load_object

if TYPE_CHECKING:
    from hf_attention_zoo.training.run_plan import RunPlan
    from hf_attention_zoo.training.zoo_trainer import ZooTrainer

# Auto class -> "module:class" of its task. `attention-zoo train` trains the first one that an architecture has.
TASKS: dict[str, str] = {
    "AutoModelForSeq2SeqLM": "hf_attention_zoo.training.translation_task:TranslationTask",
    "AutoModelForSequenceClassification": "hf_attention_zoo.training.label_task:LabelTask",
    "AutoModelForImageTextToText": "hf_attention_zoo.training.caption_task:CaptionTask",
}


@dataclass
class EncodedData:
    """What the Trainer reads, and what the task keeps for its metrics."""

    train: Any
    validation: Any | None
    dropped: int | None = 0
    kept: dict[str, Any] = field(default_factory=dict)


class TrainingTask(ABC):
    """One kind of training. The methods are called in the order in which they stand here."""

    auto_class: ClassVar[str]
    rows_said: ClassVar[str]
    shown: ClassVar[tuple[str, ...]]

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
    def train_tokenizer(self, rows: Any) -> Any:
        """A tokenizer for the training rows, with the plan's settings."""

    @abstractmethod
    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        """Fields of a new model's config that follow from tokenizer and data; they win over the plan's."""

    def prepare_model(self, model: Any, tokenizer: Any, rows: Any) -> None:  # noqa: B027 (most tasks do nothing)
        """Last settings of the model before it trains; `rows` are the raw training rows."""

    @abstractmethod
    def encode(self, train: Any, validation: Any | None, tokenizer: Any) -> EncodedData:
        """Rows as ids."""

    @abstractmethod
    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> ZooTrainer:
        """The trainer with collator and metrics."""

    @abstractmethod
    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        """Entries of training.json that only this task has."""


def task_class(row: Architecture) -> type[TrainingTask]:
    """The task that an architecture is trained for. Raises ValueError if there is none."""
    for auto_class, path in TASKS.items():
        if auto_class in row.models:
            return load_object(path)
    raise ValueError(
        f"{row.model_type} does {', '.join(row.tasks)}; this command trains architectures with {' or '.join(TASKS)}"
    )
