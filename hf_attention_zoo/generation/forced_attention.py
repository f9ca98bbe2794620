"""Cross-attention of given target sequences: the model is run once more with the targets as decoder input.

Whatever search produced a sequence, this gives the weights of exactly that sequence: no bookkeeping of beams, no
dropout, and the same numbers as the search itself saw on the way.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from transformers import PreTrainedModel

HEAD_MEAN = "mean"


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


@torch.no_grad()
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
    with _attention_given_out(model):
        output = model(
            **source,
            decoder_input_ids=decoder_input_ids,
            output_attentions=True,
            use_cache=False,
            return_dict=True,
        )
    layers = [weights for weights in (getattr(output, "cross_attentions", None) or ()) if weights is not None]
    if not layers:
        raise ValueError(
            f"{type(model).__name__} gives no cross-attention, so target tokens cannot be aligned with source tokens"
        )
    chosen = layers if layer == HEAD_MEAN else [_pick(layers, layer, "layer")]
    weights = torch.stack([_one_head(tensor, head) for tensor in chosen]).mean(0)
    return weights


def _one_head(weights: torch.Tensor, head: int | str) -> torch.Tensor:
    """(B, H, T, S) -> (B, T, S)"""
    weights = weights.float()
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
