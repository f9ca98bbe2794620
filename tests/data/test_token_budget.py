"""Batches by padded tokens: each pair once, within the budget, alike for one and for several processes, resumable."""

import math
import warnings
from collections import Counter

import numpy as np
import pytest
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, skip_first_batches
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from hf_attention_zoo.data.token_budget import TokenBudgetBatchSampler, pair_lengths

pytestmark = pytest.mark.filterwarnings("ignore:.*longer than max_tokens.*:UserWarning")

LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=120)
RANDOM = np.random.default_rng(7)
MANY = RANDOM.integers(2, 20, size=(700, 2))


def width(lengths, batch):
    return max(max(1, *lengths[example]) for example in batch)


@settings(max_examples=80, deadline=None)
@given(
    lengths=LENGTHS,
    max_tokens=st.integers(1, 120),
    pool_batches=st.integers(1, 5),
    replicas=st.integers(1, 4),
    shuffle=st.booleans(),
    order=st.sampled_from(["shuffled", "shortest_first"]),
    epoch=st.integers(0, 6),
)
def test_every_pair_comes_once_and_batches_keep_the_budget(
    lengths, max_tokens, pool_batches, replicas, shuffle, order, epoch
):
    def sampler(rank):
        made = TokenBudgetBatchSampler(
            lengths,
            max_tokens,
            pool_batches=pool_batches,
            num_replicas=replicas,
            rank=rank,
            shuffle=shuffle,
            order=order,
            seed=3,
        )
        made.set_epoch(epoch)
        return made

    union = list(sampler(None))
    seen = Counter(example for batch in union for example in batch)
    assert set(seen) == set(range(len(lengths)))
    repeated = seen.total() - len(lengths)
    assert repeated == 0 or (repeated < replicas and all(len(batch) == 1 for batch in union))
    assert all(batch for batch in union)
    for batch in union:
        assert len(batch) * width(lengths, batch) <= max_tokens or len(batch) == 1
    assert len(union) == len(sampler(None))
    assert len(union) % replicas == 0

    shares = [list(sampler(rank)) for rank in range(replicas)]
    assert all(len(share) == len(union) // replicas == len(sampler(0)) for share in shares)
    assert [batch for step in zip(*shares, strict=True) for batch in step] == union


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(1, 300),
    batch_size=st.integers(1, 40),
    replicas=st.integers(1, 3),
    pool_batches=st.integers(1, 20),
)
def test_fixed_batch_size_gives_full_batches_except_the_last(count, batch_size, replicas, pool_batches):
    lengths = RANDOM.integers(1, 20, size=(count, 2))
    sampler = TokenBudgetBatchSampler(
        lengths, batch_size=batch_size, num_replicas=replicas, pool_batches=pool_batches, order="shortest_first"
    )
    sizes = Counter(len(batch) for batch in sampler)
    assert max(sizes) <= batch_size
    natural = math.ceil(count / batch_size)
    assert len(sampler) == math.ceil(natural / replicas) * replicas
    if natural % replicas == 0:
        assert sizes[batch_size] >= natural - 1


def test_a_pool_of_1600_pairs_is_sorted_and_cut_in_20_from_the_shortest():
    lengths = RANDOM.integers(1, 51, size=(3200, 2))
    sampler = TokenBudgetBatchSampler(lengths, batch_size=80, order="shortest_first", reshuffle_each_epoch=False)
    batches = list(sampler)
    assert len(batches) == 40
    for pool in (batches[:20], batches[20:]):
        widths = [max(lengths[example]) for batch in pool for example in batch]
        assert widths == sorted(widths)
    sampler.set_epoch(1)
    assert list(sampler) == batches, "the paper shuffles once before training"


def test_sorting_within_pools_leaves_little_padding():
    sorted_share = TokenBudgetBatchSampler(MANY, 300).padded_share()
    unsorted = [MANY[i : i + 15].max(axis=1) for i in range(0, 700, 15)]
    unsorted_share = 1 - sum(w.sum() for w in unsorted) / sum(len(w) * w.max() for w in unsorted)
    assert sorted_share < 0.1 < unsorted_share


