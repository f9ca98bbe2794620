"""The comparison of toolkits, without them: its clock and rate, what a protocol tells each program, rows and table."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import yaml
from transformers import Seq2SeqTrainer, set_seed

SETTINGS = {
    "learning_rate": 0.01,
    "warmup_steps": 2,
    "label_smoothing_factor": 0.1,
    "max_tokens_per_batch": 40,
    "config.dropout": 0.1,
    "config.embedding_size": 6,
    "config.hidden_size": 8,
    "config.num_hidden_layers": 1,
}
TUNED = {"model": "luong", "trial": 1, "settings": json.dumps(SETTINGS), "validation_chrf": 1.0}


@pytest.fixture
def budget(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("seconds_budget")


@pytest.fixture
def systems(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("toolkit_systems")


@pytest.fixture
def compare(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("compare_toolkits")


class Clock:
    """Seconds that pass when a test says so."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_validation_costs_no_seconds_and_every_mark_is_passed_once(budget: ModuleType) -> None:
    clock = Clock()

    def validate() -> tuple[float, float]:
        clock.now += 50
        return 1.0, 2.0

    course = budget.Course([2, 4, 5], 0, validate, clock)
    course.begin()
    while not course.over:
        clock.now += 1.5
        course.after_update(10)
    found = [(mark.mark, mark.seconds, mark.updates, mark.target_tokens) for mark in course.found]
    assert found == [(2, 3.0, 2, 20), (4, 4.5, 3, 30), (5, 6.0, 4, 40)]


def test_the_rate_rises_with_updates_and_falls_with_seconds(budget: ModuleType) -> None:
    clock = Clock()
    course = budget.Course([10], 4, lambda: (0.0, 0.0), clock)
    assert course.rate_factor(0) == 0.25
    course.begin()
    clock.now += 5
    assert course.rate_factor(1) == 0.25 and course.rate_factor(9) == 0.5
    clock.now += 6
    assert course.rate_factor(9) == 0


def test_ids_go_to_a_program_and_come_back(systems: ModuleType) -> None:
    assert systems.theirs([1, 7, 3]) == [systems.UNKNOWN, 7, systems.END]
    assert systems.ours([*systems.theirs([1, 7]), systems.END, systems.PAD, 9]) == [1, 7]
    assert systems.ours([7, 8]) == [7, 8]


@pytest.mark.parametrize(
    ("program", "package", "heads"),
    [
        ("marian", "transformers", 2),
        *(("joeynmt", "joeynmt", heads) for heads in (None, 2)),
        *(("opennmt", "onmt", heads) for heads in (None, 2)),
    ],
)
def test_a_program_learns_a_few_pairs_by_heart(
    budget: ModuleType, systems: ModuleType, program: str, package: str, heads: int | None
) -> None:
    """Ids, shift, loss, search and the way back are right: greedily and with a beam each target comes out whole."""
    pytest.importorskip(package)
    pairs = [([4 + k, 5 + k, 3], [*range(9 - k, 12), 3]) for k in range(4)]
    told = budget.Training(learning_rate=0.01, label_smoothing=0.1)
    shape = systems.Sizes(hidden=16, embedding=16, layers=1, dropout=0.0, heads=heads, feedforward=32)
    system = systems.PROGRAMS[program](systems.PROGRAMS[program].like(shape), told, (12, 12))
    optimizer = told.optimizer_of(system.model.train())
    for _ in range(150):
        optimizer.zero_grad()
        system.loss(pairs).backward()
        optimizer.step()
    for beams in (1, 3):
        made = budget.translated(system, [source for source, _ in pairs], beams, 9, rows=3)
        assert [[token for token in row if token > 3] for row in made] == [target[:-1] for _, target in pairs]


