"""The front pages are true: what they print is printed, what they measure was measured, what they call exists."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from pages import DOCS, FRONT, PAGES, ROOT, blocks, commands, load_file, page_name

import hf_attention_zoo
from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.cli import quickstart

GUIDES = [path for path in DOCS if path.parent.name == "howto"]


def test_generated_parts_are_fresh(load_script: Callable[[str], ModuleType]) -> None:
    update = load_script("update_readme")
    for page in update.GENERATED:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert update.renew(page, text) == text, f"{page} is stale: run python scripts/update_readme.py"


@pytest.mark.parametrize("page", [*FRONT, *GUIDES], ids=page_name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    run = load_file(ROOT / "scripts" / "run_examples.py")
    text = page.read_text(encoding="utf-8")
    assert run.renewed(text, page_name(page)) == text, f"run python scripts/run_examples.py {page_name(page)}"


@pytest.mark.parametrize("page", FRONT, ids=page_name)
def test_the_front_page_is_short(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 150
    assert "```python" in page.read_text(encoding="utf-8")


def test_both_front_pages_have_the_same_parts() -> None:
    english, korean = (page.read_text(encoding="utf-8") for page in FRONT)
    for part in (r"^#+ ", r"^- ", r"^```\w+$", r"^\|"):
        found = [len(re.findall(part, text, re.MULTILINE)) for text in (english, korean)]
        assert found[0] == found[1], part
    assert commands(FRONT[0]) == commands(FRONT[1])


def test_quick_starts_keep_within_the_minutes_of_the_front_page() -> None:
    file = ROOT / "scripts" / "benchmarks" / "quickstarts.json"
    kept = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert set(kept) <= {row.model_type for row in list_architectures()} and len(kept) >= 14
    assert "within three minutes each" in FRONT[0].read_text(encoding="utf-8")
    assert [name for name, row in kept.items() if row["processor_seconds"] > 180] == []


def test_the_sentence_of_the_front_page_is_held_out_and_its_score_is_the_kept_one() -> None:
    (example,) = blocks(FRONT[0], "python")
    sentence = re.search(r'sentence = "(.+)"', example)[1]
    assert sentence in (ROOT / "scripts" / "make_front_picture.py").read_text(encoding="utf-8")
    splits = hf_attention_zoo.load_data("translation_ko_en", source_lang="ko", target_lang="en")
    held_out = dict(zip(splits["test"]["source"], splits["test"]["target"], strict=True))
    assert held_out[sentence] in blocks(FRONT[0], "text")[0]
    assert sentence not in set(splits["train"]["source"]) | set(splits["validation"]["source"])
    metrics = json.loads((ROOT / "model_cards" / "rnnsearch-ko-en" / "metrics.json").read_text(encoding="utf-8"))
    numbers = {f"{metrics['results']['bleu']['value']:.1f}", str(metrics["dataset"]["rows"])}
    for page in FRONT:
        said = re.search(r"<!-- score -->(.*?)<!-- end score -->", page.read_text(encoding="utf-8"))[1]
        assert set(re.findall(r"[\d.]+", said)) == numbers, page_name(page)


def every_command() -> list[str]:
    return sorted({line for page in PAGES for line in commands(page)})


@pytest.mark.parametrize("line", every_command())
def test_every_command_exists_with_its_flags(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from hf_attention_zoo.cli.command import COMMANDS
    from hf_attention_zoo.tasks.running_text.pretrain import PRETRAINING
    from hf_attention_zoo.training.run_plan import parse_run

    words = shlex.split(line, comments=True)
    for script in re.findall(r"(?:scripts|docs)/\S+\.(?:py|yaml)", line):
        assert (ROOT / script).is_file(), script
    if "scripts/train.py" in words:
        words = ["attention-zoo", "train", *words[words.index("scripts/train.py") + 1 :]]
    if "attention-zoo" not in words:
        assert words[0] in ("pip", "python", "printf", "sphinx-build"), f"what is {words[0]}?"
        return
    command, *words = words[words.index("attention-zoo") + 1 :]
    assert command in COMMANDS
    if command in ("train", "pretrain"):
        parse_run(words, **({"kind": PRETRAINING} if command == "pretrain" else {}))
        return
    if command == "quickstart":
        options, more = quickstart.build_parser().parse_known_args(words)
        row = get_architecture(options.architecture)
        assert not more and quickstart.choose_recipe(row, options.sample or quickstart.default_sample(row))
        return
    words = [str(ROOT / "model_cards" / PUBLISHED[word]) if word in PUBLISHED else word for word in words]
    module = importlib.import_module(COMMANDS[command][0])
    stop_after_parsing(monkeypatch)
    with pytest.raises(Understood):
        module.main(words)


# What is not run of the how-to pages, and why. The arguments of every line are read above.
NOT_RUN = {
    r"attention-zoo (pre)?train |torchrun |accelerate ": "trains for minutes to days",
    r"attention-zoo \S+ runs/": "reads what a training of the page has left",
    r"attention-zoo parseval trees/test.trees parsed.mrg": "reads what such a folder has made",
    r"attention-zoo convert ": "reads weights that others have published",
}


@pytest.mark.parametrize("page", GUIDES, ids=page_name)
def test_what_the_guides_show_runs_in_an_empty_folder(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hf_attention_zoo.cli.command import main

    (tmp_path / "model_cards").symlink_to(ROOT / "model_cards", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        if any(re.match(kind, line) for kind in NOT_RUN):
            continue
        if line.startswith("attention-zoo "):
            assert main(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err[-500:]}"
        else:
            subprocess.run(["bash", "-c", line], check=True)


@pytest.mark.parametrize("page", GUIDES, ids=page_name)
def test_a_guide_reads_no_run_that_neither_it_nor_a_page_that_it_links_has_made(page: Path) -> None:
    linked = [path for path in GUIDES if f"({path.name})" in page.read_text(encoding="utf-8") and path != page]
    made = {run for path in linked for line in commands(path) for run in re.findall(r"--output_dir (\S+)", line)}
    for line in commands(page):
        made |= set(re.findall(r"--output_dir (\S+)", line))
        assert set(re.findall(r"\bruns/[\w-]+", line)) <= made, line


def test_no_block_of_a_guide_goes_unread_and_no_reason_is_idle() -> None:
    lines = [line for page in GUIDES for line in commands(page)]
    assert [kind for kind in NOT_RUN if not any(re.match(kind, line) for line in lines)] == []
    for page in GUIDES:
        kinds = set(re.findall(r"^```([^\n`]+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert kinds <= {"bash", "python", "text", "{toctree}"}, f"{page_name(page)}: nothing runs {kinds}"


# Where the pages name a folder that the reader has trained, its published counterpart tells which task it is of.
PUBLISHED = {
    "runs/de-en": "rnnsearch-de-en",
    "runs/sections": "han-debian-section",
    "runs/bert": "bert2018-small-debian",
    "runs/gpt": "gpt2018-small-debian",
    "runs/captions": "show-attend-tell-emoji-en",
}


class Understood(Exception):
    """The arguments of a command were read."""


def stop_after_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in parsers(argparse.ArgumentParser):
        monkeypatch.setattr(kind, "parse_args", parse_and_stop(kind.parse_args))


def parsers(kind: type[argparse.ArgumentParser]) -> list[type[argparse.ArgumentParser]]:
    """A kind of parser and those made of it, each with a way of its own to read arguments."""
    own = [kind] if "parse_args" in vars(kind) else []
    return [*own, *(other for below in kind.__subclasses__() for other in parsers(below))]


def parse_and_stop(parse: Callable[..., object]) -> Callable[..., None]:
    def stopping(*args: object, **kwargs: object) -> None:
        parse(*args, **kwargs)
        raise Understood

    return stopping
