"""The scores of a text's labels as the text-classification pipeline gives them."""

import torch
from transformers import PreTrainedModel


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
    names = [str(config.id2label[index]) for index in range(config.num_labels)]
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]
