"""The command line: help without imports, sub-commands that work, and errors in one line with exit code 2."""

import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from hf_attention_zoo import list_architectures
from hf_attention_zoo.cli.command import COMMANDS, main
from hf_attention_zoo.cli.failures import exit_code, printable
from hf_attention_zoo.flags import FIRST, MOST_FIRST, FlagParser
from hf_attention_zoo.tasks.running_text.pretrain import PRETRAINING
from hf_attention_zoo.tasks.table import TASKS, trained_tasks
from hf_attention_zoo.training.run_help import TRAINING, RunKind, help_parser
from hf_attention_zoo.training.run_plan import build_parser

Captured = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)
    assert main([]) == 0


@pytest.fixture(scope="module")
def help_texts() -> dict[str, str]:
    """The help of every command, from one process that has imported neither torch nor transformers for it."""
    code = """
import contextlib, io, json, sys
from hf_attention_zoo import list_architectures
from hf_attention_zoo.cli.command import COMMANDS, main
texts = {}
for name in COMMANDS:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        assert main([name, "--help"]) in (0, None)
    texts[name] = printed.getvalue()
    heavy = {"torch", "transformers", "transformers.trainer", "datasets", "matplotlib"} & set(sys.modules)
    assert not heavy, (name, heavy)
print(json.dumps(texts))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_the_flags_that_matter_first(name: str, help_texts: dict[str, str]) -> None:
    text = help_texts[name]
    assert text.startswith(f"usage: attention-zoo {name}")
    titles = re.findall(r"\n\n([^\n]+):\n  --", text)
    flags = re.findall(r"\n  (--\S+)", text)
    assert len(flags) == len(set(flags)) or name == "evaluate"  # where kinds of model share some
    if len(flags) > MOST_FIRST:
        assert titles[0] == FIRST and len(titles) > 1
        first = text.partition(f"{FIRST}:")[2].partition(f"\n{titles[1]}:")[0]
        assert 3 <= len(re.findall(r"\n  --", first)) <= MOST_FIRST
    lines = text.splitlines()
    flags = [place for place, line in enumerate(lines) if line.startswith("  --")]
    alone = [place for place in flags if "  " not in lines[place].strip()]  # what the flag does stands below it
    assert [lines[place] for place in alone if not lines[place + 1 : place + 2] or lines[place + 1][:8].strip()] == []


def test_the_help_of_train_names_the_tasks_of_the_table_and_how_to_see_every_flag(help_texts: dict[str, str]) -> None:
    said = " ".join(help_texts["train"].split())
    assert f"One of: {', '.join(task.name for task in trained_tasks())}." in said.replace("- ", "-")
    assert "`attention-zoo train --help_all` lists every flag" in said
    assert all(f"models for {task.name}:" in help_texts["evaluate"] for task in TASKS)


@pytest.mark.parametrize("kind", [TRAINING, PRETRAINING], ids=lambda kind: kind.program)
def test_the_help_shows_flags_that_there_are_and_help_all_shows_them_all(kind: RunKind, capsys: Captured) -> None:
    every, short = build_parser(kind), help_parser(kind)
    assert len(kind.first) == MOST_FIRST
    assert {f"--{name}" for name in kind.first} <= set(short._option_string_actions)
    assert set(short._option_string_actions) <= set(every._option_string_actions)
    assert main([kind.program.split()[1], "--help_all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split()[0] for line in lines if line.startswith("  --")]
    assert sorted(shown) == sorted(action.option_strings[0] for action in every._actions)


def test_groups_name_flags_that_there_are() -> None:
    parser = FlagParser(prog="one")
    parser.add_argument("--two")
    with pytest.raises(ValueError, match="no flags --tow; there are -h, --two"):
        parser.flags_by_group({FIRST: ["--tow"]})


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


def test_the_package_runs_as_the_command(tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "hf_attention_zoo", *words], capture_output=True, text=True, cwd=tmp_path
        )
        return done.returncode, done.stdout, done.stderr

    code, shown, _ = run("--help")
    assert code == 0 and all(name in shown for name in COMMANDS)
    code, shown, said = run("trian")
    assert (code, shown) == (2, "") and said.startswith("attention-zoo: no command 'trian'")


def test_the_version_is_printed(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("hf_attention_zoo ")


def test_an_unknown_command_is_refused(capsys: Captured) -> None:
    assert main(["trian"]) == 2
    assert "no command 'trian' (did you mean 'train'?); there are quickstart, train" in capsys.readouterr().err


CARDS = Path(__file__).parents[2] / "model_cards"
NAMES = [row.model_type for row in list_architectures()]
TRAIN = ["--dataset", "translation_de_en", "--output_dir", "no-folder"]


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["evalute", "x"], "'evaluate'"),
        (["train", "rnnserch", *TRAIN], "'rnnsearch'"),
        (["pretrain", "bert20018", *TRAIN], "'bert2018'"),
        (["quickstart", "--architecture", "fastext"], "'fasttext'"),
        (["quickstart", "--sample", "lm_debain"], "lm_debian"),
        (["train", "rnnsearch", "--recipe", "smal", *TRAIN], "'small'"),
        (["pretrain", "bert2018", "--recipe", "smalll", *TRAIN], "'small'"),
        (["train", "rnnsearch", *TRAIN[:-1], "no-folder", "--dataset", "translation_de_eng"], "translation_de_en"),
        (["train", "rnnsearch", *TRAIN, "--config.hiden_size", "3"], "'hidden_size'"),
        (["train", "rnnsearch", *TRAIN, "--generation.num_beam", "3"], "'num_beams'"),
        (["train", "bert2018", *TRAIN, "--task", "token-clasification"], "'token-classification'"),
        (["train", "rnnsearch", *TRAIN, "--optimizer", "adadelt"], "'adadelta'"),
        (["train", "rnnsearch", *TRAIN, "--optim", "adamw_toch"], "'adamw_torch'"),
        (["train", "rnnsearch", *TRAIN, "--train_split", "trian"], "'train'"),
        (["evaluate", str(CARDS / "rnnsearch-de-eng")], str(CARDS / "rnnsearch-de-en")),
        (["translate", str(CARDS / "rnnsearch-de-e"), "Hund"], str(CARDS / "rnnsearch-de-en")),
        (["card", str(CARDS / "han-nsmc-kr")], str(CARDS / "han-nsmc-ko")),
        (["average", str(CARDS / "elman-auste"), "out"], str(CARDS / "elman-austen")),
        (["evaluate", str(CARDS / "bert2018-small-debian"), "--split", "tset"], "'test'"),
        (["align", str(CARDS / "transformer2017-de-en"), "Hund", "--kind", "cros"], "'cross'"),
        (["list", "recipies"], "'recipes'"),
    ],
)
def test_a_misspelt_name_gets_the_right_one(argv: list[str], meant: str, capsys: Captured) -> None:
    assert main(argv) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"did you mean {meant}" in message


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


def test_list_shows_what_there_is_in_short(capsys: Captured) -> None:
    assert main(["list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) <= len(list_architectures()) + 5 and max(map(len, printed)) <= 130
    for row, line in zip(list_architectures(), printed[1:], strict=False):
        assert line.split()[:2] == [row.model_type, str(row.year)] and row.lead in line
        assert all(task in line for task in row.tasks)
    for part, word in (("samples", "translation_emoji_names"), ("metrics", "zoo_bleu"), ("architectures", "nnlm")):
        assert main(["list", part]) == 0
        assert word in capsys.readouterr().out


def test_list_names_every_recipe_with_its_command_and_a_quick_start_of_every_architecture(capsys: Captured) -> None:
    assert main(["list", "recipes"]) == 0
    recipes = [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [name for name, *_ in recipes] == sorted((name for name, *_ in recipes), key=NAMES.index)
    for row in list_architectures():
        kept = [("train", name) for name in row.recipes] + [("pretrain", name) for name in row.pretraining_recipes]
        assert [(command, name) for model, command, name, _ in recipes if model == row.model_type] == kept
        assert any(name.startswith("quickstart") for _, name in kept), row.model_type
        assert main(["list", row.model_type]) == 0
        printed = capsys.readouterr().out
        for said in (row.title, row.paper_url, f"{row.paper_parameters:,}", *(name for _, name in kept)):
            assert said in printed


def test_heads_of_a_transformer_are_chosen(tmp_path: Path, capsys: Captured) -> None:
    folder = Path(__file__).parents[2] / "model_cards" / "transformer2017-emoji-names-ko-en"
    command = ["align", str(folder), "웃는 얼굴", "--kind", "encoder", "--layer", "0"]
    assert main([*command, "--head", "all", "--output", str(tmp_path / "heads.json")]) == 0
    assert len(json.loads((tmp_path / "heads.json").read_text())["heads"]) == 4
    assert main([*command, "--head", "all", "--output", str(tmp_path / "heads.png")]) == 0
    assert (tmp_path / "heads.png").stat().st_size > 5000
    assert main([*command, "--head", "9", "--output", str(tmp_path / "none.png")]) == 2
    assert "--head 9" in capsys.readouterr().err


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


@pytest.mark.parametrize("text", ["", "  "])
def test_where_nothing_was_written_nothing_is_drawn(text: str, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "a.png"
    assert main(["align", str(CARDS / "rnnsearch-ko-en"), text, "--output", str(out)]) == 2
    assert "TEXT is empty" in capsys.readouterr().err and not out.exists()
