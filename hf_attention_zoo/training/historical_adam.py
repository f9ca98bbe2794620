"""Adam as the released codes of BERT (2018) and GPT (2018) compute it.

Both decay weights apart from the gradient (which later was called AdamW), and both differ from torch's AdamW:

* BERT does not correct the averages for their start at zero, so that the first updates are larger: the first is
  0.1 / sqrt(0.001) = 3.16 times as large. Its long warm-up hides that.
* GPT corrects by the rate, so that epsilon stands outside the correction and the decay is scaled with it: the first
  decay is sqrt(0.001) / 0.1 = 0.316 of the nominal one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class ReleaseAdam(torch.optim.Optimizer):
    """p <- p - rate_t (m_t / (sqrt(v_t) + eps) + weight_decay p).

    Args:
        params: parameters, or groups of them; groups without decay have `weight_decay` 0.
        lr, betas, eps, weight_decay: as for torch's Adam.

    Raises:
        ValueError: a constant out of its range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
    ) -> None:
        if lr < 0 or eps < 0 or weight_decay < 0 or not all(0 <= beta < 1 for beta in betas):
            raise ValueError(
                f"lr={lr}, betas={betas}, eps={eps}, weight_decay={weight_decay}: none may be negative, and betas are "
                "below 1"
            )
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @abstractmethod
    def rate(self, lr: float, betas: tuple[float, float], step: int) -> float:
        """rate_t, steps counted from 1."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; parameters without a gradient stay."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            parameters: list[Tensor] = []
            gradients: list[Tensor] = []
            firsts: list[Tensor] = []
            seconds: list[Tensor] = []
            step = 0
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.is_sparse:
                    raise ValueError(f"{type(self).__name__} reads dense gradients; use embeddings with sparse=False")
                state = self.state[parameter]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                    state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
                state["step"] += 1
                if step and state["step"] != step:
                    self._update(group, step, parameters, gradients, firsts, seconds)
                    parameters, gradients, firsts, seconds = [], [], [], []
                step = state["step"]
                parameters.append(parameter)
                gradients.append(parameter.grad)
                firsts.append(state["exp_avg"])
                seconds.append(state["exp_avg_sq"])
            if parameters:
                self._update(group, step, parameters, gradients, firsts, seconds)
        return loss

    def _update(
        self,
        group: dict[str, Any],
        step: int,
        parameters: list[Tensor],
        gradients: list[Tensor],
        firsts: list[Tensor],
        seconds: list[Tensor],
    ) -> None:
        """Update the parameters that have seen equally many steps together."""
        beta1, beta2 = group["betas"]
        torch._foreach_lerp_(firsts, gradients, 1 - beta1)
        torch._foreach_mul_(seconds, beta2)
        torch._foreach_addcmul_(seconds, gradients, gradients, 1 - beta2)
        updates = torch._foreach_sqrt(seconds)
        torch._foreach_add_(updates, group["eps"])
        updates = torch._foreach_div(firsts, updates)
        if group["weight_decay"]:
            torch._foreach_add_(updates, parameters, alpha=group["weight_decay"])
        torch._foreach_add_(parameters, updates, alpha=-self.rate(group["lr"], group["betas"], step))


class BERTAdam(ReleaseAdam):
    """Devlin et al. 2018, `AdamWeightDecayOptimizer`: no correction, rate_t = lr; epsilon 1e-6 there."""

    def rate(self, lr: float, betas: tuple[float, float], step: int) -> float:
        return lr


class GPTAdam(ReleaseAdam):
    """Radford et al. 2018, `opt.py`: rate_t = lr sqrt(1 - beta2^t) / (1 - beta1^t); epsilon 1e-8 there."""

    def rate(self, lr: float, betas: tuple[float, float], step: int) -> float:
        return lr * math.sqrt(1 - betas[1] ** step) / (1 - betas[0] ** step)
