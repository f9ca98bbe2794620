"""The twins of `attention.additive`: v^T tanh(q + k) whose tangents are computed again in backward, and its steps.

tanh(x) = 2 y - 1 with y = sigmoid(2 x), and the logistic function takes a fraction of the time of tanh on a CPU. Near
zero y is rounded like one half, which half precision cannot afford: there y is tanh itself. Shapes: B sources, N
queries, S positions, Q query size, A size of the hidden layer, M of the attended vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hf_attention_zoo.loops.chunked_scores import chunked_scores, queries_at_a_time
from hf_attention_zoo.loops.mixture import mix, open_mixture
from hf_attention_zoo.loops.weight_tape import WeightTape, in_autocast_dtype

HALF_PRECISION = (torch.float16, torch.bfloat16)
PART_ELEMENTS = {"cpu": 1 << 18}
PART_ELEMENTS_ELSEWHERE = 1 << 26


def inside(tensor: Tensor) -> Tensor:
    """A projected query or key as the faster form wants it: doubled, except in half precision."""
    return tensor if tensor.dtype in HALF_PRECISION else 2 * tensor


class Scratch:
    """The one (B, N, S, A) tensor that the steps of a loop take turns to use, forwards and backwards.

    With a new one each step the small tensors that steps keep would lie between them and break up the heap.
    """

    def __init__(self) -> None:
        self.tensor: Tensor | None = None

    def fitting(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, N, S, A) of any content for queries (B, N, A) and keys (B, S, A)."""
        shape = (*query.shape[:2], *keys.shape[1:])
        if self.tensor is None or self.tensor.shape != shape:
            self.tensor = keys.new_empty(shape)
        return self.tensor


def bend(query: Tensor, keys: Tensor, scratch: Scratch | None = None) -> Tensor:
    """y of every query and key given as `inside`: (B, N, A), (B, S, A) -> (B, N, S, A), in `scratch` if given."""
    out = None if scratch is None else scratch.fitting(query, keys)
    total = torch.add(query[:, :, None], keys[:, None], out=out)
    return total.tanh_() if total.dtype in HALF_PRECISION else total.sigmoid_()


def scores_of(bent: Tensor, vector: Tensor) -> Tensor:
    """v^T tanh(x) from y: (B, N, S, A), (A) -> (B, N, S)."""
    return bent @ vector if bent.dtype in HALF_PRECISION else 2 * (bent @ vector) - vector.sum()


