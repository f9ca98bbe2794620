"""The arguments of a training run: `Seq2SeqTrainingArguments` with what the historical recipes need.

Everything here can be a command-line flag, an entry of a YAML file or an entry of a recipe; `run_plan.py` puts the
three together.
"""

import os
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Seq2SeqTrainingArguments
from transformers.utils import is_torch_xla_available

from hf_attention_zoo.training.bfloat16 import warn_of_imitation
from hf_attention_zoo.training.choosing_metric import settle_direction
from hf_attention_zoo.training.optimizers import check_optimizer
from hf_attention_zoo.training.ranges import check_ranges
from hf_attention_zoo.training.release_schedules import RELEASE_SCHEDULES
from hf_attention_zoo.training.run_arguments import (
    LOSS_SCALES,
    POOL_ORDERS,
    SMOOTHING_DISTRIBUTIONS,
    DataArguments,
    HistoricalArguments,
    ModelArguments,
)

__all__ = ["DataArguments", "ModelArguments", "ZooTrainingArguments"]


@dataclass
class ZooTrainingArguments(HistoricalArguments, Seq2SeqTrainingArguments):
    """`Seq2SeqTrainingArguments` plus the batches, optimisers and loss scale of the historical papers.

    Two defaults differ: validation translates (`predict_with_generate`), greedily (`generation_num_beams=1`), and
    unused parameters are an error under DDP, because every parameter of these models takes part in every step.
    """

    def __getstate__(self) -> dict[str, Any]:
        """What is written of the arguments, in every checkpoint: all but the access token."""
        return {**self.__dict__, "hub_token": None}

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.ddp_find_unused_parameters is None:
            self.ddp_find_unused_parameters = False
        if not torch.accelerator.is_available():
            self.dataloader_pin_memory = False
            several = int(os.environ.get("WORLD_SIZE", "1")) > 1
            if several and not is_torch_xla_available():  # else each process would train a model of its own
                self.use_cpu = True
        if self.early_stopping_patience is not None and self.metric_for_best_model is None:
            self.metric_for_best_model = "loss"
        settle_direction(self)
        super().__post_init__()
        warn_of_imitation(self.bf16, self.device)
        accelerating: Any = self.accelerator_config  # by now an object, whatever form it was given in
        if accelerating.dispatch_batches is None:
            # One process that reads for all would put batches of different lengths into one tensor.
            accelerating.dispatch_batches = False
        if self.loss_scale not in LOSS_SCALES:
            raise ValueError(f"loss_scale={self.loss_scale!r}; it is one of {', '.join(LOSS_SCALES)}")
        if self.pool_order not in POOL_ORDERS:
            raise ValueError(f"pool_order={self.pool_order!r}; it is one of {', '.join(POOL_ORDERS)}")
        if self.optimizer is not None:
            check_optimizer(self.optimizer)
        if self.halve_learning_rate_every <= 0:
            raise ValueError(f"halve_learning_rate_every={self.halve_learning_rate_every}; it must be above 0 epochs")
        if self.noam_schedule:
            self._check_noam_schedule()
        if self.release_schedule is not None:
            self._check_release_schedule()
        if self.learning_rate_decay is not None:
            self._check_decay()
        if self.label_smoothing_distribution not in SMOOTHING_DISTRIBUTIONS:
            raise ValueError(
                f"label_smoothing_distribution={self.label_smoothing_distribution!r}; it is one of "
                f"{', '.join(SMOOTHING_DISTRIBUTIONS)}"
            )
        if self.average_last_checkpoints is not None:
            self._check_averaging(self.average_last_checkpoints)
        if self.early_stopping_patience is not None and self.eval_strategy == "no":
            raise ValueError("early_stopping_patience needs validations: set eval_strategy to steps or epoch")

    def _check_noam_schedule(self) -> None:
        if self.halve_learning_rate_from is not None:
            raise ValueError("noam_schedule and halve_learning_rate_from are two schedules; choose one of them")
        if self.warmup_steps < 1 or self.warmup_steps != int(self.warmup_steps):
            raise ValueError(
                f"noam_schedule with warmup_steps={self.warmup_steps}; it needs a whole number of steps, 4000 in the "
                "paper"
            )

    def _check_release_schedule(self) -> None:
        if self.release_schedule not in RELEASE_SCHEDULES:
            raise ValueError(
                f"release_schedule={self.release_schedule!r}; it is one of {', '.join(RELEASE_SCHEDULES)}"
            )
        if self.noam_schedule or self.halve_learning_rate_from is not None:
            raise ValueError("release_schedule and another schedule of this package; choose one of them")

    def _check_decay(self) -> None:
        if self.noam_schedule or self.release_schedule is not None or self.halve_learning_rate_from is not None:
            raise ValueError("learning_rate_decay and another schedule of this package; choose one of them")

    def _check_averaging(self, last: int) -> None:
        if str(getattr(self.save_strategy, "value", self.save_strategy)) == "no":
            raise ValueError(f"average_last_checkpoints={last} needs checkpoints: set save_strategy to steps or epoch")
        if self.load_best_model_at_end:
            raise ValueError(
                f"average_last_checkpoints={last} and load_best_model_at_end both choose the final weights; give "
                "--load_best_model_at_end False, or average later with `attention-zoo average`"
            )
        if self.save_total_limit is not None and self.save_total_limit < last:
            raise ValueError(
                f"average_last_checkpoints={last}, but save_total_limit={self.save_total_limit} keeps fewer; raise it"
            )
        if self.fsdp:
            raise ValueError(
                "average_last_checkpoints does not work on sharded models (fsdp); train without it and run "
                "`attention-zoo average` afterwards"
            )

    @property
    def sorts_batches(self) -> bool:
        """Whether training batches are cut from pools sorted by length."""
        return self.max_tokens_per_batch is not None or self.pool_batches is not None
