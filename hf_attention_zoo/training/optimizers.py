"""Optimisers of the historical papers that transformers does not know, with the constants the papers give.

Plain Adam is `--optim adamw_torch --weight_decay 0`, plain gradient descent `--optim sgd`. Adadelta is missing there,
and torch's own default for its rho is not the papers'.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch

OptimizerClass = tuple[type[torch.optim.Optimizer], dict[str, Any]]


def _adadelta(args: Any) -> OptimizerClass:
    """Zeiler 2012; rho 0.95, epsilon 1e-6 and step factor 1 in Bahdanau et al. 2015, appendix B.2."""
    return torch.optim.Adadelta, {"lr": args.learning_rate, "rho": args.adadelta_rho, "eps": args.adadelta_epsilon}


OPTIMIZERS: dict[str, Callable[[Any], OptimizerClass]] = {"adadelta": _adadelta}


def check_optimizer(name: str) -> None:
    """Raise ValueError, with the known names, if there is no such optimiser here."""
    if name not in OPTIMIZERS:
        raise ValueError(f"unknown optimizer {name!r}; known are {', '.join(OPTIMIZERS)} (others through --optim)")


def optimizer_class(name: str, args: Any) -> OptimizerClass:
    """The class called `name` and its keyword arguments, as the Trainer takes them.

    `args` are the `ZooTrainingArguments` that hold the constants. Raises ValueError for an unknown optimiser.
    """
    check_optimizer(name)
    return OPTIMIZERS[name](args)


def shrink_on_bad_gradient(parameters: Iterable[torch.nn.Parameter], share: float = 0.1) -> bool:
    """Replace the whole gradient by `share` times the parameters if any part of it is not finite.

    This is what the authors' training code did instead of skipping the step: the weights move towards zero and
    training goes on. Returns whether it happened.
    """
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    if all(bool(torch.isfinite(parameter.grad).all()) for parameter in parameters):
        return False
    for parameter in parameters:
        parameter.grad = share * parameter.detach().clone()
    return True
