"""The twin of `packed_reading`: both directions over packed rows with the backward written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hf_attention_zoo.loops.gated_backward import GatedForm, backward_step, forward_step
from hf_attention_zoo.loops.gated_loop import WEIGHTS, stacked_rows
from hf_attention_zoo.loops.weight_tape import in_autocast_dtype

if TYPE_CHECKING:
    from hf_attention_zoo.recurrent.gated_unit import GatedUnit


class PackedRows(NamedTuple):
    """The order in which tokens are read.

    Attributes:
        lengths: (R) tokens of each row, at least one.
        starts: (R) where each row begins among the N tokens.
        orders: (2, N) the token that is read at each place, forwards and backwards; the places of a step are adjacent.
        inverses: (2, N) the place at which each token is read.
        previous: (N - step_sizes[0]) the place read just before, in its row, for every place after the first step.
        step_sizes: rows that have a token at step t.
    """

    lengths: Tensor
    starts: Tensor
    orders: Tensor
    inverses: Tensor
    previous: Tensor
    step_sizes: list[int]


class _PackedLayer(torch.autograd.Function):
    """Both directions over packed rows, with the projection of their inputs and the backward written out.

    Vectors (U, I), which of them each token is (N) or None if U = N, W (2, 3H, I), b (2, 3H) or None, U_z and U_r
    (2, 2H, H), U (2, H, H), b_U (2, 1, H) or None -> states (N, 2H) in the order of the tokens.
    """

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        token: Tensor | None,
        input_weight: Tensor,
        bias: Tensor | None,
        gates: Tensor,
        candidate: Tensor,
        inside: Tensor | None,
        form: GatedForm,
        rows: PackedRows,
    ) -> Tensor:
        where = rows.orders if token is None else token[rows.orders]  # (2, N) vector of each place
        size, count = gates.shape[-1], where.shape[1]
        opened = vectors.new_empty(2, count, 3 * size)  # W x + b, then z, r and the candidate in its place
        for side in range(2):
            weight = input_weight[side].t()
            table = vectors @ weight if bias is None else torch.addmm(bias[side], vectors, weight)  # (U, 3H)
            torch.index_select(table, 0, where[side], out=opened[side])
        states = vectors.new_empty(2, count, size)
        recorded = form.reset == "after" and any(ctx.needs_input_grad)
        products = torch.empty_like(states) if recorded else None
        hidden = vectors.new_zeros(2, len(rows.lengths), size)
        start = 0
        for reading in rows.step_sizes:
            step = slice(start, start + reading)
            now = opened[:, step]
            hidden, product = forward_step(now, hidden[:, :reading], gates, candidate, inside, form, opened=now)
            states[:, step] = hidden
            if products is not None and product is not None:
                products[:, step] = product
            start += reading
        ctx.save_for_backward(vectors, where, input_weight, gates, candidate, opened, states, products)
        ctx.form, ctx.rows, ctx.distinct = form, rows, token is not None
        return torch.cat([one.index_select(0, back) for one, back in zip(states, rows.inverses, strict=True)], dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        vectors, where, input_weight, gates, candidate, opened, states, products = ctx.saved_tensors
        rows, form, size = ctx.rows, ctx.form, gates.shape[-1]
        after = form.reset == "after"
        names = ("vectors", "token", "weight", "bias", "gates", "candidate", "inside")
        wanted = dict(zip(names, ctx.needs_input_grad[:7], strict=True))
        of_states = torch.stack(
            [side.index_select(0, order) for side, order in zip(grad.split(size, 1), rows.orders, strict=True)]
        )
        grad_projected = torch.empty_like(opened)
        varying = torch.empty_like(states)  # of the product with U: r h, or d loss / d (U h + b_U)
        grad_hidden = states.new_zeros(2, len(rows.lengths), size)
        begin = states.new_zeros(2, len(rows.lengths), size)
        start = states.shape[1]
        for t in reversed(range(len(rows.step_sizes))):
            reading = rows.step_sizes[t]
            start -= reading
            step = slice(start, start + reading)
            earlier = start - rows.step_sizes[t - 1]
            through, of_candidate = backward_step(
                grad_hidden[:, :reading] + of_states[:, step],
                states[:, earlier : earlier + reading] if t else begin,
                opened[:, step],
                None if products is None else products[:, step],
                gates,
                candidate,
                form,
                grad_projected[:, step],
            )
            grad_hidden[:, :reading] = through
            varying[:, step] = of_candidate[1 if after else 0]
        later = len(rows.lengths)  # h_0 = 0 adds nothing to the gradients of U
        before = states.index_select(1, rows.previous)
        grad_gates = grad_candidate = None
        if wanted["gates"]:
            grad_gates = torch.bmm(grad_projected[:, later:, : 2 * size].mT, before)
        if wanted["candidate"]:
            grad_candidate = (
                torch.bmm(varying[:, later:].mT, before)
                if after
                else torch.bmm(grad_projected[..., 2 * size :].mT, varying)
            )
        grad_bias = grad_projected.sum(1) if wanted["bias"] else None
        grad_inside = varying.sum(1, keepdim=True) if wanted["inside"] else None
        grad_vectors = grad_weight = None
        if wanted["vectors"] or wanted["weight"]:
            tables = [
                torch.ops.aten.embedding_dense_backward(part, at, len(vectors), -1, False)
                if ctx.distinct
                else part.index_select(0, back)
                for part, at, back in zip(grad_projected, where, rows.inverses, strict=True)
            ]  # d loss / d (W x + b) of each vector, twice (U, 3H)
            if wanted["weight"]:
                grad_weight = torch.stack([table.t() @ vectors for table in tables])
            if wanted["vectors"]:
                grad_vectors = torch.addmm(tables[0] @ input_weight[0], tables[1], input_weight[1])
        return grad_vectors, None, grad_weight, grad_bias, grad_gates, grad_candidate, grad_inside, None, None


def read_packed(units: Sequence[GatedUnit], vectors: Tensor, rows: PackedRows, token: Tensor | None) -> Tensor:
    """The twin of `PackedBidirectionalEncoder.forward`, whose two units and arguments it takes."""
    input_weight, gates, candidate = (
        in_autocast_dtype(torch.stack([getattr(unit, name) for unit in units])) for name in WEIGHTS
    )
    dtype = input_weight.dtype
    bias = stacked_rows([unit.stacked_bias() for unit in units], dtype)
    inside = stacked_rows([unit.reset_bias for unit in units], dtype)
    weights = (input_weight, None if bias is None else bias[:, 0], gates, candidate, inside)
    return _PackedLayer.apply(vectors.to(dtype), token, *weights, units[0].form, rows)
