"""The comparison of classifiers: which system runs where, the vectors they start from, and the tables of a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

SCRIPTS = Path(__file__).parents[2] / "scripts"
FEW = {"num_train_epochs": 1, "per_device_train_batch_size": 8, "report_to": "none", "use_cpu": True}


@pytest.fixture
def compare(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("compare_classification")


@pytest.fixture
def protocol(compare: Any) -> dict[str, Any]:
    return compare.read_protocol(SCRIPTS / "comparisons" / "classification.yaml")


def folder_of(path: Path, pairs: bool = False) -> str:
    path.mkdir()
    for split, count in (("train", 24), ("validation", 4), ("test", 4)):
        rows = [{"text": f"so {'good' if n % 2 else 'bad'} it was", "label": n % 2} for n in range(count)]
        second = {"text_pair": "it was"} if pairs else {}
        lines = "".join(json.dumps({**row, **second}) + "\n" for row in rows)
        (path / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return str(path)


def test_every_system_of_the_protocol_is_there_and_runs_where_it_belongs(compare: Any, protocol: dict) -> None:
    from hf_attention_zoo.registry import get_architecture

    for settings in protocol["systems"].values():
        if settings["kind"] == "zoo":
            row = get_architecture(settings["model"])
            assert settings["recipe"] in row.recipes
            row.config_class(**settings.get("config", {}))
    found = list(compare.runs(protocol, {"sent_nsmc_ko": "there"}))
    assert len({run.key for run in found}) == len(found) == len({run.folder for run in found})
    assert {run.dataset for run in found} == set(protocol["datasets"]) - {"doc_moviereviews"}
    for run in found:
        assert not (run.dataset == "pair_debian_match" and run.settings.get("model") == "han")
        assert (run.seed == compare.WITHOUT_CHANCE) == (run.settings["kind"] == "baseline")


def test_systems_train_from_the_vectors_of_their_set_and_are_tabulated(
    compare: Any, protocol: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gensim")
    small = {"embedding_size": 8, "hidden_size": 6}
    han = {"kind": "zoo", "model": "han", "recipe": "none", "for": "texts", "config": {**small, "attention_size": 4}}
    protocol |= {
        "seeds": [1],
        "vector_size": 8,
        "training": protocol["training"] | FEW,
        "datasets": {"ours": {"language": "ko"}},
    }
    protocol["systems"] = {
        "majority": protocol["systems"]["majority"],
        "averaged": {"kind": "small", "reader": "average", "config": {"embedding_size": 8}},
        "BiGRU": {"kind": "small", "reader": "bigru", "config": small},
        "HN-ATT": han,
        "random": {**han, "word_vectors": None},
        "hops": {"kind": "zoo", "model": "self_attentive", "recipe": "none", "config": {**small, "num_hops": 3}},
    }
    file = tmp_path / "few.yaml"
    file.write_text(json.dumps(protocol), encoding="utf-8")  # YAML reads JSON
    compare.run_all(file, tmp_path, {"ours": folder_of(tmp_path / "ours")}, None, None)
    compare.run_all(file, tmp_path, {"ours": str(tmp_path / "ours")}, None, None)  # everything has its row
    rows = {row["system"]: row for row in compare.read_rows(tmp_path / "few.csv")}
    assert list(rows) == list(protocol["systems"])
    assert len((tmp_path / "word_vectors" / "ours.txt").read_text().splitlines()) == 5  # so good bad it was
    assert rows["HN-ATT"]["coverage"] == "1.0" and rows["random"]["coverage"] == ""
    tokenizer = json.loads((tmp_path / "ours_HN-ATT_1" / "tokenizer_config.json").read_text())
    assert tokenizer["language"] == "ko" and tokenizer["max_words"] == protocol["max_words"]
    assert 1 <= float(rows["hops"]["effective_hops"]) <= 3 and 0 <= float(rows["hops"]["overlap"]) <= 1
    compare.write_table(file)
    text = capsys.readouterr().out
    head = "| system | seeds | parameters | seconds | validation accuracy | test accuracy | macro F1 "
    assert "## ours" in text and f"{head}| shared by two hops | different hops | penalty |" in text
    assert "| majority | - | - |" in text and "| HN-ATT | 1 |" in text


def test_the_bigru_reads_each_row_as_if_it_were_alone(compare: Any) -> None:
    model = compare.SmallClassifier("bigru", 20, 2, False, 6, 4)
    ids = torch.randint(1, 20, (4, 7))
    mask = torch.tensor([[1] * 7, [1] * 3 + [0] * 4, [0] * 2 + [1] * 5, [0] * 7]).bool()
    read = model.read(ids, mask)
    for row in range(3):
        alone = model.gru(model.embed_tokens(ids[row : row + 1, mask[row]]))[1]
        torch.testing.assert_close(read[row], alone.flatten())
    assert not read[3].any()


def test_pairs_are_compared_side_by_side(compare: Any, protocol: dict, tmp_path: Path) -> None:
    protocol |= {"seeds": [1], "word_vectors": None, "training": protocol["training"] | FEW}
    protocol["datasets"] = {"pairs": {"language": "en", "pairs": True}}
    protocol["systems"] = {
        "averaged": {"kind": "small", "reader": "average", "config": {"embedding_size": 8}},
        "HN-AVE": protocol["systems"]["HN-AVE"],
    }
    file = tmp_path / "few.yaml"
    file.write_text(json.dumps(protocol), encoding="utf-8")
    compare.run_all(file, tmp_path, {"pairs": folder_of(tmp_path / "pairs", pairs=True)}, None, None)
    (row,) = compare.read_rows(tmp_path / "few.csv")
    assert row["system"] == "averaged"  # HAN reads no pairs
    vocabulary = len(json.loads((tmp_path / "pairs_averaged_1" / "tokenizer.json").read_text())["model"]["vocab"])
    assert int(row["parameters"]) == vocabulary * 8 + 4 * 8 * 2 + 2
