"""The comparison of layers: how sentences with tags are split."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np


def test_sentences_of_a_document_are_never_split_and_each_seed_tests_another_tenth(
    load_script: Callable[[str], ModuleType],
) -> None:
    script = load_script("compare_contextual")
    names = [f"pud/n{document:05}{sentence:03}" for document in range(40) for sentence in range(1 + document % 4)]
    tested = []
    for seed in range(10):
        places = script.places_by_document(names, seed)
        assert sorted(np.concatenate(list(places.values()))) == list(range(len(names)))
        documents = {split: {names[place][:-3] for place in part} for split, part in places.items()}
        assert sum(map(len, documents.values())) == 40 and len(documents["test"]) == 4
        tested += sorted(documents["test"])
    assert len(set(tested)) == 40
