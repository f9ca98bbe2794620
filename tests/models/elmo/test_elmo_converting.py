"""The authors' layout of weights: their own fixture, the way back, and files that are something else.

`authors_fixture` holds the random small model of the authors' repository (allenai/bilm-tf, Apache-2.0), ten sentences
of three texts, and the top layer's vectors that their TensorFlow code gave for them in batches of three, with the
state carried from batch to batch.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from elmo_cases import made
from transformers import AutoModel, AutoModelForPreTraining, AutoTokenizer

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.models.elmo.convert_elmo import convert_weights, tokenizer_for, write_weights
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForPreTraining, ELMoModel

h5py = pytest.importorskip("h5py", reason="published weights are HDF5 files; the extra `elmo` brings h5py")

FIXTURE = Path(__file__).parent / "authors_fixture"
WEIGHTS, OPTIONS, VOCABULARY = FIXTURE / "lm_weights.hdf5", FIXTURE / "options.json", FIXTURE / "vocab_test.txt"


def vectors(model: ELMoModel) -> list[list[torch.Tensor]]:
    """Top-layer vectors (2, T, 16) of each batch and text, forwards and backwards as the fixture has them."""
    texts = json.loads((FIXTURE / "lm_embeddings_sentences.json").read_text())
    tokenizer = tokenizer_for(VOCABULARY, OPTIONS)
    found = []
    for number in range(len(texts[0])):
        words = [text[number].split() for text in texts]
        batch = tokenizer(words, is_split_into_words=True, padding=True, return_tensors="pt")
        with torch.no_grad():
            top = model(**batch, output_hidden_states=True).hidden_states[-1]
        found.append([torch.stack(top[row, : len(words[row])].chunk(2, -1)) for row in range(len(words))])
    return found


def largest_difference(found: list[list[torch.Tensor]], batches: range) -> float:
    worst = 0.0
    for row in range(len(found[0])):
        with h5py.File(FIXTURE / f"lm_embeddings_{row}.hdf5", "r") as file:
            for number in batches:
                wanted = torch.from_numpy(file[str(number)][...])
                worst = max(worst, (found[number][row] - wanted).abs().max().item())
    return worst


def test_vectors_are_those_of_the_authors_code() -> None:
    found = vectors(convert_weights(WEIGHTS, OPTIONS, stateful=True))
    assert len(found) == 10 and largest_difference(found, range(10)) < 2e-6


def test_without_carried_state_the_first_batch_is_the_authors_and_later_ones_are_not() -> None:
    found = vectors(convert_weights(WEIGHTS, OPTIONS))
    assert largest_difference(found, range(1)) < 2e-6
    assert largest_difference(found, range(1, 10)) > 0.1


@pytest.mark.parametrize(
    "mistake", ["ids not moved by one", "carry gate the other way", "gates in another order", "forget bias twice"]
)
def test_the_known_mistakes_would_be_seen(mistake: str) -> None:
    model = convert_weights(WEIGHTS, OPTIONS, stateful=True)
    with torch.no_grad():
        if mistake == "ids not moved by one":
            table = model.bilm.characters.embedding.weight
            table.copy_(table.roll(1, 0).clone())
        elif mistake == "carry gate the other way":
            for highway in model.bilm.characters.highways:
                highway.carry.weight.neg_()
                highway.carry.bias.neg_()
        for layer in model.bilm.layers:
            for lstm in (layer.forward_lstm, layer.backward_lstm):
                if mistake == "gates in another order":
                    i, f, g, o = lstm.input_weight.clone().chunk(4)
                    lstm.input_weight.copy_(torch.cat([i, g, f, o]))
                elif mistake == "forget bias twice":
                    lstm.bias.chunk(4)[1].add_(1.0)
    assert largest_difference(vectors(model), range(10)) > 1e-3


def test_writing_back_loses_nothing(tmp_path: Path) -> None:
    model = convert_weights(WEIGHTS, OPTIONS)
    write_weights(model, tmp_path)
    with h5py.File(WEIGHTS, "r") as old, h5py.File(tmp_path / "weights.hdf5", "r") as new:
        names: list[str] = []
        old.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(names) > 20
        for name in names:
            assert (old[name][...] == new[name][...]).all(), name
    again = convert_weights(tmp_path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


def test_a_file_with_a_softmax_is_a_language_model(tmp_path: Path) -> None:
    model = made(ELMoForPreTraining, torch.float32)
    write_weights(model, tmp_path)
    again = convert_weights(tmp_path)
    assert isinstance(again, ELMoForPreTraining) and again.config.vocab_size == 48
    assert torch.equal(again.lm_head.weight, model.lm_head.weight)
    assert all(torch.equal(again.state_dict()[name], tensor) for name, tensor in model.state_dict().items())


def test_the_command_writes_a_folder_that_the_auto_classes_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "theirs"
    source.mkdir()
    shutil.copy(WEIGHTS, source / "elmo_weights.hdf5")
    shutil.copy(OPTIONS, source / "elmo_options.json")
    shutil.copy(VOCABULARY, source / "vocab.txt")
    assert main(["convert", str(source), str(tmp_path / "ours"), "--from", "elmo"]) == 0
    assert "parameters and 449 words written" in capsys.readouterr().out
    model, tokenizer = AutoModel.from_pretrained(tmp_path / "ours"), AutoTokenizer.from_pretrained(tmp_path / "ours")
    wanted = convert_weights(WEIGHTS, OPTIONS)
    batch = tokenizer(["The cat", ""], padding=True, return_tensors="pt")
    torch.testing.assert_close(model(**batch)[0], wanted(**batch)[0], rtol=0, atol=1e-6)
    assert len(tokenizer) == 449
    language_model = AutoModelForPreTraining.from_pretrained(tmp_path / "ours", vocab_size=len(tokenizer))
    assert torch.equal(language_model.model.bilm.layers[0].forward_lstm.bias, wanted.bilm.layers[0].forward_lstm.bias)


def test_rows_of_the_softmax_follow_their_words_wherever_the_special_ones_stand(tmp_path: Path) -> None:
    model = made(ELMoForPreTraining, torch.float32)
    theirs = tmp_path / "theirs"
    write_weights(model, theirs)
    words = ["the", "</S>", *(f"w{number}" for number in range(44)), "<UNK>", "<S>"]
    (theirs / "vocab.txt").write_text("\n".join(words) + "\n")
    assert main(["convert", str(theirs), str(tmp_path / "ours"), "--from", "elmo"]) == 0
    again = AutoModelForPreTraining.from_pretrained(tmp_path / "ours")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3]) == ["<S>", "</S>", "<UNK>", "the"]
    batch = tokenizer("w7 the", return_tensors="pt")
    with torch.no_grad():
        wanted, found = model(**batch).forward_logits, again(**batch).forward_logits
    for row, word in enumerate(words):
        torch.testing.assert_close(found[..., tokenizer.convert_tokens_to_ids(word)], wanted[..., row])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (None, "no vocabulary stands beside them"),
        (["<S>", "</S>", "<UNK>", "the"], "4 words, 4 of them different and 4 with"),
        ([f"w{number}" for number in range(48)], "48 words, 48 of them different and 51 with"),
        (["<S>", "</S>", "<UNK>", *["the"] * 45], "48 words, 4 of them different"),
    ],
)
def test_a_vocabulary_that_does_not_name_each_row_is_refused(
    tmp_path: Path, words: list[str] | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_weights(made(ELMoForPreTraining, torch.float32), tmp_path / "theirs")
    if words is not None:
        (tmp_path / "theirs" / "vocab.txt").write_text("\n".join(words))
    assert main(["convert", str(tmp_path / "theirs"), str(tmp_path / "ours"), "--from", "elmo"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda options: options.pop("char_cnn"), "has char_cnn and lstm"),
        (lambda options: options["char_cnn"].update(n_characters=300), "n_characters=300"),
        (lambda options: options["lstm"].update(dim=32), "the options say"),
        (lambda options: options["lstm"].update(n_layers=3), "has no RNN_0/RNN/MultiRNNCell/Cell2"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, change: Any, message: str) -> None:
    options = json.loads(OPTIONS.read_text())
    change(options)
    (tmp_path / "options.json").write_text(json.dumps(options))
    with pytest.raises(ValueError, match=message):
        convert_weights(WEIGHTS, tmp_path / "options.json")


def test_missing_and_ambiguous_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 HDF5 files"):
        convert_weights(tmp_path)
    shutil.copy(WEIGHTS, tmp_path / "one.hdf5")
    with pytest.raises(ValueError, match="0 options files"):
        convert_weights(tmp_path)
    shutil.copy(WEIGHTS, tmp_path / "two.hdf5")
    with pytest.raises(ValueError, match="2 HDF5 files"):
        convert_weights(tmp_path)
