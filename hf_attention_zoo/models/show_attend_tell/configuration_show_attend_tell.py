"""Configuration of Show, Attend and Tell (Xu et al. 2015, arXiv 1502.03044)."""

from typing import Any

from huggingface_hub.dataclasses import strict
from transformers import PreTrainedConfig

from hf_attention_zoo.parts.config_checks import check_above_zero, check_choices, check_probabilities, check_sizes
from hf_attention_zoo.parts.inner_outputs import INNER_OUTPUTS

ATTENTIONS = ("soft", "hard", "mean")
HARD_EVALUATIONS = ("expectation", "argmax", "sample")
NORMALISATIONS = ("paper", "code")
READOUTS = ("linear", "tanh")
IMAGE_ENCODERS = ("regions", "convolutions", "vgg19", "efficientnet_lite0", "backbone")
ENCODER_WEIGHTS = ("saved", "referenced")


@strict
class ShowAttendTellConfig(PreTrainedConfig):
    """Sizes and choices of the captioner; the defaults are those of the released script for COCO, soft attention.

    Args:
        vocab_size: rows of the word embedding and of the output layer (the paper: 10,000).
        embedding_size: m, 512.
        hidden_size: n, cells of the LSTM. The paper names none; the script for COCO has 1800.
        annotation_size: D, the size of a region; 512 of VGG-19.
        num_attention_layers: layers of the attention perceptron before the state is added.
        num_initial_layers: layers of the perceptrons of the initial state (1 or 2); the second is shared.
        num_output_layers: further layers m -> m with a rectifier before the output layer, counted from 1.
        attention: "soft" (deterministic, Section 4.2) or "hard" (stochastic, Section 4.1); "mean" is for comparison:
            the same decoder without attention, which always sees the mean of the regions.
        hard_evaluation: what a hard model looks at outside of training: the "expectation" over locations (as the
            authors' code does), the "argmax" location, or a "sample".
        context_gate: the gating scalar beta_t on the context (Section 4.2.1); the code's `selector`.
        word_to_output: E y_{t-1} takes part in the deep output (Eq. 7).
        context_to_output: L_z z_t takes part in it.
        readout: "linear", Eq. 7 as it stands; "tanh": the code's form, with a hyperbolic tangent before L_o.
        coverage_weight: lambda of the doubly stochastic term (Eq. 14); 0 switches it off. The paper has it for soft
            attention alone, and the recipes of hard attention set 0.
        entropy_weight: lambda_e of hard attention (Section 4.1; the code: 0.002).
        reinforce_weight: lambda_r of hard attention. The paper gives no value; the code has 0.1.
        baseline_decay: of the moving baseline, 0.9.
        expectation_prob: how often training replaces the sample by its expectation, 0.5.
        normalisation: "paper": every term is a sum per caption, averaged over captions; the reward is log p of the
            caption; the expectation is chosen per image. "code": the coverage is summed over the batch and averaged
            over regions, which makes lambda B / L times as large, and gives no gradient in hard attention; the terms
            of hard attention are summed over the batch, with the mean log p of a word as reward; the expectation is
            chosen once for a batch. The batch is the part of it that is computed at once, so that the loss depends on
            gradient accumulation and the number of processes, as theirs does on the batch size; "paper" does not.
        dropout: on the hidden layer of the initial state, on h_t before the deep output and on what L_o reads.
        initializer_range: standard deviation of the matrices that are not square, 0.01; square ones are orthogonal.
        image_encoder: what makes regions of pictures: "regions" (nothing: regions are given), "convolutions" (small,
            trained with the captioner), "vgg19" (the paper's, up to conv5_4), "efficientnet_lite0" (112 x 14 x 14) or
            "backbone" (any of transformers or timm that gives feature maps).
        encoder_channels: output channels of the layers of "convolutions" that halve the picture; a last layer without
            stride makes `annotation_size` of them.
        backbone: for "backbone": Hub id, folder or timm name that pretrained weights come from.
        backbone_config: for "backbone": its configuration, as a dict with `model_type`; found by name if not given.
        encoder_weights: "saved" in the checkpoint, or "referenced": left out of it and loaded from where they came
            from, which `backbone` or the name of the encoder says.
        freeze_encoder: do not train the encoder; by default true of all but "convolutions".
        grid_height: rows of the grid of regions, for pictures of the attention; a square is found out by itself.
        grid_width: columns of the grid.
    """

    model_type = "show_attend_tell"
    keys_to_ignore_at_inference = [*INNER_OUTPUTS, "coverage", "context_gates", "locations"]

    vocab_size: int = 10_000
    embedding_size: int = 512
    hidden_size: int = 1800
    annotation_size: int = 512
    num_attention_layers: int = 2
    num_initial_layers: int = 2
    num_output_layers: int = 1
    attention: str = "soft"
    hard_evaluation: str = "expectation"
    context_gate: bool = True
    word_to_output: bool = True
    context_to_output: bool = True
    readout: str = "linear"
    coverage_weight: float | int = 1.0
    entropy_weight: float | int = 0.002
    reinforce_weight: float | int = 0.1
    baseline_decay: float | int = 0.9
    expectation_prob: float | int = 0.5
    normalisation: str = "paper"
    dropout: float | int = 0.5
    initializer_range: float = 0.01
    image_encoder: str = "regions"
    encoder_channels: list[int] | None = None
    backbone: str | None = None
    backbone_config: dict[str, Any] | None = None
    encoder_weights: str = "saved"
    freeze_encoder: bool | None = None
    grid_height: int = 14
    grid_width: int = 14
    num_attention_heads: int = 1
    is_encoder_decoder: bool = True
    use_cache: bool = True
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | list[int] | None = 3
    decoder_start_token_id: int | None = 2
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        if self.freeze_encoder is None:
            self.freeze_encoder = self.image_encoder != "convolutions"
        if self.encoder_channels is None and self.image_encoder == "convolutions":
            self.encoder_channels = [32, 64, 128]
        self.validate_sizes()  # `strict` does it again, but wraps what is raised in an error of its own
        self.validate_choices()
        super().__post_init__(**kwargs)

    def validate_sizes(self) -> None:
        """Sizes are positive, shares lie between 0 and 1, weights of penalties are not negative."""
        check_sizes(
            self,
            "vocab_size",
            "embedding_size",
            "hidden_size",
            "annotation_size",
            "num_attention_layers",
            "num_output_layers",
            "grid_height",
            "grid_width",
        )
        if self.num_initial_layers not in (1, 2):
            raise ValueError(f"num_initial_layers is {self.num_initial_layers}; the initial state has 1 or 2 layers")
        if self.num_attention_heads != 1:
            raise ValueError(
                f"num_attention_heads is {self.num_attention_heads}: this model has one alignment per word; for "
                "several heads use the `transformer2017` architecture"
            )
        for name in ("coverage_weight", "entropy_weight", "reinforce_weight"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give 0 or more")
        for name in ("baseline_decay", "expectation_prob"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number between 0 and 1")
        check_probabilities(self, "dropout")
        check_above_zero(self, "initializer_range")

    def validate_choices(self) -> None:
        """Named choices are known and go together."""
        check_choices(
            self,
            attention=ATTENTIONS,
            hard_evaluation=HARD_EVALUATIONS,
            normalisation=NORMALISATIONS,
            readout=READOUTS,
            image_encoder=IMAGE_ENCODERS,
            encoder_weights=ENCODER_WEIGHTS,
        )
        if self.attention == "mean" and self.coverage_weight:
            self.coverage_weight = 0.0  # without attention there is nothing to spread
        if self.encoder_channels is not None:
            if self.image_encoder != "convolutions":
                raise ValueError(
                    f"encoder_channels with image_encoder={self.image_encoder!r}: only the encoder 'convolutions' is "
                    "made to measure; leave encoder_channels out"
                )
            if not self.encoder_channels or min(self.encoder_channels) < 1:
                raise ValueError(f"encoder_channels is {self.encoder_channels}; give one or more positive numbers")
        for name in ("backbone", "backbone_config"):
            if getattr(self, name) is not None and self.image_encoder != "backbone":
                raise ValueError(f"{name} with image_encoder={self.image_encoder!r}; set image_encoder='backbone'")
        if self.image_encoder == "backbone" and self.backbone is None and self.backbone_config is None:
            raise ValueError("image_encoder='backbone' needs the name of a backbone, or a backbone_config")
        if self.encoder_weights == "referenced":
            if self.image_encoder in ("regions", "convolutions"):
                raise ValueError(
                    f"encoder_weights='referenced' with image_encoder={self.image_encoder!r}: there is nothing to "
                    "refer to; leave encoder_weights='saved'"
                )
            if not self.freeze_encoder:
                raise ValueError(
                    "encoder_weights='referenced' with freeze_encoder=False would lose what the encoder learnt; save "
                    "them, or freeze the encoder"
                )
            if self.image_encoder == "backbone" and self.backbone is None:
                raise ValueError(
                    "encoder_weights='referenced' needs the name that the weights come from: backbone=..."
                )
