"""One tiny run of every kind of training, and how a run is killed in this process: what all tests of kills, damaged
files, overwriting, changed data and changed flags share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from safetensors.torch import load_file

from hf_attention_zoo.tasks.captions.grid_pictures import write_grid_pictures
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.entry_point import TrainingResult
from hf_attention_zoo.training.run_plan import parse_run

STEPS = 4
COMMON = [
    *(
        "--recipe",
        "none",
        "--use_cpu",
        "True",
        "--disable_tqdm",
        "True",
        "--report_to",
        "none",
        "--logging_steps",
        "1",
    ),
    *("--per_device_train_batch_size", "2", "--learning_rate", "0.02", "--lr_scheduler_type", "constant"),
    *("--max_steps", str(STEPS), "--save_strategy", "steps", "--save_steps", "2", "--eval_strategy", "no"),
]
BERT = [
    *("--config.hidden_size", "8", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
    *("--config.intermediate_size", "8", "--config.max_position_embeddings", "40", "--tokenizer.vocab_size", "90"),
]


@dataclass(frozen=True)
class Kind:
    """A kind of training.

    Attributes:
        architecture, flags: of the command.
        rows: random numbers -> a row of the data; None for pictures and running text.
        pretrains: whether the command is `pretrain`.
    """

    architecture: str
    flags: tuple[str, ...]
    rows: Callable[[random.Random], dict[str, Any]] | None = None
    pretrains: bool = False


def _words(rng: random.Random) -> list[str]:
    return [rng.choice(["ba", "da", "ga", "ka", "la", "ma"]) for _ in range(rng.randint(3, 6))]


def _pair(rng: random.Random) -> dict[str, Any]:
    words = _words(rng)
    return {"source": " ".join(words), "target": " ".join(words).upper()}


def _labelled(rng: random.Random) -> dict[str, Any]:
    return {"text": " ".join(_words(rng)), "label": rng.choice(["good", "bad"])}


def _tagged(rng: random.Random) -> dict[str, Any]:
    words = _words(rng)
    return {"tokens": words, "upos": [rng.choice(["NOUN", "VERB"]) for _ in words]}


def _asked(rng: random.Random) -> dict[str, Any]:
    words = _words(rng)
    return {
        "question": "which ?",
        "context": " ".join(words),
        "answers": {"text": [words[1]], "answer_start": [len(words[0]) + 1]},
    }


def _choice(rng: random.Random) -> dict[str, Any]:
    choices = [" ".join(_words(rng)) for _ in range(2)]
    return {"context": " ".join(_words(rng)), "choices": choices, "label": rng.randrange(2)}


KINDS = {
    "translation": Kind(
        "rnnsearch",
        (
            *("--config.embedding_size", "4", "--config.hidden_size", "6", "--config.attention_size", "6"),
            *("--config.maxout_size", "4", "--config.dropout", "0.2"),
            *("--tokenizer.kind", "word", "--tokenizer.vocab_size", "30"),
        ),
        _pair,
    ),
    "labels": Kind(
        "self_attentive",
        (
            *("--config.embedding_size", "4", "--config.hidden_size", "4", "--config.attention_size", "4"),
            *("--config.num_hops", "2", "--config.classifier_size", "4", "--config.dropout", "0.2"),
            *("--tokenizer.kind", "word", "--tokenizer.vocab_size", "30"),
        ),
        _labelled,
    ),
    "tags": Kind("bert2018", ("--task", "token-classification", *BERT), _tagged),
    "questions": Kind("bert2018", ("--task", "question-answering", *BERT), _asked),
    "choices": Kind("bert2018", ("--task", "multiple-choice", *BERT), _choice),
    "captions": Kind(
        "show_attend_tell",
        (
            *("--config.embedding_size", "4", "--config.hidden_size", "6", "--config.annotation_size", "4"),
            *("--config.grid_height", "2", "--config.grid_width", "2", "--config.encoder_channels", "[4]"),
            *("--config.image_encoder", "convolutions"),
            *("--config.attention", "hard"),
        ),
    ),
    "elmo": Kind(
        "elmo",
        (
            *("--config.character_embedding_size", "4", "--config.filters", "[[1, 4], [2, 4]]"),
            *("--config.projection_size", "6", "--config.cell_size", "8", "--config.num_highway_layers", "1"),
            *("--objective.batching", "contiguous", "--config.stateful", "True", "--length", "8"),
            *("--config.num_negative_samples", "0", "--tokenizer.min_frequency", "1"),
        ),
        pretrains=True,
    ),
    "word2vec": Kind(
        "word2vec",
        (
            *("--config.embedding_size", "4", "--tokenizer.min_frequency", "1", "--length", "16"),
            *("--objective.subsampling", "0.1", "--objective.shared_noise", "4"),
        ),
        pretrains=True,
    ),
    "gpt": Kind("gpt2018", (*BERT, "--length", "16"), pretrains=True),
    "bert": Kind("bert2018", (*BERT, "--length", "16"), pretrains=True),
}


def write_data(kind: str, folder: Path, seed: int = 0, rows: int = 12) -> Path:
    """The data of a kind of training: train, validation and test files of a few rows."""
    made, rng = KINDS[kind].rows, random.Random(seed)
    sizes = {"train": rows, "validation": 4, "test": 4}
    if kind == "captions":
        return write_grid_pictures(folder, sizes, seed=seed, cells=2, pixels=16, most=2)
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in sizes.items():
        if made is None:
            documents = ["\n".join(" ".join(_words(rng)) + " ." for _ in range(4)) for _ in range(count)]
            (folder / f"{split}.txt").write_text("\n\n".join(documents) + "\n", encoding="utf-8")
        else:
            lines = "".join(json.dumps(made(rng)) + "\n" for _ in range(count))
            (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def arguments(kind: str, data: Path | str, out: Path | str, *more: str) -> list[str]:
    """The words behind `attention-zoo train` or `pretrain`; later flags win."""
    row = KINDS[kind]
    return [row.architecture, "--dataset", str(data), "--output_dir", str(out), *COMMON, *row.flags, *more]


def command(kind: str, data: Path | str, out: Path | str, *more: str) -> list[str]:
    """The words behind `attention-zoo`."""
    return ["pretrain" if KINDS[kind].pretrains else "train", *arguments(kind, data, out, *more)]


def run(
    kind: str,
    data: Path | str,
    out: Path | str,
    *more: str,
    say: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> TrainingResult:
    """Train in this process."""
    argv = arguments(kind, data, out, *more)
    if KINDS[kind].pretrains:
        plan, task = pretraining_plan(argv, command="attention-zoo pretrain ...")
        return run_training(plan, task=task, say=say, **options)
    return run_training(parse_run(argv, command="attention-zoo train ..."), say=say, **options)


class Killed(BaseException):
    """Stands for SIGKILL: nothing may catch it, and what would clean up behind an error must not be relied on."""


@contextmanager
def killed_at(target: Any, name: str, *, call: int = 1, after: bool = False) -> Any:
    """The process dies when `target.name` is called for the given time: before it does its work, or after."""
    original, calls = getattr(target, name), 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < call:
            return original(*args, **kwargs)
        if after:
            original(*args, **kwargs)
        raise Killed

    with mock.patch.object(target, name, dying):
        yield


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The weights of a finished run."""
    return load_file(folder / "model.safetensors")


def same_weights(one: Path, other: Path) -> bool:
    """Whether two runs ended with the same numbers."""
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
