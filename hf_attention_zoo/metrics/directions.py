"""Which way each number of a validation is better. Told here once; training, early stopping and tests read it."""

GREATER = (
    "accuracy",
    "answerable_f1",
    "bleu",
    "bleu1",
    "bleu2",
    "bleu3",
    "bleu4",
    "chrf",
    "entity_f1",
    "exact",
    "exact_match",
    "f1",
    "macro_f1",
    "masked_accuracy",
    "micro_f1",
    "next_sentence_accuracy",
    "pearson",
    "unanswerable_f1",
)
SMALLER = (
    "backward_perplexity",
    "forward_perplexity",
    "loss",
    "mae",
    "masked_loss",
    "masked_perplexity",
    "mse",
    "next_sentence_loss",
    "perplexity",
    "context_perplexity",
    "perplexity_per_word",
)
# What is counted beside and says nothing of how good a model is.
COUNTS = (
    "examples",
    "generated_tokens",
    "predicted_tokens",
    "sentences",
    "targets",
    "texts",
    "tokens",
    "unknown_share",
)


def bare_name(metric: str) -> str:
    """The name without Trainer's `eval_`."""
    return metric.removeprefix("eval_")


def greater_is_better(metric: str) -> bool | None:
    """Whether more of it is better; None for a number that is not made by this package or measures nothing."""
    name = bare_name(metric)
    return True if name in GREATER else False if name in SMALLER else None
