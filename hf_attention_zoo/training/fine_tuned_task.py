"""Fine-tuning of tasks that read all rows and validate by the function that scores the saved model."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from datasets import Dataset

from hf_attention_zoo.training.fine_tuning import add_symbol_rows, cut_at_positions, special_ids, write_as_task
from hf_attention_zoo.training.held_out_trainer import HeldOutTrainer
from hf_attention_zoo.training.split_choice import training_and_validation
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask

# Flags that say nothing to these tasks.
FOREIGN = ("source_lang", "target_lang", "source_column", "target_column", "max_words", "label_column", "class_names")


class FineTunedTask(TrainingTask):
    """Reads all rows, tokenizes, and validates by the function that scores the saved model.

    Attributes:
        metrics: the validation numbers that can choose the model whatever the rows are, the usual one first.
    """

    metrics: ClassVar[tuple[str, ...]]

    @abstractmethod
    def splits(self) -> Any:
        """The rows of every split, a `DatasetDict`."""

    @abstractmethod
    def texts(self, rows: Dataset) -> Any:
        """The texts that a new tokenizer is trained on."""

    @abstractmethod
    def encoded(self, rows: Dataset, tokenizer: Any) -> Dataset:
        """Training rows as ids."""

    @abstractmethod
    def collator(self, tokenizer: Any) -> Any:
        """Encoded rows -> a batch."""

    @abstractmethod
    def scores(self, model: Any, tokenizer: Any, rows: Dataset, batch_size: int) -> dict[str, float]:
        """The validation numbers."""

    def load(self) -> tuple[Dataset, Dataset | None]:
        data, args = self.plan.data, self.plan.training
        for name in FOREIGN:
            if getattr(data, name) is not None:
                raise ValueError(f"--{name} says nothing to this task; leave it out")
        if data.streaming:
            raise ValueError("these rows are read before training, so they cannot be a stream")
        if args.label_smoothing_factor:
            raise ValueError("leave out --label_smoothing_factor: the model computes this task's loss")
        return training_and_validation(self.splits(), self.plan)

    def measures(self, validation: Dataset) -> tuple[str, ...]:
        return self.metrics

    def train_tokenizer(self, rows: Dataset) -> Any:
        return self.row.train_tokenizer(self.texts(rows), **self.plan.tokenizer)

    def prepare_tokenizer(self, tokenizer: Any) -> None:
        write_as_task(tokenizer)

    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        return {**special_ids(tokenizer, self.row.config_class), **self.head_fields()}

    def prepare_model(self, model: Any, tokenizer: Any, rows: Any) -> None:
        add_symbol_rows(model, tokenizer)
        cut_at_positions(tokenizer, model.config, self.plan)

    def encode(self, train: Dataset, validation: Dataset | None, tokenizer: Any) -> EncodedData:
        return EncodedData(self.encoded(train, tokenizer), validation, kept={"rows": len(train)})

    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> HeldOutTrainer:
        held_out = None
        if data.validation is not None:

            def held_out(model: Any, tokenizer: Any, batch_size: int) -> dict[str, float]:
                return self.scores(model, tokenizer, data.validation, batch_size)

        return HeldOutTrainer(
            model=model,
            args=self.plan.training,
            train_dataset=data.train,
            data_collator=self.collator(tokenizer),
            processing_class=tokenizer,
            callbacks=callbacks,
            held_out=held_out,
        )

    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        return {"training_rows": data.kept["rows"], "training_inputs": len(data.train)}
