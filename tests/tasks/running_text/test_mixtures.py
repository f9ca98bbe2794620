"""Language models mixed with n-grams: every causal model, both entries, numbers by hand, what cannot be mixed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_attention_zoo import list_architectures
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.ngram_perplexity import NGramModel
from hf_attention_zoo.registry import CAUSAL, Architecture, get_architecture
from hf_attention_zoo.tasks.running_text.card import CARD
from hf_attention_zoo.tasks.running_text.evaluation import evaluate_language
from hf_attention_zoo.tasks.running_text.mixture_names import INTERPOLATED
from hf_attention_zoo.tasks.running_text.objectives import objective_class
from hf_attention_zoo.tasks.running_text.rows import DocumentSource, read_documents

LENGTH = 17
CAUSAL_ROWS = [row for row in list_architectures() if CAUSAL in row.models]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A document between blank lines; `alone` has no validation split, `bare` no training split."""
    folder = tmp_path_factory.mktemp("text")
    there = {"whole": ("train", "validation", "test"), "alone": ("train", "test"), "bare": ("test",)}
    for name, splits in there.items():
        (folder / name).mkdir()
        for split in splits:
            documents = [*read_documents("lm_debian", split="test" if split != "train" else "validation", limit=12)]
            halves = {"validation": documents[:6], "test": documents[6:]}
            lines = "\n\n".join("\n".join(one) for one in halves.get(split, documents))
            (folder / name / f"{split}.txt").write_text(lines + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def saved(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """model_type -> a folder with a tiny model that has learnt nothing, and its tokenizer."""
    made: dict[str, Path] = {}

    def folder_of(row: Architecture) -> Path:
        if row.model_type not in made:
            objective = objective_class(row)(row)
            tokenizer = objective.train_tokenizer(DocumentSource(str(text / "whole"), split="train"), vocab_size=300)
            fields = {**row.tiny_config().to_diff_dict(), **objective.config_fields(tokenizer, LENGTH)}
            torch.manual_seed(1)
            auto = objective.auto_class if objective.auto_class in row.models else CAUSAL
            folder = tmp_path_factory.mktemp(row.model_type)
            row.model_classes[auto](row.config_class(**fields)).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            made[row.model_type] = folder
        return made[row.model_type]

    return folder_of


@pytest.mark.parametrize("row", CAUSAL_ROWS, ids=lambda row: row.model_type)
def test_every_causal_model_is_mixed_token_by_token(row: Architecture, saved: Any, text: Path) -> None:
    folder, data = saved(row), str(text / "whole")
    metrics = evaluate_language(folder, dataset=data, length=LENGTH, baselines=False, mix_with="3-gram")
    half, fitted = metrics["mixtures"]
    assert (half["weight"], half["fitted_on"], fitted["fitted_on"]) == (0.5, None, "validation")

    model, tokenizer = load_checkpoint(folder)
    objective = objective_class(row)(row)
    learnt = objective.running_text(tokenizer, DocumentSource(data, split="train"))
    counts = NGramModel([learnt], len(tokenizer), 3)
    stretches = objective.held_out(tokenizer, DocumentSource(data, split="test"), LENGTH)
    with torch.no_grad():
        logs = model(torch.from_numpy(stretches)).logits.log_softmax(-1)
    likely = []
    for row_logs, ids in zip(logs, stretches, strict=True):
        for t, ngram in enumerate(np.exp(counts.log_probabilities(ids))[1:], 1):
            likely.append((math.exp(row_logs[t - 1, ids[t]]), ngram))
    for share, found in ((0.5, half), (fitted["weight"], fitted)):
        loss = -np.mean([math.log((1 - share) * mine + share * ngram) for mine, ngram in likely])
        assert found["mixed_loss"] == pytest.approx(loss, abs=1e-3)
        assert found["mixed_perplexity"] == pytest.approx(math.exp(loss), rel=1e-3)
    assert fitted["weight"] > 0.9  # the model has learnt nothing
    assert metrics["baselines"]["3-gram"]["loss"] == pytest.approx(-np.mean(np.log([n for _, n in likely])), abs=1e-3)


def test_the_command_mixes_says_so_and_the_card_has_it(saved: Any, text: Path, capsys: Any, tmp_path: Path) -> None:
    folder, output = saved(get_architecture("nnlm")), tmp_path / "metrics.json"
    data = ["--dataset", str(text / "whole"), "--length", str(LENGTH), "--output", str(output)]
    assert main(["evaluate", str(folder), *data, "--mix_with", INTERPOLATED, "--mix_weight", "0.3"]) == 0
    metrics = json.loads(output.read_text(encoding="utf-8"))
    (mixture,) = metrics["mixtures"]
    assert (mixture["with"], mixture["weight"]) == (INTERPOLATED, 0.3)
    assert set(metrics["baselines"]) == {"1-gram", "2-gram", "3-gram", "4-gram", INTERPOLATED}
    assert metrics["results"]["loss"] > mixture["mixed_loss"]
    said = f"{mixture['mixed_perplexity']:.3f} perplexity mixed with interpolated, 3 tokens (share 0.3)"
    assert said in capsys.readouterr().out
    (section,) = [made(metrics, CARD) for made in CARD.sections]
    assert "mixed with interpolated, 3 tokens (share 0.3)" in section
    assert f"| {mixture['mixed_perplexity']:.2f} |" in section
    assert not CARD.sections[0]({**metrics, "mixtures": []}, CARD)


WRONG = [
    ("nnlm", "whole", ["--mix_weight", "0.5"], "without a model to mix with; add --mix_with 4-gram"),
    ("nnlm", "whole", ["--mix_with", "4-gram", "--mix_weight", "1"], "--mix_weight 1.0; give a share"),
    ("nnlm", "whole", ["--mix_with", "4-gram", "--split", "train"], "this split is the one that it learns from"),
    ("nnlm", "whole", ["--mix_with", "4-gram", "--split", "training"], "this split is the one that it learns from"),
    (
        "nnlm",
        "whole",
        ["--mix_with", INTERPOLATED, "--split", "dev"],
        "this split is that one; give --mix_with 4-gram",
    ),
    ("nnlm", "bare", ["--mix_with", "4-gram"], "learns from a training split, and the data have none"),
    ("nnlm", "alone", ["--mix_with", INTERPOLATED], "give --mix_with 4-gram with --mix_weight 0.5"),
    ("nnlm", "alone", ["--mix_with", "4-gram", "--mix_weight", "fitted"], "give --mix_with 4-gram with --mix_weight"),
    ("bert2018", "whole", ["--mix_with", "4-gram"], "bert2018 predicts others; leave out --mix_with"),
    ("elmo", "whole", ["--mix_with", "4-gram"], "elmo predicts others; leave out --mix_with"),
]


@pytest.mark.parametrize(("model", "data", "flags", "said"), WRONG, ids=[" ".join(one[2]) for one in WRONG])
def test_what_cannot_be_mixed_is_said_before_anything_is_scored(
    model: str, data: str, flags: list[str], said: str, saved: Any, text: Path, capsys: Any, tmp_path: Path
) -> None:
    folder = saved(get_architecture(model))
    capsys.readouterr()  # bars of saving
    given = ["--dataset", str(text / data), "--length", str(LENGTH), "--output", str(tmp_path / "metrics.json")]
    assert main(["evaluate", str(folder), *given, *flags]) == 2
    *bars, line = capsys.readouterr().err.splitlines()
    assert line.startswith("attention-zoo: ") and said in line
    assert all("Loading weights" in bar for bar in bars if bar)
    assert not (tmp_path / "metrics.json").exists()


def test_without_a_validation_split_halves_are_mixed_as_advised(saved: Any, text: Path) -> None:
    settings: dict[str, Any] = {"dataset": str(text / "alone"), "length": LENGTH, "baselines": False}
    folder = saved(get_architecture("nnlm"))
    (half,) = evaluate_language(folder, **settings, mix_with="4-gram", output=folder / "alone.json")["mixtures"]
    settings |= {"mix_with": "4-gram", "mix_weight": 0.5, "output": folder / "alone.json"}
    assert evaluate_language(folder, **settings)["mixtures"] == [half]
    with pytest.raises(ValueError, match="mix_with='5-gram'; choose one of 1-gram"):
        evaluate_language(folder, **{**settings, "mix_with": "5-gram"})
