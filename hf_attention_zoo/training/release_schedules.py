"""The learning rates of the released codes of BERT and GPT (2018): a warm-up, then a fall counted from the first step.

transformers' schedules fall from the end of the warm-up. These fall as if there had been none, so that the rate jumps
down a little when it ends: BERT's from lr (W - 1) / W to lr (1 - W / T). The first update has the rate 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def linear_fall(share: float) -> float:
    """1 - x: BERT's pre-training and all fine-tuning."""
    return 1.0 - share


def cosine_fall(share: float) -> float:
    """(1 + cos(pi x)) / 2: GPT's pre-training."""
    return 0.5 * (1.0 + math.cos(math.pi * share))


_FALLS: dict[str, Callable[[float], float]] = {"bert_linear": linear_fall, "gpt_cosine": cosine_fall}
# GPT's fine-tuning multiplies the rise with the fall; BERT's script and GPT's cosine take one or the other.
RELEASE_SCHEDULES: tuple[str, ...] = (*_FALLS, "gpt_linear")


def release_factor(name: str, warmup: int, total: int) -> Callable[[int], float]:
    """Updates done -> factor on the learning rate of the next one.

    Args:
        name: bert_linear, gpt_cosine (Radford et al. 2018, pre-training) or gpt_linear (its fine-tuning).
        warmup: updates in which the rate rises in a line, W.
        total: updates of the run, T.

    Raises:
        ValueError: an unknown name.
    """
    if name not in RELEASE_SCHEDULES:
        raise ValueError(f"release_schedule={name!r}; it is one of {', '.join(RELEASE_SCHEDULES)}")

    def factor(done: int) -> float:
        rise = min(1.0, done / warmup) if warmup else 1.0
        share = min(1.0, done / max(1, total))
        if name == "gpt_linear":
            return rise * linear_fall(share)
        rising = done <= warmup if name == "gpt_cosine" else done < warmup  # x <= w in opt.py, < in optimization.py
        return rise if rising else _FALLS[name](share)

    return factor
