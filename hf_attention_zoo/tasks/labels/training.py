"""Training of classifiers on labelled texts, documents and pairs of texts."""

import dataclasses
from collections import Counter
from typing import Any

from datasets import Dataset
from transformers import DataCollatorWithPadding

from hf_attention_zoo.data.labels import REGRESSION, SINGLE_LABEL, LabelInfo, known_names, label_info_of
from hf_attention_zoo.data.text_encoding import drop_long_texts, longest_first, raw_texts
from hf_attention_zoo.folders.saved_model import saved_auto_class, saved_config
from hf_attention_zoo.metrics.label_scoring import MEASURES
from hf_attention_zoo.tasks.labels.examples import encode_labelled
from hf_attention_zoo.tasks.labels.label_trainer import ZooLabelTrainer
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.training.fine_tuning import add_symbol_rows, cut_at_positions, special_ids, write_as_task
from hf_attention_zoo.training.split_choice import needed_splits, training_and_validation
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask

# Flags that say nothing to a classifier, and how they are when nobody gave them.
FOREIGN = ("source_lang", "target_lang", "source_column", "target_column", "max_words", "max_target_length")


class LabelTask(TrainingTask):
    """Texts with classes or numbers, a tokenizer for one language, accuracy and F1 or errors."""

    auto_class = "AutoModelForSequenceClassification"
    rows_said = "training texts"
    shown = ("loss", "accuracy", "micro_f1", "macro_f1", "mse", "mae", "pearson")

    labels: LabelInfo
    vectors: dict[str, Any]

    def load(self) -> tuple[Dataset, Dataset | None]:
        plan, data, args = self.plan, self.plan.data, self.plan.training
        for name in FOREIGN:
            if getattr(data, name) is not None:
                raise ValueError(f"--{name} is for pairs of languages; {self.row.model_type} reads labelled texts")
        if data.streaming:
            raise ValueError("labels are collected before training, so labelled texts cannot be a stream")
        if plan.generation:
            raise ValueError(
                f"{self.row.model_type} generates nothing; leave out --generation.{next(iter(plan.generation))}"
            )
        if args.label_smoothing_factor:
            raise ValueError(
                "label smoothing would take the loss out of the model's hands, its penalties with it; leave out "
                "--label_smoothing_factor"
            )
        settings = data.label_settings()
        if plan.model.model is not None and settings["label_names"] is None:
            settings |= self._labels_of(plan.model.model)
        splits, self.labels = data.read(
            load_labelled,
            needed=needed_splits(data, args),
            **settings,
        )
        train, validation = training_and_validation(splits, self.plan)
        self.rows = train
        return train, validation

    def measures(self, validation: Dataset) -> tuple[str, ...]:
        return MEASURES[self.labels.problem_type]

    def train_tokenizer(self, rows: Dataset) -> Any:
        return self.row.train_tokenizer(raw_texts(rows, self.plan.data.tokenizer_samples), **self.plan.tokenizer)

    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        fields = {**special_ids(tokenizer, self.row.config_class), **self.labels.config_fields()}
        known = {field.name for field in dataclasses.fields(self.row.config_class)}
        if "label_counts" in known and self.labels.problem_type == SINGLE_LABEL:
            counted = Counter(self.rows["label"])
            fields["label_counts"] = [counted[label] for label in range(self.labels.num_labels)]
        return fields

    def prepare_tokenizer(self, tokenizer: Any) -> None:
        write_as_task(tokenizer)

    def head_fields(self) -> dict[str, Any]:
        return self.labels.config_fields()

    def prepare_model(self, model: Any, tokenizer: Any, rows: Dataset) -> None:
        from hf_attention_zoo.tasks.labels.vector_start import start_from_word_vectors

        add_symbol_rows(model, tokenizer)
        cut_at_positions(tokenizer, model.config, self.plan)
        found = label_info_of(model.config)
        if found.num_labels != self.labels.num_labels:
            raise ValueError(
                f"the model tells {found.num_labels} labels apart ({', '.join(found.names)}), the data have "
                f"{self.labels.num_labels} ({', '.join(self.labels.names)})"
            )
        self.vectors = start_from_word_vectors(model, tokenizer, rows, self.plan.model, self.plan.training.seed)

    def encode(self, train: Dataset, validation: Dataset | None, tokenizer: Any) -> EncodedData:
        train_set, dropped = drop_long_texts(encode_labelled(train, tokenizer), self.plan.data.max_source_length)
        held_out = longest_first(encode_labelled(validation, tokenizer)) if validation is not None else None
        return EncodedData(train_set, held_out, dropped)

    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> ZooLabelTrainer:
        return ZooLabelTrainer(
            model=model,
            args=self.plan.training,
            train_dataset=data.train,
            eval_dataset=data.validation,
            data_collator=DataCollatorWithPadding(tokenizer),
            processing_class=tokenizer,
            problem_type=self.labels.problem_type,
            callbacks=callbacks,
        )

    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        return {
            "training_texts": len(data.train),
            "labels": list(self.labels.names),
            "problem_type": self.labels.problem_type,
            "word_vectors": self.vectors or None,
        }

    def _labels_of(self, model: str) -> dict[str, Any]:
        """The labels of a model that is trained further, so that their numbers stay."""

        if saved_auto_class(model) != self.auto_class:
            return {}
        config = saved_config(model)
        info = label_info_of(config)
        if known_names(info) != info.names or info.problem_type == REGRESSION:
            return {}  # LABEL_0, LABEL_1, ... or numbers: the data name them
        return {"label_names": info.names}
