"""What a classifier must beat: the most frequent class, and tf-idf weights with a linear model.

The first needs nothing; the second scikit-learn (`pip install 'hf_attention_zoo[baselines]'`). Neither sees the
held-out texts before it is scored, and nothing is tuned: words and pairs of words, or runs of one to four characters
where a third of the letters are Korean, Chinese or Japanese; log counts; C = 10.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hf_attention_zoo.data.labels import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from hf_attention_zoo.data.text_encoding import Text, joined

NEEDS_SCIKIT_LEARN = "the tf-idf baseline needs scikit-learn: pip install 'hf_attention_zoo[baselines]'"

MOST_ITERATIONS = 2_000  # of the solver: many times what the samples take, so that it ends where it has converged
LOUD = 20.0  # a logit that stands for certainty
_UNSPACED = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af]")
_COUNTED_TEXTS = 500


def majority_logits(labels: Sequence[Any], count: int, num_labels: int, problem_type: str) -> np.ndarray:
    """The same answer for `count` texts, (count, C): the most frequent class, the classes of most texts, the mean."""
    values = np.asarray(labels, dtype=np.float64)
    if problem_type == SINGLE_LABEL:
        answer = np.zeros(num_labels)
        answer[np.bincount(values.astype(np.int64), minlength=num_labels).argmax()] = LOUD
    elif problem_type == MULTI_LABEL:
        answer = np.where(values.mean(0) > 0.5, LOUD, -LOUD)
    else:
        answer = values.reshape(len(values), -1).mean(0)
    return np.tile(answer, (count, 1))


def tfidf_available() -> bool:
    """Whether scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def tfidf_logits(
    train_texts: Sequence[Text],
    train_labels: Sequence[Any],
    texts: Sequence[Text],
    *,
    num_labels: int,
    problem_type: str,
    train_pairs: Sequence[Text] | None = None,
    pairs: Sequence[Text] | None = None,
) -> np.ndarray:
    """Logits (N, C), or numbers, of a linear model over tf-idf weights.

    Of pairs the model sees the weights that both texts share (their product, word by word) and the cosine, not which
    words a text has by itself.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    if not tfidf_available():
        raise ImportError(NEEDS_SCIKIT_LEARN)
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, strip_accents=None, **_units(train_texts))
    plain = [joined(text) for text in train_texts]
    if train_pairs is None or pairs is None:
        known, new = vectorizer.fit_transform(plain), vectorizer.transform([joined(text) for text in texts])
    else:
        second = [joined(text) for text in train_pairs]
        vectorizer.fit([*plain, *second])
        known = _shared(vectorizer, plain, second)
        new = _shared(vectorizer, [joined(text) for text in texts], [joined(text) for text in pairs])
    return _fitted(known, np.asarray(train_labels), new, num_labels, problem_type)


def cosine_logits(
    train_texts: Sequence[Text],
    train_pairs: Sequence[Text],
    train_labels: Sequence[int],
    texts: Sequence[Text],
    pairs: Sequence[Text],
) -> np.ndarray:
    """Two classes of pairs by the cosine of their tf-idf weights and the threshold best on training: (N, 2)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, **_units(train_texts, longest=1))
    first, second = [joined(text) for text in train_texts], [joined(text) for text in train_pairs]
    vectorizer.fit([*first, *second])

    def cosines(one: Sequence[Text], other: Sequence[Text]) -> np.ndarray:
        weights = [vectorizer.transform([joined(text) for text in side]) for side in (one, other)]
        return np.asarray(weights[0].multiply(weights[1]).sum(1)).ravel()

    known, wanted = cosines(first, second), np.asarray(train_labels)
    order = np.argsort(known)
    # Threshold below the i-th: everything before it is class 0.
    right = np.concatenate([[0], np.cumsum(wanted[order] == 0)]) + (
        (wanted == 1).sum() - np.concatenate([[0], np.cumsum(wanted[order] == 1)])
    )
    best = int(right.argmax())
    edges = np.concatenate([[-1.0], known[order], [2.0]])
    threshold = (edges[best] + edges[best + 1]) / 2
    distance = (cosines(texts, pairs) - threshold) * LOUD
    return np.stack([-distance, distance], axis=1)


def _units(texts: Sequence[Text], longest: int = 2) -> dict[str, Any]:
    """What is counted: words, or characters where words are not what spaces part."""
    letters = "".join(filter(str.isalpha, "".join(joined(text) for text in texts[:_COUNTED_TEXTS])))
    if len(_UNSPACED.findall(letters)) * 3 > len(letters):
        return {"analyzer": "char_wb", "ngram_range": (1, 4)}
    return {"analyzer": "word", "ngram_range": (1, longest), "token_pattern": r"(?u)\b\w+\b"}


def _shared(vectorizer: Any, one: list[str], other: list[str]) -> Any:
    from scipy.sparse import csr_matrix, hstack

    product = vectorizer.transform(one).multiply(vectorizer.transform(other)).tocsr()
    return hstack([product, csr_matrix(product.sum(1))]).tocsr()


def _fitted(known: Any, labels: np.ndarray, new: Any, num_labels: int, problem_type: str) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression, Ridge

    if problem_type == REGRESSION:
        return np.asarray(Ridge(alpha=1.0).fit(known, labels).predict(new)).reshape(new.shape[0], -1)
    if problem_type == MULTI_LABEL:
        columns = [_two_classes(known, labels[:, index] > 0.5, new) for index in range(num_labels)]
        return np.stack(columns, axis=1)
    model = LogisticRegression(C=10.0, max_iter=MOST_ITERATIONS).fit(known, labels)
    logits = np.full((new.shape[0], num_labels), -np.inf)
    logits[:, model.classes_] = model.predict_log_proba(new)
    return logits


def _two_classes(known: Any, wanted: np.ndarray, new: Any) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    if wanted.all() or not wanted.any():
        return np.full(new.shape[0], LOUD if wanted.all() else -LOUD)
    return LogisticRegression(C=10.0, max_iter=MOST_ITERATIONS).fit(known, wanted).decision_function(new)
