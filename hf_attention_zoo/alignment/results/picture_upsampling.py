"""Weights of a grid of regions as a smooth map over the picture, as Xu et al. (2015) draw them.

They scale up by 16, from 14 x 14 to 224 x 224, and smooth with a Gaussian, of 20 pixels in the authors' notebook.
"""

import numpy as np
import torch
from torch.nn import functional

# Standard deviation of the Gaussian in regions: 20 pixels where a region is 16.
SMOOTHING = 20 / 16


def upsample(weights: np.ndarray, height: int, width: int, smoothing: float = SMOOTHING) -> np.ndarray:
    """(..., h, w) -> (..., height, width): between the middles of regions in a straight line, then the Gaussian.

    Args:
        smoothing: standard deviation of the Gaussian, in regions; 0 for none.

    Raises:
        ValueError: no grid, or a negative number.
    """
    grid = np.asarray(weights, dtype=np.float32)
    if grid.ndim < 2 or 0 in grid.shape or height < 1 or width < 1:
        raise ValueError(f"weights of shape {grid.shape} for {height} x {width} pixels; give (..., rows, columns)")
    if smoothing < 0:
        raise ValueError(f"smoothing={smoothing}; give a standard deviation of 0 or more, in regions")
    flat = torch.from_numpy(np.array(grid.reshape(-1, 1, *grid.shape[-2:])))
    large = functional.interpolate(flat, size=(height, width), mode="bilinear", align_corners=False)
    if smoothing:
        for axis, length, regions in ((2, height, grid.shape[-2]), (3, width, grid.shape[-1])):
            large = _blurred(large, axis, smoothing * length / regions)
    return large.numpy().reshape(*grid.shape[:-2], height, width)


def _blurred(maps: torch.Tensor, axis: int, deviation: float) -> torch.Tensor:
    """A Gaussian along one axis of (N, 1, H, W), the border repeated; each pixel is a weighted mean."""
    reach = max(1, round(3 * deviation))
    steps = torch.arange(-reach, reach + 1, dtype=maps.dtype)
    kernel = torch.exp(-0.5 * (steps / deviation) ** 2)
    kernel = kernel / kernel.sum()
    pads = (0, 0, reach, reach) if axis == 2 else (reach, reach, 0, 0)
    shape = (1, 1, -1, 1) if axis == 2 else (1, 1, 1, -1)
    return functional.conv2d(functional.pad(maps, pads, mode="replicate"), kernel.view(shape))
