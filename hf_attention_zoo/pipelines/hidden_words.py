"""`pipeline("fill-mask", ...)` that knows which models cannot fill in hidden words."""

from __future__ import annotations

from typing import Any

from transformers.pipelines.fill_mask import FillMaskPipeline


class HiddenWordPipeline(FillMaskPipeline):
    """transformers' pipeline for all models but those that read from left to right.

    These predict the next word at each place: at [MASK] the word behind it, from [MASK] itself and what is before.

    Raises:
        ValueError: such a model.
    """

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        if getattr(model.config, "left_to_right", False):
            raise ValueError(
                f"this {type(model).__name__} reads from left to right (left_to_right=True) and predicts next words, "
                "not hidden ones; use a model with left_to_right=False, or take the logits of the model itself"
            )
        super().__init__(model, *args, **kwargs)
