"""Cards of classifiers."""

from hf_attention_zoo.evaluation.class_table import class_section
from hf_attention_zoo.folders.card_text import Metric
from hf_attention_zoo.folders.task_card import TaskCard, Wording

CARD = TaskCard(
    wording={
        "text-classification": Wording(
            purpose="classifies texts",
            aligned=True,
            reading="time to read the split",
            longer="A longer one is refused; `truncation=True, max_length={limit}` in the call of the pipeline cuts "
            "it.",
        )
    },
    metrics={
        "accuracy": Metric("accuracy", "accuracy", percent=True),
        "micro_f1": Metric("f1", "micro F1", percent=True),
        "macro_f1": Metric("f1", "macro F1", percent=True),
        "mse": Metric("mse", "mean squared error", falls=True, digits=3),
        "mae": Metric("mae", "mean absolute error", falls=True, digits=3),
        "pearson": Metric("pearsonr", "Pearson correlation", digits=3),
    },
    baselines={
        "majority": "the most frequent class",
        "tfidf": "tf-idf weights and a linear model",
        "tfidf_cosine": "the cosine of tf-idf weights and a threshold",
    },
    example_words=(16, 60),
    right="the likeliest class is that of the data",
    sections=(class_section("Class by class"),),
)
