"""Additive scores of many queries at once, without ever holding a (sources, queries, positions, size) tensor.

score = v^T tanh(q + k) is computed for a few queries at a time in one scratch buffer, and the hyperbolic tangents are
computed again in the backward pass instead of being kept. (A buffer, not a new tensor for each chunk: freed tensors of
this size leave holes in memory that the small results in between make useless.) Shapes: B sources, N queries,
S positions, A size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

BUFFER_ELEMENTS = {"cpu": 1 << 18}  # what stays in the second-level cache
BUFFER_ELEMENTS_ELSEWHERE = 1 << 24


def queries_at_a_time(keys: Tensor) -> int:
    """How many queries of every source fit the buffer; at least one."""
    budget = BUFFER_ELEMENTS.get(keys.device.type, BUFFER_ELEMENTS_ELSEWHERE)
    return max(1, budget // max(1, keys.numel()))


class _ChunkedScores(torch.autograd.Function):
    """With d/dx tanh = 1 - tanh^2 and g = d loss / d score:

    grad query = v * sum_s g_s (1 - t_s^2),   grad key_s = v * sum_n g_n (1 - t_n^2),   grad v = sum g t.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, vector)
        scores = query.new_empty(query.shape[0], query.shape[1], keys.shape[1])
        for part, tanh in _tangents(query, keys):
            scores[:, part] = tanh @ vector
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, vector = ctx.saved_tensors
        grad_query, grad_keys = torch.empty_like(query), torch.zeros_like(keys)
        grad_vector, summed = torch.zeros_like(vector), torch.empty_like(keys)
        for part, tanh in _tangents(query, keys):
            now = grad[:, part]  # (B, n, S)
            grad_vector += (now.reshape(1, -1) @ tanh.view(-1, tanh.shape[-1]))[0]
            slope = tanh.square_().neg_().add_(1.0).mul_(now[..., None])  # g (1 - t^2), in the buffer
            torch.sum(slope, 1, out=summed)
            grad_keys += summed
            grad_query[:, part] = slope.sum(2)
        return grad_query.mul_(vector), grad_keys.mul_(vector), grad_vector


def _tangents(query: Tensor, keys: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """tanh(q + k) of each chunk of queries, (B, n, S, A), all in the same buffer."""
    (sources, queries, size), positions = query.shape, keys.shape[1]
    step = min(queries_at_a_time(keys), queries)
    buffer = query.new_empty(step * sources * positions * size)
    for first in range(0, queries, step):
        part = slice(first, min(first + step, queries))
        count = part.stop - part.start
        chunk = buffer[: count * sources * positions * size].view(sources, count, positions, size)
        torch.add(query[:, part, None], keys[:, None], out=chunk)
        yield part, chunk.tanh_()


def chunked_scores(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """v^T tanh(q_n + k_s) for all n and s: (B, N, A), (B, S, A), (A) -> (B, N, S)."""
    dtype = torch.promote_types(query.dtype, keys.dtype)
    return _ChunkedScores.apply(query.to(dtype), keys.to(dtype), vector.to(dtype))