def test_epochs_differ_but_have_the_same_number_of_batches():
    sampler = TokenBudgetBatchSampler(MANY, 100, num_replicas=3)
    plans = []
    for epoch in range(30):
        sampler.set_epoch(epoch)
        plans.append(list(sampler))
        assert len(plans[-1]) == len(sampler)
        assert sorted(example for batch in plans[-1] for example in batch) == list(range(700))
    assert len({repr(plan) for plan in plans}) == 30
    assert len({repr(sorted(map(sorted, plan))) for plan in plans}) == 30, "the pairs in a batch change too"


def test_an_epoch_depends_on_seed_and_epoch_alone():
    first = TokenBudgetBatchSampler(MANY, 100, seed=5)
    for epoch in range(4):
        first.set_epoch(epoch)
        list(first)
    second = TokenBudgetBatchSampler(MANY, 100, seed=5)
    second.set_epoch(3)
    assert list(second) == list(first)
    assert list(TokenBudgetBatchSampler(MANY, 100, seed=6)) != list(TokenBudgetBatchSampler(MANY, 100, seed=5))


def test_batches_of_one_step_have_like_widths():
    sampler = TokenBudgetBatchSampler(MANY, 200, num_replicas=2)
    plan = sampler.plan()
    gaps = [abs(width(MANY, plan[i]) - width(MANY, plan[i + 1])) for i in range(0, len(plan), 2)]
    assert np.mean(gaps) < 3


def test_several_processes_only_cut_batches_in_two():
    one = TokenBudgetBatchSampler(MANY, 100).plan()
    for replicas in (2, 3, 5):
        several = TokenBudgetBatchSampler(MANY, 100, num_replicas=replicas).plan()
        changed = {tuple(batch) for batch in several} - {tuple(batch) for batch in one}
        assert len(changed) <= 2 * (replicas - 1)


def test_fewer_pairs_than_processes_are_repeated():
    shares = [list(TokenBudgetBatchSampler([(2, 3), (4, 1)], 100, num_replicas=5, rank=r)) for r in range(5)]
    assert [len(share) for share in shares] == [1] * 5
    assert {example for share in shares for batch in share for example in batch} == {0, 1}


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_accelerate_shards_the_plan_as_ranks_do(replicas):
    sampler = TokenBudgetBatchSampler(MANY, 100, num_replicas=replicas)
    for rank in range(replicas):
        sharded = BatchSamplerShard(sampler, num_processes=replicas, process_index=rank)
        own = TokenBudgetBatchSampler(MANY, 100, num_replicas=replicas, rank=rank)
        assert list(sharded) == list(own)
        assert len(sharded) == len(own)


@pytest.mark.parametrize("done", [0, 1, 17])
@pytest.mark.parametrize("replicas", [1, 2])
def test_skip_first_batches_continues_in_mid_epoch(done, replicas):
    def loader():
        sampler = TokenBudgetBatchSampler(MANY, 100, num_replicas=replicas)
        wrapped = BatchSamplerShard(sampler, num_processes=replicas, process_index=replicas - 1)
        made = DataLoaderShard(
            list(range(700)), batch_sampler=wrapped if replicas > 1 else sampler, collate_fn=list, iteration=2
        )
        sampler.set_epoch(2)
        return made

    expected = list(loader())
    resumed = skip_first_batches(loader(), done)
    assert len(resumed) == len(expected) - done
    assert list(resumed) == expected[done:]


@pytest.mark.parametrize("rank", [None, 1])
def test_state_continues_behind_the_last_batch(rank):
    def sampler():
        return TokenBudgetBatchSampler(MANY, 100, num_replicas=2, rank=rank, seed=4)

    whole = sampler()
    whole.set_epoch(1)
    expected = list(whole)
    interrupted = sampler()
    interrupted.set_epoch(1)
    iterator = iter(interrupted)
    begun = [next(iterator) for _ in range(9)]
    resumed = sampler()
    resumed.load_state_dict(interrupted.state_dict())
    assert resumed.epoch == 1
    resumed.set_epoch(1)
    assert begun + list(resumed) == expected
    assert list(resumed) == expected, "only the first pass after loading is shortened"
    assert len(resumed) == len(expected)


