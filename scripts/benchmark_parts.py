"""What the benchmarks share: products to time, steps of readers, rounds by the processor's clock, memory held."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


def product(height: int, inner: int, width: int) -> Callable[[], None]:
    """A matrix product (height, inner) x (inner, width) of random numbers, ready to run."""
    left, right = torch.randn(height, inner), torch.randn(width, inner)
    return lambda: functional.linear(left, right)


def run_reader(module: nn.Module, batch: dict[str, Any], train: bool) -> None:
    """A training step, or only its forward pass, of a model that gives a loss or is one."""
    module.zero_grad()
    with torch.set_grad_enabled(train):
        made = module(**batch)
        if train:
            (made if isinstance(made, Tensor) else made.loss).backward()


def processor_rounds(cases: dict[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """Seconds of the processor of each case in each round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats + 1):
        for name, case in cases.items():
            start = time.process_time()
            case()
            seconds[name].append(time.process_time() - start)
    return {name: times[1:] for name, times in seconds.items()}


def peak_memory() -> int:
    """Most bytes that this process ever held; where Linux says so, without what its parent held before it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    if found:
        return 1024 * found[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
