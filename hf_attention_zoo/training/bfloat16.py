"""Whether a CPU multiplies in bfloat16 by itself: where it does not, `--bf16` is slower than float32."""

from __future__ import annotations

import platform
import warnings

import torch

ADVICE = "bf16 is imitated by this CPU (no AVX512_BF16, no AMX) and slower than float32; leave it out"


def imitates_bfloat16() -> bool:
    """Whether this is an x86 CPU whose products in bfloat16 are made of others; False where torch cannot tell."""
    asked = [getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")]
    known = [has() for has in asked if has is not None]
    return platform.machine().lower() in ("x86_64", "amd64") and len(known) == len(asked) and not any(known)


def warn_of_imitation(bf16: bool, device: torch.device) -> None:
    """Say so, with what to do, where training in bfloat16 would be slower."""
    if bf16 and device.type == "cpu" and imitates_bfloat16():
        warnings.warn(ADVICE, UserWarning, stacklevel=2)
