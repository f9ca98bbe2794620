"""What transformers' Trainer asks of a model, over every head of every architecture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import Trainer, TrainingArguments
from transformers.integrations.neftune import activate_neftune, deactivate_neftune

sys.path.insert(0, str(Path(__file__).parent))

from every_head import EVERY_HEAD, WIDTHS, RegisteredHead


@pytest.fixture(params=EVERY_HEAD, ids=str)
def head(request: pytest.FixtureRequest) -> RegisteredHead:
    return request.param


def trainer_of(model: Any, head: RegisteredHead, folder: Path, **changes: Any) -> Trainer:
    """A Trainer whose examples are whole batches of different widths."""
    compute_metrics = changes.pop("compute_metrics", None)
    batches = [head.batch(lengths, seed=number) for number, lengths in enumerate(WIDTHS)]
    settings = {
        "per_device_train_batch_size": 1,
        "per_device_eval_batch_size": 1,
        "remove_unused_columns": False,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
        **changes,
    }
    return Trainer(
        model=model,
        args=TrainingArguments(output_dir=str(folder), **settings),
        train_dataset=batches,
        eval_dataset=batches,
        data_collator=lambda rows: rows[0],
        compute_metrics=compute_metrics,
    )


def test_evaluation_gives_a_loss_and_one_array_of_predictions_a_split(head: RegisteredHead, tmp_path: Path) -> None:
    """Also where the config asks for weights and states, which have another width in every batch."""
    config = head.model().config
    wanted = {name: True for name in ("output_attentions", "output_hidden_states") if hasattr(config, name)}
    if config.model_type in ("rnn_encoder_decoder", "seq2seq_lstm", "elmo"):
        wanted.pop("output_attentions")
    model = head.model(**wanted)
    seen: dict[str, Any] = {}

    def metrics(prediction: Any) -> dict[str, float]:
        seen["predictions"] = prediction.predictions
        return {"made": 1.0}

    found = trainer_of(model, head, tmp_path, compute_metrics=metrics).evaluate()
    assert np.isfinite(found["eval_loss"]) and found["eval_made"] == 1.0
    predictions = seen["predictions"]
    arrays = predictions if isinstance(predictions, tuple) else (predictions,)
    with torch.no_grad():
        made = model(**head.batch())
    named = [name for name in made if name not in ("loss", *model.config.keys_to_ignore_at_inference)]
    assert all("logits" in name for name in named) and len(arrays) == len(named)
    assert all(len(array) == sum(map(len, WIDTHS)) for array in arrays)


def test_noise_on_the_embeddings_acts_in_training_and_leaves_no_trace(head: RegisteredHead) -> None:
    """`neftune_noise_alpha` hooks the input embeddings, whose output it takes to be (rows, positions, size)."""
    model, given = head.model(), head.batch()
    quiet = model(**given).loss
    shapes: list[torch.Size] = []
    table = model.get_input_embeddings()
    watching = table.register_forward_hook(lambda module, inputs, output: shapes.append(output.shape))
    hook = activate_neftune(model, 20.0)
    with torch.no_grad():
        torch.testing.assert_close(model(**given).loss, quiet)  # evaluation is without noise
    dropouts = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    model.train()
    for module in dropouts:
        module.eval()
    torch.manual_seed(3)
    noisy = model(**given).loss
    noisy.backward()
    assert noisy.isfinite()
    deactivate_neftune(model, hook)
    torch.manual_seed(3)
    assert model(**given).loss != noisy
    assert all(len(shape) == 3 for shape in shapes) and len(shapes) >= 3
    watching.remove()
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(**given).loss, quiet)