def scores_in_parts(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """`scores_of` every query and key given as `inside`, for inference: as many queries at a time as fit the cache."""
    elements = PART_ELEMENTS.get(keys.device.type, PART_ELEMENTS_ELSEWHERE)
    parts = query.split(max(1, elements // max(1, keys.numel())), dim=1)
    made = [scores_of(bend(part, keys), vector) for part in parts]
    return made[0] if len(made) == 1 else torch.cat(made, dim=1)


class BentGradients(NamedTuple):
    """Gradients through the scores. That of what is inside y at (n, s) is grad[n, s] * slope[n, s] * factor."""

    slope: Tensor  # (B, N, S, A)  1 - t^2 or, of y, y (1 - y)
    factor: Tensor  # (A)
    query: Tensor  # (B, N, A)  d loss / d query as given to `bend`
    vector: Tensor  # (A)  d loss / d v


def scores_backward(
    grad: Tensor, query: Tensor, keys: Tensor, vector: Tensor, scratch: Scratch | None = None
) -> BentGradients:
    """d loss / d score (B, N, S) -> what it is for the rest; y is computed again."""
    bent = bend(query, keys, scratch)
    rows, queries, length, size = bent.shape
    grad_vector = (grad.reshape(1, -1) @ bent.view(-1, size))[0]  # sum g y
    if bent.dtype in HALF_PRECISION:
        slope, factor = bent.square_().neg_().add_(1.0), vector
    else:
        grad_vector = 2 * grad_vector - grad.sum()  # sum g t
        slope, factor = torch.addcmul(bent, bent, bent, value=-1, out=bent), 2 * vector
    total = torch.bmm(grad.reshape(-1, 1, length), slope.view(-1, length, size)).view(rows, queries, size)
    return BentGradients(slope, factor, total * factor, grad_vector)


class KeyGradient:
    """d loss / d keys of all steps, in one buffer (B, S, A)."""

    def __init__(self) -> None:
        self.total_so_far: Tensor | None = None
        self.factor: Tensor | None = None
        self.dtype: torch.dtype | None = None

    def add(self, *parts: Tensor) -> None:
        grad, slope, self.factor = parts  # (B, N, S), (B, N, S, A), (A)
        self.dtype = slope.dtype
        for query in range(grad.shape[1]):
            weights, slopes = grad[:, query, :, None], slope[:, query]
            if self.total_so_far is None:
                self.total_so_far = (weights * slopes).to(torch.promote_types(self.dtype, torch.float32))
            elif self.dtype in HALF_PRECISION:
                self.total_so_far += weights * slopes
            else:
                self.total_so_far.addcmul_(weights, slopes)

    def total(self) -> Tensor:
        if self.total_so_far is None or self.factor is None or self.dtype is None:
            raise RuntimeError("the gradient of the keys was asked for before any step added to it")
        return (self.total_so_far * self.factor).to(self.dtype)


class _RecomputedScores(torch.autograd.Function):
    """v^T tanh(q + k) for any number of queries; what tanh gave is computed again in backward, not kept."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, vector)
        return scores_of(bend(query, keys), vector)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, vector = ctx.saved_tensors
        back = scores_backward(grad, query, keys, vector)
        of_keys = KeyGradient()
        of_keys.add(grad, back.slope, back.factor)
        return back.query, of_keys.total(), back.vector


def recomputed_scores(query: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """The twin of `additive.additive_scores`: (B, N, A), (B, S, A), (A) -> (B, N, S), for all queries at once.

    However many queries there are, only a chunk of the (B, N, S, A) tensor exists at once, in backward too.
    """
    if query.shape[1] > queries_at_a_time(keys):
        return chunked_scores(query, keys, vector)
    query, keys, vector = inside(query), inside(keys), vector.to(keys.dtype)
    scores = _RecomputedScores.apply if torch.is_grad_enabled() else scores_in_parts
    return scores(query, keys, vector)


class _Step(torch.autograd.Function):
    """softmax(v^T tanh(W_a s + U_a h)) of one step of a loop; gradients of W_a and of the keys go on the tape."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        weight: Tensor,
        keys: Tensor,
        vector: Tensor,
        mask: Tensor,
        softmax: Callable[[Tensor, Tensor], Tensor],
        tape: WeightTape,
        scratch: Scratch,
    ) -> Tensor:
        projected = functional.linear(query, weight)
        alignment = softmax(scores_of(bend(projected, keys, scratch), vector), mask)
        ctx.save_for_backward(query, weight, projected, keys, vector, alignment)
        ctx.tape, ctx.scratch = tape, scratch
        return alignment

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, weight, projected, keys, vector, alignment = ctx.saved_tensors
        share = grad * alignment
        grad = torch.addcmul(share, alignment, share.sum(-1, keepdim=True), value=-1)  # d loss / d score, (B, N, S)
        back = scores_backward(grad, projected, keys, vector, ctx.scratch)
        if ctx.needs_input_grad[1]:
            ctx.tape.record(weight, query.flatten(0, 1), back.query.flatten(0, 1))
        if ctx.needs_input_grad[2]:
            ctx.tape.record(keys, grad, back.slope, back.factor)
        return back.query @ weight, None, None, back.vector, None, None, None, None


class AdditiveLoop:
    """The twin of `AdditiveAttention.forward` in a loop over one source.

    Args:
        query_weight, vector: W_a (A, Q) and v_a (A).
        keys, values, mask: (B, S, A), (B, S, M) and (B, S), of the source.
        softmax: the formula's, of scores and a mask.
        tape: of the loop; None where nothing is recorded.
    """

    def __init__(
        self,
        query_weight: Tensor,
        vector: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor,
        softmax: Callable[[Tensor, Tensor], Tensor],
        tape: WeightTape | None,
    ) -> None:
        keys, weight = inside(keys), inside(in_autocast_dtype(query_weight))
        if tape is not None:
            keys, weight = tape.open(keys, KeyGradient), tape.open(weight)
        self.keys, self.weight, self.vector = keys, weight, vector.to(keys.dtype)
        self.values, self.mask = open_mixture(values, tape), mask[:, None]
        self.softmax, self.tape, self.scratch = softmax, tape, Scratch()

    def __call__(
        self, query: Tensor, source: Any = None, mask: Tensor | None = None, factor: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As the module that it stands for; the source is the loop's."""
        query, mask = query.to(self.weight.dtype), self.mask if mask is None else mask
        if self.tape is None:
            scores = scores_in_parts(functional.linear(query, self.weight), self.keys, self.vector)
            alignment = self.softmax(scores, mask)
        else:
            terms = (self.weight, self.keys, self.vector, mask, self.softmax, self.tape, self.scratch)
            alignment = _Step.apply(query, *terms)
        alignment = alignment if factor is None else alignment * factor.to(alignment.dtype)
        return mix(alignment, self.values, self.tape), alignment
