"""Stacked LSTM layers: torch's own over whole sequences, step by step where a vector is fed back.

Shapes: N rows, T steps, I input size, F size of the fed-back vector, H cells a layer, L layers.
Layer k reads the hidden states of layer k - 1. Gate order i, f, g, o (see `lstm_cell`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from hf_attention_zoo.loops.decoder_loop import State, unroll
from hf_attention_zoo.loops.lstm_backward import StackLoop, project_first_layer
from hf_attention_zoo.loops.may_run import has_twin, twin_may_run
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.stepped_lstm import LayerVectors, SteppedLSTM

Sequences = TypeVar("Sequences", Tensor, PackedSequence)


@has_twin
class StackedLSTM(nn.Module):
    """L LSTM layers.

    Args:
        input_size: I.
        hidden_size: H.
        num_layers: L.
        biases: biases per gate: "none", "one", or "two" as torch.nn.LSTM has them.
        peephole: diagonal weights from the cell to its gates (Graves 2013); torch has none, so that every pass is
            then a loop.
        dropout: on the input of every layer but the first; the first layer's is the caller's.
        feed_size: F, size of a second input of the first layer whose value is known only inside the loop.
    """

    feed_weight: nn.Parameter | None
    no_feed = "this stack has no second input; leave the fed-back vector out, or build the stack with its feed_size"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        biases: Literal["none", "one", "two"] = "none",
        peephole: bool = False,
        dropout: float = 0.0,
        feed_size: int | None = None,
    ) -> None:
        super().__init__()
        self.hidden_size, self.num_layers, self.dropout = hidden_size, num_layers, float(dropout)
        self.has_biases, self.has_peepholes = biases != "none", peephole
        self.library = SteppedLSTM(
            input_size,
            hidden_size,
            num_layers,
            bias=biases == "two",
            batch_first=True,
            dropout=self.dropout if num_layers > 1 else 0.0,
        )
        shapes = {"bias": (4 * hidden_size,), "peephole": (3, hidden_size)}
        self.gate_biases = LayerVectors(num_layers if biases == "one" else 0, shapes["bias"])
        self.peepholes = LayerVectors(num_layers if peephole else 0, shapes["peephole"])
        feed = None if feed_size is None else nn.Parameter(torch.empty(4 * hidden_size, feed_size))
        self.register_parameter("feed_weight", feed)
        if feed is not None:
            nn.init.uniform_(feed, -(hidden_size**-0.5), hidden_size**-0.5)

    # Step by step

    def forward(
        self, inputs: Tensor, state: State | None = None, feed: Tensor | None = None, lengths: Tensor | None = None
    ) -> Any:
        """`step` of inputs (N, I), `run` of (N, T, I), or with lengths `encode`: whatever wraps the stack sees it."""
        if lengths is not None:
            return self.encode(inputs, lengths)
        if state is None:
            raise ValueError("give the state from which the steps go on, or the lengths of whole sequences")
        return self.step(inputs, state, feed) if inputs.dim() == 2 else self.run(inputs, state)

    def step(self, inputs: Tensor, state: State, feed: Tensor | None = None) -> tuple[Tensor, State]:
        """One time step of all layers.

        Args:
            inputs: (N, I).
            state: hidden_k and cell_k (N, H) of every layer k; other entries are left out of the result.
            feed: (N, F), the fed-back vector of a stack that has one.

        Returns:
            The top hidden state (N, H) and the next state.
        """
        more = None
        if feed is not None:
            if self.feed_weight is None:
                raise ValueError(self.no_feed)
            more = functional.linear(feed, self.feed_weight)
        return self.library(inputs, state, more=more, biases=self.gate_biases(), peepholes=self.peepholes())

    def in_loop(self, tape: WeightTape | None) -> Callable[..., tuple[Tensor, State]]:
        """What the steps of a loop call in place of the stack: its twin, whose inputs are projected."""
        plain = not self.has_peepholes and twin_may_run(self, self.library, self.gate_biases, self.peepholes)
        return StackLoop(self, tape) if plain else self

    def unrolled(self, inputs: Tensor, state: State, reads: Tensor | None = None) -> tuple[Tensor, State]:
        """All steps, one after the other: (N, T, I) -> (N, T, H); where `reads` (N, T) is false the state stays."""
        twin = self.in_loop(WeightTape.start())
        cell = self.step if twin is self else twin
        if twin is not self:
            inputs = project_first_layer(self, inputs)

        def step(now: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
            hidden, following = cell(now[0], state)
            if reads is None:
                return {"hidden": hidden}, following
            read = now[1][:, None]  # (N, 1)
            following = {name: torch.where(read, tensor, state[name]) for name, tensor in following.items()}
            return {"hidden": torch.where(read, hidden, 0.0)}, following

        outputs, state = unroll(step, (inputs,) if reads is None else (inputs, reads), state)
        return outputs["hidden"], state

    # Whole sequences

    def run(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """All steps from a given state, nothing fed back: (N, T, I) -> top states (N, T, H) and the last state."""
        if self.feed_weight is not None:
            raise ValueError("a stack with a fed-back input runs step by step; use `step` in a loop")
        if inputs.shape[1] == 1 or self.has_peepholes or torch.compiler.is_compiling():
            return self.unrolled(inputs, state)  # for one step the library costs more than its products
        hidden, cell = join_layers(state)
        outputs, (hidden, cell) = self._library(inputs, (hidden.transpose(0, 1), cell.transpose(0, 1)))
        return outputs, split_layers(hidden.transpose(0, 1), cell.transpose(0, 1))

    def encode(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read sequences that are padded on the right, each from zero to its own end.

        Args:
            inputs: (N, T, I).
            lengths: (N), each from 1 to T; without biases 0 will do, too, and ends in a zero state.

        Returns:
            Top states (N, T, H), zero behind the end, and the hidden states and cells (N, L, H) at the end.
        """
        steps = torch.arange(inputs.shape[1], device=inputs.device)[None]  # (1, T)
        real = steps < lengths[:, None]  # (N, T)
        # A compiler takes no call of the library into its graph, a trace none of packed sequences.
        traced = torch.jit.is_tracing() and self.has_biases
        if self.has_peepholes or torch.compiler.is_compiling() or traced:
            zeros = inputs.new_zeros(inputs.shape[0], self.num_layers, self.hidden_size)
            outputs, state = self.unrolled(inputs, split_layers(zeros, zeros), real)
            return outputs, *join_layers(state)
        if not torch.jit.is_tracing() and bool(real.all()):
            outputs, (hidden, cell) = self._library(inputs, None)
        elif not self.has_biases:
            # Without biases a zero input leaves a zero state at zero: with the pads in front, no row reads one.
            shift = inputs.shape[1] - lengths[:, None]  # (N, 1)
            moved = _roll(inputs.masked_fill(~real[..., None], 0.0), (steps - shift) % inputs.shape[1])
            outputs, (hidden, cell) = self._library(moved, None)
            outputs = _roll(outputs, (steps + shift) % inputs.shape[1]).masked_fill(~real[..., None], 0.0)
        else:
            packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
            made, (hidden, cell) = self._library(packed, None)
            outputs, _ = pad_packed_sequence(made, batch_first=True, total_length=inputs.shape[1])
        return outputs, hidden.transpose(0, 1), cell.transpose(0, 1)

    def _library(
        self, inputs: Sequences, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Sequences, tuple[Tensor, Tensor]]:
        """torch's LSTM on padded or packed sequences; `state` and what comes back are layers first, (L, N, H)."""
        if state is not None:
            state = (state[0].contiguous(), state[1].contiguous())
        return self.library(inputs, state, biases=self.gate_biases())


def split_layers(hidden: Tensor, cell: Tensor) -> State:
    """Hidden states and cells (N, L, H) -> one (N, H) entry per layer, as the loop and the cache hold them."""
    state: State = {}
    for k, (h, c) in enumerate(zip(hidden.unbind(1), cell.unbind(1), strict=True)):
        state[f"hidden_{k}"], state[f"cell_{k}"] = h, c
    return state


def join_layers(state: State) -> tuple[Tensor, Tensor]:
    """The inverse of `split_layers`."""
    layers = sum(name.startswith("cell_") for name in state)
    hidden = torch.stack([state[f"hidden_{k}"] for k in range(layers)], dim=1)
    return hidden, torch.stack([state[f"cell_{k}"] for k in range(layers)], dim=1)


def _roll(vectors: Tensor, index: Tensor) -> Tensor:
    """Rows of (N, T, D) at (N, T) indices."""
    return vectors.gather(1, index[..., None].expand(-1, -1, vectors.shape[-1]))
