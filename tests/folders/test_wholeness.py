"""Damaged folders: every command that loads one says which file is damaged, in one line, and writes nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.folders.wholeness import check_whole

Damage = Callable[[Path], None]


def settings(**changes: object) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def cut(name: str, keep: int) -> Damage:
    """Only so many bytes of a file are left; from the end if it is negative."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:keep]) and None


def text(name: str, content: str) -> Damage:
    return lambda folder: (folder / name).write_text(content) and None


def weights(change: Callable[[dict[str, torch.Tensor]], None]) -> Damage:
    def damage(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return damage


DAMAGES: dict[str, tuple[Damage, str]] = {
    "no weights": (cut("model.safetensors", 0), "model.safetensors is damaged: 0 bytes"),
    "weights cut in the header": (cut("model.safetensors", 100), "model.safetensors is damaged"),
    "weights cut": (cut("model.safetensors", -100), "model.safetensors is damaged: its header tells of"),
    "a header of nonsense": (
        text("model.safetensors", "\x08" + "\0" * 7 + "nonsense"),
        "model.safetensors is damaged",
    ),
    "a weight is missing": (
        weights(lambda all: all.update(out=all.pop("lm_head.bias")) or all.pop("out") is None),
        "lacks weights of a RNNsearch",
    ),
    "a weight has another name": (
        weights(lambda all: all.update(other=all.pop("lm_head.bias"))),
        "it has other instead",
    ),
    "a tokenizer that is cut": (cut("tokenizer.json", 200), "tokenizer.json is damaged: it is no JSON"),
    "an empty tokenizer": (text("tokenizer.json", ""), "tokenizer.json is damaged"),
    "a tokenizer without a model": (text("tokenizer.json", "{}"), "tokenizer.json is damaged: it is no tokenizer"),
    "the target's tokenizer": (text("target_tokenizer.json", '{"model": 3}'), "target_tokenizer.json is damaged"),
    "settings of the tokenizer": (text("tokenizer_config.json", "[]"), "tokenizer_config.json is damaged"),
    "generation": (text("generation_config.json", "{"), "generation_config.json is damaged"),
    "a config that is cut": (cut("config.json", 50), "config.json is"),
    "a config that is a list": (text("config.json", "[1]"), "config.json"),
    "deep JSON": (text("config.json", '{"a":' * 100_000), "config.json"),
    "a word for a number": (settings(hidden_size="big"), "hidden_size"),
    "no number": (settings(vocab_size=None), "vocab_size"),
    "a fraction": (settings(hidden_size=12.5), "hidden_size"),
    "another size": (settings(hidden_size=20), "cannot be loaded"),
    "an impossible size": (settings(hidden_size=10**12), "cannot be loaded"),
    "a negative size": (settings(hidden_size=-1), "hidden_size is -1"),
    "an unknown number type": (settings(dtype="float99"), "float99"),
    "labels as a list": (settings(id2label=[1, 2]), "is no RNNsearchConfig"),
    "classes of another type": (settings(architectures=3), "architectures is 3"),
    "a model type that is a list": (settings(model_type=["x"]), "model_type"),
    "an unknown model type": (settings(model_type="nothing"), "nothing"),
}


@pytest.fixture
def damaged(saved_folder: Path, tmp_path: Path) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        copy = tmp_path / "model"
        copy.mkdir()
        for path in saved_folder.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
        DAMAGES[name][0](copy)
        return copy

    return make


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_one_line_that_names_it(
    damaged: Callable[[str], Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged(name)
    with pytest.raises(ValueError, match=DAMAGES[name][1]):
        load_checkpoint(folder)
    capsys.readouterr()
    assert main(["translate", str(folder), "das haus"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and "Traceback" not in err and DAMAGES[name][1] in err


def commands(folder: Path, other: Path, out: Path) -> dict[str, list[str]]:
    """Every command that loads a folder."""
    pairs = ["--dataset", str(other), "--split", "test"]
    lines = other / "lines.txt"
    lines.write_text("das haus\tthe house\n", encoding="utf-8")
    training = ["--output_dir", str(out), "--train_file", str(other / "test.jsonl"), "--validation_share", "0.4"]
    training += ["--max_steps", "1", "--use_cpu", "True", "--report_to", "none"]
    return {
        "evaluate": ["evaluate", str(folder), *pairs],
        "translate": ["translate", str(folder), str(lines), "--output", str(out)],
        "align": ["align", str(folder), "das haus", "--output", str(out)],
        "sentence-vectors": ["sentence-vectors", str(folder), "--text", "das haus", "--output", str(out)],
        "score": ["score", str(folder), str(lines)],
        "links": ["links", str(folder), str(lines)],
        "parse": ["parse", str(folder), "das haus"],
        "card": ["card", str(folder)],
        "convert": ["convert", str(folder), str(out)],
        "export": ["export", str(folder), str(out)],
        "export with code": ["export", str(folder), str(out), "--with-code"],
        "publish": ["publish", str(folder), "ada/model", "--dry-run"],
        "train from it": ["train", "rnnsearch", "--model", str(folder), *training],
        "train with its tokenizer": ["train", "rnnsearch", "--tokenizer", str(folder), *training],
    }


BY_COMMAND = ("weights cut", "a tokenizer that is cut", "a config that is cut", "a word for a number")


@pytest.mark.parametrize("name", BY_COMMAND)
def test_every_command_refuses_a_damaged_folder(
    damaged: Callable[[str], Path], pair_file: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged(name)
    of_weights = name == "weights cut"
    for said, argv in commands(folder, pair_file, tmp_path / "out").items():
        if of_weights and said == "train with its tokenizer":
            continue  # it reads no weights
        try:
            code = main(argv)
        except SystemExit as stopped:
            code = stopped.code
        out, err = capsys.readouterr()
        assert code == 2, (said, name, out, err)
        assert "Traceback" not in err and str(folder) in err.splitlines()[-1], (said, name, err)


def test_whole_folders_pass(saved_folder: Path) -> None:
    check_whole(saved_folder)
    load_checkpoint(saved_folder)
