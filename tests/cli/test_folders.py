"""Commands by folders: a command works on a folder, or one line names the command that does."""

import json
import re
from pathlib import Path

import pytest

from hf_attention_zoo import get_architecture
from hf_attention_zoo.cli.command import COMMANDS, main
from hf_attention_zoo.cli.command_parser import SERVED, check_served
from hf_attention_zoo.folders.saved_model import saved_kind

Captured = pytest.CaptureFixture[str]

PUBLISHED = sorted((Path(__file__).parents[2] / "model_cards").iterdir())
# What follows the folder, for every command that takes one.
REST = {
    "align": ["text"],
    "sentence-vectors": ["--text", "a sentence"],
    "word-weights": ["word", "--dataset", "doc_debian_section"],
    "neighbours": ["word", "--text", "a word", "--dataset", "lm_debian"],
    "translate": ["text"],
    "score": ["-"],
    "links": ["-"],
    "parse": ["a sentence ."],
    "evaluate": [],
    "average": ["out"],
    "card": [],
    "convert": ["out"],
    "export": ["out"],
    "publish": ["me/model"],
    "train": [],
    "pretrain": [],
}


def command_line(command: str, folder: Path | str) -> list[str]:
    if command in ("train", "pretrain"):
        data = "quickstart_de_en" if command == "train" else "lm_debian"
        return [command, "bert2018", "--model", str(folder), "--dataset", data, "--output_dir", "out"]
    return [command, str(folder), *REST[command]]


def one_line(captured: Captured) -> str:
    printed = captured.readouterr()
    assert printed.out == ""
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1 and "Traceback" not in lines[0], printed.err
    return lines[0]


def test_every_command_is_known_here() -> None:
    without_folder = {"quickstart", "aer", "treebank", "parseval", "list", "lineage", "demo", "reproduce", "words"}
    assert set(COMMANDS) - without_folder == set(REST)
    assert set(SERVED) <= set(REST)


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_command_fits_a_published_folder_or_names_those_that_do(
    folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    kind = saved_kind(folder)
    fitting = [command for command, served in SERVED.items() if served.fits(kind)]
    assert "evaluate" in fitting
    attends = get_architecture(json.loads((folder / "config.json").read_text())["model_type"]).aligner is not None
    assert len(fitting) > 1 or not attends, "where it looked can be seen"
    for command, served in SERVED.items():
        if command in fitting:
            check_served(command, str(folder))
            continue
        assert main(command_line(command, folder)) == 2
        message = one_line(capsys)
        assert served.models in message
        advised = re.split(", | or ", message.rpartition("; for it there is attention-zoo ")[2])
        assert set(advised) == {name for name in fitting if SERVED[name].advised}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", sorted(REST))
def test_what_is_no_model_is_refused_in_one_line(
    command: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("no model\n")
    for folder in ("empty", "file.txt", "absent", "empty/absent", "./absent", str(tmp_path / "absent"), "no/such"):
        assert main(command_line(command, folder)) == 2, folder
        assert folder.removeprefix("./") in one_line(capsys), folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file.txt"]
    assert not list((tmp_path / "empty").iterdir())


def test_the_right_command_comes_first() -> None:
    folders = {folder.name: str(folder) for folder in PUBLISHED}
    for command, folder, advised in (
        ("align", "elmo-small-debian", "neighbours"),
        ("align", "seq2seq-lstm-de-en", "sentence-vectors"),
        ("translate", "han-nsmc-ko", "align"),
        ("translate", "show-attend-tell-emoji-en", "align"),
        ("sentence-vectors", "rnnsearch-de-en", "align"),
    ):
        with pytest.raises(ValueError, match=f"for it there is attention-zoo {advised}"):
            check_served(command, folders[folder])


def test_models_of_transformers_are_told_by_the_names_of_their_classes(tmp_path: Path) -> None:
    for name, fits in (("MarianMTModel", True), ("BertForMaskedLM", False), ("GPT2LMHeadModel", False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(f'{{"model_type": "any", "architectures": ["{name}"]}}')
        assert SERVED["translate"].fits(saved_kind(folder)) == fits
        assert not SERVED["align"].fits(saved_kind(folder))


def test_a_misspelt_flag_gets_the_right_one(capsys: Captured) -> None:
    folder = str(PUBLISHED[0])
    for argv, right in (
        (["translate", folder, "text", "--num_beam_s", "3"], "--num_beams"),
        (["evaluate", folder, "--max-document-s=3"], "--max_documents"),
        (["export", folder, "out", "--with_codes"], "--with-code"),
        (["train", "rnnsearch", "--dataset", "quickstart_de_en", "--learning_rat", "1"], "--learning_rate"),
        (["aer", "a", "b", "--revers_e"], "--reverse"),
    ):
        assert main(argv) == 2
        message = one_line(capsys)
        assert f"did you mean {right}?" in message.replace("--with_code?", "--with-code?")
    assert main(["translate", folder, "two", "words"]) == 2
    assert "put a text of several words in quotes" in one_line(capsys)
