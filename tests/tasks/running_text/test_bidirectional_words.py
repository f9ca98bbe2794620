"""ELMo's objective: what the examples are, the same ones after a stop, and a run from raw text to a saved model."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from training_runs import check_two_processes
from transformers import AutoModelForPreTraining, AutoTokenizer

from hf_attention_zoo import get_architecture
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForPreTraining
from hf_attention_zoo.recurrent.projected_lstm import ProjectedState
from hf_attention_zoo.tasks.running_text import bidirectional_words
from hf_attention_zoo.tasks.running_text.bidirectional_words import (
    BidirectionalWordsObjective,
    WordCollator,
    WordTable,
)
from hf_attention_zoo.tasks.running_text.carried_states import load_carried, save_carried
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.pretrain import main
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer
from hf_attention_zoo.training.optimizers import optimizer_class

DOCUMENTS = [
    ["The cat sat on the mat .", "It was a good mat .", "Nobody else sat there ."],
    ["Dogs bark .", "A dog sat on a log and a cat on a mat , and all was well in the wide wide world ."],
    ["Rare unseenword here .", "The end ."],
] * 5


@pytest.fixture(scope="module")
def tokenizer() -> WordCharacterTokenizer:
    return WordCharacterTokenizer.train([line for document in DOCUMENTS for line in document], vocab_size=20)


def stream(tokenizer: Any, folder: Path, batching: str, length: int = 8, batch_size: int = 4) -> Any:
    objective = BidirectionalWordsObjective(get_architecture("elmo"), batching=batching)
    return objective.dataset(
        DOCUMENTS, tokenizer, seed=3, batch_size=batch_size, phases=[Phase(length)], cache_dir=folder
    )


def take(examples: Any, count: int) -> list[dict[str, Any]]:
    iterator = iter(examples)
    return [next(iterator) for _ in range(count)]


def test_bucketed_examples_are_sentences_with_their_characters_and_what_follows(
    tokenizer: WordCharacterTokenizer, tmp_path: Path
) -> None:
    examples = take(stream(tokenizer, tmp_path, "bucketed", length=30), 32)
    sentences = {line for document in DOCUMENTS for line in document}
    for example in examples:
        words = tokenizer.words_of(example["character_ids"].tolist())
        assert " ".join(words) in sentences
        assert example["labels"].tolist() == [*tokenizer.convert_tokens_to_ids(words), 1]
    assert any(2 in example["labels"] for example in examples), "rare words keep their characters and are <UNK>"
    widths = [
        {len(example["labels"]) for example in examples[first : first + 4]} for first in range(0, len(examples), 4)
    ]
    assert np.mean([max(width) - min(width) for width in widths]) < 6
    batch = WordCollator()(examples[:4])
    assert batch["character_ids"].shape[1] + 1 == batch["labels"].shape[1]
    assert ((batch["labels"][:, 1:] != -100).sum(1) == (batch["character_ids"] > 0).any(-1).sum(1)).all()


def test_long_sentences_are_read_in_pieces(tokenizer: WordCharacterTokenizer, tmp_path: Path) -> None:
    assert max(len(example["character_ids"]) for example in take(stream(tokenizer, tmp_path, "bucketed"), 40)) == 8


@pytest.mark.parametrize("batching", ["bucketed", "contiguous"])
def test_examples_are_a_function_of_the_seed_and_a_stopped_stream_goes_on(
    tokenizer: WordCharacterTokenizer, tmp_path: Path, batching: str
) -> None:
    wanted = take(stream(tokenizer, tmp_path / "a", batching), 60)
    again = stream(tokenizer, tmp_path / "b", batching)
    again.start_at(41)
    for one, other in zip(take(again, 19), wanted[41:], strict=True):
        assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_contiguous_rows_go_on_from_batch_to_batch_in_both_directions(
    tokenizer: WordCharacterTokenizer, tmp_path: Path
) -> None:
    examples = take(stream(tokenizer, tmp_path, "contiguous", length=5, batch_size=2), 12)
    lines = {f"<S> {line} </S>" for document in DOCUMENTS for line in document}
    for row in range(2):
        mine = examples[row::2]
        assert {len(example["labels"]) for example in mine} == {5}
        forwards = [word for example in mine for word in tokenizer.words_of(example["character_ids"].tolist())]
        backwards = [
            word for example in mine for word in tokenizer.words_of(example["backward_character_ids"].tolist())[::-1]
        ]
        for words in (forwards, backwards[::-1]):
            text = " ".join(words)
            inner = text[text.index("<S>") : text.rindex("</S>") + 4].split(" </S> ")
            assert all(f"{one.removesuffix(' </S>')} </S>" in lines for one in inner)
        assert forwards != backwards[::-1]
        for example in mine:
            words = tokenizer.words_of(example["character_ids"].tolist())
            assert example["labels"][:-1].tolist() == tokenizer.convert_tokens_to_ids(words)[1:]
            words = tokenizer.words_of(example["backward_character_ids"].tolist())
            assert example["backward_targets"][1:].tolist() == tokenizer.convert_tokens_to_ids(words)[:-1]


@pytest.mark.parametrize("left", ["no words", "words of another text", "words without an end"])
def test_a_cache_of_a_run_that_was_killed_before_its_words_were_written_is_made_anew(
    tokenizer: WordCharacterTokenizer, tmp_path: Path, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, other, cache = tmp_path / "text.txt", tmp_path / "other.txt", tmp_path / "cache"
    text.write_text("\n\n".join("\n".join(document) for document in DOCUMENTS))
    other.write_text("Quite other words .\nAnd fewer .\n")
    objective = BidirectionalWordsObjective(get_architecture("elmo"))

    def examples(file: Path) -> list[dict[str, Any]]:
        settings: dict[str, Any] = {"seed": 3, "batch_size": 4, "phases": [Phase(30)], "cache_dir": cache}
        return take(objective.dataset(DocumentSource(str(file)), tokenizer, **settings), 20)

    wanted = examples(text)
    if left == "words of another text":
        examples(other)
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(bidirectional_words, "write_json", Mock(side_effect=KeyboardInterrupt))
        if left != "words of another text":
            (cache / "store.json").unlink()
            (cache / "words.json").unlink()
        examples(text)
    if left == "words without an end":
        (cache / "words.json").write_text('["The", "ca')
    for one, example in zip(examples(text), wanted, strict=True):
        assert np.array_equal(one["character_ids"], example["character_ids"])
    kept = (cache / "tokens.bin").stat().st_mtime_ns
    assert len(examples(text)) == 20 and (cache / "tokens.bin").stat().st_mtime_ns == kept, "a whole cache is taken"


def test_the_table_of_many_words_is_never_held_as_python_numbers(tokenizer: WordCharacterTokenizer) -> None:
    words = [f"word{number}" for number in range(20_000)]
    tracemalloc.start()
    table = WordTable.of(words, tokenizer)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3 * table.characters.nbytes
    assert tokenizer.words_of(table.characters[[0, 4095, 4096, 19_999]].tolist()) == [
        *("word0", "word4095", "word4096", "word19999")
    ]
    assert len(table.labels) == 20_000 and set(table.labels) == {tokenizer.unk_token_id}


def test_streams_carry_their_state_in_training_and_not_in_evaluation(
    tokenizer: WordCharacterTokenizer, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    config = ELMoConfig(
        **{**get_architecture("elmo").tiny_config().to_diff_dict(), "vocab_size": len(tokenizer), "dropout": 0.0}
    )
    model = ELMoForPreTraining(config)
    batch = WordCollator()(take(stream(tokenizer, tmp_path, "contiguous"), 4))
    with torch.no_grad():
        first, second = model.train()(**batch).loss, model(**batch).loss
        model.reset_state()
        assert model(**batch).loss == first != second
        assert model.eval()(**batch).loss == model(**batch).loss


def test_what_is_carried_belongs_to_a_process_and_is_missed_by_another_number_of_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, other = (ELMoForPreTraining(get_architecture("elmo").tiny_config()) for _ in range(2))
    save_carried(model, tmp_path, 0, 2)
    assert not list(tmp_path.iterdir()), "nothing is carried yet"
    rows = [ProjectedState(torch.rand(2, 3, 6), torch.rand(2, 3, 8)) for _ in range(2)]
    model.model.bilm.carried = rows
    save_carried(model, tmp_path, 1, 2)
    load_carried(other, tmp_path, 1, 2)
    for one, kept in zip(other.model.bilm.carried, rows, strict=True):
        assert torch.equal(one.hidden, kept.hidden) and torch.equal(one.cell, kept.cell)
    other.reset_state()
    load_carried(other, tmp_path, 0, 1)
    assert other.model.bilm.carried is None and "another number of processes" in caplog.text


def test_evaluation_counts_every_word_and_end_once(tokenizer: WordCharacterTokenizer) -> None:
    torch.manual_seed(0)
    config = ELMoConfig(**{**get_architecture("elmo").tiny_config().to_diff_dict(), "vocab_size": len(tokenizer)})
    model = ELMoForPreTraining(config).eval()
    objective = BidirectionalWordsObjective(get_architecture("elmo"))
    found = objective.evaluate(model, tokenizer, DOCUMENTS[:3], length=50, batch_size=3)
    lines = [line.split() for document in DOCUMENTS[:3] for line in document]
    assert found["targets"] == sum(len(line) + 1 for line in lines)
    total = [0.0, 0.0]
    for line in lines:
        batch = tokenizer([line], is_split_into_words=True, return_tensors="pt")
        labels = torch.cat([batch["input_ids"], torch.ones(1, 1, dtype=torch.long)], 1)
        with torch.no_grad():
            out = model(**batch, labels=labels)
        total = [sum_ + loss.item() * (len(line) + 1) for sum_, loss in zip(total, out[1:3], strict=True)]
    forwards, backwards = (value / found["targets"] for value in total)
    assert found["forward_perplexity"] == pytest.approx(math.exp(forwards), rel=1e-5)
    assert found["perplexity"] == pytest.approx(math.exp((forwards + backwards) / 2), rel=1e-5)
    assert 0 < found["unknown_share"] < 1


def test_baselines_count_the_same_targets_in_both_directions(tokenizer: WordCharacterTokenizer) -> None:
    objective = BidirectionalWordsObjective(get_architecture("elmo"))
    found = objective.baselines(tokenizer, DOCUMENTS, DOCUMENTS[:3], length=50)
    assert list(found) == ["1-gram", "2-gram", "3-gram", "4-gram"]
    assert found["3-gram"]["perplexity"] < found["1-gram"]["perplexity"]
    for row in found.values():
        sides = row["forward_perplexity"] * row["backward_perplexity"]
        assert row["perplexity"] == pytest.approx(sides**0.5) == pytest.approx(math.exp(row["loss"]))
    sentence = " ".join(DOCUMENTS[0][0].split()[:4])
    same = objective.baselines(tokenizer, [[sentence] * 40], [[sentence]], length=2)
    assert same["2-gram"]["perplexity"] < 2  # where sentences are cut is learnt, too


@pytest.mark.parametrize("batching", ["bucketed", "contiguous"])
def test_a_run_from_raw_text_falls_is_saved_and_goes_on_to_the_same_losses(tmp_path: Path, batching: str) -> None:
    text = tmp_path / "text.jsonl"
    text.write_text("".join(json.dumps({"sentences": document}) + "\n" for document in DOCUMENTS))
    tiny = {"projection_size": 8, "cell_size": 12, "filters": "[[1,4],[2,8]]", "num_negative_samples": 5}

    def run(folder: Path, *more: str) -> Path:
        flags = [f"--config.{name}={value}" for name, value in tiny.items()]
        flags += ["--train_file", str(text), "--output_dir", str(folder), "--max_steps", "12", "--length", "12"]
        flags += ["--held_out_documents", "3", "--eval_steps", "6", "--save_steps", "6", "--logging_steps", "2"]
        flags += ["--per_device_train_batch_size", "4", "--warmup_steps", "2", "--tokenizer.min_frequency", "1"]
        flags += ["--objective.batching", batching]
        assert main(["elmo", "--recipe", "small", *flags, *more]) == 0
        return folder

    def logged(folder: Path, name: str) -> dict[int, float]:
        history = json.loads((folder / "checkpoint-12" / "trainer_state.json").read_text())["log_history"]
        return {row["step"]: row[name] for row in history if name in row}

    folder = run(tmp_path / "whole")
    held_out = logged(folder, "eval_loss")
    assert held_out[12] < held_out[6]
    model = AutoModelForPreTraining.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert isinstance(model, ELMoForPreTraining) and model.config.vocab_size == len(tokenizer)
    second = run(tmp_path / "second", "--resume_from_checkpoint", str(folder / "checkpoint-6"))
    assert logged(second, "loss") == logged(folder, "loss")


@pytest.mark.slow
@pytest.mark.parametrize("batching", ["bucketed", "contiguous"])
def test_two_processes_give_the_losses_of_one(tmp_path: Path, batching: str) -> None:
    text = tmp_path / "text.jsonl"
    text.write_text("".join(json.dumps({"sentences": document}) + "\n" for document in DOCUMENTS))
    tiny = {"projection_size": 8, "cell_size": 12, "filters": "[[1,4],[2,8]]", "num_negative_samples": 0}

    def arguments(*flags: str, folder: str) -> list[str]:
        sizes = [f"--config.{name}={value}" for name, value in tiny.items()]
        data = ["--train_file", str(text), "--output_dir", str(tmp_path / folder), "--length", "12"]
        others = ["--warmup_steps", "2", "--tokenizer.min_frequency", "1", "--disable_tqdm", "True"]
        others += ["--objective.batching", batching]
        return ["pretrain", "elmo", "--recipe", "small", *sizes, *data, *others, *flags]

    check_two_processes(arguments, tmp_path, "hf_attention_zoo.cli.command")


def test_the_authors_adagrad_is_that_of_a_loss_times_20() -> None:
    kind, options = optimizer_class("adagrad_bilm", type("Args", (), {"learning_rate": 0.2})())
    ours, theirs = (torch.nn.Parameter(torch.ones(3)) for _ in range(2))
    one = kind([ours], **options)
    total = torch.ones(3)
    for step in range(3):
        gradient = torch.tensor([0.1, -0.3, 0.02]) * (step + 1)
        ours.grad = gradient.clone()
        one.step()
        total += (20 * gradient).square()
        with torch.no_grad():
            theirs -= 0.2 * 20 * gradient / total.sqrt()
    torch.testing.assert_close(ours, theirs)


def test_more_negative_samples_than_words_are_refused_before_anything_is_encoded(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(document) for document in DOCUMENTS))
    flags = ["--train_file", str(text), "--output_dir", str(tmp_path / "run"), "--eval_strategy", "no"]
    with pytest.raises(ValueError, match=r"num_negative_samples=512 words.*--config\.num_negative_samples, or 0"):
        main(["elmo", "--recipe", "small", *flags, "--config.projection_size", "8"])
    assert not (tmp_path / "run" / "encoded_text").exists()


def test_an_unknown_batching_is_refused() -> None:
    with pytest.raises(ValueError, match="bucketed or contiguous"):
        BidirectionalWordsObjective(get_architecture("elmo"), batching="sorted")