@pytest.mark.parametrize("name", ["toolkits_short_de", "toolkits_full_de"])
def test_the_protocols_say_what_each_program_is_told(compare: ModuleType, name: str) -> None:
    import tune

    folder = Path(compare.__file__).parent / "comparisons"
    protocol = compare.read_protocol(folder / f"{name}.yaml")
    entries = protocol["systems"].values()
    best = tune.best_settings(folder / protocol["tuning"], {entry["like"] for entry in entries if "like" in entry})
    for entry in entries:
        _, training = compare.plan_of(entry, best)
        assert (training.tokens is None) != (training.sentences is None)
        if entry["toolkit"] != "here" and "like" in entry:
            assert training == compare.training_of(best[entry["like"]])
    transformer = compare.sizes_of(best["transformer2017"])
    assert compare.PROGRAMS["opennmt"].like(transformer)["transformer_ff"] == transformer.feedforward
    assert compare.PROGRAMS["joeynmt"].like(transformer)["encoder"]["num_heads"] == transformer.heads


def test_every_program_has_adams_constants_that_validation_chose(
    compare: ModuleType, systems: ModuleType, tmp_path: Path
) -> None:
    chosen = SETTINGS | {"adam_beta2": 0.98, "adam_epsilon": 1e-9}
    for settings, wanted in ((chosen, {"betas": (0.9, 0.98), "eps": 1e-9}), (SETTINGS, {})):
        told, layer = compare.training_of(settings), torch.nn.Linear(1, 1)
        defaults = torch.optim.Adam(layer.parameters(), lr=settings["learning_rate"]).defaults | wanted
        zoo = systems.Zoo({"model_type": "luong", "hidden_size": 8, "embedding_size": 8}, told, (9, 9))
        trainer = Seq2SeqTrainer(zoo.model, zoo.arguments(1, tmp_path))
        for optimizer in (told.optimizer_of(layer), trainer.create_optimizer()):
            assert {name: optimizer.defaults[name] for name in ("lr", "betas", "eps")} == {
                name: defaults[name] for name in ("lr", "betas", "eps")
            }


def test_a_model_that_another_program_has_in_another_form_is_not_put_beside_it(compare: ModuleType) -> None:
    """What settings leave out counts as well: Luong's window is local-p unless they say otherwise."""
    theirs, here = ({"toolkit": toolkit, "like": "luong"} for toolkit in ("opennmt", "here"))
    form = {"config.attention_window": "global", "config.attention_score": "general", "config.input_feeding": True}
    model, _ = compare.plan_of(theirs, {"luong": SETTINGS | form})
    assert model["hidden_size"] == SETTINGS["config.hidden_size"]
    for settings, said in (
        (SETTINGS, "attention_window='local-p'"),
        (SETTINGS | form | {"config.attention_score": "dot"}, "attention_score='dot'"),
        (SETTINGS | form | {"config.input_feeding": False}, "input_feeding=False"),
    ):
        with pytest.raises(SystemExit, match=f"luong: .* mean {said}, and other programs build"):
            compare.plan_of(theirs, {"luong": settings})
        compare.plan_of(here, {"luong": settings})


def test_words_are_not_drowned_by_positions_in_marian(budget: ModuleType, systems: ModuleType) -> None:
    """Its configuration scales no embeddings unless it is told to, and its word vectors begin at 0.02."""
    set_seed(0)
    told = systems.Sizes(hidden=64, embedding=64, layers=2, dropout=0.0, heads=4, feedforward=128)
    marian = systems.Marian(systems.Marian.like(told), budget.Training(0.01), (200, 200)).model.eval()
    sentences = torch.arange(4, 104).view(2, 50)  # no word in common
    with torch.no_grad():
        one, other = marian.model.encoder(sentences).last_hidden_state  # (S, H) each
    assert torch.cosine_similarity(one, other).mean() < 0.96


def test_a_system_may_have_seeds_of_its_own(compare: ModuleType) -> None:
    protocol = {"seeds": [1], "systems": {"a": {}, "b": {"seeds": [1, 3]}, "c": {"seeds": [2]}}}
    assert [run.key for run in compare.runs(protocol)] == [("a", 1), ("b", 1), ("c", 2), ("b", 3)]


