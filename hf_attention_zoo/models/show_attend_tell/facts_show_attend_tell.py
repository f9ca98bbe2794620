"""Facts about Show, Attend and Tell for the registry: sizes, recipes and the paper's own results. Plain data."""

from __future__ import annotations

from typing import Any

BIBTEX = """@inproceedings{xu2015show,
  title     = {Show, Attend and Tell: Neural Image Caption Generation with Visual Attention},
  author    = {Kelvin Xu and Jimmy Lei Ba and Ryan Kiros and Kyunghyun Cho and Aaron Courville and
               Ruslan Salakhutdinov and Richard S. Zemel and Yoshua Bengio},
  booktitle = {Proceedings of the 32nd International Conference on Machine Learning},
  pages     = {2048--2057},
  year      = {2015},
  url       = {https://arxiv.org/abs/1502.03044}
}"""

# The COCO column of the released script, without VGG-19, whose features are given. E 5,120,000; initial state
# 262,656 + 1,846,800; LSTM 3,686,400 + 12,960,000 + 3,686,400 + 7,200; attention 1,447,425; gate 1,801; L_h 922,112;
# L_z 262,656; L_o 5,130,000.
PAPER_CONFIG: dict[str, Any] = {}
PAPER_PARAMETERS = 35_333_450

TINY_CONFIG: dict[str, Any] = {
    "vocab_size": 40,
    "embedding_size": 8,
    "hidden_size": 12,
    "annotation_size": 6,
    "grid_height": 2,
    "grid_width": 3,
}

ADAPTER_TARGETS: tuple[str, ...] = (
    "query_projection",
    "key_projection",
    "context_gate",
    "initial_state.shared",
    "initial_state.hidden",
    "initial_state.cell",
    "state_projection",
    "context_projection",
)


def _results(dataset: str, rows: list[tuple[str, tuple[float, ...]]]) -> list[dict[str, Any]]:
    metrics = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR")
    return [
        {"dataset": dataset, "metric": metric, "system": system, "value": value, "source": "Table 1"}
        for system, values in rows
        for metric, value in zip(metrics, values, strict=True)
    ]


REPORTED_RESULTS: list[dict[str, Any]] = [
    *_results(
        "Flickr8k",
        [("soft attention", (67.0, 44.8, 29.9, 19.5, 18.93)), ("hard attention", (67.0, 45.7, 31.4, 21.3, 20.30))],
    ),
    *_results(
        "Flickr30k",
        [("soft attention", (66.7, 43.4, 28.8, 19.1, 18.49)), ("hard attention", (66.9, 43.9, 29.6, 19.9, 18.46))],
    ),
    *_results(
        "COCO",
        [("soft attention", (70.7, 49.2, 34.4, 24.3, 23.90)), ("hard attention", (71.8, 50.4, 35.7, 25.0, 23.04))],
    ),
]


def _paper(description: str, config: dict[str, Any], optimizer: dict[str, Any]) -> dict[str, Any]:
    """Section 4.3: batches of 64 captions of one length, a decaying rate per parameter, no clipping, early stop."""
    return {
        "description": description,
        "config": {"image_encoder": "vgg19", **config},
        "tokenizer": {"kind": "word", "vocab_size": 10_000, "lowercase": True},
        "generation": {"num_beams": 1},
        "data": {"max_target_length": 101},
        "training": {
            "loss_scale": "sentence_mean",
            "train_sampling_strategy": "group_by_length",
            "per_device_train_batch_size": 64,
            "max_grad_norm": 0.0,
            "lr_scheduler_type": "constant",
            "weight_decay": 0.0,
            "eval_strategy": "epoch",
            "save_strategy": "epoch",
            "load_best_model_at_end": True,
            "metric_for_best_model": "bleu4",
            "early_stopping_patience": 10,
            "num_train_epochs": 100,
            **optimizer,
        },
    }


_ADAM = {"optim": "adamw_torch", "learning_rate": 2e-4}
_RMSPROP = {"optimizer": "rmsprop_graves", "learning_rate": 1e-4}
_CODE = {"readout": "tanh", "normalisation": "code"}

_SMALL: dict[str, Any] = {
    "embedding_size": 128,
    "hidden_size": 256,
    "annotation_size": 128,
    "num_attention_layers": 1,
    "dropout": 0.3,
    "initializer_range": 0.08,
    "readout": "tanh",
    "coverage_weight": 0.1,  # 64 regions and 6 words: with 1 the term outweighs the words
    "image_encoder": "convolutions",
    "grid_height": 8,
    "grid_width": 8,
}

_IMAGENET = {"image_encoder": "efficientnet_lite0", "annotation_size": 112}


def _small(description: str, config: dict[str, Any], data: dict[str, Any], epochs: int, **more: Any) -> dict[str, Any]:
    return {
        "description": description,
        "config": {**_SMALL, **config},
        "tokenizer": {"kind": "word", "vocab_size": 4000},
        "generation": {"num_beams": 5, "length_penalty": 1.0},
        "data": data,
        "training": {
            "optim": "adamw_torch",
            "learning_rate": 2e-3,
            "lr_scheduler_type": "cosine",
            "warmup_steps": 100,
            "weight_decay": 0.01,
            "max_grad_norm": 1.0,
            "train_sampling_strategy": "group_by_length",
            "per_device_train_batch_size": 64,
            "per_device_eval_batch_size": 64,
            "eval_strategy": "epoch",
            "save_strategy": "epoch",
            "save_total_limit": 1,
            "load_best_model_at_end": True,
            "metric_for_best_model": "bleu4",
            "num_train_epochs": epochs,
            "logging_steps": 50,
            **more,
        },
    }


RECIPES: dict[str, dict[str, Any]] = {
    "paper": _paper("COCO, soft attention: VGG-19, 1800 cells, Adam", {}, _ADAM),
    "paper-hard": _paper(
        "COCO, hard attention: VGG-19, 1800 cells, Adam", {"attention": "hard", "coverage_weight": 0.0}, _ADAM
    ),
    "paper-flickr8k": _paper("Flickr8k, soft attention, RMSProp as Graves has it", {}, _RMSPROP),
    "code": _paper("the released script for COCO, with its readout and its normalisation", _CODE, _ADAM),
    "code-hard": _paper(
        "the released code's hard attention, with its readout and its normalisation",
        {**_CODE, "attention": "hard"},
        _ADAM,
    ),
    "small": _small("drawings of 64 x 64, an encoder that is trained with the captioner", {}, {}, 20),
    "small-imagenet": _small(
        "drawings and photos of 128 x 128, regions of EfficientNet-lite0 as it is, encoded once", _IMAGENET, {}, 20
    ),
    "small-imagenet-hard": _small(
        "as small-imagenet, with hard attention",
        {**_IMAGENET, "attention": "hard", "coverage_weight": 0.0},
        {},
        20,
    ),
    "quickstart-people": _small(
        "emoji of people and hands, named by figure and skin tone, minutes on two cores",
        {"embedding_size": 64, "hidden_size": 128, "annotation_size": 64, "dropout": 0.1},
        {"dataset": "captions_emoji_people", "target_lang": "en"},
        36,
        learning_rate=3e-3,
        per_device_train_batch_size=16,
        eval_strategy="no",
        save_strategy="no",
        load_best_model_at_end=False,
        metric_for_best_model=None,
    ),
    "small-hard": _small("as small, with hard attention", {"attention": "hard", "coverage_weight": 0.0}, {}, 20),
}
