"""GPT's examples: stretches without gaps, and that they depend on the seed alone."""

import copy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.utils.data import DataLoader

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.running_text.text_stretches import TextStretchesObjective, perplexities

ROW = get_architecture("gpt2018")
SOURCE = DocumentSource("lm_debian", split="validation", limit=60)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return TextStretchesObjective(ROW).train_tokenizer(SOURCE, vocab_size=500)


@pytest.fixture
def stream(tokenizer: Any, tmp_path: Path) -> Any:
    objective = TextStretchesObjective(ROW)
    return objective.dataset(SOURCE, tokenizer, seed=3, batch_size=2, phases=[Phase(32)], cache_dir=tmp_path)


def test_stretches_of_documents_in_order_are_the_text_itself(stream: Any, tokenizer: Any) -> None:
    closing = TextStretchesObjective(ROW).closing(tokenizer)
    assert tokenizer.convert_ids_to_tokens(closing) == "\n</w>"
    whole = np.concatenate(
        [np.append(stream.store.document_ids(d), closing) for d in range(stream.store.num_documents)]
    )
    made = [
        stream.make(parts, stream.random(0))["input_ids"]
        for parts in stream.cut(range(stream.store.num_documents), 32)
    ]
    assert all(len(row) == 32 for row in made)
    assert np.array_equal(np.concatenate(made), whole[: 32 * len(made)])
    assert len(whole) - 32 * len(made) < 32


def test_every_pass_reads_other_stretches_of_the_same_text(stream: Any) -> None:
    first, second = (list(stream.descriptions(epoch, 32)) for epoch in (0, 1))
    assert first != second and abs(len(first) - len(second)) <= 1
    assert first == list(stream.descriptions(0, 32))


def test_a_restart_goes_on_with_the_next_stretch(stream: Any) -> None:
    alone = [row["input_ids"] for row in islice(stream, 12)]
    stream.start_at(5)
    assert np.array_equal(np.stack(alone[5:]), np.stack([row["input_ids"] for row in islice(stream, 7)]))


def test_rows_of_contiguous_batches_go_on_where_they_ended(tokenizer: Any, tmp_path: Path) -> None:
    objective = TextStretchesObjective(get_architecture("elman"), batching="contiguous")
    stream = objective.dataset(SOURCE, tokenizer, seed=3, batch_size=4, phases=[Phase(16)], cache_dir=tmp_path)
    order = stream.random(0, 0).permutation(stream.store.num_documents).tolist()
    whole = [stream.make(parts, stream.random(0))["input_ids"] for parts in stream.cut(order, 16)]
    batches = len(whole) // 4
    found = [row["input_ids"] for row in islice(stream, 4 * batches)]
    for row in range(4):
        assert np.array_equal(found[row::4], whole[row * batches : (row + 1) * batches])
    config = get_architecture("elman").tiny_config()
    with pytest.raises(ValueError, match=r"give --config\.stateful True"):
        objective.check_model(config)
    config.stateful = True
    objective.check_model(config)
    with pytest.raises(ValueError, match=r"give --objective\.batching contiguous"):
        TextStretchesObjective(get_architecture("elman")).check_model(config)
    with pytest.raises(ValueError, match="gpt2018 carries no state"):
        TextStretchesObjective(ROW, batching="contiguous").check_model(ROW.tiny_config())
    with pytest.raises(ValueError, match="choose one of shuffled, contiguous"):
        TextStretchesObjective(ROW, batching="sorted")


def test_documents_may_follow_one_another_without_a_token(tokenizer: Any) -> None:
    assert TextStretchesObjective(ROW, closing_token="").closing(tokenizer) is None
    with pytest.raises(ValueError, match="none of the tokenizer's tokens"):
        TextStretchesObjective(ROW, closing_token="<nothing>").closing(tokenizer)


def test_too_little_held_out_text_is_an_error(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="fewer than 512 tokens"):
        TextStretchesObjective(ROW).held_out(tokenizer, [["a few words"]], 512)
    with pytest.raises(ValueError, match="fewer than 512 tokens"):  # the same is asked before the training
        TextStretchesObjective(ROW).check_held_out(tokenizer, [["a few words"]], 512)


def test_as_much_held_out_text_as_one_stretch_is_enough(tokenizer: Any) -> None:
    objective, documents = TextStretchesObjective(ROW), [["a few words"], ["and others"]]
    tokens = sum(len(tokenizer(document[0])["input_ids"]) + 1 for document in documents)  # each is closed
    objective.check_held_out(tokenizer, documents, tokens)
    assert objective.held_out(tokenizer, documents, tokens).shape == (1, tokens)
    with pytest.raises(ValueError, match=f"fewer than {tokens + 1} tokens"):
        objective.check_held_out(tokenizer, documents, tokens + 1)


def test_a_limit_of_the_tokenizer_shortens_no_text_that_is_learnt_or_scored(tokenizer: Any, tmp_path: Path) -> None:
    objective, text = TextStretchesObjective(ROW), [["a library of words " * 60] * 3]
    limited = copy.deepcopy(tokenizer)
    limited.model_max_length = 48

    def numbers(one: Any) -> list[Any]:
        stream = objective.dataset(text, one, seed=3, batch_size=2, phases=[Phase(32)], cache_dir=tmp_path)
        simple = objective.baselines(one, text, text, length=32)
        return [stream.store.num_tokens, perplexities(2.0, text, one), simple]

    assert numbers(limited) == numbers(tokenizer)
    assert not any("sequence-length" in warned for warned in limited.deprecation_warnings)


def test_workers_and_restarts_change_nothing(stream: Any) -> None:
    def rows(workers: int, first: int = 0) -> np.ndarray:
        stream.start_at(first)
        loader = DataLoader(stream, batch_size=2, num_workers=workers, collate_fn=list)
        return np.stack([row["input_ids"] for batch in islice(loader, 6 - first // 2) for row in batch])

    alone = rows(0)
    assert alone.shape == (12, 32)
    for workers, first in ((2, 0), (2, 4)):
        assert np.array_equal(rows(workers, first), alone[first:]), (workers, first)
