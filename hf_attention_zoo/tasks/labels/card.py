"""Cards of classifiers."""

from collections.abc import Mapping
from typing import Any

from hf_attention_zoo.folders.card_text import Metric, table
from hf_attention_zoo.folders.task_card import TaskCard, Wording


def results_by_class(metrics: Mapping[str, Any], card: TaskCard) -> str:
    """Precision, recall and F1 of each class, and what it was most often taken for."""
    classes = metrics.get("classes") or []
    if not classes:
        return ""
    confusion = metrics.get("confusion")
    rows = []
    for index, one in enumerate(classes):
        row = [one["name"], f"{one['texts']:,}", *(f"{100 * one[key]:.1f} %" for key in ("precision", "recall", "f1"))]
        if confusion:
            wrong = sorted(((count, j) for j, count in enumerate(confusion[index]) if j != index), reverse=True)[:2]
            row.append(", ".join(f"{classes[j]['name']} ({count})" for count, j in wrong if count) or "-")
        rows.append(row)
    head = ["class", "texts", "precision", "recall", "F1", *(["most often taken for"] if confusion else [])]
    return "## Class by class\n\n" + table(head, rows)


CARD = TaskCard(
    wording={
        "text-classification": Wording(
            purpose="classifies texts",
            aligned=True,
            picture=(
                "A held-out text with its attention weights",
                "The stronger the colour, the more of that part of the text went into the prediction. Weight is not "
                "importance: dropping a word with a large weight need not change the answer.",
            ),
            reading="time to read the split",
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
    sections=(results_by_class,),
)