def test_the_loop_can_say_how_far_it_is_when_workers_fetch_ahead():
    sampler = TokenBudgetBatchSampler(MANY, 100)
    fetched = list(DataLoader(list(range(700)), batch_sampler=sampler, collate_fn=list))
    state = sampler.state_dict(batches_done=3)
    sampler.load_state_dict(state)
    assert list(sampler) == fetched[3:]
    with pytest.raises(ValueError, match="batches_done=10000"):
        sampler.state_dict(batches_done=10_000)


def test_a_finished_epoch_resumes_with_the_next():
    sampler = TokenBudgetBatchSampler(MANY, 100)
    list(sampler)
    resumed = TokenBudgetBatchSampler(MANY, 100)
    resumed.load_state_dict(sampler.state_dict())
    sampler.set_epoch(1)
    assert resumed.epoch == 1
    assert list(resumed) == list(sampler)


def test_state_of_other_data_is_refused():
    state = TokenBudgetBatchSampler(MANY, 100).state_dict()
    for other in (TokenBudgetBatchSampler(MANY[1:], 100), TokenBudgetBatchSampler(MANY, 101)):
        with pytest.raises(ValueError, match="other data or other settings"):
            other.load_state_dict(state)


def test_a_pair_over_the_budget_is_alone_with_one_warning():
    lengths = [(3, 3), (60, 2), (2, 2), (1, 70)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sampler = TokenBudgetBatchSampler(lengths, 10)
        batches = [*sampler, *sampler]
    assert [1] in batches and [3] in batches
    assert len(caught) == 1
    assert "2 of 4 pairs" in str(caught[0].message) and "example 3 with 70" in str(caught[0].message)


def test_a_pair_over_the_budget_raises_if_asked():
    with pytest.raises(ValueError, match=r"1 of 2 pairs.*max_tokens=10.*example 1 with 60"):
        TokenBudgetBatchSampler([(3, 3), (60, 2)], 10, oversized="raise")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "exactly one of the two"),
        ({"max_tokens": 10, "batch_size": 10}, "exactly one of the two"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_tokens": 1.5}, "max_tokens=1.5"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"max_tokens": 10, "pool_batches": 0}, "pool_batches=0"),
        ({"max_tokens": 10, "num_replicas": 2, "rank": 2}, "ranks go from 0 to 1"),
        ({"max_tokens": 10, "seed": -1}, "seed=-1"),
        ({"max_tokens": 10, "order": "random"}, "order='random'"),
        ({"max_tokens": 10, "oversized": "drop"}, "oversized='drop'"),
    ],
)
def test_wrong_settings_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        TokenBudgetBatchSampler([(3, 3)], **keywords)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([], "nothing to cut"), ([3, 4], "pair of integers"), ([(1.5, 2.0)], "pair of integers"), ([(1, -2)], "hold -2")],
)
def test_wrong_lengths_are_named(lengths, message):
    with pytest.raises(ValueError, match=message):
        TokenBudgetBatchSampler(lengths, 10)


def test_a_negative_epoch_is_refused():
    with pytest.raises(ValueError, match="epoch=-1"):
        TokenBudgetBatchSampler([(1, 1)], 10).set_epoch(-1)


def test_lengths_come_from_tokenised_data():
    rows = [
        {"input_ids": [1, 2, 3], "labels": [4]},
        {"input_ids": [5], "labels": [6, 7]},
        {"input_ids": [], "labels": []},
    ]
    expected = [[3, 1], [1, 2], [0, 0]]
    assert pair_lengths(rows).tolist() == expected
    data = Dataset.from_list(rows)
    assert pair_lengths(data).tolist() == expected
    assert pair_lengths(data.select([2, 0])).tolist() == [[0, 0], [3, 1]]
    with pytest.raises(ValueError, match="labels_ids"):
        pair_lengths(data, target="labels_ids")
