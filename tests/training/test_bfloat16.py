"""Training in bfloat16 on a CPU: a warning where the CPU only imitates it, and no other."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.bfloat16 import ADVICE, imitates_bfloat16


@pytest.mark.parametrize("unit", [None, "_is_avx512_bf16_supported", "_is_amx_tile_supported"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_only_a_cpu_that_imitates_it_is_told_of(
    unit: str | None, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda name=name: name == unit, raising=False)
    slower = unit is None and machine == "x86_64"
    assert imitates_bfloat16() == slower
    for bf16 in (True, False):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            ZooTrainingArguments(output_dir=str(tmp_path), bf16=bf16, use_cpu=True, report_to=[])
        assert (ADVICE in [str(one.message) for one in seen]) == (slower and bf16)
