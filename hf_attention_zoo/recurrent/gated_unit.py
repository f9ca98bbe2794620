"""The gated unit of Cho et al. (2014), with the reset gate on either side of the recurrent product.

Shapes: B rows, T steps, I input size, C context size, H units. Gate order in every stacked matrix: z (update),
r (reset), candidate.

    r = sigmoid(W_r x + C_r c + U_r h)
    z = sigmoid(W_z x + C_z c + U_z h)
    candidate = tanh(W x + C c + U (r * h))            reset="before"  (Bahdanau et al. 2015, A.1.1; the authors' code)
    candidate = tanh(W x + C c + r * (U h + b_U))      reset="after"   (what torch.nn.GRU computes)
    candidate = tanh(W x + r * (U h + C c))            reset="after", C c as `gated`  (Cho et al. 2014, A.2)
    h' = (1 - z) h + z candidate                       update="new": z = 1 takes the new state (Bahdanau)
    h' = z h + (1 - z) candidate                       update="keep": z = 1 keeps the old state (Cho; torch)

No change of weights turns one reset into the other; the two senses of z differ by the sign of everything inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.gated_backward import GatedForm, GatedLayer, GatedSequence, GatedStep, project
from hf_attention_zoo.loops.weight_tape import WeightTape, in_autocast_dtype, step_linear


def gated_step(
    projected: Tensor, hidden: Tensor, gates: Tensor, candidate: Tensor, reset_bias: Tensor | None, form: GatedForm
) -> Tensor:
    """The equations as they stand; inference, compilers and the tests of the fast path use them.

    Args:
        projected: (..., B, 3H) W x + C c + b of z, r and the candidate.
        hidden: (..., B, H) h.
        gates, candidate: (..., 2H, H) U_z, U_r, and (..., H, H) U.
        reset_bias: b_U (or whatever stands inside the reset beside U h), or None.

    Returns:
        (..., B, H) h'.
    """
    size = hidden.shape[-1]
    update, reset = torch.sigmoid(projected[..., : 2 * size] + hidden @ gates.mT).chunk(2, dim=-1)
    if form.reset == "before":
        recurrent = (reset * hidden) @ candidate.mT
    else:
        product = hidden @ candidate.mT
        recurrent = reset * (product if reset_bias is None else product + reset_bias)
    proposed = torch.tanh(projected[..., 2 * size :] + recurrent)
    if form.update == "new":
        return torch.lerp(hidden, proposed, update)  # (1 - z) h + z candidate
    return torch.lerp(proposed, hidden, update)  # z h + (1 - z) candidate


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
        reset_bias: whether a unit with biases that resets after the product has b_U.
    """

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
        self.input_weight = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.gate_weight = nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.candidate_weight = nn.Parameter(torch.empty(hidden_size, hidden_size))
        if context_size is not None:
            self.context_weight = nn.Parameter(torch.empty(3 * hidden_size, context_size))
        else:
            self.register_parameter("context_weight", None)
        bias_size = {"all": 3 * hidden_size, "candidate": hidden_size, "none": 0}[bias]
        self.register_parameter("bias", nn.Parameter(torch.zeros(bias_size)) if bias_size else None)
        after = reset == "after" and bias != "none" and reset_bias
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
        return functional.linear(inputs, self.input_weight, self.both_biases()[0])

    def both_biases(self) -> tuple[Tensor | None, Tensor | None]:
        """b (3H) of z, r and the candidate, and b_U (H); None where there is none."""
        bias = self.bias
        if self.bias_on == "candidate":
            bias = torch.cat([bias.new_zeros(2 * self.hidden_size), bias])
        return bias, self.reset_bias

    def project_context(self, context: Tensor) -> Tensor:
        """C_z c, C_r c, C c, to be added to the projected inputs: (..., C) -> (..., 3H).

        A context that is a weighted mean of vectors can be projected before the mean is taken: C sum_j a_j h_j =
        sum_j a_j C h_j, once per vector instead of once per step.
        """
        return functional.linear(context, self.context_weight)

    def open_weights(self) -> GatedWeights:
        """Fetch the weights of the loop; call once per unrolling."""
        tape = WeightTape.start(self.gate_weight)
        if tape is None:
            return GatedWeights(self.gate_weight, self.candidate_weight, self.context_weight, None)
        context = None if self.context_weight is None else tape.open(self.context_weight)
        return GatedWeights(tape.open(self.gate_weight), tape.open(self.candidate_weight), context, tape)

    def step(self, projected: Tensor, hidden: Tensor, weights: GatedWeights, context: Tensor | None = None) -> Tensor:
        """One time step: W x + b (B, 3H), h (B, H) and, if it is not projected yet, c (B, C) -> h' (B, H)."""
        gates, candidate, context_weight, tape = weights
        if context is not None:
            projected = projected + step_linear(context, context_weight, tape)
        if tape is None:
            return gated_step(projected, hidden, gates, candidate, self.reset_bias, self.form)
        dtype = gates.dtype
        bias = None if self.reset_bias is None else self.reset_bias.to(dtype)
        return GatedStep.apply(projected.to(dtype), hidden.to(dtype), gates, candidate, bias, self.form, tape)

    def run(self, projected: Tensor, hidden: Tensor, gated: Tensor | None = None) -> Tensor:
        """All states of a unit that knows its inputs beforehand.

        Args:
            projected: (B, T, 3H) W x + b, and what else is added to it.
            hidden: (B, H) h_0.
            gated: (B, H), added to U h inside the reset at every step; for reset="after" alone.

        Returns:
            (B, T, H).

        Raises:
            ValueError: if `gated` is given to a unit that resets before the product.
        """
        if gated is not None and self.form.reset == "before":
            raise ValueError(
                "a unit with reset='before' has nothing but h inside its reset; add the term to the inputs"
            )
        dtype = projected.dtype
        inside = gated if self.reset_bias is None else self.reset_bias if gated is None else gated + self.reset_bias
        inside = None if inside is None else inside.to(dtype)
        hidden, gates, candidate = (x.to(dtype) for x in (hidden, self.gate_weight, self.candidate_weight))
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            inside = None if inside is None else inside.expand_as(hidden)[None]
            steps = projected.transpose(0, 1)[None]  # (1, T, B, 3H)
            states = GatedSequence.apply(steps, hidden[None], gates[None], candidate[None], inside, self.form)
            return states[0].transpose(0, 1)
        states = []
        for now in projected.unbind(1):
            hidden = gated_step(now, hidden, gates, candidate, inside, self.form)
            states.append(hidden)
        return torch.stack(states, dim=1)


