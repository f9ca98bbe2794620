"""Sentence vectors in two dimensions: the plane is the principal one, the picture shows every sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_attention_zoo import TranslationTokenizer, get_architecture
from hf_attention_zoo.alignment.results.sentence_projection import (
    SentenceProjection,
    models_with_vectors,
    principal_plane,
    project_sentences,
    sentence_vectors,
)
from hf_attention_zoo.cli.command import main

TEXTS = [
    "das haus ist gross",
    "die katze schläft",
    "ein kleines haus",
    "der hund",
    "나는 학교에 간다",
    "학교에 나는 간다",
]


@pytest.fixture(scope="module")
def tokenizer() -> TranslationTokenizer:
    return TranslationTokenizer.train(TEXTS * 3, ["the house is big", "a cat"] * 9, kind="word", vocab_size=40)


def model_of(name: str, tokenizer: TranslationTokenizer) -> Any:
    row = get_architecture(name)
    config = row.tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    model = row.model_classes["AutoModelForSeq2SeqLM"](config)
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def test_the_plane_holds_what_the_covariance_says() -> None:
    vectors = np.random.default_rng(0).normal(size=(20, 7)) * np.array([5, 3, 1, 1, 0.5, 0.2, 0.1]) + 4
    points, explained = principal_plane(vectors)
    variances = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    np.testing.assert_allclose(points.var(0, ddof=1), variances[:2], rtol=1e-10)
    np.testing.assert_allclose(explained, variances[:2] / variances.sum(), rtol=1e-10)
    np.testing.assert_allclose(points.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(principal_plane(vectors[::-1])[0], points[::-1], atol=1e-10)


def test_two_sentences_lie_on_a_line() -> None:
    points, explained = principal_plane(np.array([[0.0, 0.0, 3.0], [0.0, 4.0, 0.0]]))
    assert abs(points[0, 0] - points[1, 0]) == pytest.approx(5.0)
    assert explained == pytest.approx((1.0, 0.0))
    np.testing.assert_allclose(points[:, 1], 0, atol=1e-12)


@pytest.mark.parametrize("name", ["seq2seq_lstm", "rnn_encoder_decoder"])
def test_vectors_are_those_of_each_sentence_alone_in_any_batch(name: str, tokenizer: TranslationTokenizer) -> None:
    model = model_of(name, tokenizer).train()
    alone = torch.cat([sentence_vectors(model, tokenizer, text) for text in TEXTS])
    for size in (1, 4, 64):
        torch.testing.assert_close(sentence_vectors(model, tokenizer, TEXTS, batch_size=size), alone)
    assert model.training and not alone.requires_grad
    assert len(project_sentences(model, tokenizer, TEXTS).points) == len(TEXTS)


def test_models_with_attention_have_no_such_vector_and_say_which_have(tokenizer: TranslationTokenizer) -> None:
    assert {"seq2seq_lstm", "rnn_encoder_decoder"} <= set(models_with_vectors())
    with pytest.raises(ValueError, match="Models with one: rnn_encoder_decoder, seq2seq_lstm"):
        sentence_vectors(model_of("luong", tokenizer), tokenizer, TEXTS)


def test_what_spans_no_plane_is_refused(tokenizer: TranslationTokenizer) -> None:
    model = model_of("seq2seq_lstm", tokenizer)
    with pytest.raises(ValueError, match="1 different sentences"):
        project_sentences(model, tokenizer, ["der hund", "der hund"])
    with pytest.raises(ValueError, match="same vector"):
        principal_plane(np.ones((4, 3)))
    with pytest.raises(ValueError, match="not all finite"):
        principal_plane(np.full((2, 2), np.nan))


def test_every_sentence_stands_in_the_picture_and_labels_do_not_cover_each_other(
    tokenizer: TranslationTokenizer, tmp_path: Path
) -> None:
    made = project_sentences(model_of("seq2seq_lstm", tokenizer), tokenizer, TEXTS, part="top")
    figure = made.plot(tmp_path / "sentences.png", title="문장")
    (axes,) = figure.axes
    drawn = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert drawn[:4] == TEXTS[:4] and len(drawn) == len(TEXTS)
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert (tmp_path / "sentences.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="suffix must be one of"):
        made.plot(tmp_path / "sentences.doc")


def test_of_a_document_the_first_words_stand_in_the_picture() -> None:
    texts = tuple(f"{number} " + "a document of many words " * 20 for number in range(12))
    points = np.random.default_rng(1).normal(scale=0.1, size=(12, 2))
    figure = SentenceProjection(texts, points, (0.6, 0.4)).plot()
    labels = [text for text in figure.axes[0].texts if text.get_text()]
    assert len(labels) == 12 and all(label.get_text().count("\n") == 1 for label in labels)
    assert all(label.get_text().endswith("...") for label in labels)
    boxes = [label.get_window_extent() for label in labels]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def test_the_command_draws_and_writes_numbers(
    tokenizer: TranslationTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, lines = tmp_path / "model", tmp_path / "lines.txt"
    model_of("seq2seq_lstm", tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    lines.write_text("\n".join(TEXTS[1:]) + "\n\n", encoding="utf-8")
    numbers, picture = tmp_path / "points.json", tmp_path / "points.svg"
    arguments = ["sentence-vectors", str(folder), "--text", TEXTS[0], "--file", str(lines), "--output"]
    assert main([*arguments, str(numbers)]) == 0
    assert [row["text"] for row in json.loads(numbers.read_text(encoding="utf-8"))["sentences"]] == TEXTS
    assert main([*arguments, str(picture)]) == 0
    assert picture.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert "6 sentences written" in capsys.readouterr().out
    assert main(["sentence-vectors", str(folder)]) == 2
    assert "give --text several times, or --file" in capsys.readouterr().err
