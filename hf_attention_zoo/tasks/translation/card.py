"""Cards of translators."""

from collections.abc import Mapping
from typing import Any

from hf_attention_zoo.evaluation.group_table import results_by_group
from hf_attention_zoo.folders.card_text import Metric, number, table
from hf_attention_zoo.folders.task_card import TaskCard, Wording


def results_by_length(metrics: Mapping[str, Any], card: TaskCard) -> str:
    """BLEU in groups of sentences of like length."""
    groups = metrics.get("bleu_by_source_length") or []
    rows = [
        [str(group["words"]), f"{group['sentences']:,}", number(group["bleu"])]
        for group in groups
        if group.get("bleu") is not None
    ]
    if not rows:
        return ""
    return "## BLEU by source length\n\n" + table(["source words", "sentences", "BLEU"], rows)


CARD = TaskCard(
    wording={
        "translation": Wording(
            purpose="translates",
            aligned=True,
            align_options=", num_beams={num_beams}",
            reading="decoding time",
            longer="A longer one is refused; `truncation=True` in the call of the pipeline cuts it.",
        )
    },
    metrics={
        "bleu": Metric("sacrebleu", "BLEU"),
        "chrf": Metric("chrf", "chrF"),
        "exact_match": Metric("exact_match", "exact matches in %"),
        "perplexity_per_token": Metric("perplexity", "perplexity per token"),
    },
    baselines={"copy": "the source copied unchanged"},
    right=(
        "the translation is the reference to the letter, wrong that its chrF is below 50; what lies between is passed "
        "over"
    ),
    sections=(results_by_group, results_by_length),
)
