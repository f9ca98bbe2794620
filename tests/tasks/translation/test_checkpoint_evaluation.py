"""Scoring a saved folder: the metrics file, and numbers that can be recomputed by hand."""

import json
import math
from pathlib import Path

import pytest
import sacrebleu
import torch

from hf_attention_zoo.folders.privacy import public_facts
from hf_attention_zoo.seq2seq.translating import translate
from hf_attention_zoo.tasks.evaluate import main
from hf_attention_zoo.tasks.translation import evaluation
from hf_attention_zoo.tasks.translation.evaluation import (
    decoding_settings,
    evaluate_checkpoint,
    load_checkpoint,
    summary,
)


def test_the_metrics_file_has_everything_a_card_reads(saved_folder: Path, pair_file: Path, tmp_path: Path) -> None:
    out, texts = tmp_path / "metrics.json", tmp_path / "translations.txt"
    metrics = evaluate_checkpoint(
        saved_folder, dataset=str(pair_file), num_beams=3, output=out, translations=texts, command="as typed"
    )
    assert json.loads(out.read_text()) == public_facts(metrics)
    assert metrics["dataset"]["split"] == "test" and metrics["dataset"]["rows"] == 5
    assert (metrics["dataset"]["source_lang"], metrics["dataset"]["target_lang"]) == ("de", "en")
    assert metrics["model_type"] == "rnnsearch" and metrics["parameters"] > 0
    assert metrics["decoding"] == {"num_beams": 3, "max_length": 12}
    assert set(metrics["results"]) >= {"bleu", "chrf", "perplexity_per_token", "brevity_penalty", "seconds"}
    assert metrics["results"]["bleu"]["signature"].startswith("nrefs:1")
    assert set(metrics["baselines"]["copy"]) == {"bleu", "chrf"}
    assert sum(row["sentences"] for row in metrics["bleu_by_source_length"]) == 5
    assert metrics["command"] == "as typed" and metrics["versions"]["torch"] and metrics["hardware"]
    assert len(texts.read_text().splitlines()) == 5
    assert "copying the source" in summary(metrics)


def test_the_scores_are_those_of_the_translations(saved_folder: Path, pair_file: Path, tmp_path: Path) -> None:
    pairs = [json.loads(line) for line in (pair_file / "test.jsonl").read_text().splitlines()]
    sources, targets = [pair["source"] for pair in pairs], [pair["target"] for pair in pairs]
    metrics = evaluate_checkpoint(saved_folder, dataset=str(pair_file), batch_size=2, output=tmp_path / "m.json")
    model, tokenizer = load_checkpoint(saved_folder)
    expected = translate(model, tokenizer, sources)
    assert metrics["results"]["bleu"]["value"] == round(sacrebleu.corpus_bleu(expected, [targets]).score, 2)
    assert metrics["results"]["chrf"]["value"] == round(sacrebleu.corpus_chrf(expected, [targets]).score, 2)

    total, count = 0.0, 0
    for source, target in zip(sources, targets, strict=True):
        encoded = tokenizer([source], text_target=[target], return_tensors="pt")
        with torch.no_grad():
            scores = model(**encoded).logits.log_softmax(dim=-1)
        total -= scores.gather(2, encoded["labels"][..., None]).sum().item()
        count += encoded["labels"].numel()
    assert metrics["results"]["target_tokens"] == count
    assert metrics["results"]["perplexity_per_token"] == pytest.approx(math.exp(total / count), rel=1e-4)


def test_what_was_seen_is_scored_apart_from_what_was_not(
    saved_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"train": ["a b", "c", "a"], "test": ["a b", "b a", "a d"]}
    data = tmp_path / "data"
    data.mkdir()
    for split, sources in rows.items():
        lines = [json.dumps({"source": source, "target": source.upper()}) for source in sources]
        (data / f"{split}.jsonl").write_text("\n".join(lines))
    said = {"a b": "A  B", "c": "C", "a": "a", "b a": "B A", "a d": "A C"}
    monkeypatch.setattr(evaluation, "translate", lambda model, tokenizer, texts, **_: [said[text] for text in texts])
    metrics = evaluate_checkpoint(saved_folder, dataset=str(data), seen=True, output=tmp_path / "m.json")
    found = {group["group"]: (group["rows"], group["exact_match"]) for group in metrics["groups"]}
    assert found == {
        "seen (the training split)": (3, 66.67),
        "unseen": (2, 50.0),
        "unseen, of words that training has": (1, 100.0),
        "unseen, with a word that training does not have": (1, 0.0),
    }
    assert metrics["results"]["exact_match"] == 66.67 and "unseen (2): exact 50.00 %" in summary(metrics)
    (data / "train.jsonl").unlink()
    with pytest.raises(ValueError, match="needs a split 'train'"):
        evaluate_checkpoint(saved_folder, dataset=str(data), seen=True, output=tmp_path / "m.json")


def test_without_a_data_set_that_of_the_training_is_taken(saved_folder: Path, pair_file: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(saved_folder, folder)
    with pytest.raises(ValueError, match="which data"):
        evaluate_checkpoint(folder)
    (folder / "training.json").write_text(json.dumps({"arguments": {"dataset": str(pair_file), "max_words": 4}}))
    metrics = evaluate_checkpoint(folder)
    assert metrics["dataset"]["rows"] == 3 and metrics["dataset"]["max_words"] == 4
    assert json.loads((folder / "metrics.json").read_text())["dataset"]["rows"] == 3


def test_the_settings_are_those_that_the_search_obeys(saved_folder: Path) -> None:
    model, _ = load_checkpoint(saved_folder)
    model.generation_config.max_length_beyond_source = 50
    assert decoding_settings(model, {}) == {"num_beams": 1, "max_length_beyond_source": 50}
    assert decoding_settings(model, {"max_new_tokens": 7})["max_new_tokens"] == 7
    assert "max_length_beyond_source" not in decoding_settings(model, {"max_new_tokens": 7})


def test_the_command_takes_decoding_settings(
    saved_folder: Path, pair_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    flags = ["--num_beams", "2", "--generation.length_penalty", "0.0", "--max_samples", "2", "--output", str(out)]
    assert main([str(saved_folder), "--dataset", str(pair_file), *flags]) == 0
    metrics = json.loads(out.read_text())
    assert metrics["decoding"] == {"num_beams": 2, "length_penalty": 0.0, "max_length": 12}
    assert metrics["dataset"]["rows"] == 2
    assert "attention-zoo evaluate" in metrics["command"]
    assert "perplexity per token" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folder", "keywords", "message"),
    [
        ("/no/such/folder", {}, "no such folder"),
        (None, {"split": "dev"}, "no split 'dev'; it has: test"),
        (None, {"dataset": "translation_de_xx"}, "translation_de_en"),
    ],
)
def test_wrong_requests_are_explained(
    saved_folder: Path, pair_file: Path, folder: str | None, keywords: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_checkpoint(folder or saved_folder, **{"dataset": str(pair_file), **keywords})


def test_a_folder_without_a_model_is_refused(tmp_path: Path, pair_file: Path) -> None:
    with pytest.raises(ValueError, match="no model"):
        evaluate_checkpoint(tmp_path, dataset=str(pair_file))
