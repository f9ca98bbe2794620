"""Training of models that choose one of several endings (Devlin et al. 2018, Section 4.4; Radford et al. 2018)."""

from __future__ import annotations

from typing import Any

from datasets import Dataset

from hf_attention_zoo.data.text_encoding import LENGTH
from hf_attention_zoo.tasks.choices.evaluation import choice_scores, predict_choices
from hf_attention_zoo.tasks.choices.examples import ChoiceCollator, encode_choices
from hf_attention_zoo.tasks.choices.rows import load_choices
from hf_attention_zoo.training.fine_tuned_task import FineTunedTask
from hf_attention_zoo.training.split_choice import needed_splits


class ChoiceTask(FineTunedTask):
    """Each ending is read behind the context; the right one gets the highest score."""

    auto_class = "AutoModelForMultipleChoice"
    rows_said = "contexts"
    shown = ("accuracy",)
    metrics = ("accuracy",)

    def splits(self) -> Any:
        data = self.plan.data
        return data.read(
            load_choices,
            context=data.context_column,
            choices=data.choices_column,
            right=data.right_column,
            needed=needed_splits(data, self.plan.training),
        )

    def texts(self, rows: Dataset) -> Any:
        return (text for row in rows for text in (row["context"], *row["choices"]))

    def encoded(self, rows: Dataset, tokenizer: Any) -> Dataset:
        features = encode_choices(tokenizer, list(rows["context"]), list(rows["choices"]))
        for feature, label in zip(features, rows["label"], strict=True):
            feature["labels"] = label
            feature[LENGTH] = max(map(len, feature["input_ids"]))
        return Dataset.from_list(features)

    def collator(self, tokenizer: Any) -> ChoiceCollator:
        return ChoiceCollator(tokenizer)

    def scores(self, model: Any, tokenizer: Any, rows: Dataset, batch_size: int) -> dict[str, float]:
        logits = predict_choices(model, tokenizer, list(rows["context"]), list(rows["choices"]), batch_size)
        return choice_scores(logits, list(rows["label"]))
