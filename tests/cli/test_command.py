"""The command line: help without imports, sub-commands that work, and errors in one line with exit code 2."""

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from hf_attention_zoo.cli.command import COMMANDS, main
from hf_attention_zoo.cli.failures import exit_code, printable

Captured = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)
    assert main([]) == 0


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("train", "pretrain")])
def test_every_command_has_help(name: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"attention-zoo {name}" in capsys.readouterr().out


def test_general_help_does_not_load_the_training(tmp_path: Path) -> None:
    code = (
        "import sys; from hf_attention_zoo.cli.command import main; main(['--help']);"
        "heavy = {'transformers.trainer', 'datasets', 'matplotlib', 'sacrebleu', 'evaluate'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_help_and_the_lists_answer_before_torch_and_transformers_are_there(tmp_path: Path) -> None:
    code = (
        "import sys; from hf_attention_zoo.cli.command import main; main(['--help']); main(['list', 'recipes']);"
        "assert not {'torch', 'transformers.models.auto.modeling_auto'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_version_is_printed(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hf_attention_zoo ")


def test_an_unknown_command_is_refused(capsys: Captured) -> None:
    assert main(["trian"]) == 2
    assert "no command 'trian'; there are quickstart, train" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train", "rnnsearch", "--recipe", "papre", "--dataset", "x", "--output_dir", "y"], "no recipe 'papre'"),
        (["train", "luongg", "--dataset", "x"], "no architecture is called 'luongg'"),
        (["evaluate", "/no/such/folder"], "no such folder"),
        (["translate", "/no/such/folder", "text"], "no such folder"),
        (["align", "/no/such/folder", "text"], "no such folder"),
        (["card", "/no/such/folder"], "is not a folder"),
        (["export", "/no/such/folder", "out"], "is not a folder"),
        (["publish", "/no/such/folder", "me/model"], "is not a folder"),
        (["quickstart", "--sample", "translation_xx"], "translation_emoji_names"),
        (["quickstart", "--architecture", "rnnsaerch"], "did you mean 'rnnsearch'"),
        (["quickstart", "--sample", "translation_ko_en"], "no quick settings for translation_ko_en"),
    ],
)
def test_user_errors_are_one_line_and_exit_code_2(argv: list[str], message: str, capsys: Captured) -> None:
    assert main(argv) == 2
    printed = capsys.readouterr().err.strip()
    assert message in printed
    assert len(printed.splitlines()) == 1
    assert "Traceback" not in printed


def test_the_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_ZOO_TRACEBACK", "1")
    with pytest.raises(ValueError, match="no such folder"):
        main(["evaluate", "/no/such/folder"])


def test_ctrl_c_ends_with_130(capsys: Captured) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert exit_code(interrupted) == 130
    assert "stopped" in capsys.readouterr().err


