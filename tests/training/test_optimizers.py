"""Adadelta with the paper's constants, and what happens to a gradient that is not finite."""

import numpy as np
import pytest
import torch

from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.optimizers import optimizer_class, shrink_on_bad_gradient


def test_adadelta_follows_the_published_update_rule(tmp_path: object) -> None:
    args = ZooTrainingArguments(output_dir=str(tmp_path), optimizer="adadelta", learning_rate=1.0)
    cls, keywords = optimizer_class("adadelta", args)
    assert keywords == {"lr": 1.0, "rho": 0.95, "eps": 1e-6}
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = cls([parameter], **keywords)

    value, squares, updates = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for step in range(5):
        gradient = np.array([0.3, -0.1]) * (step + 1)
        squares = 0.95 * squares + 0.05 * gradient**2
        update = -np.sqrt(updates + 1e-6) / np.sqrt(squares + 1e-6) * gradient
        updates = 0.95 * updates + 0.05 * update**2
        value = value + update
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    np.testing.assert_allclose(parameter.detach().numpy(), value, rtol=1e-12)


def test_an_unknown_optimizer_is_refused_with_the_known_ones(tmp_path: object) -> None:
    with pytest.raises(ValueError, match="unknown optimizer 'adagold'; known are adadelta"):
        ZooTrainingArguments(output_dir=str(tmp_path), optimizer="adagold")


def test_a_gradient_that_is_not_finite_is_replaced_by_a_tenth_of_the_weights() -> None:
    weights = [torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.tensor([3.0]))]
    weights[0].grad, weights[1].grad = torch.tensor([0.5, float("nan")]), torch.tensor([0.25])
    assert shrink_on_bad_gradient(weights) is True
    torch.testing.assert_close(weights[0].grad, torch.tensor([0.1, 0.2]))
    torch.testing.assert_close(weights[1].grad, torch.tensor([0.3]))


def test_a_finite_gradient_is_left_alone() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    weight.grad = torch.tensor([0.5])
    assert shrink_on_bad_gradient([weight]) is False
    assert weight.grad.item() == 0.5
