"""What numbers the arguments of a run may be: one that makes no sense is refused before anything is read."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

AT_LEAST_ONE = frozenset(
    {"per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps", "save_total_limit"}
    | {"generation_max_length", "generation_num_beams", "eval_accumulation_steps", "max_tokens_per_batch"}
    | {"pool_batches", "early_stopping_patience", "average_last_checkpoints", "max_words", "max_source_length"}
    | {"max_target_length", "max_train_samples", "max_eval_samples", "doc_stride", "tokenizer_samples", "length"}
    | {"max_train_documents", "max_eval_documents", "tokenizer_documents"}
)
ABOVE_ZERO = frozenset({"save_steps", "eval_steps", "logging_steps", "adam_epsilon", "adadelta_epsilon"})
NOT_NEGATIVE = frozenset(
    {"learning_rate", "weight_decay", "max_grad_norm", "warmup_steps", "early_stopping_threshold", "eval_delay"}
    | {"dataloader_num_workers", "held_out_documents", "seed", "data_seed", "halve_learning_rate_from"}
    | {"learning_rate_decay"}
)
BELOW_ONE = frozenset({"adam_beta1", "adam_beta2", "adadelta_rho", "validation_share"})
SHARES = frozenset({"label_smoothing_factor"})


class OutOfRange(ValueError):
    """A number that an argument cannot be.

    Attributes:
        as_flag: the message in the words of the command line.
    """

    def __init__(self, name: str, value: Any, allowed: str) -> None:
        super().__init__(f"{name}={value}; it must be {allowed}")
        self.as_flag = f"--{name} {value}: it must be {allowed}"


# Each is started before anything is read: a slip of the keyboard would start processes until the machine stops.
PROCESSES = frozenset({"dataloader_num_workers"})
MOST_PROCESSES = 1024


def check_ranges(arguments: Any) -> None:
    """Look at the numbers of a dataclass of arguments. Raises `OutOfRange` for the first that makes no sense."""
    for item in fields(arguments):
        name, value = item.name, getattr(arguments, item.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        optional = ", or left out" if item.default is None else ""
        rules = (
            (AT_LEAST_ONE, lambda number: number >= 1, f"at least 1{optional}"),
            (ABOVE_ZERO, lambda number: number > 0, "above 0"),
            (NOT_NEGATIVE, lambda number: number >= 0, f"0 or more{optional}"),
            (BELOW_ONE, lambda number: 0 <= number < 1, "0 or more and below 1"),
            (SHARES, lambda number: 0 <= number <= 1, "from 0 to 1"),
            (PROCESSES, lambda number: number <= MOST_PROCESSES, f"at most {MOST_PROCESSES:,}"),
        )
        for names, fits, allowed in rules:
            if name in names and not (math.isfinite(value) and fits(value)):
                raise OutOfRange(name, value, allowed)
    steps, epochs = getattr(arguments, "max_steps", 1), getattr(arguments, "num_train_epochs", 1.0)
    if steps == 0 or steps < -1:
        raise OutOfRange("max_steps", steps, "at least 1, or -1 for as many as num_train_epochs makes")
    if steps == -1 and not (math.isfinite(epochs) and epochs > 0):
        raise OutOfRange("num_train_epochs", epochs, "above 0 where max_steps is left out")