def run_side_by_side(units: Sequence[GatedUnit], inputs: Sequence[Tensor], start: Tensor | None = None) -> Tensor:
    """All states of D units of one size and form that read D sequences at the same time.

    Args:
        units: D units without context.
        inputs: one tensor (T, B, I) a unit, time first.
        start: (D, B, H) h_0; zero if not given.

    Returns:
        (D, T, B, H).

    Raises:
        ValueError: if the units differ in size, form or biases.
    """
    first = units[0]
    if any(
        (unit.form, unit.hidden_size, unit.bias_on) != (first.form, first.hidden_size, first.bias_on) for unit in units
    ):
        raise ValueError(
            "units that run side by side have one hidden size, reset, update and kind of bias; got "
            f"{[(unit.hidden_size, *unit.form, unit.bias_on) for unit in units]}"
        )
    steps, rows, _ = inputs[0].shape
    stacked = [in_autocast_dtype(torch.stack([getattr(unit, name) for unit in units])) for name in WEIGHTS]
    dtype = stacked[0].dtype
    bias, reset_bias = (
        _stack_rows(biases, dtype) for biases in zip(*(unit.both_biases() for unit in units), strict=True)
    )
    inside = None if reset_bias is None else reset_bias.expand(-1, rows, -1)  # (D, B, H)
    if start is None:
        start = inputs[0].new_zeros(len(units), rows, first.hidden_size)
    start = start.to(dtype)
    flat = torch.stack([x.flatten(0, 1) for x in inputs]).to(dtype)  # (D, T B, I)
    input_weight, gates, candidate = stacked
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return GatedLayer.apply(flat, input_weight, bias, start, gates, candidate, inside, first.form)
    projected = project(flat, input_weight, bias).view(len(units), steps, rows, -1)
    states = []
    for step_input in projected.unbind(1):
        start = gated_step(step_input, start, gates, candidate, inside, first.form)
        states.append(start)
    return torch.stack(states, dim=1)


WEIGHTS = ("input_weight", "gate_weight", "candidate_weight")


def _stack_rows(biases: Sequence[Tensor | None], dtype: torch.dtype) -> Tensor | None:
    """Biases (K) of D units as (D, 1, K), or None if they have none."""
    return None if biases[0] is None else torch.stack(list(biases)).unsqueeze(1).to(dtype)


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
