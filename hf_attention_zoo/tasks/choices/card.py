"""Cards of models that choose."""

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
    },
)
