"""Scores of pairs of texts: their values, their order, and the command that scores a file."""

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_attention_zoo import TranslationTokenizer, get_architecture, list_architectures, score
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.translation.phrase_scoring import unknown_words

SEQ2SEQ = "AutoModelForSeq2SeqLM"
SOURCES = ["ein haus", "", "die katze und der hund schläft nicht", "das haus", "ein haus"]
TARGETS = ["a house", "the dog", "the cat does not zzz sleep", "", "the cat"]


@pytest.fixture(scope="module")
def tokenizer() -> TranslationTokenizer:
    german = ["das haus ist gross", "die katze schläft nicht", "ein kleines haus", "der hund und die katze"]
    english = ["the house is big", "the cat does not sleep", "a small house", "the dog and the cat"]
    return TranslationTokenizer.train(german, english, kind="word", vocab_size=48, target_vocab_size=40)


@pytest.fixture(params=[row.model_type for row in list_architectures() if SEQ2SEQ in row.models])
def model(request: pytest.FixtureRequest, tokenizer: TranslationTokenizer) -> Any:
    return spread_model(request.param, tokenizer)


def spread_model(name: str, tokenizer: TranslationTokenizer) -> Any:
    row = get_architecture(name)
    config = row.tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    model = row.model_classes[SEQ2SEQ](config)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model.eval()


def word_by_word(model: Any, tokenizer: TranslationTokenizer, source: str, target: str) -> float:
    """log p of one pair, one word after the other and without a cache."""
    words, total = [model.config.decoder_start_token_id], 0.0
    for word in tokenizer(text_target=target)["input_ids"]:
        inputs = tokenizer(source, return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs, decoder_input_ids=torch.tensor([words])).logits[0, -1]
        total += logits.log_softmax(-1)[word].item()
        words.append(word)
    return total


def test_a_model_that_does_not_translate_is_refused(tokenizer: TranslationTokenizer) -> None:
    row = get_architecture("bert2018")
    with pytest.raises(ValueError, match="BERT2018ForMaskedLM has no p\\(target"):
        score(row.model_classes["AutoModelForMaskedLM"](row.tiny_config()), tokenizer, ["haus"], ["house"])


def test_scores_are_sums_over_words_in_the_order_of_the_pairs(model: Any, tokenizer: TranslationTokenizer) -> None:
    wanted = [word_by_word(model, tokenizer, *pair) for pair in zip(SOURCES, TARGETS, strict=True)]
    for batch_size in (1, 2, 64):
        assert score(model, tokenizer, SOURCES, TARGETS, batch_size=batch_size) == pytest.approx(wanted, abs=1e-4)
    assert len(set(wanted)) == len(wanted)


def test_padding_on_the_left_gives_the_same_scores(model: Any, tokenizer: TranslationTokenizer) -> None:
    wanted = score(model, tokenizer, SOURCES, TARGETS)
    try:
        tokenizer.padding_side = "left"
        assert score(model, tokenizer, SOURCES, TARGETS) == pytest.approx(wanted, abs=1e-4)
    finally:
        tokenizer.padding_side = "right"


def test_scoring_happens_without_dropout_and_leaves_the_mode(tokenizer: TranslationTokenizer) -> None:
    model = spread_model("rnn_encoder_decoder", tokenizer)
    wanted = score(model, tokenizer, SOURCES, TARGETS)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    assert score(model, tokenizer, SOURCES, TARGETS) == wanted
    assert model.training and all(parameter.grad is None for parameter in model.parameters())


def test_texts_and_ids_have_one_score(tokenizer: TranslationTokenizer) -> None:
    model = spread_model("rnn_encoder_decoder", tokenizer)
    batch = tokenizer(["das haus"], text_target=["the house"], return_tensors="pt")
    with torch.no_grad():
        ids = model.score(batch["input_ids"], batch["labels"], batch["attention_mask"])
    assert score(model, tokenizer, "das haus", "the house") == pytest.approx(ids.tolist(), abs=1e-6)


def test_wrong_input_is_named_before_anything_is_computed(tokenizer: TranslationTokenizer) -> None:
    model = spread_model("rnn_encoder_decoder", tokenizer)
    assert score(model, tokenizer, [], []) == []
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        score(model, tokenizer, ["a", "b"], ["c"])
    with pytest.raises(ValueError, match=r"targets\[1\] is of type int"):
        score(model, tokenizer, ["a", "b"], ["c", 7])
    with pytest.raises(ValueError, match="batch_size must be"):
        score(model, tokenizer, ["a"], ["b"], batch_size=0)


def test_unknown_words_are_counted_on_the_side_that_is_asked_for(tokenizer: TranslationTokenizer) -> None:
    assert unknown_words(tokenizer, TARGETS) == [0, 0, 1, 0, 0]
    assert unknown_words(tokenizer, ["das house", "ein haus"], side="source") == [1, 0]
    assert unknown_words(tokenizer, []) == []
    with pytest.raises(ValueError, match="'source' or 'target'"):
        unknown_words(tokenizer, TARGETS, side="both")


@pytest.fixture
def folder(tokenizer: TranslationTokenizer, tmp_path: Path) -> Path:
    path = tmp_path / "model"
    spread_model("rnn_encoder_decoder", tokenizer).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_command_writes_each_pair_again_with_its_score(
    folder: Path, tokenizer: TranslationTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = spread_model("rnn_encoder_decoder", tokenizer)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{s}\t{t}\tnote\n" for s, t in zip(SOURCES, TARGETS, strict=True)), encoding="utf-8")
    assert main(["score", str(folder), str(pairs), "--unknown_words"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:3] for row in rows] == [[s, t, "note"] for s, t in zip(SOURCES, TARGETS, strict=True)]
    wanted = score(model, tokenizer, SOURCES, TARGETS)
    assert [float(row[3]) for row in rows] == pytest.approx(wanted, abs=1e-5)
    assert [int(row[4]) for row in rows] == [0, 0, 1, 0, 0]
    assert main(["score", str(folder), str(pairs), "--output", str(tmp_path / "out.tsv")]) == 0
    written = (tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t") for line in written] == [row[:4] for row in rows]


def test_command_says_what_is_wrong_with_a_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\nno tab here\n", encoding="utf-8")
    assert main(["score", str(folder), str(pairs)]) == 2
    assert "line 2" in capsys.readouterr().err
    assert main(["score", str(folder), str(tmp_path / "absent.tsv")]) == 2
    assert "no such file" in capsys.readouterr().err
    pairs.write_bytes(b"\xff\tb\n")
    assert main(["score", str(folder), str(pairs)]) == 2
    assert "not UTF-8" in capsys.readouterr().err
    pairs.write_text("", encoding="utf-8")
    assert main(["score", str(folder), str(pairs)]) == 0
    assert capsys.readouterr().out == ""
