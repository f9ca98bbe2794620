"""Training of taggers: a tag for each word."""

from __future__ import annotations

from typing import Any

from datasets import Dataset
from transformers import DataCollatorForTokenClassification

from hf_attention_zoo.data.labels import known_names, label_info_of
from hf_attention_zoo.data.text_encoding import LENGTH
from hf_attention_zoo.folders.saved_model import saved_auto_class, saved_config
from hf_attention_zoo.metrics.tag_scoring import has_entities, tag_scores
from hf_attention_zoo.tasks.tags.evaluation import predict_tags
from hf_attention_zoo.tasks.tags.examples import encode_tagged
from hf_attention_zoo.tasks.tags.rows import TagInfo, load_tagged
from hf_attention_zoo.training.fine_tuned_task import FineTunedTask
from hf_attention_zoo.training.split_choice import needed_splits


class TagTask(FineTunedTask):
    """Words with tags; the first piece of each word is tagged."""

    auto_class = "AutoModelForTokenClassification"
    rows_said = "sentences"
    shown = ("accuracy", "macro_f1", "entity_f1")
    metrics = ("accuracy", "macro_f1")

    tags: TagInfo

    def splits(self) -> Any:
        data, names = self.plan.data, None
        if self.plan.model.model is not None:
            names = self._names_of(self.plan.model.model)
        rows, self.tags = data.read(
            load_tagged,
            words=data.words_column,
            tags=data.tags_column,
            tag_names=names,
            needed=needed_splits(data, self.plan.training),
        )
        return rows

    def head_fields(self) -> dict[str, Any]:
        return self.tags.config_fields()

    def measures(self, validation: Dataset) -> tuple[str, ...]:
        return (*self.metrics, "entity_f1") if has_entities(self.tags.names) else self.metrics

    def texts(self, rows: Dataset) -> Any:
        return (" ".join(words) for words in rows["words"])

    def encoded(self, rows: Dataset, tokenizer: Any) -> Dataset:
        return encode_tagged(rows, tokenizer)

    def collator(self, tokenizer: Any) -> Any:
        collate = DataCollatorForTokenClassification(tokenizer)
        return lambda rows: collate([{name: row[name] for name in row if name != LENGTH} for row in rows])

    def scores(self, model: Any, tokenizer: Any, rows: Dataset, batch_size: int) -> dict[str, float]:
        predicted = predict_tags(model, tokenizer, list(rows["words"]), batch_size)
        return tag_scores(predicted, list(rows["tags"]), self.tags.names)

    def facts(self, data: Any, epochs: float) -> dict[str, Any]:
        return {**super().facts(data, epochs), "tags": list(self.tags.names)}

    def _names_of(self, model: str) -> list[str] | None:
        """The tags of a tagger that is trained further, so that their numbers stay."""
        if saved_auto_class(model) != self.auto_class:
            return None
        info = label_info_of(saved_config(model))
        return list(info.names) if known_names(info) == info.names else None  # LABEL_0, ...: the data name them
