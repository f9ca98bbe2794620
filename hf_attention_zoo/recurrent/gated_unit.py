"""The gated unit of Cho et al. (2014), with the reset gate on either side of the recurrent product.

Shapes: B rows, T steps, I input size, C context size, H units. Gate order in every stacked matrix: z (update),
r (reset), candidate.

    r = sigmoid(W_r x + C_r c + U_r h)
    z = sigmoid(W_z x + C_z c + U_z h)
    candidate = tanh(W x + C c + U (r * h))            reset="before"  (Bahdanau et al. 2015, A.1.1; the authors' code)
    candidate = tanh(W x + C c + r * (U h + b_U))      reset="after"   (what torch.nn.GRU computes)
    h' = (1 - z) h + z candidate                       update="new": z = 1 takes the new state (Bahdanau)
    h' = z h + (1 - z) candidate                       update="keep": z = 1 keeps the old state (Cho; torch)

No change of weights turns one reset into the other; the two senses of z differ by the sign of everything inside it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.recurrent.weight_tape import WeightTape, step_linear


class GatedWeights(NamedTuple):
    """The weights that the time loop uses, as opened on a tape (see `weight_tape`)."""

    gates: Tensor  # (2H, H)  U_z, U_r
    candidate: Tensor  # (H, H)  U
    context: Tensor | None  # (3H, C)  C_z, C_r, C
    tape: WeightTape | None


class GatedUnit(nn.Module):
    """One gated unit, with an optional second input (the context) whose value is known only inside the loop.

    Args:
        input_size: I.
        hidden_size: H.
        context_size: C, or None for a unit without context.
        bias: "all" one bias per gate and candidate, "candidate" only there, "none".
        reset: "before" or "after" the recurrent product.
        update: "new" if z = 1 takes the candidate, "keep" if z = 1 keeps the old state.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        context_size: int | None = None,
        bias: Literal["all", "candidate", "none"] = "all",
        reset: Literal["before", "after"] = "before",
        update: Literal["new", "keep"] = "new",
    ) -> None:
        super().__init__()
        self.hidden_size, self.reset, self.update, self.bias_on = hidden_size, reset, update, bias
        self.input_weight = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.gate_weight = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.candidate_weight = nn.Parameter(torch.empty(hidden_size, hidden_size))
        if context_size is not None:
            self.context_weight = nn.Parameter(torch.empty(3 * hidden_size, context_size))
        else:
            self.register_parameter("context_weight", None)
        bias_size = {"all": 3 * hidden_size, "candidate": hidden_size, "none": 0}[bias]
        self.register_parameter("bias", nn.Parameter(torch.zeros(bias_size)) if bias_size else None)
        after = reset == "after" and bias != "none"
        self.register_parameter("reset_bias", nn.Parameter(torch.zeros(hidden_size)) if after else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal input weights and one random orthogonal block per recurrent gate."""
        for name, parameter in self.named_parameters(recurse=False):
            if "bias" in name:
                nn.init.zeros_(parameter)
            elif name in ("gate_weight", "candidate_weight"):
                orthogonal_blocks_(parameter)
            else:
                nn.init.normal_(parameter, std=0.01)

    def project_inputs(self, inputs: Tensor) -> Tensor:
        """W x + b for all steps at once, outside the loop: (B, T, I) -> (B, T, 3H)."""
        bias = self.bias
        if self.bias_on == "candidate":
            bias = torch.cat([bias.new_zeros(2 * self.hidden_size), bias])
        return functional.linear(inputs, self.input_weight, bias)

    def open_weights(self) -> GatedWeights:
        """Fetch the weights of the loop; call once per unrolling."""
        tape = WeightTape.start(self.gate_weight)
        if tape is None:
            return GatedWeights(self.gate_weight, self.candidate_weight, self.context_weight, None)
        context = None if self.context_weight is None else tape.open(self.context_weight)
        return GatedWeights(tape.open(self.gate_weight), tape.open(self.candidate_weight), context, tape)

    def step(self, projected: Tensor, hidden: Tensor, weights: GatedWeights, context: Tensor | None = None) -> Tensor:
        """One time step: W x (B, 3H), h (B, H) and, with a context unit, c (B, C) -> h' (B, H)."""
        size = self.hidden_size
        if context is not None:
            projected = projected + step_linear(context, weights.context, weights.tape)
        update, reset = torch.sigmoid(
            projected[:, : 2 * size] + step_linear(hidden, weights.gates, weights.tape)
        ).chunk(2, dim=-1)
        if self.reset == "before":
            recurrent = step_linear(reset * hidden, weights.candidate, weights.tape)
        else:
            product = step_linear(hidden, weights.candidate, weights.tape)
            recurrent = reset * (product if self.reset_bias is None else product + self.reset_bias)
        candidate = torch.tanh(projected[:, 2 * size :] + recurrent)
        if self.update == "new":
            return torch.lerp(hidden, candidate, update)  # (1 - z) h + z candidate
        return torch.lerp(candidate, hidden, update)  # z h + (1 - z) candidate


def orthogonal_blocks_(matrix: Tensor) -> Tensor:
    """Fill each square block of a (k H, H) matrix with its own random orthogonal matrix, in place."""
    size = matrix.shape[1]
    if matrix.shape[0] % size:
        raise ValueError(f"a stack of square blocks is wanted, got shape {tuple(matrix.shape)}")
    with torch.no_grad():
        for block in matrix.split(size):
            square = torch.empty(size, size, dtype=torch.float32, device=block.device)
            block.copy_(nn.init.orthogonal_(square))
    return matrix
