"""Stacked LSTM layers: torch's own over whole sequences, step by step where a vector is fed back.

Shapes: N rows, T steps, I input size, F size of the fed-back vector, H cells a layer, L layers.
Layer k reads the hidden states of layer k - 1. Gate order i, f, g, o (see `lstm_cell`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from hf_attention_zoo.loops.decoder_loop import State, unroll
from hf_attention_zoo.loops.weight_tape import WeightTape
from hf_attention_zoo.recurrent.lstm_cell import lstm_step


class LayerWeights(NamedTuple):
    """What one layer uses in the time loop, as opened on a tape."""

    inputs: Tensor | None  # (4H, H); the first layer's inputs are projected outside
    recurrent: Tensor  # (4H, H)
    bias: Tensor | None  # (4H)
    peephole: Tensor | None  # (3, H) i, f, o


class StackWeights(NamedTuple):
    """The weights of all layers, the feeding matrix of the first, and their tape."""

    layers: tuple[LayerWeights, ...]
    feed: Tensor | None  # (4H, F)
    tape: WeightTape | None


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
        self.library = nn.LSTM(
            input_size,
            hidden_size,
            num_layers,
            bias=biases == "two",
            batch_first=True,
            dropout=self.dropout if num_layers > 1 else 0.0,
        )
        shapes = {"bias": (4 * hidden_size,), "peephole": (3, hidden_size)}
        self.gate_biases = _parameters(num_layers if biases == "one" else 0, shapes["bias"])
        self.peepholes = _parameters(num_layers if peephole else 0, shapes["peephole"])
        feed = None if feed_size is None else nn.Parameter(torch.empty(4 * hidden_size, feed_size))
        self.register_parameter("feed_weight", feed)
        if feed is not None:
            nn.init.uniform_(feed, -(hidden_size**-0.5), hidden_size**-0.5)

    # Weights

    def layer_bias(self, layer: int) -> Tensor | None:
        """The bias inside the gates of a layer, (4H), summed if there are two."""
        if self.library.bias:
            return getattr(self.library, f"bias_ih_l{layer}") + getattr(self.library, f"bias_hh_l{layer}")
        return self.gate_biases[layer] if len(self.gate_biases) else None

    def open_weights(self) -> StackWeights:
        """Fetch the weights of the loop; call once per unrolling."""
        tape = WeightTape.start(self.library.weight_hh_l0)

        def opened(weight: Tensor | None) -> Tensor | None:
            return weight if tape is None or weight is None else tape.open(weight)

        layers = []
        for k in range(self.num_layers):
            inputs = opened(getattr(self.library, f"weight_ih_l{k}")) if k else None
            recurrent = opened(getattr(self.library, f"weight_hh_l{k}"))
            peephole = self.peepholes[k] if len(self.peepholes) else None
            layers.append(LayerWeights(inputs, recurrent, self.layer_bias(k), peephole))
        return StackWeights(tuple(layers), opened(self.feed_weight), tape)

    # Step by step

    def project_inputs(self, inputs: Tensor) -> Tensor:
        """W x + b of the first layer for all steps at once, outside the loop: (N, T, I) -> (N, T, 4H)."""
        return functional.linear(inputs, self.library.weight_ih_l0, self.layer_bias(0))

    def step(
        self, projected: Tensor, state: State, weights: StackWeights, feed: Tensor | None = None
    ) -> tuple[Tensor, State]:
        """One time step of all layers.

        Args:
            projected: (N, 4H), from `project_inputs`.
            state: hidden_k and cell_k (N, H) of every layer k; other entries are left out of the result.
            weights: from `open_weights`.
            feed: (N, F), the fed-back vector of a stack that has one.

        Returns:
            The top hidden state (N, H) and the next state.
        """
        following: State = {}
        hidden = projected
        for k, layer in enumerate(weights.layers):
            products = [(state[f"hidden_{k}"], layer.recurrent)]
            if k:
                below = functional.dropout(hidden, self.dropout, self.training)
                products.append((below, layer.inputs))
            elif feed is not None:
                products.append((feed, weights.feed))
            before = projected if k == 0 else layer.bias
            cell = state[f"cell_{k}"]
            hidden, following[f"cell_{k}"] = lstm_step(before, products, cell, layer.peephole, weights.tape)
            following[f"hidden_{k}"] = hidden
        return hidden, following

    # Whole sequences

    def run(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """All steps from a given state, nothing fed back: (N, T, I) -> top states (N, T, H) and the last state."""
        if self.feed_weight is not None:
            raise ValueError("a stack with a fed-back input runs step by step; use `step` in a loop")
        if inputs.shape[1] == 1 or len(self.peepholes):  # for one step the library costs more than its products
            weights = self.open_weights()

            def step(now: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
                hidden, state = self.step(now[0], state, weights)
                return {"hidden": hidden}, state

            outputs, state = unroll(step, (self.project_inputs(inputs),), state)
            return outputs["hidden"], state
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
        if len(self.peepholes):
            return self._encode_in_loop(inputs, real)
        if bool(real.all()):
            outputs, (hidden, cell) = self._library(inputs, None)
        elif not self.library.bias and not len(self.gate_biases):
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

    def _encode_in_loop(self, inputs: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = self.open_weights()

        def step(now: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
            reads = now[1][:, None]  # (N, 1)
            hidden, following = self.step(now[0], state, weights)
            following = {name: torch.where(reads, tensor, state[name]) for name, tensor in following.items()}
            return {"hidden": torch.where(reads, hidden, 0.0)}, following

        zeros = inputs.new_zeros(inputs.shape[0], self.num_layers, self.hidden_size)
        outputs, state = unroll(step, (self.project_inputs(inputs), real), split_layers(zeros, zeros))
        return outputs["hidden"], *join_layers(state)

    def _library(
        self, inputs: Tensor | PackedSequence, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        """torch's LSTM on padded or packed sequences; `state` and what comes back are layers first, (L, N, H)."""
        if state is not None:
            state = (state[0].contiguous(), state[1].contiguous())
        run = self._one_bias if len(self.gate_biases) else self.library
        if self.library.weight_hh_l0.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # torch has no LSTM for half precision on every processor: it stays in the weights' own
            dtype = self.library.weight_hh_l0.dtype
            with torch.autocast("cpu", enabled=False):
                return run(inputs.to(dtype), None if state is None else (state[0].to(dtype), state[1].to(dtype)))
        return run(inputs, state)

    def _one_bias(
        self, inputs: Tensor | PackedSequence, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        """torch's module has two biases a gate or none; the function behind it takes any: our one and a zero."""
        weights: list[Tensor] = []
        for k, bias in enumerate(self.gate_biases):
            weights += [getattr(self.library, f"weight_ih_l{k}"), getattr(self.library, f"weight_hh_l{k}")]
            weights += [bias, torch.zeros_like(bias)]
        settings = (True, self.num_layers, self.library.dropout, self.training, False)
        packed = isinstance(inputs, PackedSequence)
        values = inputs.data if packed else inputs
        if state is None:
            rows = int(inputs.batch_sizes[0]) if packed else inputs.shape[0]
            zeros = values.new_zeros(self.num_layers, rows, self.hidden_size)
            state = (zeros, zeros)
        if not packed:
            outputs, hidden, cell = torch.lstm(inputs, state, weights, *settings, True)
            return outputs, (hidden, cell)
        outputs, hidden, cell = torch.lstm(inputs.data, inputs.batch_sizes, state, weights, *settings)
        order = inputs.unsorted_indices
        made = PackedSequence(outputs, inputs.batch_sizes, inputs.sorted_indices, order)
        return made, (hidden.index_select(1, order), cell.index_select(1, order))


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


def _parameters(count: int, shape: tuple[int, ...]) -> nn.ParameterList:
    return nn.ParameterList(nn.Parameter(torch.zeros(shape)) for _ in range(count))


def _roll(vectors: Tensor, index: Tensor) -> Tensor:
    """Rows of (N, T, D) at (N, T) indices."""
    return vectors.gather(1, index[..., None].expand(-1, -1, vectors.shape[-1]))
