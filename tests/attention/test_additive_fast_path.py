"""The fast additive alignment against the formula as it stands, in values and all gradients."""

import pytest
import torch
from torch import Tensor

from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.attention.additive import additive_scores as additive_formula
from hf_attention_zoo.attention.attention_base import masked_softmax
from hf_attention_zoo.loops import additive_scores
from hf_attention_zoo.loops.weight_tape import WeightTape

MASK = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0]]).bool()


def mechanism(dtype: torch.dtype = torch.double) -> AdditiveAttention:
    module = AdditiveAttention(3, 6, 4).to(dtype)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module


def stepwise(module: AdditiveAttention, queries: Tensor, values: Tensor) -> Tensor:
    """Queries (T, B, N, Q), each aligned in its own step."""
    source = module.prepare(values, MASK)
    twin = module.in_loop(source, WeightTape.start())
    assert twin is not module
    return torch.stack([twin(query, source)[1] for query in queries])


def formula(module: AdditiveAttention, queries: Tensor, values: Tensor) -> Tensor:
    keys = module.key_projection(values)
    scores = [additive_formula(module.query_projection(q), keys, module.score_vector) for q in queries]
    return torch.stack([masked_softmax(one, MASK[:, None]) for one in scores])


@pytest.mark.parametrize("hypotheses", [1, 3])
def test_steps_equal_the_formula_in_value_and_all_gradients(hypotheses: int) -> None:
    module = mechanism()
    queries = torch.randn(5, 4, hypotheses, 3, dtype=torch.double, requires_grad=True)
    values = torch.randn(4, 5, 6, dtype=torch.double, requires_grad=True)
    weights = torch.randn(5, 4, hypotheses, 5, dtype=torch.double)
    fast, plain = stepwise(module, queries, values), formula(module, queries, values)
    torch.testing.assert_close(fast, plain, rtol=0, atol=1e-12)
    inputs = (queries, values, *module.parameters())
    for _ in range(2):  # the second time the tape starts anew
        grads = torch.autograd.grad((fast * weights).sum(), inputs, retain_graph=True)
        wanted = torch.autograd.grad((plain * weights).sum(), inputs, retain_graph=True)
        torch.testing.assert_close(grads, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("elements", [1, 200, 1 << 18])
def test_queries_in_parts_have_the_scores_of_all_at_once(monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    monkeypatch.setitem(additive_scores.PART_ELEMENTS, "cpu", elements)
    module = mechanism()
    queries, keys = torch.randn(4, 7, 3, dtype=torch.double), torch.randn(4, 5, 4, dtype=torch.double)
    with torch.no_grad():
        made = module.score(queries, keys)
        wanted = additive_formula(module.query_projection(queries), keys, module.score_vector)
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)]
)
def test_narrow_types_stay_near_the_formula(dtype: torch.dtype, tolerance: float) -> None:
    module = mechanism()
    queries, values = torch.randn(3, 4, 1, 3, dtype=torch.double), torch.randn(4, 5, 6, dtype=torch.double)
    wanted = formula(module, queries, values)
    made = stepwise(module.to(dtype), queries.to(dtype), values.to(dtype))
    torch.testing.assert_close(made.double(), wanted, rtol=0, atol=tolerance)
    made.float().square().sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in module.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_scores_near_zero_keep_their_sign_in_half_precision(dtype: torch.dtype) -> None:
    """At initialisation what is inside tanh is tiny; 2 sigmoid(2 x) - 1 would round it to nothing."""
    module = AdditiveAttention(1, 1, 1, bias=False).to(dtype)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(1.0)
        scores = module.score(torch.zeros(1, 1, 1, dtype=dtype), torch.tensor([[[1e-3], [-1e-3]]], dtype=dtype))
    assert scores[0, 0, 0] > 0 > scores[0, 0, 1]


def test_frozen_weights_take_the_plain_path_and_inputs_still_get_gradients() -> None:
    module = mechanism().requires_grad_(False)
    queries = torch.randn(2, 4, 1, 3, dtype=torch.double, requires_grad=True)
    values = torch.randn(4, 5, 6, dtype=torch.double, requires_grad=True)
    made, wanted = stepwise(module, queries, values), formula(module, queries, values)
    grads = torch.autograd.grad(made.square().sum(), (queries, values))
    torch.testing.assert_close(
        grads, torch.autograd.grad(wanted.square().sum(), (queries, values)), rtol=0, atol=1e-11
    )
