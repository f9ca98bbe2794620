"""word2vec's examples and its training through the command: every form, every output, both kinds of noise."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import run_kinds
import torch

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.word_vectors import read_word_vectors
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.evaluation import evaluate_language
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.word_windows import RowCollator, WordWindowsObjective

FORMS = ("skip_gram", "cbow")
KINDS = list(itertools.product(FORMS, ("negative_sampling", "hierarchical_softmax"), ("shared", "own")))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_kinds.write_data("word2vec", tmp_path_factory.mktemp("texts"), rows=40)


@pytest.mark.parametrize(("form", "output", "noise"), KINDS)
def test_every_form_learns_and_is_scored(data: Path, tmp_path: Path, form: str, output: str, noise: str) -> None:
    flags = ("--config.form", form, "--config.output", output, "--objective.noise", noise, "--learning_rate", "1.0")
    flags += ("--optim", "sgd", "--max_grad_norm", "0", "--max_steps", "30", "--save_strategy", "no")
    result = run_kinds.run("word2vec", data, tmp_path / "run", *flags)
    losses = [one["loss"] for one in result.log_history if "loss" in one]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])
    model, tokenizer = load_checkpoint(tmp_path / "run")
    counts = dict(zip(tokenizer.convert_ids_to_tokens(range(len(tokenizer))), model.config.word_counts, strict=True))
    written = (data / "train.txt").read_text().split()
    assert counts == {"<pad>": 0, "<unk>": 0, **{word: written.count(word) for word in set(written)}}
    metrics = evaluate_language(tmp_path / "run", dataset=str(data))
    scores, simple = metrics["results"], metrics["baselines"]["frequencies"]
    assert (
        scores["context_perplexity"] == pytest.approx(math.exp(scores["loss"]), rel=1e-3) and scores["predictions"] > 0
    )
    assert 1 < simple["context_perplexity"] <= len(counts)
    assert len(read_word_vectors(tmp_path / "run")) == len(counts) - 2


def test_examples_leave_out_unknown_and_frequent_words_and_end_windows_at_documents(tmp_path: Path) -> None:
    row = get_architecture("word2vec")
    tokenizer = row.train_tokenizer(["a b c d"], vocab_size=20)
    objective = WordWindowsObjective(row, subsampling=0.0, shared_noise=7)
    objective.check_model(row.config_class(vocab_size=len(tokenizer), window=3))
    texts = [["a b c d rare a"], ["b c b d"]]
    stream = objective.dataset(texts, tokenizer, seed=0, batch_size=1, phases=[Phase(10)], cache_dir=tmp_path)
    (description,) = stream.descriptions(0, 10)
    example = stream.make(description, stream.random(1, 0))
    words = tokenizer.convert_ids_to_tokens(example["input_ids"][0].tolist())
    assert sorted(words) == sorted("abcdabcbd") and example["noise_ids"].shape == (1, 7)
    assert set(example["noise_ids"].ravel()) <= set(tokenizer.convert_tokens_to_ids([*"abcd"]))
    bound = 4 if words[0] == "b" else 5  # words of the first document
    reach = example["reach"][0]
    assert all(place + right < bound for place, (_, right) in enumerate(reach[:bound]))
    assert all(place - left >= bound for place, (left, _) in enumerate(reach) if place >= bound)
    assert reach.max() <= 3
    again = stream.make(description, stream.random(1, 0))
    assert all(np.array_equal(example[name], again[name]) for name in example)
    fewer = WordWindowsObjective(row, subsampling=1e-9, shared_noise=7)
    fewer.check_model(row.config_class(vocab_size=len(tokenizer), window=3))
    stream = fewer.dataset(texts, tokenizer, seed=0, batch_size=1, phases=[Phase(10)], cache_dir=tmp_path / "b")
    empty = stream.make(description, stream.random(1, 0))
    batch = RowCollator(0)([empty, example])
    assert batch["attention_mask"].sum(1).tolist() == [empty["input_ids"].shape[1], 9]
    assert torch.equal(batch["labels"] == -100, batch["attention_mask"] == 0)


def test_texts_without_two_known_words_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.txt").write_text("a a a a a a\n\na a a a a a\n")
    argv = run_kinds.arguments("word2vec", tmp_path, tmp_path / "run", "--max_steps", "1")
    assert main(["pretrain", *argv]) == 2
    assert "fewer than two words that are in the vocabulary" in capsys.readouterr().err
    (tmp_path / "train.txt").write_text("a b a b a b\n\na b a b a b a b a b\n")
    (tmp_path / "validation.txt").write_text("c\n")
    more = ("--eval_strategy", "steps", "--eval_steps", "1")
    argv = run_kinds.arguments("word2vec", tmp_path, tmp_path / "run", "--max_steps", "1", *more)
    assert main(["pretrain", *argv]) == 2
    assert "no held-out document has two words" in capsys.readouterr().err
