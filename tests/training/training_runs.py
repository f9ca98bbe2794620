"""Runs of the training command in this process, and how one is stopped."""

import os
import signal
from typing import Any

from transformers import TrainerCallback

from hf_attention_zoo.training.entry_point import TrainingResult, run_training
from hf_attention_zoo.training.run_plan import parse_run


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
