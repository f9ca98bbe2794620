"""Cards of models that choose."""

from hf_attention_zoo.evaluation.class_table import class_section
from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "multiple-choice": Wording(purpose="chooses one of several continuations", reading="time to read the split")
    },
    metrics={
        "accuracy": Metric("accuracy", "accuracy", percent=True),
    },
    baselines={
        "chance": "chance",
        "shared_words": "the choice that shares the most words with the context",
        "majority": "the place that is right most often",
    },
    sections=(class_section("By the place of the right choice", "place", "rows"),),
)
