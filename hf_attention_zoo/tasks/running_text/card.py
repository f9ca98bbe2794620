"""Cards of pre-trained models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hf_attention_zoo.folders.card_text import Metric, measured, table
from hf_attention_zoo.folders.task_card import TaskCard, Wording
from hf_attention_zoo.tasks.running_text.mixture_names import N_GRAMS, mixture_name


def mixtures_table(metrics: Mapping[str, Any], card: TaskCard) -> str:
    """The perplexities of the model mixed with n-grams, where it was."""
    shown = ("perplexity", "perplexity_per_word")
    rows = [
        [mixture_name(mixture), *(card.metrics[key].shown(measured(mixture.get(f"mixed_{key}"))[0]) for key in shown)]
        for mixture in metrics.get("mixtures", [])
    ]
    if not rows:
        return ""
    said = "At every token a share of the n-gram model's probability and the rest of the checkpoint's:"
    return "\n\n".join(["## Mixed with counts", said, table(["", *(card.metrics[key].name for key in shown)], rows)])


CARD = TaskCard(
    wording={
        "fill-mask": Wording(
            purpose="fills in hidden words, pre-trained for other tasks",
            reading="time to read the split",
            longer='A longer one is refused; `tokenizer_kwargs={{"truncation": True, "max_length": {limit}}}` in the '
            "call of the pipeline cuts its end off, which must not hold the hidden word.",
        ),
        "text-generation": Wording(
            purpose="continues texts, pre-trained for other tasks",
            reading="time to read the split",
            pipeline_options=", do_sample=False, max_new_tokens=30, no_repeat_ngram_size=3",
            longer="Prompt and continuation share them: writing ends there, and a prompt without room behind it is "
            'refused. `handle_long_generation="hole", max_new_tokens={part}` in the call of the pipeline reads the '
            "end of such a prompt.",
        ),
        "feature-extraction": Wording(
            purpose="gives each word a vector, pre-trained for other tasks",
            reading="time to read the split",
            shown="[len(vector) for vector in {}[0]]",
            longer='A longer one is refused; `tokenize_kwargs={{"truncation": True, "max_length": {limit}}}` in the '
            "call of the pipeline cuts it.",
        ),
    },
    metrics={
        "perplexity": Metric("perplexity", "perplexity per token", falls=True),
        "perplexity_per_word": Metric("perplexity", "perplexity per word", falls=True),
        "forward_perplexity": Metric("perplexity", "perplexity, left to right", falls=True),
        "backward_perplexity": Metric("perplexity", "perplexity, right to left", falls=True),
        "context_perplexity": Metric("perplexity", "perplexity of the words around a word", falls=True),
        "masked_perplexity": Metric("perplexity", "perplexity of hidden tokens", falls=True),
        "masked_accuracy": Metric("accuracy", "hidden tokens right", percent=True),
        "next_sentence_accuracy": Metric("accuracy", "next sentences right", percent=True),
    },
    baselines={**N_GRAMS, "frequencies": "frequencies of the words"},
    sections=(mixtures_table,),
)
