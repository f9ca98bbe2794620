"""transformers' pipelines over saved ELMo folders, and the training commands that make such folders."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoModelForTokenClassification, pipeline

from hf_attention_zoo import (
    ELMoForPreTraining,
    ELMoForSequenceClassification,
    ELMoForTokenClassification,
    ELMoModel,
    get_architecture,
)
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer

TEXTS = ["The play was good.", "They play.", "A very good garden, 고양이!"]


def saved(model_class: type, folder: Path) -> Path:
    torch.manual_seed(0)
    tokenizer = WordCharacterTokenizer.train(TEXTS[:2], vocab_size=40)
    config = get_architecture("elmo").tiny_config()
    model_class(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_features_are_one_vector_a_word_alone_and_in_batches(tmp_path: Path) -> None:
    pipe = pipeline("feature-extraction", model=str(saved(ELMoModel, tmp_path)))
    one = pipe(TEXTS[0])
    assert len(one[0]) == 5 and len(one[0][0]) == 12
    for alone, text in zip(pipe(TEXTS, batch_size=3), TEXTS, strict=True):
        torch.testing.assert_close(torch.tensor(alone[0][:3]), torch.tensor(pipe(text)[0][:3]), rtol=0, atol=1e-5)
    assert torch.tensor(pipe("")).abs().sum() == 0


def test_texts_are_classified_alone_and_in_batches(tmp_path: Path) -> None:
    pipe = pipeline("text-classification", model=str(saved(ELMoForSequenceClassification, tmp_path)), top_k=None)
    together = pipe([*TEXTS, ""], batch_size=4)
    for text, wanted in zip([*TEXTS, ""], together, strict=True):
        (alone,) = pipe([text])
        assert {one["label"]: pytest.approx(one["score"], abs=1e-5) for one in alone} == {
            one["label"]: one["score"] for one in wanted
        }


def test_words_are_tagged_with_their_places_known_and_unknown_ones(tmp_path: Path) -> None:
    pipe = pipeline("token-classification", model=str(saved(ELMoForTokenClassification, tmp_path)), ignore_labels=[])
    found = pipe(TEXTS[2])
    assert [one["word"] for one in found] == ["A", "very", "good", "garden", ",", "고양이", "!"]
    assert [TEXTS[2][one["start"] : one["end"]] for one in found] == [one["word"] for one in found]
    batched = pipe(TEXTS, batch_size=2)
    assert [len(one) for one in batched] == [5, 3, 7]
    assert batched[2][3]["score"] == pytest.approx(found[3]["score"], abs=1e-5)
    words = pipe([["don't", "play"]], is_split_into_words=True)
    assert [one["word"] for one in words[0]] == ["don't", "play"]


def test_a_language_model_becomes_a_classifier_and_a_tagger_by_the_training_command(tmp_path: Path) -> None:
    start = saved(ELMoForPreTraining, tmp_path / "start")
    rows = [{"text": text, "label": ["bad", "good"][number % 2]} for number, text in enumerate(TEXTS * 4)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tagged = [{"words": ["They", "play", "."], "tags": ["PRON", "VERB", "PUNCT"]}] * 8
    (tmp_path / "tags.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tagged))
    common = ["--recipe", "small", "--model", str(start), "--max_steps", "2", "--eval_strategy", "no"]
    common += ["--save_strategy", "no", "--load_best_model_at_end", "False", "--logging_steps", "1"]
    for file, task, auto in (
        ("texts.jsonl", "text-classification", AutoModelForSequenceClassification),
        ("tags.jsonl", "token-classification", AutoModelForTokenClassification),
    ):
        out = tmp_path / task
        flags = ["--dataset", str(tmp_path / file), "--task", task, "--output_dir", str(out)]
        assert main(["train", "elmo", *common, *flags]) == 0
        model = auto.from_pretrained(out)
        body = ELMoModel.from_pretrained(start)
        for name, tensor in body.bilm.state_dict().items():
            assert torch.equal(model.model.bilm.state_dict()[name], tensor), f"the frozen biLM changed: {name}"
        assert model.model.mixes[0].gamma.item() != 1.0
        answer = pipeline(task, model=str(out))("They play .")
        assert answer
