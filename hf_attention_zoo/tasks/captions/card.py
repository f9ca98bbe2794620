"""Cards of captioners."""

from collections.abc import Mapping
from typing import Any

from hf_attention_zoo.folders.card_text import Metric, measured, table
from hf_attention_zoo.folders.task_card import TaskCard, Wording


def results_by_group(metrics: Mapping[str, Any], card: TaskCard) -> str:
    """Scores of parts of the split that are told apart, with those of the baselines."""
    rows: list[list[str]] = []
    shown: list[str] = []
    for group in metrics.get("groups") or []:
        shown = shown or [key for key in card.metrics if measured(group.get(key))[0] is not None]
        for said, scores in (("this checkpoint", group), *(group.get("baselines") or {}).items()):
            cells = (card.metrics[key].shown(measured(scores.get(key))[0]) for key in shown)
            rows.append([str(group["group"]), f"{group['rows']:,}", card.baselines.get(said, said), *cells])
    if not rows:
        return ""
    head = ["group", "rows", "", *(card.metrics[key].name for key in shown)]
    return "## Group by group\n\n" + table(head, rows)


CARD = TaskCard(
    wording={
        "image-text-to-text": Wording(
            purpose="captions pictures",
            aligned=True,
            align_options=", num_beams={num_beams}",
            picture=(
                "Where the model looked before each word of a held-out caption",
                "The picture is bright where the attention of the word above it lies; the number behind the word is "
                "the gate, how much of what was seen went into the word.",
            ),
            reading="captioning time",
            pipeline="image-captioning",
            reader="AutoProcessor",
        )
    },
    metrics={
        "perplexity_per_token": Metric("perplexity", "perplexity per token"),
        "bleu1": Metric("bleu", "BLEU-1"),
        "bleu4": Metric("bleu", "BLEU-4"),
        "cider": Metric("cider", "CIDEr", package="pycocoevalcap"),
        "meteor": Metric("meteor", "METEOR without synonyms", package="nltk"),
        "exact": Metric("exact_match", "exact matches in %"),
    },
    baselines={
        "most_frequent": "the most frequent caption",
        "nearest": "the caption of the training picture whose features are nearest",
    },
    sections=(results_by_group,),
)
