"""The comparison of translation models: a tiny one from protocol to picture."""

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("compare_translation")


@pytest.fixture
def protocol_file(tmp_path: Path) -> Path:
    data = tmp_path / "pairs"
    data.mkdir()
    for split, count in {"train": 24, "validation": 4, "test": 5}.items():
        lines = [
            {"source": " ".join("abcd"[i % 4] * (1 + i % 3) for i in range(k % 7 + 1)), "target": "e f"}
            for k in range(count)
        ]
        (data / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    protocol = {
        "dataset": str(data),
        "source_lang": "de",
        "target_lang": "en",
        "seeds": [1, 2],
        "tokenizer": {"kind": "word", "vocab_size": 30},
        "training": {
            "num_train_epochs": 1,
            "max_tokens_per_batch": 60,
            "eval_strategy": "epoch",
            "save_strategy": "epoch",
            "load_best_model_at_end": True,
            "metric_for_best_model": "bleu",
            "use_cpu": True,
        },
        "generation": {"num_beams": 2},
        "models": {
            "luong": {
                "config": {"embedding_size": 6, "hidden_size": 6, "num_hidden_layers": 1},
                "variants": {
                    "dot, feeding": {"attention_score": "dot", "input_feeding": True},
                    "dot": {"attention_score": "dot", "input_feeding": False},
                },
            }
        },
    }
    path = tmp_path / "protocol.yaml"
    path.write_text(yaml.safe_dump(protocol, sort_keys=False), encoding="utf-8")
    return path


def test_every_variant_and_seed_becomes_one_row_and_finished_rows_are_left_alone(
    script: ModuleType, protocol_file: Path
) -> None:
    work = protocol_file.parent / "work"
    script.run_all(protocol_file, work, only=None, limit=1)
    first = protocol_file.with_suffix(".csv").read_text()
    script.run_all(protocol_file, work, only=None, limit=None)
    assert protocol_file.with_suffix(".csv").read_text().startswith(first)
    with protocol_file.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["variant"], row["seed"]) for row in rows] == [
        ("dot, feeding", "1"),
        ("dot", "1"),
        ("dot, feeding", "2"),
        ("dot", "2"),
    ]
    assert len({row["target_tokens"] for row in rows}) == 1, "the budget in target tokens is the same for all"
    assert int(rows[0]["parameters"]) > int(rows[1]["parameters"]), "feeding widens the first decoder layer"
    assert not list(work.glob("*/checkpoint-*"))
    kept, elsewhere = protocol_file.with_suffix(".csv").read_text(), protocol_file.parent / "elsewhere"
    noted = shlex.split(json.loads(next(work.glob("*/training.json")).read_text())["command"])
    only, again = noted[noted.index("--only") + 1], "--again" in noted
    script.run_all(protocol_file, elsewhere, only=only, limit=1, again=again)
    assert list(elsewhere.glob("*/model.safetensors")), "what a folder notes makes it again"
    assert protocol_file.with_suffix(".csv").read_text() == kept
    script.draw(protocol_file, None)
    assert protocol_file.with_suffix(".png").stat().st_size > 5000
    table = protocol_file.with_suffix(".md").read_text()
    assert table.count("| `luong` |") == 2 and "±" in table


def test_published_folders_note_commands_that_train_though_their_rows_are_kept() -> None:
    found = 0
    for noted in sorted((Path(__file__).parents[2] / "model_cards").glob("*/training.json")):
        command = json.loads(noted.read_text(encoding="utf-8"))["command"]
        if "scripts/compare_" in command:
            found += 1
            assert "--again" in command, noted
            lines = noted.with_name("README.md").read_text(encoding="utf-8").splitlines()
            shown = [shlex.split(line) for line in lines if line.startswith("python scripts/compare_")]
            assert shlex.split(command) in shown, noted
    assert found


def test_drawing_without_results_says_what_to_do(script: ModuleType, protocol_file: Path) -> None:
    with pytest.raises(SystemExit, match="run"):
        script.draw(protocol_file, None)


def test_means_over_seeds_are_taken_per_length(script: ModuleType) -> None:
    rows = [{"bleu_by_source_length": "1-5:10.0 6-10:20.0"}, {"bleu_by_source_length": "1-5:14.0 6-10:20.5"}]
    assert script.lengths_of(rows) == {"1-5": 12.0, "6-10": 20.25}
