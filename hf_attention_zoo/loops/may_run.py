"""Whether a fast twin may take the place of a readable formula: one decision for all of them.

A formula calls its layers; a twin reads their weights. So whatever wraps a layer (an adapter, a quantised or offloaded
weight, a mask of pruning, a hook) is known to the formula alone, and so is whatever records the operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn
from torch.fx import _symbolic_trace
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
GLOBAL_HOOKS = tuple(
    getattr(torch_module, name)
    for name in (
        "_global_forward_pre_hooks",
        "_global_forward_hooks",
        "_global_backward_pre_hooks",
        "_global_backward_hooks",
    )
)
# The classes whose twins are written, each by its very type: a subclass may compute something else.
KNOWN: set[type[nn.Module]] = {nn.Linear, nn.Identity}
_formulas_only = False
# Its name up to torch 2.6 and from then on; later ones warn of the first, and keep the state elsewhere.
is_fx_tracing = getattr(_symbolic_trace, "is_fx_symbolic_tracing", None) or _symbolic_trace.is_fx_tracing

ModuleClass = TypeVar("ModuleClass", bound=type[nn.Module])


def has_twin(cls: ModuleClass) -> ModuleClass:
    """Marks a class that a twin knows."""
    KNOWN.add(cls)
    return cls


def is_recorded() -> bool:
    """Whether operations are being traced, compiled, exported or transformed, which must see the formula itself."""
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or is_fx_tracing()
        or is_in_torch_dispatch_mode()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch.autograd.forward_ad._current_level >= 0
    )


def is_plain(layer: nn.Module, known: Set[type[nn.Module]] = KNOWN) -> bool:
    """Whether a layer computes what its class says from its own weights, and nothing else.

    Args:
        layer: any module.
        known: the classes that the twin knows.
    """
    return (
        type(layer) in known
        and "forward" not in vars(layer)  # replaced, as accelerate does
        and not any(getattr(layer, hooks) for hooks in HOOKS)
        and all(weight is None or is_plain_weight(weight) for weight in layer._parameters.values())
    )


def is_plain_weight(weight: torch.Tensor) -> bool:
    """Whether a weight holds its own numbers: no other class of tensor, not quantised, and not elsewhere."""
    return type(weight) is nn.Parameter and weight.is_floating_point() and not weight.is_meta


def is_at_rest(parts: Iterable[nn.Module], known: Set[type[nn.Module]], device: torch.device) -> bool:
    """Whether a twin of evaluation alone knows these modules: nothing learns, draws or changes its type in them.

    Args:
        parts: all modules that the formula calls.
        known: their classes.
        device: where they compute.
    """
    if torch.is_grad_enabled() or torch.is_autocast_enabled(device.type):
        return False
    return all(not part.training and is_plain(part, known) for part in parts)


@contextmanager
def formulas_only() -> Iterator[None]:
    """No twin runs inside: for comparing the two, and for going through a formula line by line."""
    global _formulas_only
    before, _formulas_only = _formulas_only, True
    try:
        yield
    finally:
        _formulas_only = before


def twin_may_run(*layers: nn.Module) -> bool:
    """Whether the fast twin of a formula that uses these layers may run."""
    if is_recorded() or _formulas_only or any(GLOBAL_HOOKS):
        return False
    return all(is_plain(layer) for layer in layers)
