"""The number by which the best checkpoint is chosen: whether validation makes it, and which way it is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.metrics.directions import bare_name, greater_is_better
from hf_attention_zoo.near_names import did_you_mean

# Training arguments that say nothing without validations: those of a recipe go when a run has none.
OF_VALIDATION = (
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "early_stopping_patience",
    "early_stopping_threshold",
)
WRITTEN = ("bleu", "bleu1", "bleu2", "bleu3", "bleu4", "chrf", "exact")  # by generation alone


def settle_direction(args: Any) -> None:
    """Fill in `greater_is_better` of a number that this package makes; transformers takes all but losses for better
    when greater.

    Raises:
        ValueError: the arguments say the opposite.
    """
    if args.metric_for_best_model is None:
        return
    direction = greater_is_better(args.metric_for_best_model)
    if direction is None:
        return
    if args.greater_is_better is not None and args.greater_is_better is not direction:
        raise ValueError(
            f"{bare_name(args.metric_for_best_model)} is better when it is {'greater' if direction else 'smaller'}, "
            f"but greater_is_better={args.greater_is_better}; leave out greater_is_better"
        )
    args.greater_is_better = direction


def choose(args: Any, metric: str) -> None:
    """Choose the best checkpoint by this number."""
    args.metric_for_best_model, args.greater_is_better = metric, None
    settle_direction(args)


def settle_metric(args: Any, measures: Sequence[str], named: bool) -> None:
    """Choose by the number that is named, if validation makes it, and by the usual one where nobody named any.

    Args:
        measures: the numbers that this validation makes, the usual one first.
        named: whether a flag or a run file names it; a recipe's gives way.

    Raises:
        ValueError: validation does not make the one that is named.
    """
    if args.eval_strategy == "no" or args.metric_for_best_model is None:
        return
    if bare_name(args.metric_for_best_model) in measures:
        return
    if named:
        raise ValueError(refusal("--metric_for_best_model", args.metric_for_best_model, measures, "--predict_with_"))
    choose(args, measures[0])


def refusal(argument: str, metric: str, measures: Sequence[str], prefix: str = "predict_with_") -> str:
    """The message about a number that will not be made."""
    name = bare_name(metric)
    why = ""
    if name in WRITTEN:
        why = f" where nothing is generated ({prefix}generate False)" if not set(measures) & set(WRITTEN) else ""
    why = why or did_you_mean(name, measures)
    return f"{argument} {name}: this validation does not make it{why}; name one of {', '.join(measures)}"
