"""A limit on a target's length that depends on its source: input length + n (Vaswani et al. 2017, Section 6.1)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import StoppingCriteria, StoppingCriteriaList


class SourceLengthLimit(StoppingCriteria):
    """Ends each row after as many tokens as its own source allows.

    Args:
        limits: (B,) tokens that may be made for each source, prompt included.
    """

    def __init__(self, limits: Tensor) -> None:
        self.limits = limits

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        """(N, T) ids of N rows, those of one source next to each other -> (N,) bool."""
        limits = self.limits.to(input_ids.device)
        return input_ids.shape[1] >= limits.repeat_interleave(input_ids.shape[0] // limits.shape[0])


def limit_by_source(beyond: int, source: Tensor, start: Any, kwargs: dict[str, Any]) -> None:
    """Write the limit into the keywords of `generate`.

    Args:
        beyond: n.
        source: (B, S, ...).
        start: id of the start symbol, or one of each row, which `generate` puts in front of prompts that do not
            begin with it; None if there is none.
        kwargs: changed in place; its `attention_mask` (B, S) tells the lengths of the sources.

    Raises:
        ValueError: n is no whole number of at least 0, or another limit is given, too.
    """
    if not isinstance(beyond, int) or isinstance(beyond, bool) or beyond < 0:
        raise ValueError(f"max_length_beyond_source is {beyond!r}; give a whole number of at least 0 (the paper: 50)")
    for name in ("max_length", "max_new_tokens"):
        if kwargs.get(name) is not None:
            raise ValueError(f"{name} and max_length_beyond_source are two limits of the same thing; give one")
    mask, prompt = kwargs.get("attention_mask"), kwargs.get("decoder_input_ids")
    if mask is None:
        lengths = torch.full((source.shape[0],), source.shape[1])
    else:
        lengths = mask.long().sum(1)
    begun = 1 if prompt is None else prompt.shape[1]
    if prompt is not None and start is not None:
        begun += int((prompt[:, 0] != torch.as_tensor(start, device=prompt.device)).all())
    limits = lengths + beyond + begun
    kwargs["max_length"] = int(limits.max())
    kwargs["stopping_criteria"] = StoppingCriteriaList(
        [*(kwargs.get("stopping_criteria") or []), SourceLengthLimit(limits)]
    )
