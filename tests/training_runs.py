"""Runs of the training command in this process, and how one is stopped."""

import dataclasses
import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from hf_attention_zoo import list_architectures
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.entry_point import TrainingResult
from hf_attention_zoo.training.run_plan import parse_run

SCRIPTS = Path(__file__).parents[1] / "scripts"

# What each paper's recipe asks of the trainer, in small.
PAPER_FLAGS = {
    "rnn_encoder_decoder": ("--optimizer", "adadelta", "--loss_scale", "batch_sum", "--pool_batches", "3"),
    "seq2seq_lstm": (
        *("--optim", "sgd", "--learning_rate", "0.7", "--loss_scale", "sentence_mean", "--pool_batches", "3"),
        *("--pool_order", "shuffled", "--halve_learning_rate_from", "0.5", "--halve_learning_rate_every", "0.5"),
    ),
    "luong": (
        *("--optim", "sgd", "--learning_rate", "1.0", "--loss_scale", "sentence_mean", "--pool_batches", "3"),
        *("--pool_order", "shuffled", "--halve_learning_rate_from", "1.0", "--clip_norm_without_embeddings", "True"),
    ),
    "transformer2017": (
        *("--noam_schedule", "True", "--warmup_steps", "5", "--learning_rate", "0.5", "--adam_beta2", "0.98"),
        *("--label_smoothing_factor", "0.1", "--label_smoothing_distribution", "other_classes"),
    ),
}


def train(argv: list[str], *callbacks: TrainerCallback, command: str = "attention-zoo train ...") -> TrainingResult:
    return run_training(parse_run(argv, command=command), say=lambda text: None, callbacks=callbacks)


def losses(result: TrainingResult) -> list[float]:
    return [entry["loss"] for entry in result.log_history if "loss" in entry]


class StopAt(TrainerCallback):
    """Asks for a stop as Ctrl-C does, at a given step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == self.step - 1:
            os.kill(os.getpid(), signal.SIGINT)


def launch(script: str, arguments: list[str], processes: int) -> str:
    """Run a script of the repository, or a module's command, under torchrun; returns what it printed."""
    program = [str(SCRIPTS / script)] if script.endswith(".py") else ["-m", script]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(processes)]
    command += ["--master_port", str(port), *program, *arguments]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def facts(folder: Path) -> dict:
    return json.loads((folder / "training.json").read_text())


def history(folder: Path) -> list[tuple[float, float]]:
    (state,) = folder.glob("checkpoint-*/trainer_state.json")
    return [
        (entry["loss"], entry["grad_norm"])
        for entry in json.loads(state.read_text())["log_history"]
        if "loss" in entry
    ]


def without_dropout(run: list[str]) -> list[str]:
    """Flags that set every dropout of the run's architecture to 0."""
    row = next(row for row in list_architectures() if row.model_type in run)
    names = [item.name for item in dataclasses.fields(row.config_class) if "dropout" in item.name]
    return [f"--config.{name}=0.0" for name in names]


def check_two_processes(arguments: Callable[..., list[str]], out: Path, script: str = "train.py") -> None:
    """Two processes with batches of 4 give the losses of one with batches of 8; `arguments(flags..., folder=)`.

    Without dropout, since each process draws its own.
    """
    for folder, processes, size in (("one", 1, 8), ("two", 2, 4)):
        flags = ["--per_device_train_batch_size", str(size), "--max_steps", "5", "--save_steps", "5"]
        flags += ["--logging_steps", "1", "--eval_strategy", "no", "--load_best_model_at_end", "False"]
        run = arguments(*flags, "--save_strategy", "steps", folder=folder)
        launch(script, [*run, *without_dropout(run)], processes)
    assert facts(out / "two")["processes"] == 2
    one, two = history(out / "one"), history(out / "two")
    assert len(one) == 5
    for (loss, norm), (other_loss, other_norm) in zip(one, two, strict=True):
        assert math.isclose(other_loss, loss, rel_tol=1e-3), (one, two)
        assert math.isclose(other_norm, norm, rel_tol=1e-2), (one, two)
