"""Pictures as an encoder wants them, with PIL alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image
from transformers.image_processing_backends import PilBackend
from transformers.image_processing_utils import BatchFeature
from transformers.image_utils import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD, PILImageResampling

from hf_attention_zoo.images.opening import ARRAYS, open_picture


class PictureProcessor(PilBackend):
    """Any picture to `pixel_values` (B, 3, H, W).

    The defaults are those of Xu et al. 2015: the short side to 256, the middle 224 x 224, ImageNet's mean and
    deviation. What is cut away is not computed, so that very long pictures cost nothing.

    Args:
        size: {"shortest_edge": n}, with `do_center_crop`; or {"height": h, "width": w}: the whole picture, stretched.
        do_pad: keep the proportions instead: white is put beside the picture before it is resized to `size`.
        crop_size, resample, rescale_factor, image_mean, image_std, do_...: as in transformers.
    """

    resample = PILImageResampling.BICUBIC
    image_mean = IMAGENET_DEFAULT_MEAN
    image_std = IMAGENET_DEFAULT_STD
    size = {"shortest_edge": 256}
    crop_size = {"height": 224, "width": 224}
    default_to_square = False
    do_resize = True
    do_center_crop = True
    do_rescale = True
    do_normalize = True
    do_convert_rgb = True
    do_pad = False

    def _prepare_images_structure(self, images: Any, expected_ndims: int = 3) -> list[Any]:
        """One picture, or lists of them (as chats have), to a flat list."""
        if isinstance(images, (list, tuple)):
            return [picture for item in images for picture in self._prepare_images_structure(item)]
        if isinstance(images, ARRAYS) and images.ndim == 4:
            return list(images)
        return [images]

    def process_image(self, image: Any, *args: Any, **kwargs: Any) -> Any:
        """Whatever came, in RGB."""
        return open_picture(image)

    def _prepare_image_like_inputs(self, images: Any, *args: Any, **kwargs: Any) -> list[Image.Image]:
        flat = self._prepare_images_structure(images)
        return [open_picture(one, f"picture {number}") for number, one in enumerate(flat)]

    def fitted(self, picture: Image.Image, **settings: Any) -> Image.Image:
        """The picture in RGB at the encoder's size, before its values are changed: what its regions lie on.

        Args:
            settings: as for a call, in place of the processor's own.
        """
        chosen = {name: getattr(self, name) for name in ("size", "crop_size", "resample", "do_pad")}
        chosen |= {name: getattr(self, name) for name in ("do_resize", "do_center_crop")}
        return fit(open_picture(picture), **{**chosen, **settings})

    def _preprocess(
        self,
        images: Any,
        *args: Any,
        do_resize: bool | None = None,
        size: Any = None,
        resample: Any = None,
        do_center_crop: bool | None = None,
        crop_size: Any = None,
        do_rescale: bool | None = None,
        rescale_factor: Any = None,
        do_normalize: bool | None = None,
        image_mean: Any = None,
        image_std: Any = None,
        do_pad: bool | None = None,
        return_tensors: Any = None,
        **kwargs: Any,
    ) -> BatchFeature:
        rows: Any = []
        for picture in images:
            settings = {"size": size, "crop_size": crop_size, "resample": resample, "do_pad": do_pad}
            fitted = fit(picture, do_resize=do_resize, do_center_crop=do_center_crop, **settings)
            values = np.moveaxis(np.asarray(fitted, dtype=np.float32), -1, 0)
            if do_rescale:
                values = values * np.float32(rescale_factor)
            if do_normalize:
                mean, deviation = (np.asarray(value, dtype=np.float32) for value in (image_mean, image_std))
                values = (values - mean.reshape(-1, 1, 1)) / deviation.reshape(-1, 1, 1)
            rows.append(np.ascontiguousarray(values))
        if return_tensors is not None and len({row.shape for row in rows}) == 1:
            rows = np.stack(rows)
        return BatchFeature(data={"pixel_values": rows}, tensor_type=return_tensors)


def fit(
    picture: Image.Image,
    *,
    size: Any,
    crop_size: Any,
    resample: Any,
    do_resize: bool | None,
    do_center_crop: bool | None,
    do_pad: bool | None,
) -> Image.Image:
    """A picture at the size that the settings of `PictureProcessor` say.

    Raises:
        ValueError: settings that say no size.
    """
    width, height = picture.size
    if not do_resize and not do_center_crop:
        return picture
    if do_center_crop:
        wanted = _both_sides(crop_size, f"crop_size={crop_size}; give a height and a width")
        shortest = _side(size, "shortest_edge")
        scales = (1.0, 1.0)
        if do_resize and shortest is not None:
            scales = (shortest / min(width, height),) * 2
        elif do_resize:
            stretched = _both_sides(size, f"size={size}; give the shortest_edge, or a height and a width")
            scales = stretched[0] / width, stretched[1] / height
        cut = wanted[0] / scales[0], wanted[1] / scales[1]  # what of the picture is seen
        left, top = (width - cut[0]) / 2, (height - cut[1]) / 2
        if left < 0 or top < 0:  # the crop is larger than the picture: white beside it
            picture, left, top = _padded(picture, cut, left, top)
        box = (max(left, 0.0), max(top, 0.0), min(left + cut[0], picture.width), min(top + cut[1], picture.height))
        return picture.resize(wanted, resample, box=box)
    wanted = _both_sides(size, f"size={size} without do_center_crop; give a height and a width")
    if do_pad:
        ratio = wanted[0] / wanted[1]
        whole = max(width, height * ratio), max(height, width / ratio)
        scale = max(whole[0] / wanted[0], whole[1] / wanted[1])
        inner = max(1, round(width / scale)), max(1, round(height / scale))
        canvas = Image.new("RGB", wanted, "white")
        canvas.paste(picture.resize(inner, resample), ((wanted[0] - inner[0]) // 2, (wanted[1] - inner[1]) // 2))
        return canvas
    return picture.resize(wanted, resample)


def _side(size: Any, name: str) -> int | None:
    if isinstance(size, dict):
        return size.get(name)
    return getattr(size, name, None)


def _both_sides(size: Any, wrong: str) -> tuple[int, int]:
    """Width and height; where one is missing, a ValueError says what is `wrong`."""
    width, height = _side(size, "width"), _side(size, "height")
    if width is None or height is None:
        raise ValueError(wrong)
    return width, height


def _padded(
    picture: Image.Image, cut: tuple[float, float], left: float, top: float
) -> tuple[Image.Image, float, float]:
    """White beside a picture that is smaller than its crop."""
    beside, above = max(0, -int(np.floor(left))), max(0, -int(np.floor(top)))
    canvas = Image.new("RGB", (picture.width + 2 * beside, picture.height + 2 * above), "white")
    canvas.paste(picture, (beside, above))
    return canvas, (canvas.width - cut[0]) / 2, (canvas.height - cut[1]) / 2
