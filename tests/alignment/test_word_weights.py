"""The weight of a word by label, and what its absence changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_attention_zoo import HANConfig, HANForSequenceClassification, HierarchicalTokenizer
from hf_attention_zoo.alignment.results.word_weights import (
    inner_pieces,
    measure_word_weights,
    places_of,
    rank_correlation,
)
from hf_attention_zoo.cli.command import main

TEXTS = ["it was good. good food", "it was bad", "good", "really good 영화!", "nothing here", "a good, good day. bad"]
LABELS = [1, 0, 1, 2, 0, 1]
NAMES = ("neg", "pos", "top")


def classifier(**changes: Any) -> tuple[HANForSequenceClassification, HierarchicalTokenizer]:
    tokenizer = HierarchicalTokenizer.train(TEXTS, vocab_size=60)
    torch.manual_seed(2)
    config = HANConfig(
        vocab_size=len(tokenizer),
        embedding_size=8,
        hidden_size=6,
        attention_size=8,
        initializer_range=1.0,
        id2label=dict(enumerate(NAMES)),
        label2id={name: index for index, name in enumerate(NAMES)},
        **changes,
    )
    return HANForSequenceClassification(config).eval(), tokenizer


def scores(model: Any, tokenizer: Any, text: Any) -> np.ndarray:
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0].numpy()


def test_the_beginning_of_another_word_is_no_occurrence() -> None:
    tokenizer = HierarchicalTokenizer.train(
        ["good good good me day food ! ness ies"] * 9, kind="subword", vocab_size=60
    )
    texts = ["goodness me", "a good day. good!"]
    (wanted,) = tokenizer("good")["input_ids"]
    documents = tokenizer(texts)["input_ids"]
    assert len(places_of(documents[0], wanted)) == 1  # as pieces it is there
    inner = inner_pieces(tokenizer, documents)
    assert [places_of(ids, wanted, inner) for ids in documents] == [[], places_of(documents[1], wanted)]
    assert len(places_of(documents[1], wanted)) == 2


def test_documents_of_which_nothing_is_left_are_read_one_by_one() -> None:
    model, tokenizer = classifier()
    found = measure_word_weights(model, tokenizer, "good", ["good", "good", "bad"], [0, 1, 0])
    assert len(found.together().shares) == 2


def test_weights_and_changes_are_those_of_reading_each_document_by_hand() -> None:
    model, tokenizer = classifier()
    found = measure_word_weights(model, tokenizer, "good", TEXTS, LABELS, batch_size=2)
    assert {label: len(part.shares) for label, part in found.by_label.items()} == {"neg": 0, "pos": 3, "top": 1}
    assert len(found.by_label["pos"].weights) == 5 and found.documents == 6
    with torch.no_grad():
        words, sentences = model(**tokenizer(TEXTS[0], return_tensors="pt"), output_attentions=True).attentions
    assert found.by_label["pos"].weights[:2] == pytest.approx([words[0, 0, 2].item(), words[0, 1, 0].item()], abs=1e-6)
    share = sentences[0, 0] * words[0, 0, 2] + sentences[0, 1] * words[0, 1, 0]
    assert found.by_label["pos"].shares[0] == pytest.approx(share.item(), abs=1e-6)
    before, after = scores(model, tokenizer, TEXTS[0]), scores(model, tokenizer, [["it was .", "food"]])
    best = before.argmax()
    assert found.by_label["pos"].without_word[0] == pytest.approx(float(after[best] - before[best]), abs=1e-6)
    alone = found.by_label["pos"]  # the document that is nothing but the word: without it there is only the bias
    bias = model.classifier.bias.softmax(-1).detach().numpy()
    only = scores(model, tokenizer, "good")
    assert alone.without_word[1] == pytest.approx(float(bias[only.argmax()] - only.max()), abs=1e-6)
    assert np.isnan(alone.without_others[1]) and np.isfinite(alone.without_others[0])


def test_the_tokenizers_padding_side_changes_nothing() -> None:
    model, tokenizer = classifier()
    right = measure_word_weights(model, tokenizer, "good", TEXTS, LABELS)
    tokenizer.padding_side = "left"
    left = measure_word_weights(model, tokenizer, "good", TEXTS, LABELS)
    assert left.by_label["pos"].weights == pytest.approx(right.by_label["pos"].weights, abs=1e-6)
    assert left.by_label["pos"].shares == pytest.approx(right.by_label["pos"].shares, abs=1e-6)


def test_the_record_the_table_and_the_picture_say_the_same(tmp_path: Path) -> None:
    found = measure_word_weights(*classifier(), "good", TEXTS, LABELS)
    record = json.loads(found.to_json(tmp_path / "w.json"))
    assert record["all"]["occurrences"] == 6 and record["labels"]["pos"]["documents"] == 3
    assert sum(record["all"]["histogram"]) == 6 and record["labels"]["neg"]["mean_weight"] is None
    assert json.loads((tmp_path / "w.json").read_text(encoding="utf-8")) == record
    assert len(found.table().splitlines()) == 5
    figure = found.plot(tmp_path / "w.png")
    assert (tmp_path / "w.png").stat().st_size > 1000 and len(figure.axes) == 3
    with pytest.raises(ValueError, match="suffix"):
        found.plot("w.bmp")


def test_numbers_are_grouped_and_several_labels_count_for_each() -> None:
    model, tokenizer = classifier(problem_type="multi_label_classification")
    several = [[0, 1, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]]
    found = measure_word_weights(model, tokenizer, "good", TEXTS, several)
    assert [len(part.shares) for part in found.by_label.values()] == [1, 2, 2]
    config = HANConfig(
        vocab_size=len(tokenizer),
        embedding_size=8,
        hidden_size=6,
        attention_size=8,
        num_labels=1,
        problem_type="regression",
    )
    found = measure_word_weights(
        HANForSequenceClassification(config), tokenizer, "good", TEXTS, [4.6, 1, 2, 10.1, 2, 5.0]
    )
    assert list(found.by_label) == ["2", "5", "10"] and found.together().changed == 0


def test_a_word_of_several_pieces_is_found_as_a_whole() -> None:
    tokenizer = HierarchicalTokenizer.train(TEXTS, vocab_size=45, kind="subword")
    model, _ = classifier()
    model.resize_token_embeddings(len(tokenizer))
    assert len(tokenizer("really")["input_ids"][0]) > 1
    found = measure_word_weights(model, tokenizer, "really", TEXTS, LABELS)
    assert len(found.by_label["top"].weights) == 1


def test_places_do_not_overlap() -> None:
    assert places_of([[1, 1, 1], [2], [1, 1]], [1, 1]) == [(0, 0, 2), (2, 0, 2)]


def test_rank_correlation_is_that_of_ranks_with_ties() -> None:
    assert rank_correlation(np.array([1.0, 2, 3]), np.array([10.0, 20, 1000])) == pytest.approx(1)
    assert rank_correlation(np.array([1.0, 2, 2, 3]), np.array([4.0, 2, 2, 1])) == pytest.approx(-1)
    assert rank_correlation(np.array([1.0, 1, 1]), np.array([1.0, 2, 3])) is None


@pytest.mark.parametrize(
    "word, message",
    [
        ("good food", "not one word"),
        ("", "not one word"),
        ("unheard", "not in its vocabulary"),
        ("nothing", None),
    ],
)
def test_words_that_cannot_be_measured_are_refused(word: str, message: str | None) -> None:
    model, tokenizer = classifier()
    if message is None:
        with pytest.raises(ValueError, match="none of the 4 documents has the word"):
            measure_word_weights(model, tokenizer, word, TEXTS[:4], LABELS[:4])
        return
    with pytest.raises(ValueError, match=message):
        measure_word_weights(model, tokenizer, word, TEXTS, LABELS)


def test_the_command_reads_a_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, tokenizer = classifier()
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    rows = "".join(
        json.dumps({"text": text, "label": NAMES[label]}) + "\n" for text, label in zip(TEXTS, LABELS, strict=True)
    )
    (tmp_path / "data").mkdir()
    for split in ("test", "dev"):
        (tmp_path / "data" / f"{split}.jsonl").write_text(rows, encoding="utf-8")
    output = tmp_path / "weights.json"
    command = ["word-weights", str(tmp_path / "model"), "good", "--dataset", str(tmp_path / "data")]
    assert main([*command, "--output", str(output)]) == 0
    said = capsys.readouterr().out
    assert "rank correlation" in said and "pos" in said
    assert json.loads(output.read_text(encoding="utf-8"))["all"]["occurrences"] == 6
    assert main([*command, "--split", "dev"]) == 0
    assert main([*command[:2], "unheard", *command[3:]]) == 2
    assert "not in its vocabulary" in capsys.readouterr().err
