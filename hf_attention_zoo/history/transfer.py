"""What pre-training is worth: a task is learnt on top of it, all weights fine-tuned, and scored on held-out texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo.history import planted_text as planted
from hf_attention_zoo.history.synthetic import held_out_draws
from hf_attention_zoo.history.training import train


def fine_tuned_accuracy(
    model: Any,
    language: Any,
    learnt: Mapping[str, Tensor],
    asked: Mapping[str, Tensor],
    random: np.random.Generator,
    steps: int,
    size: int = 64,
) -> float:
    """The share of held-out labels that are right after fine-tuning.

    Args:
        model: a head on a new body, trained in place; it takes the weights of the body of `language`.
        language: the pre-trained model, left as it is.
        learnt, asked: what the model is called with, "labels" included; those below 0 are not counted.
        size: of a batch.
    """
    body = {name: weight for name, weight in language.state_dict().items() if name.startswith("model.")}
    missing = model.load_state_dict(body, strict=False).missing_keys
    assert all(not key.startswith("model.") or "pool" in key for key in missing), missing
    train(model, planted.drawn_batches(random, size, **learnt), steps, warmup=20)
    given = {name: value for name, value in asked.items() if name != "labels"}
    with torch.no_grad():
        right = model(**given).logits.argmax(-1) == asked["labels"]
    return right[asked["labels"] >= 0].float().mean().item()


def topic_and_tag_rows(
    random: np.random.Generator, seed: int, labelled: int, held_out: int
) -> dict[str, tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Two tasks on texts with hidden topics: task -> what is learnt, what is asked.

    "topics" has a label a text; "tags" one a symbol: whether the next one is in the upper half.
    """
    rows: dict[str, list[dict[str, Tensor]]] = {"topics": [], "tags": []}
    for draws, count in ((random, labelled), (held_out_draws(seed), held_out)):
        texts, topics = planted.topical_texts(draws, count)
        ids = planted.read_by_bert(texts)
        rows["topics"].append({"input_ids": ids, "labels": torch.from_numpy(topics)})
        rows["tags"].append({"input_ids": ids, "labels": planted.next_is_high(texts)})
    return {task: (learnt, asked) for task, (learnt, asked) in rows.items()}
