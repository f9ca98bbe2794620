"""What is done at a step or an epoch of a run beside the steps themselves."""

import time
from collections.abc import Callable
from typing import Any

from transformers import EarlyStoppingCallback, TrainerCallback, TrainerControl, TrainerState
from transformers.trainer_callback import ExportableState, ProgressCallback

from hf_attention_zoo.training.optimizers import shrink_on_bad_gradient


class EpochOfBatches(TrainerCallback):
    """Tells the sampler which epoch begins, also where a wrapper round it does not pass that on."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell = tell

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.tell(int(state.epoch or 0))


class ShrinkOnBadGradient(TrainerCallback):
    """Before each update, puts a tenth of the weights in the place of a gradient that is not finite."""

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        shrink_on_bad_gradient(kwargs["model"].parameters())


class Stopwatch(TrainerCallback, ExportableState):
    """Seconds spent in training, over all the parts of a run that was stopped and continued."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._started: float | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds = max(self.seconds, earlier_part(self, state).get("args", {}).get("seconds", 0.0))
        self._started = time.monotonic()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds, self._started = self.total(), None

    def total(self) -> float:
        """Seconds so far."""
        return self.seconds + (time.monotonic() - self._started if self._started is not None else 0.0)

    def state(self) -> dict[str, Any]:
        return {"args": {"seconds": self.total()}, "attributes": {}}


class PatienceOverParts(EarlyStoppingCallback):
    """Early stopping that counts on where a stopped run was, as if it had not been stopped."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        super().on_train_begin(args, state, control, **kwargs)
        attributes = earlier_part(self, state).get("attributes", {})
        self.early_stopping_patience_counter = attributes.get("early_stopping_patience_counter", 0)


def earlier_part(callback: TrainerCallback, state: Any) -> dict[str, Any]:
    """What a checkpoint has of a callback's state, when a run goes on from it; nothing in a new run."""
    found = state.stateful_callbacks.get(type(callback).__name__, {})
    return found[-1] if isinstance(found, list) else found


class StopOnRequest(TrainerCallback):
    """Saves a checkpoint and stops at the end of the step in which somebody asked for it."""

    def __init__(self) -> None:
        self.requested = False
        self.stopped_at: int | None = None

    def on_step_end(self, args: Any, state: Any, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        if self.requested and state.global_step < state.max_steps:
            control.should_save = control.should_training_stop = True
            self.stopped_at = state.global_step
        return control

    def on_epoch_end(self, args: Any, state: Any, control: TrainerControl, **kwargs: Any) -> TrainerControl:
        if self.stopped_at is not None:  # the epoch has not ended, or ends when the run goes on
            control.should_log = control.should_evaluate = control.should_save = False
        return control


class QuietProgress(ProgressCallback):
    """The Trainer's progress bar without a printed line per log: the newest numbers stand beside the bar."""

    SHOWN = {
        "loss": "loss",
        "eval_bleu": "validation BLEU",
        "eval_bleu4": "validation BLEU-4",
        "eval_accuracy": "validation accuracy",
    }

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, str] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        super().on_train_begin(args, state, control, **kwargs)
        if self.training_bar is not None:
            self.training_bar.set_description("training")

    def on_prediction_step(
        self, args: Any, state: Any, control: Any, eval_dataloader: Any = None, **kwargs: Any
    ) -> None:
        """No second bar for the short validations."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if state.is_world_process_zero and self.training_bar is not None:
            for key, label in self.SHOWN.items():
                if key in (logs or {}):
                    self._numbers[label] = f"{logs[key]:.3g}"
            self.training_bar.set_postfix(self._numbers)
