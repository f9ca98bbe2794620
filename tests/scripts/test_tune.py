"""The search for settings and the comparison over numbers of pairs: tiny ones from protocol to table and picture."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

TRAINING = {
    "num_train_epochs": 1,
    "eval_strategy": "epoch",
    "save_strategy": "epoch",
    "load_best_model_at_end": True,
    "generation_num_beams": 1,
    "use_cpu": True,
    "tokenizer.kind": "word",
    "tokenizer.vocab_size": 30,
}
SIZES = {"config.embedding_size": 6, "config.num_hidden_layers": 1}


@pytest.fixture
def tune(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("tune")


@pytest.fixture
def compare(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("compare_data_sizes")


@pytest.fixture
def tuning_file(tmp_path: Path) -> Path:
    data = tmp_path / "pairs"
    data.mkdir()
    for split, count in {"train": 24, "validation": 6, "test": 5}.items():
        lines = [{"translation": {"de": f"{'abcd'[k % 4]} {k}", "en": f"e f {k}"}} for k in range(count)]
        (data / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return written(
        tmp_path / "tuning.yaml",
        dataset=str(data),
        source_lang="de",
        target_lang="en",
        trials=2,
        pairs=12,
        validation_pairs=4,
        training={**TRAINING, "seed": 1},
        choices={"learning_rate": [0.01, 0.02], "max_tokens_per_batch": [60, 40]},
        models={"luong": {"size": [{**SIZES, "config.hidden_size": 6}, {**SIZES, "config.hidden_size": 5}]}},
    )


def written(path: Path, **protocol: Any) -> Path:
    path.write_text(yaml.safe_dump(protocol, sort_keys=False), encoding="utf-8")
    return path


def rows_beside(path: Path) -> list[dict[str, str]]:
    with path.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_first_trial_is_set_by_hand_and_draws_hang_on_model_and_number_alone(tune: ModuleType) -> None:
    choices = {"learning_rate": list(range(100)), "size": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}
    assert tune.drawn_settings(choices, "luong", 1) == {"learning_rate": 0, "a": 1, "b": 2}
    assert tune.drawn_settings(choices, "luong", 2) == tune.drawn_settings(choices, "luong", 2)
    draws = {json.dumps(tune.drawn_settings(choices, model, 2)) for model in ("luong", "rnnsearch", "x", "y")}
    assert len(draws) > 1


@pytest.mark.parametrize("language", ["de", "ko"])
def test_every_translator_has_the_same_number_of_trials_of_settings_that_it_knows(
    tune: ModuleType, language: str
) -> None:
    from hf_attention_zoo import list_architectures
    from hf_attention_zoo.training.run_plan import parse_run

    path = Path(tune.__file__).parent / "comparisons" / f"tuning_{language}.yaml"
    protocol = tune.read_protocol(path)
    trials = tune.trials(protocol)
    assert set(protocol["models"]) == {
        entry.model_type for entry in list_architectures() if "translation" in entry.tasks
    }
    assert {sum(trial.model == model for trial in trials) for model in protocol["models"]} == {protocol["trials"]}
    for trial in trials:
        parse_run(tune.run_flags(trial.model, trial.settings, protocol, Path("pairs"), Path("out")))


def test_trials_become_rows_once_and_the_comparison_takes_the_best_of_each_model(
    tune: ModuleType, compare: ModuleType, tuning_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tune.run_all(tuning_file, tmp_path / "work", None, 1)
    with pytest.raises(SystemExit, match="luong has 1 trials of 2"):
        tune.best_settings(tuning_file)
    for _ in range(2):  # the second has nothing left to do
        tune.run_all(tuning_file, tmp_path / "work", None, None)
    rows = rows_beside(tuning_file)
    assert [row["trial"] for row in rows] == ["1", "2"]
    tune.show(tuning_file)
    assert tuning_file.with_suffix(".md").read_text(encoding="utf-8").count("`luong`") == 2
    fewer = yaml.safe_load(tuning_file.read_text(encoding="utf-8")) | {"trials": 1}  # more were run than it asks for
    shutil.copy(tuning_file.with_suffix(".csv"), tmp_path / "fewer.csv")
    capsys.readouterr()
    tune.show(written(tmp_path / "fewer.yaml", **fewer))
    assert capsys.readouterr().out.startswith("luong --")

    best = max(rows, key=lambda row: float(row["validation_chrf"]))
    assert tune.best_settings(tuning_file) == {"luong": json.loads(best["settings"])}
    protocol = tune.read_protocol(tuning_file)
    sizes_file = written(
        tmp_path / "sizes.yaml",
        **{name: protocol[name] for name in ("dataset", "source_lang", "target_lang", "validation_pairs")},
        tuning=tuning_file.name,
        models=["luong"],
        sizes=[{"pairs": 10, "passes": 1, "seeds": [1, 2]}, {"pairs": 20, "passes": 2, "seeds": [1]}],
        training={**TRAINING, "metric_for_best_model": "bleu"},
        generation={"num_beams": 2},
    )
    compare.run_all(sizes_file, tmp_path / "sizes", None, None)
    assert [(row["pairs"], row["seed"]) for row in rows_beside(sizes_file)] == [("10", "1"), ("20", "1"), ("10", "2")]
    compare.draw(sizes_file)
    assert sizes_file.with_suffix(".png").is_file()
    assert "| 10 | 2 |" in sizes_file.with_suffix(".md").read_text(encoding="utf-8")
    few, many = (tmp_path / "sizes" / f"pairs_{count}_1" / "train.jsonl" for count in (10, 20))
    assert many.read_text(encoding="utf-8").startswith(few.read_text(encoding="utf-8"))


def test_more_pairs_than_there_are_is_an_error(tune: ModuleType, tuning_file: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="25 pairs are wanted, and the data set has 24"):
        tune.draw_pairs(tune.read_protocol(tuning_file), 25, 0, 4, tmp_path / "drawn")


def test_lines_cross_where_the_gap_changes_its_sign(compare: ModuleType) -> None:
    one, other = {2000: 10.0, 8000: 14.0, 16000: 20.0}, {2000: 6.0, 8000: 18.0, 16000: 24.0}
    assert compare.crossings(one, other) == [(2000, 8000)]
    assert compare.crossings(one, one) == []
    (sentence,) = compare.crossing_sentences({"a": one, "b": other})
    assert "cross between 2,000 and 8,000 pairs: `a` is ahead with the fewest, `b` with the most" in sentence
    (sentence,) = compare.crossing_sentences({"a": one, "b": {pairs: bleu - 1 for pairs, bleu in one.items()}})
    assert sentence == "`a` is ahead of `b` at every size."
    (sentence,) = compare.crossing_sentences({"a": one, "b": {2000: 10.01, 8000: 13.0, 16000: 19.0}})
    assert sentence == "`a` is ahead of or level with `b` at every size."
    assert compare.crossing_sentences({"a": one, "b": one}) == []
