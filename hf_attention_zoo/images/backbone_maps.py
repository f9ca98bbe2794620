"""Any backbone of transformers or timm as an encoder: its last feature map."""

from __future__ import annotations

import importlib.util
from typing import Any

from torch import Tensor, nn
from transformers import MODEL_FOR_BACKBONE_MAPPING, AutoBackbone, AutoConfig, PreTrainedConfig, TimmBackboneConfig


def backbone_configuration(name: str | None, stored: dict[str, Any] | None) -> PreTrainedConfig:
    """The configuration of a backbone: what is `stored`, or what the folder, Hub id or timm model `name` has.

    Raises:
        ValueError: neither a folder or Hub id nor, with timm installed, one of its names.
    """
    if stored is not None:
        if "model_type" not in stored:
            raise ValueError("backbone_config has no 'model_type'; give what `config.to_dict()` of a backbone gives")
        return AutoConfig.for_model(**stored)
    if name is None:
        raise ValueError("neither backbone nor backbone_config is given; give the name of a backbone")
    if importlib.util.find_spec("timm") is not None:
        import timm

        if timm.is_model(name):
            return TimmBackboneConfig(backbone=name)
    try:
        return AutoConfig.from_pretrained(name)
    except OSError as error:
        raise ValueError(
            f"backbone={name!r} is no folder, Hub id within reach or timm model (timm is "
            f"{'' if importlib.util.find_spec('timm') else 'not '}installed)"
        ) from error


class BackboneMaps(nn.Module):
    """(B, 3, H, W) -> the last feature map of a backbone, (B, D, h, w)."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        self.backbone = AutoBackbone.from_config(config)

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.backbone(pixel_values).feature_maps[-1]


def pretrained_backbone(name: str, config: PreTrainedConfig) -> dict[str, Tensor]:
    """The weights of a backbone by name, as `BackboneMaps` holds them."""
    # AutoBackbone itself would ask the Hub about folders, too. The table's type allows for tokenizers as well.
    kind: Any = MODEL_FOR_BACKBONE_MAPPING[type(config)]
    backbone = kind.from_pretrained(name, config=config)
    return {f"backbone.{key}": tensor for key, tensor in backbone.state_dict().items()}
