"""The convolutions of VGG-19 up to conv5_4 and its rectifier (Simonyan and Zisserman 2015).

They make 512 x 14 x 14 of 224 x 224 pixels.

Xu et al. 2015 take these maps, before the last pooling. 20,024,384 parameters.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

BLOCKS = ((64, 64), (128, 128), (256,) * 4, (512,) * 4, (512,) * 4)


class VGG19Convolutions(nn.Sequential):
    """(B, 3, H, W) -> (B, 512, H / 16, W / 16). Layer numbers are those of torchvision's `vgg19().features`."""

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        before = 3
        for number, block in enumerate(BLOCKS):
            if number:
                layers.append(nn.MaxPool2d(2))
            for after in block:
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
                before = after
        super().__init__(*layers)

    def forward(self, pixel_values: Tensor) -> Tensor:
        return super().forward(pixel_values)


def from_torchvision(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of torchvision's `vgg19` weights those that `VGG19Convolutions` has.

    Raises:
        ValueError: there are none; the message says what they are called.
    """
    prefix = "features."
    kept = {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}
    if "34.weight" not in kept:
        raise ValueError("these are not the weights of torchvision's vgg19: features.34.weight is missing")
    return {name: tensor for name, tensor in kept.items() if int(name.split(".")[0]) < 36}


def pretrained_vgg19() -> dict[str, Tensor]:
    """The weights that torchvision fetches.

    Raises:
        ValueError: torchvision is not installed.
    """
    try:
        from torchvision.models import VGG19_Weights
    except ImportError as error:
        raise ValueError(
            "the pretrained VGG-19 comes with torchvision: pip install torchvision, or load your own state dict with "
            "model.get_encoder().image_encoder.load_state_dict(from_torchvision(state))"
        ) from error
    with torch.no_grad():
        return from_torchvision(VGG19_Weights.IMAGENET1K_V1.get_state_dict(progress=False))
