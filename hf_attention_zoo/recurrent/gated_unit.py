"""The gated unit of Cho et al. (2014), with the reset gate on either side of the recurrent product.

    r = sigmoid(W_r x + C_r c + U_r h)
    z = sigmoid(W_z x + C_z c + U_z h)
    candidate = tanh(W x + C c + U (r * h))         reset="before" (Bahdanau et al. 2015, A.1.1; the authors' code)
    candidate = tanh(W x + r * (U h + C c + b_U))   reset="after" (Cho et al. 2014, A.2; torch.nn.GRU has no C)
    h' = (1 - z) h + z candidate                    update="new": z = 1 takes the new state (Bahdanau)
    h' = z h + (1 - z) candidate                    update="keep": z = 1 keeps the old state (Cho; torch)

No change of weights turns one reset into the other; the two senses of z differ by the sign of everything inside it.
Shapes: B rows, T steps, I input size, C context size, H units. Gate order in every stacked matrix: z, r, candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.gated_backward import GatedForm
from hf_attention_zoo.loops.gated_loop import GatedLoop, read_sequence
from hf_attention_zoo.loops.graphs import check_fixed_steps
from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.gated_initialisation import reset_gated_


@has_twin
class GatedUnit(nn.Module):
    """One gated unit, with an optional second input, the context.

    Args:
        input_size, hidden_size, context_size: I, H and C; None for a unit without context.
        bias: "all" one bias per gate and candidate, "candidate" only there, "none".
        reset: "before" or "after" the recurrent product.
        update: "new" if z = 1 takes the candidate, "keep" if z = 1 keeps the old state.
        reset_bias: whether a unit with biases that resets after the product has b_U.
    """

    input_weight: nn.Parameter
    gate_weight: nn.Parameter
    candidate_weight: nn.Parameter
    context_weight: nn.Parameter  # None in a unit that is given no context
    bias: nn.Parameter | None
    reset_bias: nn.Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        context_size: int | None = None,
        bias: Literal["all", "candidate", "none"] = "all",
        reset: Literal["before", "after"] = "before",
        update: Literal["new", "keep"] = "new",
        reset_bias: bool = True,
    ) -> None:
        super().__init__()
        self.hidden_size, self.form, self.bias_on = hidden_size, GatedForm(reset, update), bias
        bias_size = {"all": 3 * hidden_size, "candidate": hidden_size, "none": 0}[bias]
        inside = hidden_size if reset == "after" and bias != "none" and reset_bias else 0
        shapes: dict[str, tuple[int, ...] | None] = {
            "input_weight": (3 * hidden_size, input_size),  # W_z, W_r, W
            "gate_weight": (2 * hidden_size, hidden_size),  # U_z, U_r
            "candidate_weight": (hidden_size, hidden_size),  # U
            "context_weight": None if context_size is None else (3 * hidden_size, context_size),  # C_z, C_r, C
            "bias": (bias_size,) if bias_size else None,
            "reset_bias": (inside,) if inside else None,  # b_U
        }
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else nn.Parameter(torch.zeros(shape)))
        reset_gated_(self)

    def stacked_bias(self) -> Tensor | None:
        """b of z, r and the candidate, (3H), or None."""
        if self.bias is None or self.bias_on != "candidate":
            return self.bias
        return torch.cat([self.bias.new_zeros(2 * self.hidden_size), self.bias])

    def forward(self, inputs: Tensor, hidden: Tensor, context: Tensor | None = None) -> Tensor:
        """One step: x (B, I), h (B, H) and, in a unit that has one, c (B, C) -> h' (B, H)."""
        parts = (2 * self.hidden_size, self.hidden_size)
        gates, candidate = functional.linear(inputs, self.input_weight, self.stacked_bias()).split(parts, -1)
        if context is not None:
            to_gates, to_candidate = functional.linear(context, self.context_weight).split(parts, -1)
            gates = gates + to_gates
        z, r = torch.sigmoid(gates + functional.linear(hidden, self.gate_weight)).chunk(2, -1)
        if self.form.reset == "before":
            candidate = candidate if context is None else candidate + to_candidate
            candidate = torch.tanh(candidate + functional.linear(r * hidden, self.candidate_weight))
        else:
            inside = functional.linear(hidden, self.candidate_weight, self.reset_bias)
            candidate = torch.tanh(candidate + r * (inside if context is None else inside + to_candidate))
        return (1 - z) * hidden + z * candidate if self.form.update == "new" else z * hidden + (1 - z) * candidate

    def in_loop(self, tape: WeightTape | None) -> Callable[..., Tensor]:
        """What the steps of a loop call in place of the unit: its twin, whose inputs and contexts are projected."""
        return GatedLoop(self, tape) if twin_may_run(self) else self


def read_states(
    unit: Any, inputs: Tensor, hidden: Tensor, context: Tensor | None = None, known: Tensor | None = None
) -> Tensor:
    """All states of a unit, or of what wraps one, with one context. A twin takes C c, if `known`.

    Args:
        inputs: (B, T, I). hidden: h_0 (B, H). context: (B, C) of a unit that has one.

    Returns:
        (B, T, H).
    """
    if twin_may_run(unit):
        return read_sequence(unit, inputs, hidden, context, known)
    check_fixed_steps(inputs.shape[1])
    states = []
    for now in inputs.unbind(1):
        hidden = unit(now, hidden, context)
        states.append(hidden)
    return torch.stack(states, 1)
