"""The learning rate of Vaswani et al. (2017), section 5.3, equation 3: a linear rise, then a fall with the root."""

from __future__ import annotations

from typing import Any


def noam_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5), equation 3.

    Args:
        step: number of the update, from 1 on.
        d_model: width of the model.
        warmup_steps: update at which the rate is highest, 4,000 in the paper.

    Raises:
        ValueError: a number below 1; the rate of update 0 does not exist.
    """
    if step < 1 or d_model < 1 or warmup_steps < 1:
        raise ValueError(
            f"step={step}, d_model={d_model}, warmup_steps={warmup_steps}: all three must be at least 1 (updates are "
            "counted from 1)"
        )
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def model_width(config: Any) -> int:
    """d_model as a model's config states it: `d_model`, or else `hidden_size`.

    Raises:
        ValueError: the config has neither.
    """
    for name in ("d_model", "hidden_size"):
        width = getattr(config, name, None)
        if isinstance(width, int):
            return width
    raise ValueError(
        f"noam_schedule needs the width of the model, but {type(config).__name__} has neither d_model nor "
        "hidden_size; choose another schedule with lr_scheduler_type"
    )
