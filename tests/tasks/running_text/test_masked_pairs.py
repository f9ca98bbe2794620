"""BERT's examples: pairs, hidden tokens, lengths, and that they depend on the seed alone."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.masked_pairs import MaskedPairsObjective, MaskedPairStream, cut_to_fit
from hf_attention_zoo.tasks.running_text.rows import DocumentSource

ROW = get_architecture("bert2018")
SOURCE = DocumentSource("lm_debian", split="validation", limit=150)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return ROW.tokenizer_class.train((line for document in SOURCE for line in document), vocab_size=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def stream(tokenizer: Any, folder: Path) -> Any:
    def make(seed: int = 1, phases: tuple[Phase, ...] = (Phase(64),), **settings: Any) -> MaskedPairStream:
        objective = MaskedPairsObjective(ROW, **settings)
        return objective.dataset(SOURCE, tokenizer, seed=seed, batch_size=4, phases=phases, cache_dir=folder)

    return make


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_hidden_tokens_are_exactly_fifteen_percent_and_meet_the_three_fates(stream: Any, tokenizer: Any) -> None:
    hidden = kept = changed = total = 0
    for example in islice(stream(), 400):
        ids, labels = example["input_ids"], example["labels"]
        chosen = labels != -100
        assert chosen.sum() == min(10, max(1, round(0.15 * len(ids))))  # 10 = 0.15 of the 64 allowed, rounded up
        assert not np.isin(labels[chosen], [tokenizer.cls_token_id, tokenizer.sep_token_id]).any()
        hidden += (ids[chosen] == tokenizer.mask_token_id).sum()
        kept += (ids[chosen] == labels[chosen]).sum()
        total += chosen.sum()
    changed = total - hidden - kept
    for count, share in ((hidden, 0.8), (kept, 0.1), (changed, 0.1)):
        assert abs(count / total - share) < 4 * (share * (1 - share) / total) ** 0.5


def test_segments_and_special_tokens_stand_where_the_paper_has_them(stream: Any, tokenizer: Any) -> None:
    for example in islice(stream(), 100):
        whole = np.where(example["labels"] != -100, example["labels"], example["input_ids"])
        assert whole[0] == tokenizer.cls_token_id and whole[-1] == tokenizer.sep_token_id
        bounds = np.flatnonzero(whole == tokenizer.sep_token_id)
        assert len(bounds) == 2 and len(whole) <= 64
        assert (example["token_type_ids"] == (np.arange(len(whole)) > bounds[0])).all()


def test_random_second_texts_come_from_other_documents(stream: Any) -> None:
    described = list(islice(stream().descriptions(0, 64), 500))
    for pair in described:
        assert (pair.second_document != pair.document) == bool(pair.label)
        if not pair.label:
            assert pair.second_first == pair.last
    several = [pair for pair in described if pair.last - pair.first > 1 or pair.label == 0]
    assert 0.4 < np.mean([pair.label for pair in described]) < 0.8 and several


def test_unused_sentences_are_read_again(stream: Any) -> None:
    made = stream()
    seen: dict[int, set[int]] = {}
    for pair in made.descriptions(0, 64):
        seen.setdefault(pair.document, set()).update(range(pair.first, pair.last))
        if not pair.label:
            seen[pair.document].update(range(pair.second_first, pair.second_last))
    for document in range(made.store.num_documents):
        assert seen[document] == set(range(len(made.store.sentence_lengths(document))))


def test_workers_and_restarts_change_nothing(stream: Any) -> None:
    def rows(workers: int, first: int = 0) -> list[dict[str, Any]]:
        made = stream()
        made.start_at(first)
        loader = DataLoader(made, batch_size=4, num_workers=workers, collate_fn=list)
        return [example for batch in islice(loader, 6 - first // 4) for example in batch]

    alone = rows(0)
    assert len(alone) == 24
    assert all(same(one, other) for one, other in zip(alone, rows(2), strict=True))
    assert all(same(one, other) for one, other in zip(alone[8:], rows(0, first=8), strict=True))
    other_seed = list(islice(stream(seed=2), 24))
    assert not all(same(one, other) for one, other in zip(alone, other_seed, strict=True))


def test_two_lengths_follow_one_another(stream: Any) -> None:
    lengths = [len(row["input_ids"]) for row in islice(stream(phases=(Phase(16, 30), Phase(64))), 60)]
    assert max(lengths[:30]) <= 16 < max(lengths[30:])
    with pytest.raises(ValueError, match="phases"):
        stream(phases=(Phase(16), Phase(64)))


def test_each_epoch_draws_anew(stream: Any) -> None:
    made = stream()
    assert list(made.descriptions(0, 64)) != list(made.descriptions(1, 64))
    assert list(made.descriptions(1, 64)) == list(stream().descriptions(1, 64))


def test_the_ablations_are_settings(stream: Any, tokenizer: Any) -> None:
    single = next(iter(stream(next_sentence=False)))
    assert "next_sentence_label" not in single and not single["token_type_ids"].any()
    onward = next(iter(stream(next_sentence=False, left_to_right=True)))
    assert (onward["labels"][:-1] == onward["input_ids"][1:]).all() and onward["labels"][-1] == -100
    with pytest.raises(ValueError, match="next_sentence False"):
        MaskedPairsObjective(ROW, left_to_right=True)
    with pytest.raises(ValueError, match="no setting mask_shar"):
        MaskedPairsObjective(ROW, mask_shar=0.2)


def test_a_batch_is_padded_on_the_right(stream: Any, tokenizer: Any) -> None:
    examples = list(islice(stream(), 4))
    batch = MaskedPairsObjective(ROW).collator(tokenizer)(examples)
    for row, example in enumerate(examples):
        count = len(example["input_ids"])
        assert batch["attention_mask"][row].sum() == count
        assert torch.equal(batch["input_ids"][row, :count], torch.from_numpy(example["input_ids"]))
        assert (batch["labels"][row, count:] == -100).all() and not batch["token_type_ids"][row, count:].any()


def test_cutting_keeps_the_shorter_text_while_the_other_is_longer() -> None:
    one, two = cut_to_fit(np.arange(30), np.arange(100, 105), 15, np.random.default_rng(0))
    assert len(one) == 10 and len(two) == 5
    assert (np.diff(one) == 1).all()


def test_n_grams_beside_a_model_of_next_tokens_learn_where_rows_end(tokenizer: Any) -> None:
    text = [["this package provides"] for _ in range(40)]
    objective = MaskedPairsObjective(ROW, left_to_right=True, next_sentence=False)
    found = objective.baselines(tokenizer, text, text[:2], length=32)
    assert found["2-gram"]["perplexity"] < 1.5 and found["3-gram"]["perplexity"] < 1.5


def test_one_document_is_not_enough(tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"training text is one document only.*--text_documents file"):
        MaskedPairsObjective(ROW).dataset(
            [["a package"]], tokenizer, seed=0, batch_size=2, phases=[Phase(32)], cache_dir=tmp_path
        )
    with pytest.raises(ValueError, match="held-out text is one document only"):
        MaskedPairsObjective(ROW).held_out(tokenizer, [["a package", "a library"]], 32)
    assert MaskedPairsObjective(ROW, next_sentence=False).held_out(tokenizer, [["a package", "a library"]], 32)
