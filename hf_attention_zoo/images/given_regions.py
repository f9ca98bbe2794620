"""Regions that a user gives in place of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def given_regions(values: Any, name: str) -> Tensor:
    """Annotation vectors of one picture: a tensor, an array or lists of numbers -> (L, D) float.

    Args:
        name: how an error calls them.

    Raises:
        ValueError: another shape, none at all, or what are no finite numbers.
    """
    try:
        regions = torch.as_tensor(values if isinstance(values, Tensor) else np.asarray(values, dtype=np.float32))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} are no numbers ({error}); give an array (regions, size)") from error
    regions = regions.detach().float()
    if regions.ndim != 2 or 0 in regions.shape:
        raise ValueError(f"{name} have shape {tuple(regions.shape)}; give (regions, size)")
    if not torch.isfinite(regions).all():
        raise ValueError(f"{name} contain NaN or infinity; finite numbers are wanted")
    return regions
