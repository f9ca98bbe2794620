"""The quick start at tiny sizes: every step from the sample to the picture, and going on after a stop."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.cli import fresh_process, quickstart_texts
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.cli.fresh_process import answer_in_fresh_process
from hf_attention_zoo.cli.quickstart import default_sample
from hf_attention_zoo.cli.quickstart_tasks import pick_examples
from hf_attention_zoo.data.samples import CaptionSample, TextSample, TranslationSample, get_sample
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.table import Task

SMALL = ["--use_cpu", "True", "--generation.max_length", "8"]
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


@pytest.mark.parametrize("architecture", [row.model_type for row in list_architectures() if row.prefix != "RNNsearch"])
def test_the_quick_start_works_for_every_architecture(
    architecture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_process, "answer_in_fresh_process", answered_here)
    monkeypatch.setattr(Task, "evaluate", without_linear_models)
    monkeypatch.setattr(quickstart_texts, "HELD_OUT_DOCUMENTS", 40)
    monkeypatch.setattr(quickstart_texts, "BASELINE_DOCUMENTS", 20)
    folder = tmp_path / "quick"
    row = get_architecture(architecture)
    command = ["quickstart", "--architecture", architecture, "--output_dir", str(folder), *tiny_flags(row)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    for part in ("fresh process", "even distances", "reference:", "the score in its place", "use it in Python"):
        assert part in printed
    assert printed.count("    -> ") == 5
    assert json.loads((folder / "training.json").read_text())["architecture"] == architecture
    (picture,) = re.findall(r"^  (\S+\.png): ", printed, re.MULTILINE)
    assert (folder / picture).read_bytes()[:4] == b"\x89PNG" and (folder / "README.md").is_file()
    lines = printed[printed.index("use it in Python:\n") :].splitlines()[1:]
    exec("\n".join(line.strip() for line in lines), {})  # what the last lines advise does work
    assert capsys.readouterr().out.strip()


def answered_here(folder: Path, inputs: list[object], kind: str) -> list[str]:
    """The same answers without a process; that of RNNsearch has one."""
    return fresh_process.ANSWERING[kind](str(folder), json.loads(json.dumps(inputs)))


def without_linear_models(task: Task, folder: Path, **settings: object) -> dict[str, object]:
    """The scores; for labels without tf-idf, which costs more than all the rest."""
    less = {"baselines": False} if task.name == "text-classification" else {}
    return task.load("evaluation", task.evaluation)(folder, **settings, **less)


def tiny_flags(row: Architecture) -> list[str]:
    """Flags that make a quick start of an architecture a matter of a second or two."""
    sample = get_sample(default_sample(row))
    flags = ["--use_cpu", "True", "--max_steps", "2", "--eval_strategy", "no", "--save_strategy", "no"]
    flags += ["--load_best_model_at_end", "False"]
    if isinstance(sample, TextSample):
        flags += ["--config.num_negative_samples", "64"] if row.model_type == "elmo" else []
        return [*flags, "--max_train_documents", "40", "--max_eval_documents", "4", "--length", "16"]
    flags += ["--max_train_samples", "80", "--max_eval_samples", "8"]
    if isinstance(sample, (TranslationSample, CaptionSample)):
        flags += ["--generation.max_length", "8", "--generation.num_beams", "2"]
    return flags


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
