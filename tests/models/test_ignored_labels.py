"""A batch whose labels are all -100, as a part of a larger one may be: loss 0 and gradients 0, for every head."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from every_head import EVERY_HEAD, RegisteredHead
from torch import Tensor

LABELS = ("labels", "next_sentence_label", "start_positions", "end_positions")


def ignored(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.full_like(value, -100) if name in LABELS else value for name, value in batch.items()}


def loss_and_gradients(model: Any, batch: dict[str, Any]) -> tuple[float, list[Tensor]]:
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    return loss.item(), [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("items", [None, 0, 7])
@pytest.mark.parametrize("head", EVERY_HEAD, ids=str)
def test_labels_that_are_all_ignored_give_zero(head: RegisteredHead, items: int | None) -> None:
    model = head.model().train()
    share = {} if items is None else {"num_items_in_batch": items}
    loss, gradients = loss_and_gradients(model, {**ignored(head.batch()), **share})
    assert loss == 0.0
    assert all(not gradient.any() for gradient in gradients)


MULTI_LABEL = [head for head in EVERY_HEAD if head.auto == "AutoModelForSequenceClassification"]


@pytest.mark.parametrize("head", MULTI_LABEL, ids=str)
def test_classes_that_are_ignored_count_nothing_beside_others(head: RegisteredHead) -> None:
    model = head.model(problem_type="multi_label_classification")  # in evaluation mode: no dropout
    batch = head.batch()
    given = {**batch, "labels": torch.tensor([[1.0, -100], [-100, 0.0]])}
    loss, _ = loss_and_gradients(model, given)
    with torch.no_grad():
        logits = model(**{name: value for name, value in batch.items() if name != "labels"}).logits
    rest, _ = loss_and_gradients(model, {**batch, "labels": torch.sigmoid(logits)})
    own = torch.nn.functional.binary_cross_entropy_with_logits(logits.diagonal(), torch.tensor([1.0, 0.0]))
    other = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.sigmoid(logits))
    assert loss - own.item() == pytest.approx(rest - other.item(), abs=1e-5)  # what is added beside the labels
    nothing, gradients = loss_and_gradients(model, {**batch, "labels": torch.full((2, 2), -100.0)})
    assert nothing == 0.0 and all(not gradient.any() for gradient in gradients)
