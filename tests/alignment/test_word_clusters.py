"""The tree of words: its vectors are the model's states, its branches the mean distances, and it can be drawn."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_attention_zoo import TextTokenizer, cluster_words, get_architecture
from hf_attention_zoo.alignment.results.word_clusters import cluster_vectors

TEXTS = ["The dog sleeps.", "a dog, and the cat", "The cat sleeps!"]


@pytest.mark.parametrize("kind", ["word", "subword", "character"])
def test_a_words_vector_is_the_mean_of_the_states_after_it(kind: str) -> None:
    row = get_architecture("elman")
    tokenizer = TextTokenizer.train(TEXTS * 3, kind=kind, vocab_size=48)
    torch.manual_seed(0)
    model = row.model_classes["AutoModelForCausalLM"](row.tiny_config())
    clusters = cluster_words(model, tokenizer, TEXTS, batch_size=2)
    assert dict(zip(clusters.words, clusters.counts, strict=True))["the"] == 3
    wanted = []
    for text, end in ((TEXTS[0], 7), (TEXTS[1], 5)):
        states = model.model(**tokenizer(text[:end], return_tensors="pt")).last_hidden_state[0, -1]
        wanted.append(states.double())
    found = clusters.vectors[clusters.words.index("dog")]
    np.testing.assert_allclose(found, torch.stack(wanted).mean(0).detach().numpy(), atol=1e-6)
    named = cluster_words(model, tokenizer, TEXTS, words=["dog", "Cat"])
    assert set(named.words) == {"dog", "cat"}
    with pytest.raises(ValueError, match="1 of the words stand in the texts"):
        cluster_words(model, tokenizer, TEXTS, words=["dog", "horse"])


def test_branches_are_mean_distances_and_the_nearest_are_joined_first(tmp_path: Path) -> None:
    vectors = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [10.0, 3.0], [50.0, 0.0]])
    clusters = cluster_vectors("abcde", vectors)
    assert clusters.merges[:2].tolist() == [[0, 2, 1.0], [1, 3, 3.0]]
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
    assert clusters.merges[2].tolist() == [5, 6, pytest.approx(distances[[0, 2]][:, [1, 3]].mean())]
    assert clusters.merges[3, 2] == pytest.approx(distances[4, :4].mean())
    assert sorted(clusters.leaves()) == list(range(5)) and clusters.leaves(5) == [0, 2]
    clusters.plot(tmp_path / "tree.png", title="a $ tree")
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    record = json.loads(clusters.to_json(tmp_path / "tree.json"))
    assert record["words"] == list("abcde") and len(record["merges"]) == 4
    with pytest.raises(ValueError, match="the suffix must be one of"):
        clusters.plot(tmp_path / "tree.gif")


def test_a_model_without_a_state_for_each_token_is_refused() -> None:
    row = get_architecture("self_attentive")
    tokenizer = TextTokenizer.train(TEXTS, vocab_size=40)
    model = row.model_classes["AutoModel"](row.tiny_config())
    with pytest.raises(ValueError, match="gives no state after each token"):
        cluster_words(model, tokenizer, TEXTS)
