"""The scores of a text's labels as the text-classification pipeline gives them, and what is read off them."""

from collections.abc import Mapping
from typing import Any

import torch
from transformers import PreTrainedModel

from hf_attention_zoo.parts.config_checks import number_of_labels


def label_scores(model: PreTrainedModel, logits: torch.Tensor) -> list[dict[str, float]]:
    """Logits (B, labels) as label -> score, as the text-classification pipeline gives them.

    Probabilities that sum to 1; for several labels at once a probability each; for a regression the values.
    """
    config, wide = model.config, logits.float()
    if config.problem_type == "regression":
        values = wide
    elif config.problem_type == "multi_label_classification" or config.num_labels == 1:
        values = wide.sigmoid()
    else:
        values = wide.softmax(-1)
    labels: Any = config.id2label
    names = [str(labels[index]) for index in range(number_of_labels(config))]
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]


def scores_of_output(model: PreTrainedModel, output: Any, texts: int) -> list[dict[str, float]]:
    """The same of what a model gave for so many texts; empty for a model without labels."""
    return label_scores(model, output.logits) if "logits" in output else [{} for _ in range(texts)]


def best_label(scores: Mapping[str, float]) -> str:
    """The label with the highest score, "" where there is none."""
    return max(scores, key=scores.__getitem__, default="")


def label_title(label: str, scores: Mapping[str, float]) -> str:
    """The line above a picture: a label and its score, or nothing."""
    return f"{label}  {scores[label]:.3f}" if label else ""
