"""Attention of given target sequences: the model is run once more with the targets as decoder input.

Whatever search produced a sequence, this gives the weights of exactly that sequence: no bookkeeping of beams, no
dropout, and the same numbers as the search itself saw on the way.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from transformers import PreTrainedModel

HEAD_MEAN = "mean"
ALL_HEADS = "all"
# What attends to what, and where a model's output has it.
KINDS = {"cross": "cross_attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions"}
_NAMES = {"cross": "cross-attention", "encoder": "encoder self-attention", "decoder": "decoder self-attention"}


@contextmanager
def evaluation_mode(model: PreTrainedModel) -> Iterator[None]:
    """Dropout off inside; afterwards every module is in the mode that it was in before, frozen parts too."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def cross_attention(
    model: PreTrainedModel,
    source: dict[str, torch.Tensor],
    decoder_input_ids: torch.Tensor,
    *,
    layer: int | str = -1,
    head: int | str = HEAD_MEAN,
) -> torch.Tensor:
    """Attention weights (B, T, S) for B sources and their T decoder inputs, in float32.

    Row t belongs to the token that is predicted from decoder input t, that is to token t + 1 of the sequence. In
    RNNsearch this is alpha_t, computed from the state before that token.

    Args:
        model: in evaluation mode.
        source: `input_ids` and `attention_mask`, (B, S).
        decoder_input_ids: (B, T), starting with the decoder's start token.
        layer: index of the decoder layer, negative from the last, or "mean" over all of them.
        head: index of the head, or "mean" over the heads of that layer.

    Raises:
        ValueError: the model has no such layer or head, or no cross-attention at all.
    """
    return attention_weights(model, source, decoder_input_ids, kind="cross", layer=layer, head=head)


@torch.no_grad()
def attention_weights(
    model: PreTrainedModel,
    source: dict[str, torch.Tensor],
    decoder_input_ids: torch.Tensor,
    *,
    kind: str = "cross",
    layer: int | str = -1,
    head: int | str | Sequence[int] = HEAD_MEAN,
) -> torch.Tensor:
    """Weights in float32: (B, T, S) between decoder and source, (B, S, S) or (B, T, T) inside one of them.

    Args:
        model, source, decoder_input_ids: as `cross_attention` takes them.
        kind: "cross", "encoder" or "decoder" (self-attention of one of the two).
        layer: index of the layer, negative from the last, or "mean" over all of them.
        head: index of the head or "mean" over the heads; "all" or a list of indices gives (B, heads, ...).

    Raises:
        ValueError: the model has no such layer, head or attention.
    """
    return chosen_weights(attention_layers(model, source, decoder_input_ids, kind), layer, head)


def attention_layers(
    model: PreTrainedModel, source: dict[str, torch.Tensor], decoder_input_ids: torch.Tensor, kind: str = "cross"
) -> list[torch.Tensor]:
    """Weights (B, H, T, S) of every layer of a kind.

    Raises:
        ValueError: there is no such kind, or the model has none of it.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}; choose one of {', '.join(KINDS)}")
    with _attention_given_out(model):
        output = model(
            **source,
            decoder_input_ids=decoder_input_ids,
            output_attentions=True,
            use_cache=False,
            return_dict=True,
        )
    layers = [weights for weights in (getattr(output, KINDS[kind], None) or ()) if weights is not None]
    if not layers:
        raise ValueError(
            f"{type(model).__name__} gives no {_NAMES[kind]}"
            + (", so target tokens cannot be aligned with source tokens" if kind == "cross" else "")
        )
    return layers


def chosen_weights(layers: Sequence[torch.Tensor], layer: int | str, head: int | str | Sequence[int]) -> torch.Tensor:
    """Weights (B, H, T, S) of each layer -> (B, T, S), or (B, heads, T, S) where several heads are wanted.

    Raises:
        ValueError: the model has no such layer or head.
    """
    chosen = layers if layer == HEAD_MEAN else [_pick(layers, layer, "layer")]
    return torch.stack([_of_heads(tensor, head) for tensor in chosen]).mean(0)


def numbered(index: int | str, count: int) -> int | str:
    """A layer or head by its own number, counted from 0, also where it was counted from the last; names stay."""
    return index % count if isinstance(index, int) else index


def _of_heads(weights: torch.Tensor, head: int | str | Sequence[int]) -> torch.Tensor:
    """(B, H, T, S) -> (B, T, S), or (B, heads, T, S) where several are wanted."""
    weights = weights.float()
    if head == ALL_HEADS:
        return weights
    if not isinstance(head, (int, str)):
        return torch.stack([_pick(list(weights.unbind(1)), one, "head") for one in head], 1)
    return weights.mean(1) if head == HEAD_MEAN else _pick(list(weights.unbind(1)), head, "head")


def _pick(choices: Sequence[torch.Tensor], index: int | str, name: str) -> torch.Tensor:
    count = len(choices)
    if isinstance(index, bool) or not isinstance(index, int) or not -count <= index < count:
        raise ValueError(f"{name}={index!r}: this model has {count}, so allowed are 0 to {count - 1} and 'mean'")
    return choices[index]


@contextmanager
def _attention_given_out(model: PreTrainedModel) -> Iterator[None]:
    """Fused attention kernels keep their weights to themselves: use the plain ones inside, then go back."""
    implementation = getattr(model.config, "_attn_implementation", None)
    if implementation in (None, "eager"):
        yield
        return
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(implementation)
