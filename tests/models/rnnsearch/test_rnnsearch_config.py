"""RNNsearchConfig: what it fills in, and what it refuses with which words."""

from pathlib import Path

import pytest
from huggingface_hub.errors import StrictDataclassFieldValidationError

from hf_attention_zoo import RNNsearchConfig

TINY = {"vocab_size": 20, "embedding_size": 4, "hidden_size": 6, "attention_size": 5, "maxout_size": 3}


def test_defaults_are_the_papers() -> None:
    config = RNNsearchConfig()
    sizes = (config.vocab_size, config.decoder_vocab_size, config.embedding_size, config.hidden_size)
    assert sizes == (30_001, 30_001, 620, 1000)
    assert (config.attention_size, config.maxout_size) == (1000, 500)
    assert (config.decoder_timing, config.biases, config.output_rank) == ("paper", "affine", None)
    assert config.dropout == 0.0


def test_target_vocabulary_follows_the_source_unless_given() -> None:
    assert RNNsearchConfig(**TINY).decoder_vocab_size == 20
    assert RNNsearchConfig(**TINY, decoder_vocab_size=17).decoder_vocab_size == 17


def test_config_survives_a_round_trip_through_its_dictionary() -> None:
    config = RNNsearchConfig(**TINY, decoder_vocab_size=17, decoder_timing="groundhog", output_rank=4, dropout=0.2)
    assert RNNsearchConfig.from_dict(config.to_dict()).to_dict() == config.to_dict()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("hidden_size", 0, "hidden_size is 0"),
        ("embedding_size", -2, "embedding_size is -2"),
        ("output_rank", 0, "output_rank is 0"),
        ("decoder_timing", "luong", "paper, groundhog, appendix"),
        ("biases", "some", "affine, groundhog, none"),
        ("dropout", 1.0, "dropout is 1.0"),
        ("num_hidden_layers", 2, "luong"),
        ("num_attention_heads", 8, "one alignment"),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(field: str, value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RNNsearchConfig(**{**TINY, field: value})


def test_a_value_of_the_wrong_type_is_named() -> None:
    with pytest.raises(StrictDataclassFieldValidationError, match="'hidden_size' expected int, got str"):
        RNNsearchConfig(**{**TINY, "hidden_size": "large"})


def test_a_wrong_value_set_later_is_not_saved(tmp_path: Path) -> None:
    config = RNNsearchConfig(**TINY)
    config.decoder_timing = "luong"
    with pytest.raises(Exception, match="choose one of paper"):
        config.save_pretrained(tmp_path)


def test_tied_embeddings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 units .* embedding_size 4 differ"):
        RNNsearchConfig(**TINY, tie_word_embeddings=True)
    assert RNNsearchConfig(**TINY, output_rank=4, tie_word_embeddings=True).tie_word_embeddings
