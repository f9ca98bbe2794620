"""Reading padded texts word by word with any cell: pads, wherever they stand, leave the state as it is.

Shapes: N rows, T steps, E input size, H hidden units.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.decoder_loop import State
from hf_attention_zoo.loops.graphs import check_fixed_steps


class Cell(Protocol):
    """A layer that is read step by step; `input_projection` is what it makes of its inputs before the first step."""

    hidden_size: int
    input_projection: nn.Module

    def zero_state(self, like: Tensor) -> State: ...

    def __call__(self, projected: Tensor, state: State) -> State: ...


def read_in_time(
    cell: Cell, inputs: Tensor, state: State, real: Tensor | None = None, truncation: int | None = None
) -> tuple[Tensor, State]:
    """The hidden state after each word.

    Args:
        inputs: (N, T, E).
        state: of the cell, name -> (N, ...).
        real: (N, T) bool, false at pads, where the state stays; None if there are none.
        truncation: errors go back through so many steps at most: the state is cut off from its past before the first
            word of a row and before every so many further words. None for all the way.

    Returns:
        (N, T, H), at a pad that of the word before it, and the last state.
    """
    check_fixed_steps(inputs.shape[1])
    states = []
    seen = None if real is None else real.cumsum(1) - 1  # words before each of a row
    for t, projected in enumerate(cell.input_projection(inputs).unbind(1)):
        if truncation is not None and seen is None and t % truncation == 0:
            state = {name: tensor.detach() for name, tensor in state.items()}
        elif truncation is not None and real is not None and seen is not None:
            cut = (real[:, t] & (seen[:, t] % truncation == 0))[:, None]
            state = {name: torch.where(cut, tensor.detach(), tensor) for name, tensor in state.items()}
        following = cell(projected, state)
        if real is not None:
            read = real[:, t, None]
            following = {name: torch.where(read, new, state[name]) for name, new in following.items()}
        state = following
        states.append(state["hidden"])
    return torch.stack(states, dim=1), state
