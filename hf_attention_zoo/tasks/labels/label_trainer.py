"""The trainer of classifiers: the same batches, optimisers and schedules as for translation, and an exact loss."""

from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers.trainer_utils import EvalLoopOutput, EvalPrediction

from hf_attention_zoo.data.text_encoding import LENGTH
from hf_attention_zoo.metrics.label_scoring import MEASURES, SCORERS, mean_loss
from hf_attention_zoo.training.zoo_trainer import ZooTrainer


class LabelMetrics:
    """The scores of a kind of labels, as the Trainer's `compute_metrics`."""

    def __init__(self, problem_type: str) -> None:
        self.problem_type = problem_type

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the scores, and `loss`."""
        return MEASURES[self.problem_type]

    def __call__(self, prediction: EvalPrediction) -> dict[str, float]:
        """`prediction.predictions` (N, C) logits -> the scores; see `SCORERS`."""
        return SCORERS[self.problem_type](np.asarray(prediction.predictions), np.asarray(prediction.label_ids))


def logits_alone(outputs: Any, labels: torch.Tensor) -> torch.Tensor:
    """Of a model's outputs only the logits, in float32: nothing else is collected over a validation split."""
    return (outputs[0] if isinstance(outputs, tuple) else outputs).float()


class ZooLabelTrainer(ZooTrainer):
    """Trainer for the classifiers of the zoo; takes what `Trainer` takes, and `problem_type`.

    The data sets hold what the tokenizer gives, `labels` and `length`. `eval_loss` is the mean over the whole split,
    not of batch means, without label smoothing and without penalties on the attention.
    """

    def __init__(self, *args: Any, problem_type: str, **kwargs: Any) -> None:
        kwargs.setdefault("compute_metrics", LabelMetrics(problem_type))
        kwargs.setdefault("preprocess_logits_for_metrics", logits_alone)
        super().__init__(*args, **kwargs)
        self.problem_type = problem_type

    def measures(self) -> tuple[str, ...] | None:
        return getattr(self.compute_metrics, "measures", None)

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
        # The logits are wanted even where the caller asks for the loss alone: it is computed from them.
        output = super().evaluation_loop(dataloader, description, False, ignore_keys, metric_key_prefix)
        loss = mean_loss(np.asarray(output.predictions), np.asarray(output.label_ids), self.problem_type)
        found: dict[str, Any] = {f"{metric_key_prefix}_loss": loss, f"{metric_key_prefix}_texts": output.num_samples}
        return output._replace(metrics={**(output.metrics or {}), **found})
