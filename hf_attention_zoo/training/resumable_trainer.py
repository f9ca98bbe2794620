"""A `Trainer` that goes on from any of its checkpoints as if it had never stopped, wherever it was killed.

What differs from the class that it extends:

* a checkpoint lists its files with their checksums, and older ones are deleted only after that; only what a run wrote
  is deleted;
* a run that was killed between the step of its last checkpoint and the end of that step, epoch or training does what
  was left: the validation behind the epoch, or nothing more, and trains no step too many;
* losses that were not logged yet are kept, so that the log is that of a run which was not stopped;
* settings that were changed on purpose hold from the checkpoint on; the optimiser's state would bring the old ones.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback
from transformers.trainer_callback import ExportableState
from transformers.trainer_pt_utils import nested_gather

from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.training.checkpoints import (
    best_checkpoint,
    checkpoint_step,
    checkpoints,
    remove_checkpoint,
    set_aside,
    settle,
    write_manifest,
)


class PlaceInEpoch(TrainerCallback, ExportableState):
    """Whether the end of the epoch was done, and the losses that wait for the next log."""

    def __init__(self) -> None:
        self.epoch_ended = True
        self.unlogged_loss = 0.0
        self.logged_until = 0

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.epoch_ended = False

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.epoch_ended = True

    def state(self) -> dict[str, Any]:
        return {"args": {}, "attributes": dict(vars(self))}


class ResumableTrainer(Trainer):
    """Takes what `Trainer` takes.

    Attributes:
        record: what each checkpoint says of its run, beside its files.
        changed_settings: whether the arguments differ on purpose from those that the checkpoint was trained with.
        keeps_beaten: leave it to `delete_beaten` to delete all but the best checkpoint of `save_total_limit=1`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.record: dict[str, Any] = {}
        self.changed_settings = False
        self.keeps_beaten = False
        self.place = PlaceInEpoch()
        self.add_callback(self.place)
        self._resumed: str | None = None  # until what was left of the checkpoint's step is done
        self._random_state_of: str | None = None
        self._epoch_was_ended = self._at_bound = False
        self._begun_at = 0.0

    # Saving

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        self.place.unlogged_loss = nested_gather(self._tr_loss, self.args.parallel_mode).mean().item()
        self.place.logged_until = self._globalstep_last_logged
        folder = Path(self._get_output_dir(trial))
        checkpoint = folder / f"checkpoint-{self.state.global_step}"
        others: list[Path] = []
        if self.args.should_save:
            set_aside(checkpoint)
            others = [path for path in checkpoint.rglob("*") if path.is_file()]
        self.accelerator.wait_for_everyone()
        limit, self.args.save_total_limit = self.args.save_total_limit, None  # it would delete before this is whole
        try:
            super()._save_checkpoint(model, trial)
            self.accelerator.wait_for_everyone()
            if self.args.should_save:
                write_manifest(checkpoint, self.record, others)
                settle(folder)
        except Exception:
            if self.args.should_save:  # half of a checkpoint is of no use, and takes room where there may be none
                remove_checkpoint(checkpoint)
                settle(folder)
            raise
        finally:
            self.args.save_total_limit = limit
        if self.args.should_save:
            self._delete_older(folder)

    def _delete_older(self, folder: Path) -> None:
        """Keep the newest `save_total_limit` checkpoints, the best one among them."""
        limit = self.args.save_total_limit
        if limit is None or limit <= 0:
            return
        kept = [self.state.global_step]
        if self.state.best_model_checkpoint is not None:
            kept.append(checkpoint_step(Path(self.state.best_model_checkpoint)))
        found = checkpoints(folder)
        surplus = len(found) - max(limit, len(set(kept)))
        for path in [path for path in found if checkpoint_step(path) not in kept][: max(0, surplus)]:
            remove_checkpoint(path)

    def _finalize_training(self, trial: Any, num_train_samples: int, start_time: float) -> Any:
        self._do_what_was_left(self.model_wrapped, trial, None)
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            output = super()._finalize_training(trial, num_train_samples, start_time)
        finally:
            self.args.save_total_limit = limit
        if not self.keeps_beaten:
            self.delete_beaten()
        return output

    def delete_beaten(self) -> None:
        """With `save_total_limit=1`, delete the last checkpoint if another one is the best."""
        best, folder = self.state.best_model_checkpoint, self.args.output_dir
        if self.args.should_save and best is not None and folder is not None and self.args.save_total_limit == 1:
            for path in checkpoints(folder):
                if path.name != Path(best).name:
                    remove_checkpoint(path)

    # Going on

    def _init_training_state(
        self, max_steps: int, num_update_steps_per_epoch: int, num_train_epochs: int, resume: Any, trial: Any
    ) -> tuple[int, int]:
        begun = super()._init_training_state(max_steps, num_update_steps_per_epoch, num_train_epochs, resume, trial)
        if resume is None:
            return begun
        if self.state.global_step > max_steps:
            raise ValueError(
                f"{resume} is at step {self.state.global_step:,}, behind the end of this run at step {max_steps:,}; "
                "give more steps (--max_steps or --num_train_epochs), or an earlier checkpoint with "
                "--resume_from_checkpoint"
            )
        states: Any = self.state.stateful_callbacks  # a dictionary by name, whatever its type says
        saved: dict[str, Any] = dict(states)
        for callback in self.callback_handler.callbacks:
            if isinstance(callback, ExportableState):  # one that the run did not have would not be saved
                states.setdefault(type(callback).__name__, callback.state())
        if self.state.best_global_step and self.args.load_best_model_at_end:
            named = f"checkpoint-{self.state.best_global_step}"
            self.state.best_model_checkpoint = str(
                best_checkpoint(Path(resume), {"best_model_checkpoint": self.state.best_model_checkpoint or named})
            )
        place = saved.get(PlaceInEpoch.__name__, {}).get("attributes", {})
        self.place.__dict__.update(place)
        # that which is not noted was saved by an earlier release
        self._epoch_was_ended = place.get("epoch_ended", True)
        self._at_bound = self.state.global_step % num_update_steps_per_epoch == 0
        self._resumed, self._begun_at = str(resume), time.time()
        return begun

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        self._do_what_was_left(**{name: kwargs[name] for name in ("model", "trial", "ignore_keys_for_eval")})
        if not self.control.should_training_stop:
            super()._run_epoch(*args, **kwargs)

    def _do_what_was_left(self, model: nn.Module, trial: Any, ignore_keys_for_eval: list[str] | None) -> None:
        """When a run goes on: the end of the epoch, if the checkpoint was saved before it, or the end of training."""
        resumed, self._resumed = self._resumed, None
        if resumed is None:
            return
        if self.place.logged_until:
            self._tr_loss += self.place.unlogged_loss
            self._globalstep_last_logged = self.place.logged_until
        over = self.state.global_step >= self.state.max_steps or self._patience_is_over()
        if not (over or self._at_bound):
            return
        self._load_rng_state(resumed)
        self._random_state_of = resumed
        if not self._epoch_was_ended:
            self.control = self.callback_handler.on_epoch_end(self.args, self.state, self.control)
            self._maybe_log_save_evaluate(
                self._tr_loss, None, model, trial, self.state.epoch, ignore_keys_for_eval, self._begun_at
            )
            self.place.epoch_ended = False  # the next one has begun
        if over:
            self.control.should_training_stop = True

    def _patience_is_over(self) -> bool:
        return any(
            callback.early_stopping_patience_counter >= callback.early_stopping_patience
            for callback in self.callback_handler.callbacks
            if isinstance(callback, EarlyStoppingCallback)
        )

    def _load_rng_state(self, checkpoint: str | None) -> None:
        done, self._random_state_of = self._random_state_of, None
        if done is None or done != checkpoint:
            super()._load_rng_state(checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """The states of a checkpoint; settings that were changed on purpose stay those of the arguments."""
        if not self.changed_settings:
            super()._load_optimizer_and_scheduler(checkpoint)
            return
        wanted = {"weight_decay", *self.optimizer_settings()}
        optimizer = needed(self.optimizer, "optimizer", "the Trainer makes it before it loads its state")
        groups = [{name: group[name] for name in wanted & set(group)} for group in optimizer.param_groups]
        first_rates = [group.get("initial_lr", group["lr"]) for group in optimizer.param_groups]
        super()._load_optimizer_and_scheduler(checkpoint)
        if not isinstance(self.lr_scheduler, LambdaLR):
            raise ValueError(
                f"lr_scheduler_type={self.args.lr_scheduler_type} keeps its rates in the checkpoint, so settings "
                "cannot be changed in the middle of a run; start it as before, or begin anew"
            )
        self.lr_scheduler.base_lrs = first_rates
        done = self.lr_scheduler.last_epoch
        rates = [rate * factor(done) for rate, factor in zip(first_rates, self.lr_scheduler.lr_lambdas, strict=True)]
        for group, settings, first, rate in zip(optimizer.param_groups, groups, first_rates, rates, strict=True):
            group.update(settings, initial_lr=first, lr=rate)
        self.lr_scheduler._last_lr = rates

    def optimizer_settings(self) -> set[str]:
        """Settings of the optimiser that come from the arguments, but the rate, which the schedule gives."""
        if self.optimizer_cls_and_kwargs is not None:
            _, settings = self.optimizer_cls_and_kwargs
        else:
            model: Any = self.model
            _, settings = self.get_optimizer_cls_and_kwargs(self.args, model)
        return set(settings) - {"lr", "params"}
