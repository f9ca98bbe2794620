"""The parts of GPT (Radford et al. 2018): its layers, the two orders of a pair, the auxiliary loss.

Shapes: B rows, T positions, d model size, V words.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from transformers.activations import ACT2FN

from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.models.gpt2018.configuration_gpt2018 import GPT2018Config
from hf_attention_zoo.parts.post_norm_layers import FeedForward, PostNormLayer, SelfAttention


def gpt_layer(config: GPT2018Config, layer_idx: int) -> PostNormLayer:
    """One of the N blocks."""
    size, heads = config.hidden_size, config.num_attention_heads
    attention = SelfAttention(config, layer_idx, size, heads, config.attention_dropout, is_causal=True)
    feed_forward = FeedForward(size, config.intermediate_size, ACT2FN[config.hidden_act])
    return PostNormLayer(attention, feed_forward, config.layer_norm_eps, config.residual_dropout)


def both_orders(input_ids: Tensor, real: Tensor, delimiter: int) -> tuple[Tensor, Tensor]:
    """Rows `start a delimiter b extract`, each followed by `start b delimiter a extract`   (Section 3.3).

    Args:
        input_ids: (B, T).
        real: (B, T), true at tokens; pads may stand on either side.

    Returns:
        Ids and mask, (2 B, T) each.

    Raises:
        ValueError: a row has no delimiter.
    """
    found = (input_ids == delimiter) & real
    if not is_recorded() and not bool(found.any(1).all()):
        raise ValueError(
            f"rows {(~found.any(1)).nonzero()[:, 0].tolist()} have no delimiter (id {delimiter}) between two texts; "
            "encode pairs as tokenizer(text, text_pair) with the task format"
        )
    count = real.sum(1, keepdim=True)  # (B, 1)
    start = real.to(torch.int32).argmax(1, keepdim=True)
    middle = found.to(torch.int32).argmax(1, keepdim=True) - start
    place = torch.arange(input_ids.shape[1], device=input_ids.device)[None] - start  # counted from the start symbol
    second = count - middle - 2  # tokens of b
    swapped = place.where(place > second, middle + place)  # b
    swapped = swapped.where(place != second + 1, middle)  # the delimiter
    swapped = swapped.where(place <= second + 1, place - second - 1)  # a
    inside = (place > 0) & (place < count - 1)
    other = input_ids.gather(1, start + swapped.where(inside, place))
    ids = torch.stack([input_ids, other], 1).flatten(0, 1)
    return ids, real.repeat_interleave(2, 0)


def auxiliary_loss(states: Tensor, input_ids: Tensor, real: Tensor, table: Tensor) -> Tensor:
    """L_1 on the task's own inputs (Eq. 5): each row's mean of -log P(token), over all tokens but the first: (B).

    Args:
        states: (B, T, d) of the last layer.
        table: (V, d), W_e.
    """
    predicts = torch.zeros_like(real)
    predicts[:, :-1] = real[:, :-1] & real[:, 1:]
    row, place = predicts.nonzero(as_tuple=True)
    logits = functional.linear(states[row, place], table)  # (n, V)
    wide = logits if logits.dtype == torch.float64 else logits.float()
    losses = functional.cross_entropy(wide, input_ids[row, place + 1], reduction="none")
    sums = losses.new_zeros(len(real)).index_add(0, row, losses)
    return sums / predicts.sum(1).clamp(min=1)
