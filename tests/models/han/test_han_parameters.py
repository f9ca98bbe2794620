"""How many parameters the paper's sizes give, part by part."""

import pytest
import torch

from hf_attention_zoo import HANConfig, HANForSequenceClassification, get_architecture


@pytest.mark.parametrize("classes, wanted", [(5, 141_505), (10, 142_010)])
def test_the_papers_sizes_without_the_embedding(classes: int, wanted: int) -> None:
    """Section 3.3: embedding 200, GRU 50 a direction, context vectors 100. The paper prints no count."""
    with torch.device("meta"):
        model = HANForSequenceClassification(HANConfig(vocab_size=7, num_labels=classes))
    words = 2 * 3 * (50 * 200 + 50 * 50 + 50)
    sentences = 2 * 3 * (50 * 100 + 50 * 50 + 50)
    attention = 100 * 100 + 100 + 100
    output = 100 * classes + classes
    assert (words, sentences, attention) == (75_300, 45_300, 10_200)
    assert words + sentences + 2 * attention + output == wanted
    assert model.num_parameters() == wanted + 7 * 200
    assert sum(p.numel() for p in model.model.words.reader.parameters()) == words
    assert sum(p.numel() for p in model.model.sentences.pooling.parameters()) == attention


def test_the_baselines_have_no_attention_parameters() -> None:
    for pooling in ("average", "max"):
        with torch.device("meta"):
            model = HANForSequenceClassification(HANConfig(vocab_size=7, num_labels=5, pooling=pooling))
        assert model.num_parameters() == 141_505 - 2 * 10_200 + 7 * 200


def test_the_row_counts_an_embedding_of_fifty_thousand_words() -> None:
    assert get_architecture("han").paper_parameters == 141_505 + 50_000 * 200


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"pooling": "sum"}, "pooling is 'sum'; choose one of attention, average, max"),
        ({"hidden_size": 0}, "hidden_size is 0; sizes are 1 or more"),
        ({"dropout": 1.0}, "dropout is 1.0; give a probability"),
        ({"initializer_range": 0.0}, "initializer_range is 0.0; give a number above 0"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HANConfig(**changes)
