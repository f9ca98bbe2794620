"""The comparison of captioners: rows of a run, the table of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def compare(load_script):
    return load_script("compare_captions")


def metrics(bleu4: float) -> dict:
    scores = {"bleu1": 50.0, "bleu2": 40.0, "bleu3": 30.0, "cider": 1.5, "meteor": 20.0, "exact": 10.0}
    return {
        "dataset": {"rows": 8},
        "parameters": 100,
        "hardware": "one core",
        "results": {**scores, "bleu4": {"value": bleu4, "signature": "s"}},
        "baselines": {name: {**scores, "bleu4": 1.0} for name in ("most_frequent", "nearest")},
        "groups": [{"group": "seen=True", "rows": 5, **scores, "bleu4": bleu4 + 1, "baselines": {}}],
    }


def test_means_stand_beside_the_baselines_group_by_group(compare, tmp_path: Path) -> None:
    file = tmp_path / "captions.csv"
    one = metrics(20.0)
    one["groups"][0]["baselines"] = one["baselines"]
    for row in compare.baseline_rows(one):
        compare.append_row(file, row, compare.FIELDS)
    pointing = {"pointing": 70.0, "mass": 60.0, "chance": 11.0}
    for seed, bleu4 in ((1, 20.0), (2, 22.0)):
        for row in compare.result_rows("soft, coverage", seed, metrics(bleu4), pointing):
            compare.append_row(file, row, compare.FIELDS)
    text = compare.table(tmp_path / "captions.yaml")
    assert "The whole test split: 8 pictures" in text and "seen=True: 5 pictures" in text
    assert "| soft, coverage | 2 | 50.0 ± 0.0 | 40.0 ± 0.0 | 30.0 ± 0.0 | 21.0 ± 1.4 |" in text
    assert "| soft, coverage | 2 | 50.0 ± 0.0 | 40.0 ± 0.0 | 30.0 ± 0.0 | 22.0 ± 1.4 |" in text
    assert "| exact | pointing | mass | chance |" in text
    assert "| 10.0 ± 0.0 | 70.0 ± 0.0 | 60.0 ± 0.0 | 11.0 ± 0.0 |" in text
    assert "| most frequent caption |  | 50.0 | 40.0 | 30.0 | 1.0 |" in text


def test_every_protocol_makes_a_plan_of_each_of_its_variants(
    compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hf_attention_zoo import ShowAttendTellConfig

    plans = []
    monkeypatch.setattr("hf_attention_zoo.tasks.train.run_training", plans.append)
    monkeypatch.setattr(compare, "dataset_folder", lambda protocol, work: "data/pictures")
    for name in ("captions_emoji", "captions_stamps", "captions_grid"):
        protocol = compare.read_protocol(SCRIPTS / "comparisons" / f"{name}.yaml")
        assert len(protocol["seeds"]) == 3 and len(protocol["variants"]) == 5
        for variant in protocol["variants"]:
            compare.train(variant, protocol["seeds"][0], protocol, tmp_path, name)
    attentions = [ShowAttendTellConfig(**plan.config).attention for plan in plans]
    assert attentions == ["soft", "soft", "hard", "hard", "mean"] * 3
