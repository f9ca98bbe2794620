"""Optimisers of the historical papers that transformers does not know, with the constants the papers give.

Plain Adam is `--optim adamw_torch --weight_decay 0`, plain gradient descent `--optim sgd`. Adadelta is missing there,
and torch's own default for its rho is not the papers'.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.training.historical_adam import BERTAdam, GPTAdam

OptimizerClass = tuple[type[torch.optim.Optimizer], dict[str, Any]]


def _adadelta(args: Any) -> OptimizerClass:
    """Zeiler 2012; rho 0.95, epsilon 1e-6 and step factor 1 in Bahdanau et al. 2015, appendix B.2."""
    return torch.optim.Adadelta, {"lr": args.learning_rate, "rho": args.adadelta_rho, "eps": args.adadelta_epsilon}


class GravesRMSProp(torch.optim.Optimizer):
    """RMSProp in the form of Graves 2013, Eq. 38-45: centred, with momentum, the constant under the root.

    n <- d n + (1 - d) g^2,  m <- d m + (1 - d) g,  v <- k v - r g / sqrt(n - m^2 + e),  w <- w + v
    """

    def __init__(
        self, params: Any, lr: float = 1e-4, decay: float = 0.95, momentum: float = 0.9, eps: float = 1e-4
    ) -> None:
        super().__init__(params, {"lr": lr, "decay": decay, "momentum": momentum, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state, grad = self.state[parameter], parameter.grad
                if not state:
                    state |= {name: torch.zeros_like(parameter) for name in ("square", "mean", "velocity")}
                share = 1 - group["decay"]
                state["square"].mul_(group["decay"]).addcmul_(grad, grad, value=share)
                state["mean"].mul_(group["decay"]).add_(grad, alpha=share)
                root = (state["square"] - state["mean"].square() + group["eps"]).sqrt_()
                state["velocity"].mul_(group["momentum"]).addcdiv_(grad, root, value=-group["lr"])
                parameter.add_(state["velocity"])
        return loss


def _rmsprop_graves(args: Any) -> OptimizerClass:
    """Decay 0.95, momentum 0.9 and 1e-4 under the root, as in the code of Xu et al. 2015."""
    return GravesRMSProp, {"lr": args.learning_rate}


def _adam(optimizer: type[torch.optim.Optimizer]) -> Callable[[Any], OptimizerClass]:
    """Adam of a released code, with the constants of `--optim adamw_torch`."""

    def choose(args: Any) -> OptimizerClass:
        betas = (args.adam_beta1, args.adam_beta2)
        return optimizer, {"lr": args.learning_rate, "betas": betas, "eps": args.adam_epsilon}

    return choose


def _adagrad_bilm(args: Any) -> OptimizerClass:
    """Adagrad as the code of Peters et al. 2018 has it: the sum of squares begins at 1, for a loss times 20.

    For the loss itself that is a sum which begins at 1 / 400; a norm of 10 to clip at is one of 0.5 here.
    """
    return torch.optim.Adagrad, {"lr": args.learning_rate, "initial_accumulator_value": 1 / 400}


OPTIMIZERS: dict[str, Callable[[Any], OptimizerClass]] = {
    "adadelta": _adadelta,
    "rmsprop_graves": _rmsprop_graves,
    "bert_adam": _adam(BERTAdam),
    "gpt_adam": _adam(GPTAdam),
    "adagrad_bilm": _adagrad_bilm,
}


def check_optimizer(name: str) -> None:
    """Raise ValueError, with the known names, if there is no such optimiser here."""
    if name not in OPTIMIZERS:
        meant = did_you_mean(name, OPTIMIZERS)
        raise ValueError(
            f"unknown optimizer {name!r}{meant}; known are {', '.join(OPTIMIZERS)} (others through --optim)"
        )


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
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if all(bool(torch.isfinite(gradient).all()) for gradient in gradients):
        return False
    for parameter in parameters:
        parameter.grad = share * parameter.detach().clone()
    return True