def test_a_text_a_file_and_standard_input_are_translated(
    saved_folder: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["das haus", "die katze schläft nicht", "", "ein haus"]
    assert main(["translate", str(saved_folder), texts[0]]) == 0
    alone = capsys.readouterr().out.splitlines()
    assert len(alone) == 1

    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    out = tmp_path / "out.txt"
    assert main(["translate", str(saved_folder), str(tmp_path / "in.txt"), "--output", str(out)]) == 0
    from_file = out.read_text().splitlines()
    assert len(from_file) == 4 and from_file[0] == alone[0]

    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(texts) + "\n"))
    assert main(["translate", str(saved_folder), "-", "--batch_size", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == from_file


def test_decoding_settings_reach_the_search(saved_folder: Path, capsys: Captured) -> None:
    assert main(["translate", str(saved_folder), "das haus", "--max_new_tokens", "1", "--num_beams", "2"]) == 0
    assert len(capsys.readouterr().out.split()) <= 1
    assert main(["translate", str(saved_folder), "das haus", "--dictionary", "d.tsv"]) == 2
    assert "--replace_unknown" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["png", "html", "json"])
def test_an_alignment_is_written_in_the_form_of_its_suffix(
    saved_folder: Path, tmp_path: Path, suffix: str, capsys: Captured
) -> None:
    out = tmp_path / f"picture.{suffix}"
    assert main(["align", str(saved_folder), "das haus ist gross", "--output", str(out), "--target", "the house"]) == 0
    assert out.stat().st_size > 0
    assert capsys.readouterr().out.splitlines()[0] == "the house"


def test_a_card_is_printed_or_written(saved_folder: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["card", str(saved_folder), "--print", "--name", "me/model"]) == 0
    assert "me/model" in capsys.readouterr().out
    assert not (saved_folder / "README.md").exists()


def test_an_export_leaves_the_training_state_behind(saved_folder: Path, tmp_path: Path, capsys: Captured) -> None:
    import shutil

    folder, out = tmp_path / "model", tmp_path / "out"
    shutil.copytree(saved_folder, folder)
    (folder / "checkpoint-3").mkdir()
    (folder / "checkpoint-3" / "optimizer.pt").write_bytes(b"state")
    assert main(["export", str(folder), str(out)]) == 0
    assert (out / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    assert not (out / "checkpoint-3").exists()
    assert main(["export", str(folder), str(out)]) == 2
    assert "not an empty folder" in capsys.readouterr().err


def test_an_export_can_carry_its_code(saved_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "coded"
    assert main(["export", str(saved_folder), str(out), "--with-code"]) == 0
    assert (out / "modeling_rnnsearch.py").is_file()
    assert "auto_map" in json.loads((out / "config.json").read_text())


def test_publishing_without_network_is_one_line(saved_folder: Path, capsys: Captured) -> None:
    assert main(["publish", str(saved_folder), "me/model"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_list_shows_what_there_is(capsys: Captured) -> None:
    assert main(["list"]) == 0
    printed = capsys.readouterr().out
    for word in ("rnnsearch", "quickstart-names", "translation_emoji_names", "zoo_bleu"):
        assert word in printed
    assert main(["list", "recipes"]) == 0
    assert "translation_emoji_names" not in capsys.readouterr().out.replace("quickstart", "")


def test_heads_of_a_transformer_are_chosen(tmp_path: Path, capsys: Captured) -> None:
    folder = Path(__file__).parents[2] / "model_cards" / "transformer2017-emoji-names-ko-en"
    command = ["align", str(folder), "웃는 얼굴", "--kind", "encoder", "--layer", "0"]
    assert main([*command, "--head", "all", "--output", str(tmp_path / "heads.json")]) == 0
    assert len(json.loads((tmp_path / "heads.json").read_text())["heads"]) == 4
    assert main([*command, "--head", "all", "--output", str(tmp_path / "heads.png")]) == 0
    assert (tmp_path / "heads.png").stat().st_size > 5000
    assert main([*command, "--head", "9", "--output", str(tmp_path / "none.png")]) == 2
    assert "head=9" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a\x1b[31mred", "a\x07b", "a\u202eb", "a\x9bb", "a\udcffb", "a\nb", "a\rb"])
def test_control_characters_of_names_are_written_out(name: str, tmp_path: Path, capsys: Captured) -> None:
    named = str(tmp_path / name)
    for argv in (["translate", named, "ba"], ["evaluate", named], ["card", named], ["aer", named, named]):
        assert main(argv) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.isprintable() and line.encode("utf-8")


def test_warnings_are_lines_without_control_characters(capsys: Captured) -> None:
    def warn() -> int:
        warnings.warn("row 1 of a\x1b[31m.csv is empty", UserWarning, stacklevel=2)
        return 0

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *said: sys.stderr.write(warnings.formatwarning(*said[:4]))
        assert exit_code(warn) == 0
    assert capsys.readouterr().err == "attention-zoo: row 1 of a\\x1b[31m.csv is empty\n"
    assert printable("가나 \u200d👩") == "가나 \u200d👩"
