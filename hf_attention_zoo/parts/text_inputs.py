"""What goes into models that read one sequence of tokens a row: shapes of ids and masks, positions of tokens.

Shapes: B rows, T positions, D model size.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.loops.may_run import is_recorded
from hf_attention_zoo.parts.model_inputs import one_of


def text_shape(input_ids: Tensor | None, inputs_embeds: Tensor | None) -> tuple[int, int]:
    """(B, T) of the one input that is given.

    Raises:
        ValueError: none or both are given, or there is no row or no position.
    """
    given = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
    shape = given.shape if inputs_embeds is None else given.shape[:-1]
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"the texts have shape {tuple(shape)}; give (rows, positions) with at least one row and one position"
        )
    return shape[0], shape[1]


def check_same_shape(shape: tuple[int, ...], **tensors: Tensor | None) -> None:
    """Tensors that are given have this shape, or ValueError."""
    for name, tensor in tensors.items():
        if tensor is not None and tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, the texts {tuple(shape)}; they must agree")


def real_tokens(
    input_ids: Tensor | None, attention_mask: Tensor | None, inputs_embeds: Tensor | None, pad_token_id: int | None
) -> Tensor:
    """Which places hold tokens and not pads, boolean, of the shape of the ids.

    The mask tells, wherever it is 0; without one all ids but the pad are tokens, and so are all vectors. Shapes are
    checked before, by `text_shape` and `check_same_shape` or their like.
    """
    if attention_mask is not None:
        return attention_mask.bool()
    if input_ids is not None and pad_token_id is not None:
        return input_ids != pad_token_id
    given = one_of(input_ids=input_ids, inputs_embeds=inputs_embeds)
    shape = given.shape if inputs_embeds is None else given.shape[:-1]
    return torch.ones(shape, dtype=torch.bool, device=given.device)


def token_order(real: Tensor) -> Tensor | None:
    """Each token's number in its row, (B, S) -> (B, S); None where tokens come first in all rows, as they are then."""
    if not is_recorded() and not bool((real[:, 1:] & ~real[:, :-1]).any()):
        return None
    return (real.cumsum(1) - 1).clamp(min=0)


def check_positions(last: int | Tensor, limit: int) -> None:
    """So many positions have a row in the table of positions, or ValueError."""
    if not is_recorded() and int(last) > limit:
        raise ValueError(
            f"{int(last)} positions were asked for, but the model has {limit} (max_position_embeddings); split the "
            f"texts, or cut them with truncation=True and max_length={limit}: as arguments where the tokenizer is "
            "called, of `align` and of pipeline('text-classification'); in "
            f"tokenizer_kwargs={{'truncation': True, 'max_length': {limit}}} of pipeline('fill-mask') and "
            "tokenize_kwargs={...} of pipeline('feature-extraction')"
        )


def last_token(real: Tensor | None, shape: Sequence[int], device: Any) -> Tensor:
    """Place of each row's last token, (B, T) -> (B,), wherever pads stand; the last position of a row of pads."""
    if real is None:
        return torch.full((shape[0],), shape[1] - 1, device=device)
    return shape[1] - 1 - real.flip(1).to(torch.int32).argmax(1)


def masking_config(config: Any, with_weights: bool) -> Any:
    """The config by which masks are made: that of the plain kernel where weights are wanted."""
    return with_kernel(config, "eager") if with_weights and config._attn_implementation != "eager" else config


def with_kernel(config: Any, kernel: str) -> Any:
    """A copy of the config that names another kernel."""
    other = copy.copy(config)
    other._attn_implementation = kernel
    return other


def wanted_outputs(config: Any, attentions: bool | None, states: bool | None) -> tuple[bool, bool]:
    """Whether weights and hidden states are given out: as asked for, else as the config says."""
    return (
        config.output_attentions if attentions is None else attentions,
        config.output_hidden_states if states is None else states,
    )
