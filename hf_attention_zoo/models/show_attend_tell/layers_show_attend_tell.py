"""Parts of Show, Attend and Tell that know its config: the encoder of pictures, and what the losses add up.

Shapes: B pictures, T steps, L regions, D annotation size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput, Seq2SeqModelOutput

from hf_attention_zoo.attention.hard_attention import coverage_penalty, location_surrogate, negative_entropy
from hf_attention_zoo.attention.region_attention import MeanAttention, RegionAttention
from hf_attention_zoo.images.backbone_maps import BackboneMaps, backbone_configuration, pretrained_backbone
from hf_attention_zoo.images.efficientnet_lite0 import EfficientNetLite0, pretrained_lite0
from hf_attention_zoo.images.small_convolutions import SmallConvolutions
from hf_attention_zoo.images.vgg19 import VGG19Convolutions, pretrained_vgg19
from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig
from hf_attention_zoo.parts.model_inputs import encoder_mask
from hf_attention_zoo.recurrent.context_lstm import ContextLSTM
from hf_attention_zoo.recurrent.gated_initialisation import orthogonal_blocks_


@dataclass
class Regions(BaseModelOutput):
    """What the encoder hands to the decoder.

    Attributes:
        last_hidden_state: (B, L, D) annotation vectors, row by row over the grid.
        region_mask: (B, L) bool, true at real regions.
    """

    region_mask: Tensor | None = None

    @staticmethod
    def parts(regions: Regions | None) -> tuple[Tensor, Tensor]:
        """The vectors and their mask.

        Raises:
            ValueError: there are no regions, or one of the two is missing.
        """
        if regions is None or regions.last_hidden_state is None or regions.region_mask is None:
            raise ValueError("regions are not given; give what the encoder returned, or a cache that has begun")
        return regions.last_hidden_state, regions.region_mask

    @classmethod
    def of(cls, outputs: Any, attention_mask: Tensor | None = None) -> Regions:
        """An earlier encoder call's result, an object or a tuple; without a mask of its own it takes the given one."""
        if isinstance(outputs, cls):
            mask = outputs.region_mask
        else:
            last = outputs[-1] if len(outputs) > 1 else None
            mask = last if isinstance(last, Tensor) and last.ndim == 2 else None
        if mask is None:
            mask = encoder_mask(attention_mask, outputs[0])
        return cls(outputs[0], hidden_states=getattr(outputs, "hidden_states", None), region_mask=mask)


def real_regions(annotations: Tensor, attention_mask: Tensor | None, encoder_outputs: Any) -> Tensor:
    """Where (B, L, D) are real regions, (B, L): as the earlier encoder call says, if there was one, else the mask."""
    if encoder_outputs is not None:
        return Regions.parts(Regions.of(encoder_outputs, attention_mask))[1]
    return encoder_mask(attention_mask, annotations)


def words_after_start(words: Tensor, input_ids: Tensor, start: int | None) -> Tensor:
    """E y_{t-1} (N, T, m) from the embeddings of (N, T): nothing was said before the first word, whose row is zero.

    Raises:
        ValueError: no id says what the start is.
    """
    if start is None:
        raise ValueError("decoder_start_token_id is None; set it in the config: the word before a caption is no word")
    return words * (input_ids != start)[..., None].to(words.dtype)


@dataclass
class CaptionStates(Seq2SeqModelOutput):
    """The decoder's outputs.

    Attributes:
        context_gates: (N, T, 1) beta_t, if the attention is asked for.
        locations: (N, 1, T, L) what the context was made of: alpha, or in hard attention the chosen location.
    """

    context_gates: Tensor | None = None
    locations: Tensor | None = None


@dataclass
class CaptionOutput(Seq2SeqLMOutput):
    """The captioner's outputs.

    Attributes:
        loss: with labels, their cross entropy (mean over words) and, in training, the penalties beside it.
        coverage: (B) in training with labels, the doubly stochastic term of each caption, not weighted.
        context_gates, locations: as `CaptionStates` has them.
    """

    coverage: Tensor | None = None
    context_gates: Tensor | None = None
    locations: Tensor | None = None


def build_attention(config: ShowAttendTellConfig) -> RegionAttention | MeanAttention:
    """The attention that the config names; soft and hard differ in what is done with its weights."""
    if config.attention == "mean":
        return MeanAttention()
    return RegionAttention(config.hidden_size, config.annotation_size, config.num_attention_layers)


def build_image_encoder(config: ShowAttendTellConfig) -> nn.Module | None:
    """Pictures to feature maps, as the config says; None where regions are given."""
    if config.image_encoder == "convolutions":
        return SmallConvolutions(config.encoder_channels or (), config.annotation_size)
    if config.image_encoder == "vgg19":
        return VGG19Convolutions()
    if config.image_encoder == "efficientnet_lite0":
        return EfficientNetLite0()
    if config.image_encoder == "backbone":
        found = backbone_configuration(config.backbone, config.backbone_config)
        config.backbone_config = found.to_dict()  # the checkpoint loads without the name
        return BackboneMaps(found)
    return None


def pretrained_encoder(config: ShowAttendTellConfig) -> dict[str, Tensor]:
    """The published weights of the config's encoder.

    Raises:
        ValueError: there are none for this kind, or what carries them is not installed.
    """
    if config.image_encoder == "vgg19":
        return pretrained_vgg19()
    if config.image_encoder == "efficientnet_lite0":
        return pretrained_lite0()
    if config.image_encoder == "backbone" and config.backbone is not None:
        return pretrained_backbone(config.backbone, backbone_configuration(None, config.backbone_config))
    raise ValueError(f"image_encoder={config.image_encoder!r} has no published weights; it learns its own")


