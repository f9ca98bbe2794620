"""A small convolutional encoder that is trained together with what reads its regions."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class SmallConvolutions(nn.Sequential):
    """Layers of 3 x 3 that halve the picture, then one of stride 1; each with a group norm and a rectifier.

    (B, 3, H, W) -> (B, size, H / 2^k, W / 2^k) for k halving layers. Nothing depends on the rest of the batch.

    Args:
        channels: of the halving layers, one each.
        size: channels of the last layer.
    """

    def __init__(self, channels: Sequence[int], size: int) -> None:
        layers: list[nn.Module] = []
        before = 3
        for number, after in enumerate([*channels, size]):
            stride = 2 if number < len(channels) else 1
            layers += [nn.Conv2d(before, after, 3, stride, padding=1, bias=False), group_norm(after), nn.ReLU()]
            before = after
        super().__init__(*layers)

    def forward(self, pixel_values: Tensor) -> Tensor:
        return super().forward(pixel_values)


def group_norm(channels: int) -> nn.GroupNorm:
    """With the largest number of groups up to 8 that divides the channels."""
    return nn.GroupNorm(max(groups for groups in range(1, 9) if channels % groups == 0), channels)
