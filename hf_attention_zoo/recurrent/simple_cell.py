"""The hidden units of a simple recurrent network, which see their own last values as a second input (Elman 1990).

    h_t = f(W x_t + U h_{t-1} + b)

f is the logistic function, as in the paper, or tanh. h_{t-1} stands in the paper's context units, copied one for one.
Shapes: N rows, E input size, H hidden units.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hf_attention_zoo.loops.decoder_loop import State

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"logistic": torch.sigmoid, "tanh": torch.tanh}


class SimpleCell(nn.Module):
    """One layer of hidden units and their context.

    Args:
        input_size: E; None for words that are one-hot vectors, so that W x_t is a row of a table, looked up before.
        hidden_size: H.
        activation: f, "logistic" or "tanh".
    """

    def __init__(self, input_size: int | None, hidden_size: int, activation: str = "logistic") -> None:
        super().__init__()
        self.hidden_size, self.activation = hidden_size, activation
        self.input_projection: nn.Module = (
            nn.Identity() if input_size is None else nn.Linear(input_size, hidden_size, bias=False)
        )  # W
        self.context_projection = nn.Linear(hidden_size, hidden_size)  # U, b

    def zero_state(self, like: Tensor) -> State:
        """The context before the first word, 0: for the rows of `like` (N, ...)."""
        return {"hidden": like.new_zeros(like.shape[0], self.hidden_size)}

    def forward(self, projected: Tensor, state: State) -> State:
        """One step: W x_t (N, H), which does not wait for the step before, and h_{t-1} (N, H) -> h_t."""
        f = ACTIVATIONS[self.activation]
        return {"hidden": f(projected + self.context_projection(state["hidden"]))}
