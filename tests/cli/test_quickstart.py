"""The quick start at tiny sizes: every step from the sample to the picture, and going on after a stop."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.cli.fresh_process import answer_in_fresh_process
from hf_attention_zoo.cli.quickstart_tasks import pick_examples

SMALL = ["--use_cpu", "True", "--generation.max_length", "8"]
TRANSLATORS = [row.model_type for row in list_architectures() if "AutoModelForSeq2SeqLM" in row.models]
Sizes = Callable[[str], list[str]]


def test_list_shows_samples_with_their_architectures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quickstart", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "translation_emoji_names (default)" in printed
    assert "translation_de_en" in printed
    assert "architectures: " in printed and "rnnsearch" in printed


def test_the_quick_start_does_every_step(
    tiny_sizes: Sizes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "quick"
    command = ["quickstart", "--output_dir", str(folder), "--seed", "1", *tiny_sizes("rnnsearch"), *SMALL]
    assert main([*command, "--max_steps", "2", "--max_train_samples", "60", "--max_eval_samples", "10"]) == 0
    printed, bar = capsys.readouterr()
    assert "training: " in bar and "2/2" in bar
    for part in ("BLEU", "nrefs:1", "chrF", "copying the source", "fresh process", "reference:", "use it in Python"):
        assert part in printed
    assert printed.count("    -> ") == 5
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "tokenizer.json", "generation_config.json", "metrics.json", "README.md"} <= names
    assert (folder / "alignment.png").read_bytes()[:4] == b"\x89PNG"
    assert not any(name.startswith("checkpoint-") for name in names)
    card = (folder / "README.md").read_text()
    assert "Unicode-3.0" in card and "alignment.png" in card
    assert json.loads((folder / "metrics.json").read_text())["dataset"]["rows"] == 263

    assert main(command) == 0
    assert "finished training" in capsys.readouterr().out


@pytest.mark.parametrize("architecture", [name for name in TRANSLATORS if name != "rnnsearch"])
def test_the_quick_start_works_for_every_translator(
    architecture: str, tiny_sizes: Sizes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "quick"
    command = ["quickstart", "--architecture", architecture, "--output_dir", str(folder)]
    command += [*tiny_sizes(architecture), *SMALL]
    assert main([*command, "--max_steps", "2", "--max_train_samples", "60", "--max_eval_samples", "10"]) == 0
    printed = capsys.readouterr().out
    for part in ("BLEU", "copying the source", "fresh process", "use it in Python"):
        assert part in printed
    assert printed.count("    -> ") == 5
    assert json.loads((folder / "training.json").read_text())["architecture"] == architecture
    attends = get_architecture(architecture).aligner is not None
    assert (folder / "alignment.png").is_file() == attends and (folder / "README.md").is_file()


def test_a_broken_folder_is_reported_from_the_fresh_process(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="could not be used in a fresh process"):
        answer_in_fresh_process(tmp_path, ["text"])


def test_examples_are_spread_and_distinct() -> None:
    sources = [" ".join(["word"] * (1 + index % 9)) for index in range(50)]
    chosen = pick_examples(sources)
    assert len(set(chosen)) == 5
    assert len(sources[chosen[0]].split()) in (5, 6, 7)
    assert pick_examples(["a", "b"]) == [0, 1]


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_a_rerun_does(tiny_sizes: Sizes, tmp_path: Path) -> None:
    folder = tmp_path / "quick"
    limits = ["--max_train_samples", "200", "--max_eval_samples", "10", "--num_train_epochs", "40"]
    command = [sys.executable, "-m", "hf_attention_zoo.cli.command", "quickstart", "--output_dir", str(folder)]
    command += [
        *tiny_sizes("rnnsearch"),
        *SMALL,
        *limits,
        "--eval_strategy",
        "no",
        "--load_best_model_at_end",
        "False",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    limit = time.monotonic() + 300
    while not list(folder.glob("checkpoint-*")) and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 130, printed
    assert "goes on from there" in printed
    steps = max(int(path.name.removeprefix("checkpoint-")) for path in folder.glob("checkpoint-*"))

    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "going on from" in done.stdout
    assert json.loads((folder / "training.json").read_text())["steps"] > steps
