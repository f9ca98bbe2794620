"""Korean film reviews with one to five stars, from the folder raw/ of github.com/e9t/nsmc, for `make_data.py`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from data_rules import Made, Row, by_id, empty_splits, hashed_place, likeness, one_spaced, split_of

from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.tasks.labels.baselines import tfidf_available

COLUMNS = ("review", "rating", "review_id", "movie_id")
RATINGS = {str(rating): rating for rating in range(1, 11)}
SHORTEST, LONGEST = 10, 160  # characters
LINK_OR_DRAWL = re.compile(r"https?:|www\.|(.)\1{5}")
HANGUL_SHARE = 0.7  # of the letters
A_CLASS = 7000
HELD_OUT = 600
NEAR = 0.85  # cosine
AT_ONCE = 2000


def make_nsmc(folder: Path) -> Made:
    """Rows of reviews: `id`, `movie`, `text`, `rating` (1 to 10) and `label` (0 to 4).

    Whole films are held out. Reviews of training that are nearly one that is held out are left out, and reviews of
    validation that are nearly one of test.

    Raises:
        ValueError: the folder has no such files, a review lacks a column, or scikit-learn is not installed.
    """
    if not tfidf_available():
        raise ValueError("near copies are found with scikit-learn: pip install 'hf_attention_zoo[baselines]'")
    classes: dict[int, list[tuple[int, str, Row]]] = defaultdict(list)
    seen: set[str] = set()
    for review in _reviews(folder):
        text = one_spaced(str(review["review"]))
        key = likeness(text)
        if key in seen or not is_kept(text):
            continue
        seen.add(key)
        name, rating = str(review["review_id"]), RATINGS[str(review["rating"])]
        label = (rating - 1) // 2
        row = {"id": f"nsmc/{name}", "movie": str(review["movie_id"]), "text": text, "rating": rating, "label": label}
        classes[label].append((hashed_place(name, "nsmc"), name, row))
    splits = empty_splits()
    for reviews in classes.values():
        for *_, row in sorted(reviews, key=lambda review: review[:2])[:A_CLASS]:
            splits[split_of(f"movie{row['movie']}", "zoo-v1", HELD_OUT)].append(row)
    if not any(splits.values()):
        raise ValueError(f"{folder} has no Korean review of {SHORTEST} to {LONGEST} characters; give raw/ of e9t/nsmc")
    splits = by_id(splits)
    train, validation, test = (splits[split] for split in ("train", "validation", "test"))
    splits["train"] = without_copies(train, validation + test)
    splits["validation"] = without_copies(validation, test)
    return Made(splits)


def is_kept(text: str) -> bool:
    """Whether a review is neither short nor long, and mostly Hangul, without links and letters drawn out."""
    if not SHORTEST <= len(text) <= LONGEST or LINK_OR_DRAWL.search(text):
        return False
    letters = [letter for letter in text if letter.isalpha()]
    hangul = sum("가" <= letter <= "힣" for letter in letters)
    return hangul > 0 and hangul / len(letters) >= HANGUL_SHARE


def without_copies(rows: list[Row], others: list[Row]) -> list[Row]:
    """Rows whose text is not nearly one of the others': a cosine of tf-idf weights of runs of four characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), min_df=2)
    runs_of = runs.build_analyzer()
    counted = [run for row in rows for run in set(runs_of(row["text"]))]
    if not others or len(counted) == len(set(counted)):
        return rows  # no run is in two texts, so none has a weight
    weights = runs.fit_transform([row["text"] for row in rows])
    columns = runs.transform([row["text"] for row in others]).T.tocsc()
    kept = []
    for begin in range(0, len(rows), AT_ONCE):
        nearest = (weights[begin : begin + AT_ONCE] @ columns).max(axis=1).toarray().ravel()
        kept += [row for row, cosine in zip(rows[begin : begin + AT_ONCE], nearest, strict=True) if cosine < NEAR]
    return kept


def _reviews(folder: Path) -> Iterator[Mapping[str, Any]]:
    """All reviews, films in the order of their files' names."""
    raw = folder / "raw" if (folder / "raw").is_dir() else folder
    files = sorted(raw.glob("*.json"))
    if not files:
        raise ValueError(f"{folder} has no files such as 10001.json; give the folder raw/ of github.com/e9t/nsmc")
    for file in files:
        for place, review in read_rows(file):
            if missing := [column for column in COLUMNS if review.get(column) is None]:
                raise ValueError(f"{place} has no {', '.join(missing)}; a review has {', '.join(COLUMNS)}")
            if str(review["rating"]) not in RATINGS:
                raise ValueError(f"{place} has the rating {review['rating']!r}; ratings are 1 to 10")
            yield review
