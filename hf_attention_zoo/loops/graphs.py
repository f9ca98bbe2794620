"""Graphs of a model: what `torch.jit.trace` and `torch.export`, and ONNX through them, cannot record is refused here.

A compiler may fall back on Python where it meets such a thing (`torch.compile` does); a graph is run without Python.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch


class GraphError(NotImplementedError):
    """A model that cannot be recorded as a graph, or not in this way; the message says what works instead."""


def is_graph_made() -> bool:
    """Whether operations are recorded to be run without Python."""
    return torch.jit.is_tracing() or is_exported()


def is_exported() -> bool:
    """Whether `torch.export` records. Before torch 2.7 nothing tells it from a compiler."""
    asked = getattr(torch.compiler, "is_exporting", None)
    return bool(asked is not None and asked())


def refuse_graph(reason: str, instead: str = "run this model by PyTorch, as it is or under torch.compile") -> None:
    """Nothing, unless a graph is made.

    Raises:
        GraphError: with the reason, and what works.
    """
    if is_graph_made():
        raise GraphError(f"{reason}; {instead}")


def check_fixed_steps(steps: Any) -> None:
    """A loop over positions stands in a graph step by step: it reads as many positions as the example had.

    One step is one step. A trace of more says so, since it will be run on other inputs.

    Raises:
        GraphError: `torch.export` was asked for any number of them.
    """
    if is_exported() and isinstance(steps, torch.SymInt):
        raise GraphError(
            "dynamic_shapes leave the number of positions open, but a graph holds each step of a recurrent loop: "
            "leave that dimension out of dynamic_shapes, pad to the length of the example and mask the pads"
        )
    if torch.jit.is_tracing() and int(steps) > 1:
        warnings.warn(
            f"the trace holds {int(steps)} steps of a recurrent loop: pad to {int(steps)} positions and mask the pads",
            torch.jit.TracerWarning,
            stacklevel=2,
        )
