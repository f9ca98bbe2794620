"""Cards of captioners: groups of pictures where a baseline is better, and parameters without statistics."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
import torch

from hf_attention_zoo import ShowAttendTellConfig, ShowAttendTellForConditionalGeneration
from hf_attention_zoo.folders.run_facts import versions
from hf_attention_zoo.hub.cards import build_card


def scores(bleu4: float, cider: float) -> dict[str, float]:
    return {"bleu4": bleu4, "cider": cider}


METRICS = {
    "task": "image-captioning",
    "dataset": {"name": "pictures", "split": "test", "rows": 1240, "language": "en"},
    "results": {"bleu4": {"value": 50.0, "signature": "s"}, "cider": 5.0},
    "baselines": {"nearest": scores(40.0, 4.0)},
    "groups": [
        {"group": "seen=False", "rows": 1040, **scores(10.0, 0.5), "baselines": {"nearest": scores(12.0, 0.4)}},
        {"group": "seen=True", "rows": 200, **scores(60.0, 6.0), "baselines": {"nearest": scores(45.0, 5.0)}},
    ],
}
NEAREST = "the caption of the training picture whose features are nearest"


@pytest.fixture
def captioner(tmp_path: Path) -> Path:
    """A saved captioner whose encoder has batch normalisation."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 9, "embedding_size": 4, "hidden_size": 4, "annotation_size": 112}
    config = ShowAttendTellConfig(**sizes, image_encoder="efficientnet_lite0", attention="hard")
    ShowAttendTellForConditionalGeneration(config).half().save_pretrained(tmp_path / "captioner")
    return tmp_path / "captioner"


def test_a_baseline_that_is_better_in_one_group_alone_is_a_limit(captioner: Path) -> None:
    (captioner / "metrics.json").write_text(json.dumps(METRICS))
    card = build_card(captioner)
    assert (
        f"A simpler way is better on the 1,040 rows of seen=False: {NEAREST} in BLEU-4 (12.00 against 10.00)." in card
    )
    assert card.count("A simpler way is better") == 1


def test_packages_of_scores_without_a_signature_are_named(captioner: Path) -> None:
    (captioner / "metrics.json").write_text(
        json.dumps({**METRICS, "versions": versions("pycocoevalcap", "none-such")})
    )
    card = build_card(captioner)
    assert "- CIDEr: as `pycocoevalcap` computes it" in card and "`nltk`" not in card  # it has no METEOR
    assert f", pycocoevalcap {metadata.version('pycocoevalcap')}\n" in card and "none-such" not in card


def test_statistics_of_an_encoder_are_no_parameters(captioner: Path) -> None:
    model = ShowAttendTellForConditionalGeneration.from_pretrained(captioner)
    assert f"It has {model.num_parameters():,} parameters (" in build_card(captioner)
    assert "MB of float16 weights)" in build_card(captioner)