@pytest.fixture
def protocol_file(tmp_path: Path) -> Path:
    """Two systems that need no other toolkit, on a few pairs, for half a second."""
    data = tmp_path / "pairs"
    data.mkdir()
    for split, count in {"train": 24, "validation": 4, "test": 3}.items():
        lines = [{"translation": {"de": f"{'abcd'[k % 4]} {k}", "en": f"e f {k}"}} for k in range(count)]
        (data / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    protocol = {
        **{"dataset": str(data), "source_lang": "de", "target_lang": "en", "seeds": [1], "marks": [0.1, 0.2]},
        **{"beams": 2, "longest": 6, "tuning": "tuning.yaml", "tokenizer": {"kind": "word", "vocab_size": 30}},
        "systems": {
            "here, Luong": {"kind": "LSTM", "toolkit": "here", "like": "luong"},
            "Marian": {
                **{"kind": "Transformer", "toolkit": "marian"},
                "training": {"learning_rate": 0.01, "sentences": 8, "label_smoothing": 0.1},
                "model": {
                    **{"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8},
                    **{"decoder_ffn_dim": 8, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
                },
            },
            "broken": {"kind": "LSTM", "toolkit": "marian", "training": {"speed": 1.0}, "model": {}},
        },
    }
    tuning = {"trials": 1, "models": {"luong": {}}}
    for name, content in (("toolkits", protocol), ("tuning", tuning)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    with (tmp_path / "tuning.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(TUNED))
        writer.writeheader()
        writer.writerow(TUNED)
    return tmp_path / "toolkits.yaml"


def rows_of(protocol_file: Path) -> list[dict[str, Any]]:
    with protocol_file.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_finished_runs_are_kept_whole_and_one_that_fails_loses_nobody_else(
    compare: ModuleType, protocol_file: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(SystemExit, match="failed: broken, seed 1"):
            compare.run_all(protocol_file, tmp_path / "work", None, None)
        rows = rows_of(protocol_file)
        assert [(row["system"], row["mark"], row["bleu"] != "") for row in rows] == [
            *[("here, Luong", "0.1", False), ("here, Luong", "0.2", True)],
            *[("Marian", "0.1", False), ("Marian", "0.2", True)],
        ]
        assert all(float(row["seconds"]) >= float(row["mark"]) and int(row["updates"]) > 0 for row in rows)
    compare.show(protocol_file)
    assert protocol_file.with_suffix(".png").is_file()
    table = protocol_file.with_suffix(".md").read_text(encoding="utf-8")
    assert "| here, Luong | 1 |" in table and "broken" not in table


def test_who_is_behind_is_said_over_the_seeds_that_both_have(compare: ModuleType) -> None:
    def row(system: str, seed: int, chrf: float) -> dict[str, str]:
        return {"system": system, "seed": str(seed), "mark": "5", "validation_chrf": str(chrf), "validation_bleu": "1"}

    systems = {name: {"kind": "LSTM", "toolkit": toolkit} for name, toolkit in (("ours", "here"), ("x", "joeynmt"))}
    rows = [row("ours", 1, 20.0), row("ours", 2, 10.0), row("x", 1, 19.0)]
    chrf, bleu = compare.standings({"systems": systems}, rows)
    assert chrf == "- LSTM, validation chrF: ours is behind none of the others."
    chrf, bleu = compare.standings({"systems": systems}, [*rows, row("x", 2, 13.0)])
    assert chrf == "- LSTM, validation chrF: ours is at 5 s behind x (15.0 ± 7.1; 16.0 ± 4.2)."
    assert bleu == "- LSTM, validation BLEU: ours is behind none of the others."
    chrf, bleu = compare.standings({"systems": systems}, [rows[0], row("x", 1, 20.04)])
    assert chrf == "- LSTM, validation chrF: ours is behind none of the others."  # level at the decimal that is shown
    chrf, bleu = compare.standings({"systems": systems}, [rows[0], row("x", 1, 21.0)])
    assert chrf == "- LSTM, validation chrF: ours is at 5 s behind x (20.0; 21.0; one seed)."
    apart = compare.standings({"systems": systems}, [*rows[:2], row("x", 3, 13.0)])
    assert apart == ["- LSTM: no seed of ours is one of x."]
