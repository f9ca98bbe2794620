"""Cards of models that answer questions."""

from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "question-answering": Wording(
            purpose="answers a question by a part of a text",
            reading="time to read the split",
            longer="The pipeline reads a longer one in parts that overlap, the question before each.",
        )
    },
    metrics={
        "exact_match": Metric("exact_match", "exact matches in %"),
        "f1": Metric("f1", "F1 of words in %"),
    },
    baselines={
        "likely_sentence": "the sentence that shares the most words with the question",
    },
)
