"""Runs of the training command in this process, and how one is stopped."""

import os
import signal
from typing import Any

from transformers import TrainerCallback

from hf_attention_zoo.training.entry_point import TrainingResult, run_training
from hf_attention_zoo.training.run_plan import parse_run

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


def train(argv: list[str], *callbacks: TrainerCallback) -> TrainingResult:
    return run_training(parse_run(argv, command="attention-zoo train ..."), say=lambda text: None, callbacks=callbacks)


def losses(result: TrainingResult) -> list[float]:
    return [entry["loss"] for entry in result.log_history if "loss" in entry]


class StopAt(TrainerCallback):
    """Asks for a stop as Ctrl-C does, at a given step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == self.step - 1:
            os.kill(os.getpid(), signal.SIGINT)
