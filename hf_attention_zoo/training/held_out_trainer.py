"""A trainer whose validation is done by a function: the same that scores the saved model later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset
from transformers.trainer_utils import EvalLoopOutput

from hf_attention_zoo.data.text_encoding import LENGTH
from hf_attention_zoo.training.zoo_trainer import ZooTrainer

# (model in evaluation mode, tokenizer, batch size) -> numbers by name
HeldOut = Callable[[Any, Any, int], dict[str, float]]


class Placeholder(Dataset):
    """Stands for the validation data where the Trainer asks whether there are any."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> dict[str, int]:
        return {"number": index}


class HeldOutTrainer(ZooTrainer):
    """Takes what `Trainer` takes but validation data, and `held_out`, None for no validation.

    Every process computes all of the validation, so that all have the same numbers.
    """

    def __init__(self, *args: Any, held_out: HeldOut | None, **kwargs: Any) -> None:
        super().__init__(*args, eval_dataset=None if held_out is None else Placeholder(), **kwargs)
        self.held_out = held_out

    def lengths(self, dataset: Any) -> np.ndarray:
        length = np.asarray(dataset[LENGTH], dtype=np.int64)
        return np.stack([length, length], axis=1)

    def evaluation_loop(
        self,
        dataloader: DataLoader,
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> EvalLoopOutput:
        if self.held_out is None:
            raise ValueError("there are no validation data to score; make the trainer with held_out")
        model = self.accelerator.unwrap_model(self.model)
        training = model.training
        model.eval()
        found = self.held_out(model, self.processing_class, self.args.eval_batch_size)
        model.train(training)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in found.items()}
        no_arrays: Any = None  # which the type asks for, and nobody reads
        return EvalLoopOutput(predictions=no_arrays, label_ids=None, metrics=metrics, num_samples=1)
