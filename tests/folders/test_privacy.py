"""Tokens and the folders of a machine: out of commands, records and everything that a folder sends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from training_runs import train

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.folders.checkpoint_folder import check_nothing_private, published_files
from hf_attention_zoo.folders.privacy import is_secret_name, path_of_place, place_from, public_command, public_facts
from hf_attention_zoo.folders.written_files import recorded_arguments
from hf_attention_zoo.training.run_plan import parse_run

TOKEN = "hf_" + "a1B2" * 9
SECRETS = [TOKEN, "ghp_" + "a1B2" * 9, "AKIA" + "A1B2" * 4, "-----BEGIN RSA PRIVATE KEY-----", "https://ada:pw@host/x"]
HOMES = ["/home/ada/data", "/Users/ada/data", "/root/data", "C:\\Users\\ada\\data"]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("x --hub_token abc --token=abc -v", "x --hub_token $HF_TOKEN --token=$HF_TOKEN -v"),
        ("x --train_file /home/ada/a.csv,/b/c.csv", "x --train_file a.csv,c.csv"),
        ("x '{\"train\": \"/home/ada/a.csv\"}'", "x '{\"train\": \"a.csv\"}'"),
        ("x ~/own/a.csv ~ada/a.csv ../../home/ada/a.csv runs/a", "x a.csv a.csv a.csv runs/a"),
        ("x 'C:\\Users\\ada\\a.csv' --a=C:/b/c.csv", "x a.csv --a=c.csv"),
        (f"x --a {TOKEN} https://ada:pw@host/x", "x --a $HF_TOKEN https://$HF_TOKEN@host/x"),
        ("x --out /a/b && y --model /a/b", "x --out b && y --model b"),
        ("x --tokenizer.pad_token '<p>' --max_tokens 5 5/6 /", "x --tokenizer.pad_token '<p>' --max_tokens 5 5/6 /"),
    ],
)  # fmt: skip
def test_commands_are_shown_without_secrets_and_folders(command: str, shown: str) -> None:
    assert public_command(command) == shown
    assert public_command(shown) == shown


def test_names_of_symbols_are_no_secrets() -> None:
    secret = ("hub_token", "token", "--hf-token", "push_to_hub_token", "api_key", "wandb_api_key", "password")
    assert all(map(is_secret_name, secret))
    assert not any(
        map(is_secret_name, ("pad_token", "eos_token", "tokenizer", "max_tokens", "key_size", "target_tokens"))
    )


def test_a_record_loses_nothing_but_secrets_and_folders() -> None:
    record = {
        "command": ["x", "--out", "/a/b/c"],
        "hub_token": "abc",
        "seconds": 1.5,
        "names": ["/home/ada/x", Path("/a/b"), "m/s", "org/name", None, True],
        "note": f"{TOKEN} lies in /home/ada/secret",
        "places": {"dataset": "../x"},
    }
    assert public_facts(record) == {
        "command": "x --out c",
        "seconds": 1.5,
        "names": ["x", "b", "m/s", "org/name", None, True],
        "note": "$HF_TOKEN lies in ~/secret",
    }


def test_a_place_is_found_again_and_names_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "ada"))
    own, run = tmp_path / "home" / "ada" / "x.csv", tmp_path / "runs" / "one"
    assert place_from(run, own) == "~/x.csv" and path_of_place(run, "~/x.csv") == own
    assert place_from(run, tmp_path / "data") == "../../data" and path_of_place(run, "../../data") == tmp_path / "data"
    assert place_from(own.parent / "run", own) == "../x.csv"
    assert place_from("/srv/run", "/home/bob/x.csv") is None


def scanned(folder: Path) -> None:
    check_nothing_private(folder, published_files(folder))


@pytest.mark.parametrize(
    "file", ["README.md", "notes.txt", "deep/facts.json", "metrics.json", "a.png", "model.safetensors"]
)
def test_every_file_that_is_sent_is_searched(saved_copy: Path, file: str) -> None:
    scanned(saved_copy)
    path = saved_copy / file
    path.parent.mkdir(exist_ok=True)
    for private in SECRETS + HOMES:
        if path.suffix == ".safetensors":
            save_file(load_file(path), path, metadata={"from": private})
        else:
            path.write_text(json.dumps({"note": f"see {private}"}), encoding="utf-8")
        if file == "metrics.json" and private in HOMES:
            scanned(saved_copy)  # it is sent without the folder
            continue
        with pytest.raises(
            ValueError, match=f"{path.name} contains what looks like|{path.name} contains a user's"
        ) as caught:
            scanned(saved_copy)
        assert TOKEN not in str(caught.value)


def test_a_vocabulary_may_hold_folders_and_no_tokens(saved_copy: Path) -> None:
    (saved_copy / "vocab.txt").write_text("/home/user/file\n", encoding="utf-8")
    scanned(saved_copy)
    (saved_copy / "vocab.txt").write_text(f"{TOKEN}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="access token"):
        scanned(saved_copy)


def test_a_link_that_leads_out_of_the_folder_is_not_followed(saved_copy: Path, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine", encoding="utf-8")
    (saved_copy / "notes.txt").symlink_to(tmp_path / "diary.txt")
    with pytest.raises(ValueError, match="link to a file outside"):
        scanned(saved_copy)


@pytest.mark.parametrize("more", [[], ["--with-code"]])
def test_an_export_has_the_records_without_the_machine_and_refuses_the_rest(
    saved_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    record = {"command": "x --out /home/ada/run", "dataset": "/home/ada/x.csv", "places": {"dataset": "../x.csv"}}
    (saved_copy / "training.json").write_text(json.dumps(record), encoding="utf-8")
    assert main(["export", str(saved_copy), str(tmp_path / "out"), *more]) == 0
    sent = json.loads((tmp_path / "out" / "training.json").read_text())
    assert sent == {"command": "x --out run", "dataset": "x.csv"}
    (saved_copy / "notes.md").write_text("made in /home/ada/run", encoding="utf-8")
    assert main(["export", str(saved_copy), str(tmp_path / "again"), *more]) == 2
    assert "notes.md contains a user's folder (/home/ada)" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


def test_the_list_of_what_would_be_sent(saved_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saved_copy / "checkpoint-5").mkdir()
    for name in ("checkpoint-5/optimizer.pt", ".secret", "run.json", "trainer_state.json", "notes.txt"):
        (saved_copy / name).write_text("x", encoding="utf-8")
    assert main(["publish", str(saved_copy), "ada/model", "--dry-run"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    listed = {line.split()[1]: int(line.split()[0].replace(",", "")) for line in lines}
    names = {path.name for path in saved_copy.iterdir() if path.is_file()}
    assert set(listed) == names - {".secret", "run.json", "trainer_state.json"} | {"README.md"}
    assert listed["notes.txt"] == 1 and f"{len(listed)} files" in last and "nothing was sent" in last


def test_no_file_of_a_run_has_the_token_and_none_that_is_sent_the_folders(
    tiny_run: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tiny_run("--max_steps", "1", "--save_steps", "1", "--hub_token", TOKEN, "--report_to", "tensorboard")
    plan = train(run, command=f"attention-zoo train {' '.join(run)}")
    assert parse_run(run).training.hub_token == TOKEN  # which it can still use
    assert plan.output_dir.is_dir()
    (checkpoint,) = plan.output_dir.glob("checkpoint-*")
    assert (checkpoint / "training_args.bin").is_file()
    for path in plan.output_dir.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes(), path
    for name in published_files(plan.output_dir):
        assert str(tmp_path).encode() not in (plan.output_dir / name).read_bytes(), name
    given = run[run.index("--dataset") + 1]
    record = json.loads((plan.output_dir / "training.json").read_text())
    assert record["dataset"] == Path(given).name and record["command"].count("$HF_TOKEN") == 1
    monkeypatch.chdir(tmp_path)  # the data are found from anywhere
    assert recorded_arguments(plan.output_dir)["dataset"] == given
    assert main(["evaluate", str(plan.output_dir), "--max_samples", "2"]) == 0
    metrics = (plan.output_dir / "metrics.json").read_text()
    assert json.loads(metrics)["dataset"]["name"] == Path(given).name and str(tmp_path) not in metrics
    moved = Path(given).rename(tmp_path / "a copy")  # gone from where the training found it
    try:
        capsys.readouterr()
        assert main(["evaluate", str(plan.output_dir), "--max_samples", "2"]) == 2
        said = f"was trained on {Path(given).name}, which is not at {given} any more; give --dataset"
        assert said in capsys.readouterr().err
        assert main(["evaluate", str(plan.output_dir), "--max_samples", "2", "--dataset", str(moved)]) == 0
    finally:
        moved.rename(given)  # the other tests read it, too


@pytest.fixture
def saved_copy(saved_folder: Path, tmp_path: Path) -> Any:
    """A saved translator that a test may change."""
    copy = tmp_path / "model"
    copy.mkdir()
    for path in saved_folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def test_a_run_sends_nothing_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hf_attention_zoo.cli.command import main

    flags = ["--dataset", "translation_emoji_names", "--output_dir", str(tmp_path / "run"), "--use_cpu", "True"]
    assert main(["train", "rnnsearch", "--recipe", "none", *flags, "--push_to_hub", "True"]) == 2
    assert "attention-zoo publish" in capsys.readouterr().err and not (tmp_path / "run").exists()
