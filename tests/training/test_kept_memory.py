"""Memory that is freed inside `freed_memory_kept` is used again, and goes back behind it."""

import resource

import pytest
import torch

from hf_attention_zoo.training.kept_memory import freed_memory_kept, glibc

NUMBERS = 1 << 24  # 64 MiB in float32: more than glibc ever keeps by itself
PAGES = 4 * NUMBERS // resource.getpagesize()


def faults(times: int) -> int:
    """Pages that the system had to give, while a large tensor was filled and freed so many times."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        torch.ones(NUMBERS)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(glibc() is None, reason="not glibc, or its settings were chosen by whoever runs this")
def test_freed_memory_is_asked_for_once() -> None:
    faults(1)
    outside = faults(3)
    with freed_memory_kept():
        faults(20)  # blocks between which others were taken do not fit at first
        inside = faults(3)
    assert inside < outside / 10
    assert faults(3) > 2 * PAGES / 512  # at most one fault for each huge page


def test_settings_of_the_environment_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "131072")
    assert glibc() is None
    with freed_memory_kept():
        pass
