"""One picture in RGB from whatever a user has: a path, bytes, a file, a PIL image, an array or a tensor."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import torch
from PIL import Image, ImageOps

# More pixels than this are refused before they are unpacked: a small file can hold a picture that fills the memory.
MOST_PIXELS = 89_478_485
ARRAYS = (np.ndarray, torch.Tensor)
# What PIL's readers raise for files that are cut off or spoilt.
DAMAGE = (OSError, SyntaxError, EOFError, IndexError, TypeError, ValueError)


def open_picture(source: Any, name: str = "the picture") -> Image.Image:
    """The picture in mode RGB, upright as its EXIF mark says, on white where it is transparent.

    Args:
        source: a path, bytes, an open binary file, a PIL image, or an array or tensor (H, W), (H, W, C) or (C, H, W)
            with 1, 3 or 4 channels: whole numbers from 0 to 255, or fractions from 0 to 1.
        name: what messages call it.

    Raises:
        ValueError: no such file, no picture, a damaged one, one with too many pixels or none, or another type.
    """
    file: IO[bytes]
    if isinstance(source, Image.Image):
        return _upright_rgb(source, name)
    if isinstance(source, ARRAYS):
        return _upright_rgb(_from_array(source, name), name)
    if isinstance(source, (str, os.PathLike)):
        text = os.fspath(source)
        if text.startswith(("http://", "https://")):
            raise ValueError(f"{name} is an address ({text:.80}); fetch it first and give its bytes or a path")
        if not os.path.isfile(text):
            raise ValueError(f"{name}: there is no file {text!r:.200}")
        name, file = f"{name} ({text!r:.200})", open(text, "rb")  # noqa: SIM115 (closed below)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        file = io.BytesIO(bytes(source))
    elif hasattr(source, "read") and hasattr(source, "seek"):
        return _opened(source, name)
    else:
        raise ValueError(
            f"{name} is of type {type(source).__name__}; give a path, bytes, a file, a PIL image, an array or a tensor"
        )
    with file:
        return _opened(file, name)


@contextmanager
def _refusing(name: str, said: str) -> Iterator[None]:
    """What PIL raises for a file becomes a ValueError with the picture's name."""
    try:
        yield
    except Image.DecompressionBombError as error:
        raise ValueError(f"{name} has too many pixels: {error}; make it smaller first") from error
    except DAMAGE as error:
        raise ValueError(f"{name} {said} ({error}); is the file whole?") from error


def _opened(file: Any, name: str) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # counted below
        with _refusing(name, "cannot be read as a picture"):
            picture = Image.open(file)
        with picture:
            return _upright_rgb(picture, name)


def _upright_rgb(picture: Image.Image, name: str) -> Image.Image:
    width, height = picture.size
    if not width or not height:
        raise ValueError(f"{name} is {width} x {height} pixels; there is nothing to see")
    if width * height > MOST_PIXELS:
        raise ValueError(f"{name} has {width} x {height} pixels, more than {MOST_PIXELS:,}; make it smaller first")
    with _refusing(name, "is damaged"):
        picture = ImageOps.exif_transpose(picture)
        if picture.mode.startswith("I") or picture.mode == "F":
            return _from_wide(picture)
        if picture.has_transparency_data:
            picture = picture.convert("RGBA")
            white = Image.new("RGBA", picture.size, "white")
            return Image.alpha_composite(white, picture).convert("RGB")
        return picture.convert("RGB")


def _from_wide(picture: Image.Image) -> Image.Image:
    """Grey pictures that are wider than a byte: what PIL's own conversion would cut off is scaled instead.

    16 bits end at 65,535 and fractions at 1. Whole numbers of 32 bits and other floats carry no scale: they end at 255
    where all fit, or at 65,535.
    """
    values = np.asarray(picture, dtype=np.float64)
    if picture.mode == "F":
        top = 1.0 if values.max() <= 1 else 255.0
    else:
        top = 65535.0 if picture.mode.startswith("I;16") or values.max() > 255 else 255.0
    return Image.fromarray((np.clip(values / top, 0, 1) * 255).round().astype(np.uint8)).convert("RGB")


def _from_array(values: Any, name: str) -> Image.Image:
    array = values.detach().cpu().float().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)
    if isinstance(values, torch.Tensor):
        is_whole = not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)
    else:
        is_whole = np.issubdtype(array.dtype, np.integer)
    if array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.shape[-1] not in (1, 3, 4):
        array = np.moveaxis(array, 0, -1)
    elif isinstance(values, torch.Tensor) and array.ndim == 3 and array.shape[0] in (1, 3, 4):
        array = np.moveaxis(array, 0, -1)  # tensors have their channels in front
    if array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[-1] not in (3, 4)) or not array.size:
        raise ValueError(f"{name} is an array of shape {np.shape(values)}; give (H, W), (H, W, C) or (C, H, W)")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is an array with NaN or infinity; give whole numbers 0 to 255 or fractions 0 to 1")
    top = 255 if is_whole else 1
    if array.dtype == bool:
        array, top = array.astype(np.float32), 1
    if array.min() < 0 or array.max() > top:
        raise ValueError(
            f"{name} is an array of {'whole numbers' if is_whole else 'fractions'} from {array.min()} to "
            f"{array.max()}; give whole numbers 0 to 255 or fractions 0 to 1"
        )
    return Image.fromarray((array * (255 / top)).round().astype(np.uint8))
