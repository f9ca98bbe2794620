"""The comparison of pre-trained bodies: every objective, task and system of the protocol trains, at tiny sizes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
WORDS = ("dog", "cat", "horse")
SPLITS = (("train", 24), ("validation", 6), ("test", 6))


@pytest.fixture
def compare(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("compare_pretraining")


def row_of(kind: str, number: int) -> dict[str, Any]:
    word = WORDS[number % 3]
    if kind == "tags_pud":
        return {"words": ["the", word, "came"], "tags": ["DET", "NOUN", "VERB"]}
    if kind == "sent_nsmc_ko":
        return {"text": f"개와 {('고양이', '말')[number % 2]} 모두 아주 조용히 왔다", "label": number % 2}
    if kind == "qa_xquad":
        answers = {"text": [word], "answer_start": [4]}
        return {"en": {"question": "who came ?", "context": f"the {word} came .", "answers": answers}}
    if kind == "pair_debian_match":
        return {"text": f"a {word} came", "text_pair": "a dog came", "label": number % 2}
    return {"text": f"the {word} came", "label": number % 2}


def folder_of(folder: Path, kind: str) -> str:
    folder.mkdir(parents=True)
    for split, count in SPLITS:
        lines = "".join(json.dumps(row_of(kind, number)) + "\n" for number in range(count))
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return str(folder)


def test_every_body_trains_and_every_task_is_scored_and_tabulated(compare: Any, tmp_path: Path) -> None:
    protocol = compare.read_protocol(SCRIPTS / "comparisons" / "pretraining.yaml")
    text = tmp_path / "text"
    text.mkdir()
    for split, count in (("train", 40), ("validation", 20), ("test", 20)):  # more than one stretch of 128 tokens
        documents = [f"The {WORDS[n % 3]} came.\nIt saw a {WORDS[n * n % 3]}.\nThen it went." for n in range(count)]
        (text / f"{split}.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    few = {"max_steps": 2, "eval_steps": 2, "save_steps": 2, "per_device_train_batch_size": 4, "report_to": "none"}
    protocol["pretraining"] |= few | {"dataset": str(text), "length": 32}
    protocol["config"]["bert2018"] |= {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 128}
    protocol["config"]["gpt2018"] |= {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 128}
    protocol["tokenizer"] = {model: {"vocab_size": 150} for model in ("bert2018", "gpt2018")}
    protocol["training"] |= few | {"eval_strategy": "steps", "save_strategy": "steps"}
    for body in protocol["bodies"].values():
        body.get("training", {}).pop("max_steps", None)
    protocol["seeds"] = [1]
    for task in protocol["tasks"].values():
        task["embedded"] = False
        task.get("training", {}).pop("num_train_epochs", None)
    data = {task: folder_of(tmp_path / "tasks" / task, task) for task in protocol["tasks"]}
    file, work = tmp_path / "few.yaml", tmp_path / "work"
    file.write_text(json.dumps(protocol), encoding="utf-8")  # YAML reads JSON

    korean = folder_of(tmp_path / "korean", "sent_nsmc_ko")
    compare.pretrain(file, work, {"sent_nsmc_ko": korean}, "korean")
    compare.pretrain(file, work, {}, "")  # what has its row is not trained again, and needs no data
    held_out = {
        (row["body"], row["system"], row["name"]) for row in compare.read_rows(tmp_path / "few.perplexity.csv")
    }
    assert {body for body, _, _ in held_out} == set(protocol["bodies"])
    assert {("bert", "model", "masked_perplexity"), ("gpt", "3-gram", "perplexity")} <= held_out
    assert ("bert", "model", "next_sentence_accuracy") in held_out and (
        "gpt-korean",
        "1-gram",
        "perplexity",
    ) in held_out
    assert ("bert-no-next-sentence", "model", "next_sentence_accuracy") not in held_out
    other = tmp_path / "other.yaml"  # the bodies in the folder are not those of another protocol
    other.write_text(json.dumps(protocol | {"pretraining": protocol["pretraining"] | {"seed": 7}}), encoding="utf-8")
    with pytest.raises(SystemExit, match="bert was made with other settings"):
        compare.pretrain(other, work, {}, "")
    with pytest.raises(SystemExit, match="bert was made with other settings"):
        compare.run(other, work, data, "")
    with pytest.raises(SystemExit, match="the body bert is not there; train it first"):
        compare.run(file, tmp_path / "elsewhere", data, "")

    assert len(compare.runs_of(protocol, data, "")) == 3 * 7 + 2 * 4  # all on three tasks, BERT on tags and questions
    few_systems = ("BERT, from scratch", "GPT, pre-trained", "GPT, no auxiliary loss")
    protocol["systems"] = {name: protocol["systems"][name] for name in few_systems}
    protocol["gains"] = {"everything": ["GPT, pre-trained", "GPT, no auxiliary loss"]}
    file.write_text(json.dumps(protocol), encoding="utf-8")
    planned = compare.runs_of(protocol, data, "")
    compare.run(file, work, data, "")
    rows = {(row["task"], row["system"]): row for row in compare.read_rows(tmp_path / "few.csv")}
    assert set(rows) == {(one.task, one.system) for one in planned}
    assert all(row["value"] and row["baseline"] for row in rows.values())
    body = json.loads((work / "bodies" / "bert" / "config.json").read_text())
    tuned = json.loads(
        (work / compare.folder_name("sent_vader", "BERT, from scratch", "1") / "config.json").read_text()
    )
    assert tuned["hidden_size"] == body["hidden_size"] == 16
    gpt = json.loads((work / compare.folder_name("sent_vader", "GPT, pre-trained", "1") / "config.json").read_text())
    assert body["hidden_dropout_prob"] == 0 and tuned["hidden_dropout_prob"] == gpt["residual_dropout"] == 0.1
    compare.run(file, work, data, "")  # everything has its row
    file.write_text(json.dumps(protocol | {"training": protocol["training"] | {"max_steps": 3}}), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"few\.csv: .*, BERT, from scratch, seed 1 was made with"):
        compare.run(file, work, data, "")
    table = compare.table(file)
    assert table.startswith("| body |") and "| gain: everything | " in table
    assert "| system | " + " | ".join(protocol["tasks"]) + " |" in table and "| simple baseline | " in table


def test_a_body_or_a_task_can_be_named_alone_though_others_have_its_name_in_theirs(compare: Any) -> None:
    protocol = compare.read_protocol(SCRIPTS / "comparisons" / "pretraining.yaml")
    bodies, systems = protocol["bodies"], protocol["systems"]
    assert [name for name in bodies if compare.is_wanted("bert", name, bodies)] == ["bert"]
    assert len([name for name in bodies if compare.is_wanted("korean", name, bodies)]) == 2
    assert all(compare.is_wanted("", name, bodies) for name in bodies)
    runs = compare.runs_of(protocol, {}, "GPT, from scratch")
    assert {one.system for one in runs} == {"GPT, from scratch"} and len(systems) > 1
    assert {one.task for one in compare.runs_of(protocol, {}, "vader")} == {"sent_vader"}


def test_a_gain_is_the_mean_over_seeds_of_what_a_system_has_more_than_another(compare: Any, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    protocol = {"bodies": {}, "tasks": {"t": {}}, "systems": {"a": {}, "b": {}}, "gains": {"of a": ["a", "b"]}}
    file.write_text(json.dumps(protocol), encoding="utf-8")
    with pytest.raises(SystemExit, match="no results in"):
        compare.table(file)
    values = {("a", 1): 0.5, ("b", 1): 0.25, ("a", 2): 0.75, ("b", 2): 0.25, ("a", 3): 0.1}  # b has no third seed yet
    for (system, seed), value in values.items():
        row = {"task": "t", "system": system, "seed": seed, "metric": "accuracy", "value": value, "baseline": 0.3}
        compare.append_row(tmp_path / "p.csv", row, compare.FIELDS)
    assert compare.table(file).splitlines()[-2:] == ["| simple baseline | 30.0 |", "| gain: of a | 37.5 ± 17.7 |"]


def test_a_word_that_is_in_no_name_and_a_text_that_is_missing_are_said(
    compare: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = SCRIPTS / "comparisons" / "pretraining.yaml"
    with pytest.raises(SystemExit, match=r"--only 'brt' is in no name; there are bodies: bert \| "):
        compare.pretrain(file, tmp_path, {}, "brt")
    with pytest.raises(SystemExit, match=r"--only 'bert' is in no name; there are tasks: .*; systems: BERT, pre-"):
        compare.run(file, tmp_path, {}, "bert")
    compare.pretrain(file, tmp_path, {}, "bert-korean")
    assert "give --data sent_nsmc_ko=FOLDER" in capsys.readouterr().out
    again = "python scripts/compare_pretraining.py run scripts/comparisons/pretraining.yaml --only tags_pud --again "
    assert compare.shown_command("run", file, "tags_pud", "tags_pud") == again + "--data tags_pud=FOLDER"
    body = "python scripts/compare_pretraining.py pretrain scripts/comparisons/pretraining.yaml --only bert --again"
    assert compare.shown_command("run", file, "tags_pud", None, body="bert") == f"{body} && {again.strip()}"
    elsewhere = compare.shown_command("run", tmp_path / "other.yaml", "sent_vader", None)
    assert elsewhere.endswith(f" run {(tmp_path / 'other.yaml').as_posix()} --only sent_vader --again")


@pytest.mark.parametrize("name", ["gpt2018-debian-section", "bert2018-tags-pud"])
def test_the_command_of_a_fine_tuned_folder_makes_its_body_and_then_the_one_run(compare: Any, name: str) -> None:
    facts = json.loads((SCRIPTS.parent / "model_cards" / name / "training.json").read_text(encoding="utf-8"))
    first, second = (shlex.split(part) for part in facts["command"].split(" && "))
    protocol = compare.read_protocol(SCRIPTS / "comparisons" / "pretraining.yaml")
    data = dict(part.split("=") for part in second[second.index("--data") + 1 :]) if "--data" in second else {}
    (one,) = compare.runs_of(protocol, data, second[second.index("--only") + 1])
    assert (one.task, one.seed, one.settings["body"]) == (
        facts["dataset"],
        facts["seed"],
        first[first.index("--only") + 1],
    )
    assert one.settings["model"] == facts["architecture"]
