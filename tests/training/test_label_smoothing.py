"""Both smoothed targets, written out class by class, against what a training step computes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.trainer_pt_utils import LabelSmoother

from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.label_smoothing import OtherClassesSmoother, UniformSmoother

EPSILON = 0.1


def written_out(logits: torch.Tensor, labels: torch.Tensor, elsewhere: float, at_label: float) -> float:
    """Sum over positions and classes of -q log p, one term after the other."""
    total = 0.0
    for row, label in zip(logits.flatten(0, 1), labels.flatten().tolist(), strict=True):
        if label == -100:
            continue
        log_p = row - torch.logsumexp(row, 0)
        for k in range(len(row)):
            total -= (at_label if k == label else elsewhere) * log_p[k].item()
    return total


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (2, 3, 5) and labels, one of them padding."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    return logits, torch.tensor([[1, 4, 0], [2, 2, -100]])


def test_the_share_goes_to_the_other_classes(batch: Any) -> None:
    logits, labels = batch
    loss = OtherClassesSmoother(EPSILON)({"logits": logits}, labels)
    assert loss.item() == pytest.approx(written_out(logits, labels, EPSILON / 4, 1 - EPSILON) / 5, rel=1e-12)
    by_all = OtherClassesSmoother(EPSILON)((logits,), labels, num_items_in_batch=11)
    assert by_all.item() == pytest.approx(loss.item() * 5 / 11, rel=1e-12)


def test_the_librarys_distribution_is_another_one(batch: Any) -> None:
    logits, labels = batch
    uniform = LabelSmoother(EPSILON)({"logits": logits.float()}, labels)
    at_label = 1 - EPSILON + EPSILON / 5
    assert uniform.item() == pytest.approx(written_out(logits, labels, EPSILON / 5, at_label) / 5, rel=1e-5)
    wider = LabelSmoother(EPSILON * 5 / 4)({"logits": logits.float()}, labels)
    ours = OtherClassesSmoother(EPSILON)({"logits": logits}, labels)
    assert wider.item() == pytest.approx(ours.item(), rel=1e-5)
    assert uniform.item() != pytest.approx(ours.item(), rel=1e-3)


def test_the_librarys_loss_and_gradient_are_ours(batch: Any) -> None:
    logits, labels = batch
    for given in ({}, {"shift_labels": True}, {"num_items_in_batch": 11}):
        made, theirs = ({"logits": logits.detach().clone().requires_grad_()} for _ in range(2))
        UniformSmoother(EPSILON)(made, labels, **given).backward()
        LabelSmoother(EPSILON)(theirs, labels, **given).backward()
        torch.testing.assert_close(made["logits"].grad, theirs["logits"].grad, rtol=1e-6, atol=1e-7)
        with torch.no_grad():
            ours = UniformSmoother(EPSILON)(made, labels, **given)
        assert ours.item() == pytest.approx(LabelSmoother(EPSILON)(theirs, labels, **given).item(), rel=1e-6)


def test_the_gradient_is_the_softmax_less_the_target(batch: Any) -> None:
    logits, labels = batch
    OtherClassesSmoother(EPSILON)({"logits": logits}, labels, num_items_in_batch=1).backward()
    wanted = logits.softmax(-1) - (EPSILON / 4)
    for position, label in enumerate(labels.flatten().tolist()):
        row = wanted.view(6, 5)[position]
        if label == -100:
            row.zero_()
        else:
            row[label] -= 1 - EPSILON - EPSILON / 4
    torch.testing.assert_close(logits.grad, wanted, rtol=1e-10, atol=1e-12)


def test_the_floor_of_the_smoothed_loss_is_the_entropy_of_the_target() -> None:
    """1.37695 nats at 37,000 classes."""
    classes = 37_000
    q = torch.full((1, 1, classes), EPSILON / (classes - 1), dtype=torch.float64)
    q[0, 0, 7] = 1 - EPSILON
    loss = OtherClassesSmoother(EPSILON)({"logits": q.log()}, torch.tensor([[7]]))
    assert loss.item() == pytest.approx(1.37695, abs=5e-6)


def test_causal_models_are_shifted(batch: Any) -> None:
    logits, labels = batch
    shifted = OtherClassesSmoother(EPSILON)({"logits": logits}, labels, shift_labels=True)
    plain = OtherClassesSmoother(EPSILON)({"logits": logits[:, :-1]}, labels[:, 1:])
    assert shifted.item() == pytest.approx(plain.item(), rel=1e-12)


def test_a_batch_without_labels_costs_nothing() -> None:
    assert OtherClassesSmoother(EPSILON)({"logits": torch.randn(1, 2, 5)}, torch.full((1, 2), -100)) == 0


def test_too_large_a_share_is_refused(batch: Any) -> None:
    with pytest.raises(ValueError, match=r"label_smoothing_factor=0.8 with 5 classes: it must lie below 0.8"):
        OtherClassesSmoother(0.8)({"logits": batch[0]}, batch[1])


def test_an_unknown_distribution_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of uniform, other_classes"):
        ZooTrainingArguments(output_dir=str(tmp_path), label_smoothing_distribution="unigram")
