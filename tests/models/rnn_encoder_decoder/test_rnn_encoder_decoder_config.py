"""RNNEncoderDecoderConfig: what it fills in, and what it refuses with which words."""

import pytest

from hf_attention_zoo import RNNEncoderDecoderConfig

TINY = {"vocab_size": 20, "embedding_size": 4, "hidden_size": 6, "maxout_size": 3, "output_rank": None}


def test_defaults_are_the_papers() -> None:
    config = RNNEncoderDecoderConfig()
    assert (config.vocab_size, config.decoder_vocab_size) == (15_001, 15_001)
    assert (config.embedding_size, config.hidden_size, config.maxout_size, config.output_rank) == (100, 1000, 500, 100)
    assert (config.form, config.biases, config.dropout) == ("paper", True, 0.0)


def test_config_survives_a_round_trip_through_its_dictionary() -> None:
    config = RNNEncoderDecoderConfig(**{**TINY, "output_rank": 2}, decoder_vocab_size=17, form="groundhog")
    assert RNNEncoderDecoderConfig.from_dict(config.to_dict()).to_dict() == config.to_dict()
    assert config.decoder_vocab_size == 17 and RNNEncoderDecoderConfig(**TINY).decoder_vocab_size == 20


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("hidden_size", 0, "hidden_size is 0"),
        ("embedding_size", -2, "embedding_size is -2"),
        ("output_rank", 0, "output_rank is 0"),
        ("form", "v1", "form is 'v1'; choose one of paper, groundhog"),
        ("dropout", 1.0, "dropout is 1.0"),
        ("initializer_range", 0.0, "initializer_range is 0.0"),
        ("num_hidden_layers", 2, "seq2seq_lstm"),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(field: str, value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RNNEncoderDecoderConfig(**{**TINY, field: value})


def test_tied_embeddings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"3 units .* embedding_size 4 differ"):
        RNNEncoderDecoderConfig(**TINY, tie_word_embeddings=True)
    assert RNNEncoderDecoderConfig(**{**TINY, "output_rank": 4}, tie_word_embeddings=True).tie_word_embeddings
