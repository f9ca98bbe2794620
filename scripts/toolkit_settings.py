"""What a model of the zoo was told, for systems that are to be like it: sizes, form and training.

For `scripts/compare_toolkits.py`; settings are flags of `attention-zoo train`, as `scripts/tune.py` keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seconds_budget import Training

# Forms of a model of the zoo that another program builds, where the model has others, too.
SAME_FORM = {"luong": {"attention_window": "global", "attention_score": "general", "input_feeding": True}}


@dataclass(frozen=True)
class Sizes:
    """Of a model of the zoo, as another program is to have them."""

    hidden: int
    embedding: int
    layers: int
    dropout: float
    attention_dropout: float = 0.0
    heads: int | None = None  # a Transformer has them
    feedforward: int | None = None


def fields_of(settings: dict[str, Any]) -> dict[str, Any]:
    """Fields of a configuration among the flags of a training of the zoo."""
    return {flag.removeprefix("config."): value for flag, value in settings.items() if flag.startswith("config.")}


def sizes_of(settings: dict[str, Any]) -> Sizes:
    """Sizes among the flags of a training of the zoo."""
    found = fields_of(settings)
    return Sizes(
        hidden=found["hidden_size"],
        embedding=found.get("embedding_size", found["hidden_size"]),
        layers=found.get("num_hidden_layers", 1),
        dropout=found["dropout"],
        attention_dropout=found.get("attention_dropout", 0.0),
        heads=found.get("num_attention_heads"),
        feedforward=found.get("intermediate_size"),
    )


def check_form(name: str, settings: dict[str, Any]) -> None:
    """Settings of a model of the zoo, what they leave out included, name the form that other programs build.

    Raises:
        SystemExit: they name another.
    """
    from transformers import AutoConfig

    import hf_attention_zoo  # noqa: F401  registers the classes

    config, form = AutoConfig.for_model(name, **fields_of(settings)), SAME_FORM.get(name, {})
    differing = [field for field, wanted in form.items() if getattr(config, field) != wanted]
    if differing:
        meant = ", ".join(f"{field}={getattr(config, field)!r}" for field in differing)
        built = ", ".join(f"{field}={value!r}" for field, value in form.items())
        raise SystemExit(
            f"{name}: the settings that validation chose mean {meant}, and other programs build {built}: the two "
            "would not be one model. Name these forms among the choices of the tuning protocol"
        )


def training_of(settings: dict[str, Any]) -> Training:
    """Rate, warm-up, smoothing, batch and Adam's constants among the flags of a training of the zoo."""
    return Training(
        learning_rate=settings["learning_rate"],
        warmup_steps=settings["warmup_steps"],
        label_smoothing=settings["label_smoothing_factor"],
        tokens=settings["max_tokens_per_batch"],
        betas=tuple(settings.get(f"adam_beta{k}", usual) for k, usual in enumerate(Training.betas, start=1)),
        epsilon=settings.get("adam_epsilon", Training.epsilon),
    )
