"""A model of next tokens mixed with one that counts them, as Bengio et al. 2003 mix theirs with a trigram."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hf_attention_zoo.data.entry_words import said
from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.metrics.interpolated_trigram import InterpolatedTrigram
from hf_attention_zoo.metrics.mixed_probabilities import fitted_weight, mixed
from hf_attention_zoo.metrics.ngram_perplexity import NGramModel
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.tasks.running_text.mixture_names import FITTED, INTERPOLATED, MIXED_WITH
from hf_attention_zoo.tasks.running_text.rows import Document, DocumentSource
from hf_attention_zoo.tasks.running_text.text_stretches import TextStretchesObjective


def check_mixture(
    objective: Any,
    mix_with: str | None,
    mix_weight: float | str | None,
    split: str,
    training: DocumentSource,
    validation: DocumentSource | None,
) -> TextStretchesObjective | None:
    """The objective whose model is to be mixed; None if nothing is.

    Raises:
        ValueError: there can be no such mixture; said before anything is scored.
    """
    if mix_with is None:
        if mix_weight is not None:
            more = said("mix_with='4-gram'", "--mix_with 4-gram")
            raise ValueError(f"mix_weight={mix_weight} without a model to mix with; add {more}")
        return None
    if mix_with not in MIXED_WITH:
        raise ValueError(f"mix_with={mix_with!r}; choose one of {', '.join(MIXED_WITH)}")
    if not isinstance(objective, TextStretchesObjective):
        raise ValueError(
            f"mix_with={mix_with}: probabilities of next tokens are mixed, and {objective.row.model_type} predicts "
            f"others; leave out {said('mix_with', '--mix_with')}, the n-gram models stand beside the model"
        )
    if mix_weight not in (None, FITTED) and (isinstance(mix_weight, str) or not 0 < (mix_weight or 0) < 1):
        raise ValueError(f"mix_weight={mix_weight}; give a share above 0 and below 1, or {FITTED}")
    split = canonical_split(split)
    if split == "train" or not training.has_split():
        why = "this split is the one that it learns from" if split == "train" else "the data have none"
        raise ValueError(f"mix_with={mix_with}: the n-gram model learns from a training split, and {why}")
    wants = f"mix_with={mix_with}" if mix_with == INTERPOLATED else f"mix_weight={FITTED}"
    if (mix_with == INTERPOLATED or mix_weight == FITTED) and validation is None:
        raise ValueError(
            f"{wants}: weights are fitted on a validation split, and "
            + ("this split is that one" if split == "validation" else "the data have none")
            + said("; give mix_with='4-gram' with mix_weight=0.5", "; give --mix_with 4-gram with --mix_weight 0.5")
        )
    return objective


def mixtures(
    objective: TextStretchesObjective,
    model: Any,
    tokenizer: Any,
    training: Iterable[Document],
    validation: Iterable[Document] | None,
    held_out: list[Document],
    scored: np.ndarray,
    *,
    mix_with: str,
    mix_weight: float | str | None = None,
    length: int,
    batch_size: int,
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The mixtures of a model with an n-gram model, and the n-gram model alone, on the same tokens of the same text.

    Args:
        scored: log p of the model at `held_out`, as `log_probabilities` of the objective makes it.
        mix_weight: share of the n-gram model; "fitted": on the validation text. None for two mixtures, half and half
            and, where there is a validation text, fitted.

    Returns:
        for each mixture `with`, `weight`, `fitted_on`, `mixed_loss`, `mixed_perplexity`, `mixed_perplexity_per_word`;
        and `loss`, `perplexity`, `perplexity_per_word` of the n-gram model.
    """
    learnt = [objective.running_text(tokenizer, training)]
    fitting = None if validation is None else list(validation)

    counts: Any
    if mix_with == INTERPOLATED:
        text = needed(fitting, "validation", "an interpolated trigram fits its weights on it")
        counts = InterpolatedTrigram(learnt, len(tokenizer), [objective.running_text(tokenizer, text)])
    else:
        counts = NGramModel(learnt, len(tokenizer), int(mix_with[0]))

    def numbers(logs: np.ndarray) -> dict[str, float]:
        found = objective.scores(logs, tokenizer, held_out)
        return {name: value for name, value in found.items() if name != "tokens"}  # as many as the model's

    weights: list[tuple[float, str | None]] = []
    if mix_weight is None:
        weights.append((0.5, None))
    elif mix_weight != FITTED:
        weights.append((float(mix_weight), None))
    if mix_weight in (None, FITTED) and fitting is not None:
        found = objective.log_probabilities(model, tokenizer, fitting, length=length, batch_size=batch_size)
        weights.append((fitted_weight(found, objective.counted(counts, tokenizer, fitting, length)), "validation"))
    counted = objective.counted(counts, tokenizer, held_out, length)
    made = [
        {"with": mix_with, "weight": weight, "fitted_on": where}
        | {f"mixed_{name}": value for name, value in numbers(mixed(scored, counted, weight)).items()}
        for weight, where in weights
    ]
    return made, numbers(counted)
