"""torch's LSTM layers, which can also take one bias a gate, and a step with more inside its gates.

Shapes: N rows, T steps, I input size, H cells, L layers. Gate order i, f, g, o.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from hf_attention_zoo.loops.decoder_loop import State
from hf_attention_zoo.loops.may_run import has_twin
from hf_attention_zoo.recurrent.lstm_cell import lstm_cell


@has_twin
class LayerVectors(nn.Module):
    """A vector, or a few, of every layer; calling the module gives them all."""

    def __init__(self, layers: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = layers
        for layer in range(layers):
            self.register_parameter(str(layer), nn.Parameter(torch.zeros(shape)))

    def __len__(self) -> int:
        return self.layers  # what is parametrised is no longer among the parameters

    def __getitem__(self, layer: int) -> Tensor:
        return getattr(self, str(layer))

    def forward(self) -> list[Tensor]:
        return [self[layer] for layer in range(len(self))]


@has_twin
class SteppedLSTM(nn.RNNBase):
    """torch's LSTM, with its arguments and its names of weights (a compiler takes no nn.LSTM into its graph)."""

    weight_ih_l0: nn.Parameter
    weight_hh_l0: nn.Parameter

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, **options: Any) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, **options)

    def forward(self, inputs: Any, state: Any = None, *, biases: Sequence[Tensor] = (), **step: Any) -> Any:
        """Whole sequences as torch has them, or one step.

        Args:
            inputs: (N, T, I) or packed; for a step (N, I).
            state: hidden states and cells (L, N, H); for a step hidden_k and cell_k (N, H) of every layer k by name.
            biases: (4H) of each layer of an LSTM that has none of torch's.
            step: what makes it a step, `more` (N, 4H) or None beside W x of the first layer, and the `peepholes`.

        Returns:
            As torch's, or for a step the top hidden state (N, H) and the next state by names.
        """
        if step:
            return self.step(inputs, state, biases, **step)
        return self.sequences(inputs, state, biases)

    def step(
        self, inputs: Tensor, state: State, biases: Sequence[Tensor], more: Tensor | None, peepholes: Sequence[Tensor]
    ) -> tuple[Tensor, State]:
        """W x + U h + b of every layer in turn, then its cell."""
        following: State = {}
        hidden = inputs
        for k in range(self.num_layers):
            below = functional.dropout(hidden, self.dropout, self.training) if k else hidden
            gates = functional.linear(below, getattr(self, f"weight_ih_l{k}"), self.layer_bias(k, biases))
            gates = gates + functional.linear(state[f"hidden_{k}"], getattr(self, f"weight_hh_l{k}"))
            if more is not None and not k:
                gates = gates + more
            hidden, cell = lstm_cell(gates, state[f"cell_{k}"], peepholes[k] if peepholes else None)
            following[f"hidden_{k}"], following[f"cell_{k}"] = hidden, cell
        return hidden, following

    def layer_bias(self, layer: int, biases: Sequence[Tensor]) -> Tensor | None:
        """The bias inside the gates of a layer, (4H), summed if there are two."""
        if self.bias:
            return getattr(self, f"bias_ih_l{layer}") + getattr(self, f"bias_hh_l{layer}")
        return biases[layer] if biases else None

    def sequences(self, inputs: Any, state: tuple[Tensor, Tensor] | None, biases: Sequence[Tensor]) -> Any:
        """Whole sequences; the function behind torch's module has two biases a gate or none: our one and a zero."""
        weights: list[Tensor] = []
        for k in range(self.num_layers):
            weights += [getattr(self, f"weight_ih_l{k}"), getattr(self, f"weight_hh_l{k}")]
            if self.bias:
                weights += [getattr(self, f"bias_ih_l{k}"), getattr(self, f"bias_hh_l{k}")]
            elif biases:
                weights += [biases[k], torch.zeros_like(biases[k])]
        if weights[0].device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # torch has no LSTM for half precision on every processor: it stays in the weights' own
            dtype = weights[0].dtype
            with torch.autocast("cpu", enabled=False):
                state = None if state is None else (state[0].to(dtype), state[1].to(dtype))
                return self.library_call(inputs.to(dtype), state, weights)
        return self.library_call(inputs, state, weights)

    def library_call(self, inputs: Any, state: tuple[Tensor, Tensor] | None, weights: list[Tensor]) -> Any:
        """torch's function for these weights; without a state the rows begin at zero."""
        biases = len(weights) == 4 * self.num_layers
        settings = (biases, self.num_layers, self.dropout, self.training, False)
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
