"""The concat score never holds a (sources, targets, positions, size) tensor, and pays nothing for that in values."""

import subprocess
import sys
import textwrap

import pytest
import torch

from hf_attention_zoo.attention.additive import additive_scores
from hf_attention_zoo.attention.concat import ConcatAttention
from hf_attention_zoo.loops.chunked_scores import BUFFER_ELEMENTS

CELL_BYTES = 150


def attention(size: int = 6, **choices: str) -> ConcatAttention:
    made = ConcatAttention(size, size, size, **choices).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.7)
    return made


@pytest.mark.parametrize("source_weight", ["learned", "identity"])
@pytest.mark.parametrize("budget", [1, 100, 300, 10**9])
def test_chunks_of_any_size_give_the_values_and_gradients_of_the_formula(
    monkeypatch: pytest.MonkeyPatch, source_weight: str, budget: int
) -> None:
    monkeypatch.setitem(BUFFER_ELEMENTS, "cpu", budget)
    made = attention(source_weight=source_weight)
    values = torch.randn(3, 5, 6).double().requires_grad_()
    query = torch.randn(3, 11, 6).double().requires_grad_()
    mask = torch.ones(3, 5).bool()
    mask[1, 3:] = False
    leaves = [values, query, *made.parameters()]

    def formula() -> torch.Tensor:
        projected = query @ made.query_projection.weight.T
        scores = additive_scores(projected, made.key_projection(values), made.score_vector)
        return scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1)

    wanted = formula()
    grads = torch.autograd.grad(wanted.pow(3).sum(), leaves)
    _, got = made(query, made.prepare(values, mask))
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    for mine, theirs in zip(torch.autograd.grad(got.pow(3).sum(), leaves), grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-11)


def test_identity_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="size 8 to 6 hidden units"):
        ConcatAttention(6, 8, 6, "identity")


def test_what_is_saved_for_backward_is_a_few_numbers_a_cell() -> None:
    sources, targets, positions, size = 2, 60, 50, 128
    made = ConcatAttention(size, size, size)
    torch.nn.init.normal_(made.score_vector)
    values, query = torch.randn(sources, positions, size), torch.randn(sources, targets, size, requires_grad=True)
    saved: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        context, _ = made(query, made.prepare(values, torch.ones(sources, positions)))
    per_cell = sum(saved.values()) / (sources * targets * positions)
    assert per_cell < 60  # of which the inputs, keys and queries are about 40 at this small number of cells
    assert 4 * size > 8 * per_cell  # one (sources, targets, positions, size) tensor alone would be 512 a cell
    context.sum().backward()


MEASURE = """
    import resource, sys
    import torch
    from hf_attention_zoo.attention.concat import ConcatAttention

    torch.set_num_threads(1)
    torch.manual_seed(0)
    length, size, sources = int(sys.argv[1]), 512, int(sys.argv[2])
    attention = ConcatAttention(size, size, size)
    torch.nn.init.normal_(attention.score_vector)
    values = torch.randn(sources, length, size, requires_grad=True)
    query = torch.randn(sources, length, size, requires_grad=True)
    mask = torch.ones(sources, length)

    def step(last):
        context, _ = attention(query[:, :last], attention.prepare(values, mask))
        context.sum().backward()

    step(2)  # libraries, their buffers and the gradients' own memory are not what is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(length)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (sources * length * length))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read in the unit of Linux")
def test_peak_memory_of_a_training_step_at_the_size_of_the_paper_stays_under_150_bytes_a_cell() -> None:
    code = textwrap.dedent(MEASURE)
    made = subprocess.run([sys.executable, "-c", code, "200", "8"], capture_output=True, text=True, check=True)
    assert float(made.stdout) < CELL_BYTES, f"{float(made.stdout):.0f} bytes a (source, target, position) cell"
