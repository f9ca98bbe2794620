"""Every recipe of every architecture trains: two updates at tiny sizes with the settings that it names."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import run_kinds
import torch

from hf_attention_zoo import list_architectures
from hf_attention_zoo.registry import Architecture, get_architecture
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.run_plan import parse_run
from hf_attention_zoo.training.sparse_gradients import clip_by_norm

FEW = [
    *("--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none", "--max_steps", "2"),
    *("--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "1", "--logging_steps", "1"),
    *("--eval_strategy", "no", "--save_strategy", "steps", "--save_steps", "2", "--overwrite_output_dir", "True"),
]
SMALL_TABLES = {"fasttext": ("--tokenizer.num_buckets", "50")}
# What is installed apart gives way: weights of torchvision.
OWN_ENCODER = (
    *("--config.image_encoder", "convolutions", "--config.encoder_channels", "[4]", "--config.annotation_size", "4"),
    *("--config.grid_height", "2", "--config.grid_width", "2"),
)
NO_SIZES = ("vocab_size", "decoder_vocab_size", "num_labels", "pad_token_id", "delimiter_token_id")
WITH_ANSWERS = {"text-classification", "translation", "image-captioning"}
PAPERS = ("paper", "code")  # the others differ from these in sizes, mostly
CASES = [
    pytest.param(
        row.model_type,
        kind,
        name,
        id=f"{row.model_type}-{kind}-{name}",
        marks=() if name.startswith(PAPERS) else pytest.mark.slow,
    )
    for row in list_architectures()
    for kind in ("recipes", "pretraining_recipes")
    for name in getattr(row, kind)
    if (kind == "pretraining_recipes" or set(row.tasks) & WITH_ANSWERS) and "glove" not in name  # which is fetched
]


def sizes(row: Architecture, recipe: dict[str, Any]) -> list[str]:
    """Flags that make a model tiny and leave the recipe's forms."""
    tiny = {name: value for name, value in row._fact("TINY_CONFIG").items() if name not in NO_SIZES}
    forms = {name for name, value in recipe.get("config", {}).items() if isinstance(value, bool | str)}
    return [
        word
        for name, value in tiny.items()
        if not isinstance(value, bool | str | None) and name not in forms
        for word in (f"--config.{name}", str(value))
    ]


def data_of(row: Architecture) -> str:
    """The kind of data that a recipe for labelled rows, pairs or pictures reads."""
    if "image-captioning" in row.tasks:
        return "captions"
    return "translation" if "AutoModelForSeq2SeqLM" in row.models else "labels"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The data that an architecture's recipes train on, written once."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = run_kinds.write_data(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return folder


@pytest.mark.parametrize(("model_type", "kind", "name"), CASES)
def test_two_updates_of_every_recipe(model_type: str, kind: str, name: str, data: Any, tmp_path: Path) -> None:
    row = get_architecture(model_type)
    flags = [model_type, "--recipe", name, "--output_dir", str(tmp_path / "run"), *FEW]
    flags += [*sizes(row, getattr(row, kind)[name]), *SMALL_TABLES.get(model_type, ())]
    flags += OWN_ENCODER if data_of(row) == "captions" else ()
    task: Any = None
    if kind == "pretraining_recipes":
        plan, task = pretraining_plan([*flags, "--dataset", str(data("gpt")), "--length", "16"])
    else:
        plan = parse_run([*flags, "--dataset", str(data(data_of(row)))])
    result = run_training(plan, task=task, quiet=True, say=lambda text: None)
    losses = [entry["loss"] for entry in result.log_history if "loss" in entry]
    assert len(losses) == 2 and all(map(math.isfinite, losses))


def test_an_optimiser_that_needs_whole_gradients_is_refused(data: Any, tmp_path: Path) -> None:
    flags = ["fasttext", "--recipe", "paper", "--output_dir", str(tmp_path / "run"), *FEW, *SMALL_TABLES["fasttext"]]
    flags += ["--dataset", str(data("labels"))]
    for wrong in (["--optim", "adamw_torch"], ["--weight_decay", "0.1"]):
        with pytest.raises(ValueError, match="--optim adagrad with --weight_decay 0"):
            run_training(parse_run([*flags, *wrong]), quiet=True, say=lambda text: None)
    for advised in (["--optim", "adagrad"], ["--optim", "adamw_torch", "--config.sparse_gradients", "False"]):
        assert run_training(parse_run([*flags, *advised]), quiet=True, say=lambda text: None).log_history


@pytest.mark.parametrize("without_table", [False, True])
def test_sparse_gradients_are_clipped_as_whole_ones(without_table: bool) -> None:
    found = []
    for sparse in (False, True):
        torch.manual_seed(0)
        table, layer = torch.nn.Embedding(9, 3, sparse=sparse), torch.nn.Linear(3, 2)
        layer(table(torch.tensor([[1, 1, 4]]))).square().sum().backward()
        parameters = [*table.parameters(), *layer.parameters()]
        norm = clip_by_norm(parameters, 0.5, layer.parameters() if without_table else None)
        found.append([norm, *(parameter.grad.to_dense() for parameter in parameters)])
    for whole, rows in zip(*found, strict=True):
        torch.testing.assert_close(whole, rows)
    norms = torch.stack([gradient.norm() for gradient in found[1][1 + without_table :]])
    torch.testing.assert_close(norms.norm(), torch.tensor(0.5), rtol=1e-4, atol=1e-4)