def initialise_captioner_(module: nn.Module, std: float) -> None:
    """Fill the parameters that a module of the captioner has itself; those that were loaded stay as they are.

    Square matrices become random orthogonal, the others N(0, std^2), biases 0; the four blocks of a gate's matrix
    count one by one, and W_c of attention, though square, is N(0, std^2). Convolutions start as rectifiers want it
    (He et al. 2015).
    """
    if isinstance(module, RegionAttention):  # comes after its children
        if isinstance(module.key_projection, nn.Linear):
            init.normal_(module.key_projection.weight, std=std)
        init.normal_(module.score_vector, std=std)
        init.zeros_(module.score_bias)
    elif isinstance(module, ContextLSTM):
        for weight in (module.input_weight, module.recurrent_weight):
            if weight.shape[0] != 4 * weight.shape[1]:
                init.normal_(weight, std=std)
            elif not getattr(weight, "_is_hf_initialized", False):
                orthogonal_blocks_(weight)
        init.normal_(module.context_weight, std=std)
        init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        init.normal_(module.weight, std=std)
    elif isinstance(module, nn.Linear):
        square = module.in_features == module.out_features
        init.orthogonal_(module.weight) if square else init.normal_(module.weight, std=std)
    elif isinstance(module, nn.Conv2d):
        init.kaiming_normal_(module.weight, nonlinearity="relu")
    if isinstance(module, (nn.Linear, nn.Conv2d)) and module.bias is not None:
        init.zeros_(module.bias)


def grid_of(config: ShowAttendTellConfig, regions: int) -> tuple[int, int]:
    """Height and width of the grid that so many regions make: the config's, or else a square.

    Raises:
        ValueError: they make neither.
    """
    height, width = config.grid_height, config.grid_width
    if height * width == regions:
        return height, width
    side = math.isqrt(regions)
    if side * side != regions:
        raise ValueError(
            f"{regions} regions make no grid of grid_height={height} x grid_width={width} and no square; set the two "
            "in the config"
        )
    return side, side


def choose_expected(config: ShowAttendTellConfig, training: bool, rows: int, device: torch.device) -> Tensor | None:
    """(N) bool: whose locations are replaced by their expectation; None where nothing is chosen, all are expected.

    In training one choice for each picture, or in the released code's form one for the whole batch.
    """
    if config.attention != "hard" or (not training and config.hard_evaluation == "expectation"):
        return None
    if not training:
        return torch.zeros(rows, dtype=torch.bool, device=device)
    choices = 1 if config.normalisation == "code" else rows
    return (torch.rand(choices, device=device) < config.expectation_prob).expand(rows)


def penalties(
    config: ShowAttendTellConfig,
    states: CaptionStates,
    log_likelihoods: Tensor,
    mask: Tensor,
    regions: Tensor,
    baseline: Tensor,
) -> tuple[Tensor, Tensor]:
    """What the loss adds to the summed negative log-likelihood of a batch, and the coverage of each caption (B).

    Both normalisations are those of the config's docstring. With a batch of B captions, the first is the sum over
    captions of what the paper averages; the released code's terms come in the same unit.

    Args:
        states: with attention.
        log_likelihoods: (B) log p(y | s) of each caption.
        mask: (B, T) real steps.
        regions: real regions of the pictures, (B, L), or (B / K, L) for K captions of each, one behind the other.
        baseline: the moving baseline, a scalar, in the unit of the reward.
    """
    if states.cross_attentions is None or states.locations is None:
        raise ValueError("these losses are of the decoder's attention; call it with output_attentions=True")
    alignment, rows = states.cross_attentions[0][:, 0], mask.shape[0]
    alignment = alignment.to(torch.promote_types(alignment.dtype, torch.float32))  # sums outgrow half precision
    regions = regions.repeat_interleave(rows // regions.shape[0], 0)
    mask = mask.to(alignment.dtype)
    as_code, hard = config.normalisation == "code", config.attention == "hard"
    coverage = coverage_penalty(alignment, mask, regions.to(alignment.dtype)) * mask.any(1)  # (B), 0 without a word
    weight = config.coverage_weight * (rows / alignment.shape[-1] if as_code else 1.0)
    counted = coverage.detach() if as_code and hard else coverage
    total = weight * counted.sum()
    if hard:
        entropies = negative_entropy(alignment, mask)
        advantage = rewards(config, log_likelihoods, mask) - baseline
        surrogate = location_surrogate(alignment, states.locations[:, 0], advantage, mask)
        terms = (config.reinforce_weight * surrogate + config.entropy_weight * entropies).sum()
        total = total + (rows * terms if as_code else terms)
    return total, coverage


def rewards(config: ShowAttendTellConfig, log_likelihoods: Tensor, mask: Tensor) -> Tensor:
    """log p of each caption, or in the released code's form of a word of it on average: (B)."""
    if config.normalisation == "paper":
        return log_likelihoods.detach()
    return log_likelihoods.detach() / mask.sum(1).clamp(min=1)


def next_baseline(config: ShowAttendTellConfig, baseline: Tensor, log_likelihoods: Tensor, mask: Tensor) -> Tensor:
    """b <- decay b + (1 - decay) r, r the mean reward of the batch: over captions, or in the code's form over words.

    Processes that train together take the mean over all of them.
    """
    if config.normalisation == "paper":
        total, count = log_likelihoods.sum(), (mask.sum(1) > 0).sum()
    else:
        total, count = log_likelihoods.sum(), mask.sum()
    exact = torch.float32 if total.device.type == "mps" else torch.float64  # which has no other
    sums = torch.stack([total.detach().to(exact), count.to(exact)])
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(sums)
    mean = sums[0] / sums[1].clamp(min=1)
    return (config.baseline_decay * baseline + (1 - config.baseline_decay) * mean).to(baseline.dtype)
