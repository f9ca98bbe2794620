"""The number by which the best checkpoint is chosen: known beforehand, and better in the right direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_runs import train

from hf_attention_zoo import TranslationTokenizer, get_architecture, list_architectures
from hf_attention_zoo.metrics.directions import COUNTS, GREATER, SMALLER, greater_is_better
from hf_attention_zoo.metrics.label_scoring import MEASURES
from hf_attention_zoo.tasks.captions.training import CaptionMetrics
from hf_attention_zoo.tasks.running_text.objectives import learns_from_text, objective_class
from hf_attention_zoo.tasks.table import TASKS
from hf_attention_zoo.tasks.translation.validation_metrics import TranslationMetrics, generated_lengths
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.fine_tuned_task import FineTunedTask
from hf_attention_zoo.training.run_plan import parse_run
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer

EVALUATED = ("--eval_strategy", "steps", "--eval_steps", "2", "--save_strategy", "steps", "--save_steps", "2")


def made_by_the_package() -> set[str]:
    """Every number by which some task lets a model be chosen."""
    names = {name for measures in MEASURES.values() for name in measures}
    names |= {*TranslationMetrics.measures, *CaptionMetrics.measures, "perplexity"}
    for kind in (task.load("training", task.training) for task in TASKS if task.training is not None):
        names |= {*kind.shown, *(kind.metrics if issubclass(kind, FineTunedTask) else ())}
    for row in list_architectures():
        if learns_from_text(row):
            objective = objective_class(row)(row)
            names |= {*objective.shown, *objective.measures()}
    return names


@pytest.mark.parametrize("name", sorted(made_by_the_package()))
def test_every_number_has_a_direction_that_the_arguments_follow(name: str, tmp_path: Path) -> None:
    direction = greater_is_better(name)
    assert direction is not None
    for written in (name, f"eval_{name}"):
        options = {"metric_for_best_model": written, "load_best_model_at_end": True, "eval_strategy": "steps"}
        assert ZooTrainingArguments(str(tmp_path), **options).greater_is_better is direction
        with pytest.raises(ValueError, match=f"{name} is better when it is (greater|smaller).*leave out"):
            ZooTrainingArguments(str(tmp_path), **options, greater_is_better=not direction)


def test_no_number_is_told_twice() -> None:
    assert len({*GREATER, *SMALLER, *COUNTS}) == len(GREATER) + len(SMALLER) + len(COUNTS)
    assert greater_is_better("a_number_of_the_user") is None


def test_the_checkpoint_of_the_lowest_perplexity_is_kept(tiny_run: Callable[..., list[str]]) -> None:
    best = ("--load_best_model_at_end", "True", "--metric_for_best_model", "perplexity", "--learning_rate", "0.3")
    result = train(tiny_run("--max_steps", "8", *EVALUATED, *best, "--predict_with_generate", "False"))
    seen = [entry["eval_perplexity"] for entry in result.log_history if "eval_perplexity" in entry]
    assert len(seen) >= 4 and max(seen) > min(seen)
    assert result.facts["best_validation"] == min(seen)
    assert math.isclose(result.metrics["eval_perplexity"], min(seen), rel_tol=1e-6)


def test_a_number_that_validation_does_not_make_is_refused_before_training(tiny_run: Callable[..., list[str]]) -> None:
    best = ("--load_best_model_at_end", "True", *EVALUATED, "--metric_for_best_model")
    with pytest.raises(ValueError, match="does not make it; name one of bleu, chrf, loss, perplexity"):
        train(tiny_run(*best, "rouge"))
    message = r"bleu: .* where nothing is generated \(--predict_with_generate False\); name one of loss, perplexity"
    with pytest.raises(ValueError, match=message):
        train(tiny_run(*best, "bleu", "--predict_with_generate", "False"))
    for name in COUNTS:
        with pytest.raises(ValueError, match="name one of"):
            train(tiny_run(*best, name))


def test_the_trainers_refuse_it_in_the_words_of_python(tiny_run: Callable[..., list[str]], tmp_path: Path) -> None:
    """Where nobody parsed a command, and where metrics of one's own make names that nobody knows."""
    row = get_architecture("rnnsearch")
    model = row.model_classes["AutoModelForSeq2SeqLM"](row.tiny_config())
    args = ZooTrainingArguments(str(tmp_path), eval_strategy="steps", metric_for_best_model="rouge", report_to=[])
    with pytest.raises(ValueError, match=r"^metric_for_best_model rouge: .*name one of loss, perplexity"):
        ZooSeq2SeqTrainer(model=model, args=args, eval_dataset=[{}])
    assert ZooSeq2SeqTrainer(model=model, args=args, eval_dataset=[{}], compute_metrics=lambda found: {"rouge": 1.0})


def test_a_recipe_gives_way_to_what_validation_makes(tiny_run: Callable[..., list[str]]) -> None:
    flags = ("--predict_with_generate", "False", "--max_steps", "2", "--tokenizer.vocab_size", "40", *EVALUATED)
    result = train(tiny_run(*flags, recipe="small"))
    assert result.facts["arguments"]["metric_for_best_model"] == "loss"
    assert result.facts["best_validation"] == pytest.approx(result.metrics["eval_loss"])


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_every_recipe_can_go_without_validation(row: Any, tmp_path: Path) -> None:
    for recipe in ("none", *row.recipes):
        plan = parse_run(
            [row.model_type, "--recipe", recipe, "--dataset", "x", "--output_dir", "y", "--eval_strategy", "no"]
        )
        assert not plan.training.load_best_model_at_end and plan.training.early_stopping_patience is None


def test_words_that_were_written_are_counted_and_nothing_else() -> None:
    tokenizer = TranslationTokenizer.train(["a b c"] * 3, ["d e f"] * 3, kind="word", vocab_size=20)
    start, end, pad = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
    rows = np.array(
        [
            [start, 5, 6, 7, end],
            [start, 5, end, pad, pad],
            [start, end, pad, pad, pad],
            [start, 5, 6, 7, 8],  # cut at the longest length
            [pad, 5, end, end, end],  # started and filled up otherwise
        ]
    )
    assert generated_lengths(rows, tokenizer).tolist() == [4, 2, 1, 4, 2]


def test_a_tracker_that_is_not_there_is_told_before_anything_is_read(tiny_run: Callable[..., list[str]]) -> None:
    for name, message in (("wandb", "pip install wandb, or give --report_to none"), ("wandbb", "no such tracker")):
        with pytest.raises(ValueError, match=message):
            train(tiny_run("--report_to", name))
