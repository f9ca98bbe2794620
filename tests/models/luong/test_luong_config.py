"""LuongConfig: the paper's defaults, the combinations that the paper allows, and what it refuses with which words."""

import itertools

import pytest
import torch

from hf_attention_zoo.models.luong.configuration_luong import SCORES, WINDOWS, LuongConfig
from hf_attention_zoo.models.luong.facts_luong import TINY_CONFIG
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration


def test_defaults_are_those_of_the_papers_best_single_model() -> None:
    config = LuongConfig()
    assert (config.vocab_size, config.decoder_vocab_size) == (50_000, 50_000)
    assert (config.embedding_size, config.hidden_size, config.num_hidden_layers) == (1000, 1000, 4)
    assert (config.attention_score, config.attention_window, config.window_half_width) == ("general", "local-p", 10)
    assert config.input_feeding and config.reverse_source and config.source_eos
    assert (config.concat_source_weight, config.position_gradient) == ("learned", "full")
    assert (config.dropout, config.initializer_range) == (0.2, 0.1)


@pytest.mark.parametrize(("score", "window"), itertools.product(SCORES, WINDOWS))
@pytest.mark.parametrize("feed", [True, False])
def test_combinations_of_the_paper_build_and_train_and_others_say_why_not(score: str, window: str, feed: bool) -> None:
    choices = {"attention_score": score, "attention_window": window, "input_feeding": feed}
    if score == "location" and window != "global":
        with pytest.raises(ValueError, match=f"'location' with attention_window='{window}'.*global.*dot, general"):
            LuongConfig(**TINY_CONFIG, **choices)
        return
    model = LuongForConditionalGeneration(LuongConfig(**TINY_CONFIG, **choices))
    ids, labels = torch.randint(4, 40, (3, 6)), torch.randint(4, 40, (3, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = model(ids, labels=labels).loss
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"window_half_width": 0}, "window_half_width is 0"),
        ({"location_max_length": -1}, "location_max_length is -1"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_attention_heads": 8}, "transformer2017"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"initializer_range": 0.0}, "initializer_range is 0.0"),
        ({"attention_score": "additive"}, "dot, general, concat, location"),
        ({"attention_window": "local"}, "global, local-m, local-p"),
        ({"concat_source_weight": "none"}, "learned, identity"),
        ({"concat_source_weight": "identity"}, "attention_score='general'.*set attention_score='concat'"),
        ({"position_gradient": "half", "attention_window": "local-m"}, "'local-m'.*only local-p predicts"),
        ({"tie_word_embeddings": True}, "12 units .hidden_size. and embedding_size 8 differ"),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LuongConfig(**{**TINY_CONFIG, **changes})


def test_config_survives_a_round_trip_through_its_dictionary() -> None:
    config = LuongConfig(
        **TINY_CONFIG,
        attention_score="concat",
        concat_source_weight="identity",
        position_gradient="half",
        source_eos=False,
        input_feeding=False,
    )
    assert LuongConfig.from_dict(config.to_dict()).to_dict() == config.to_dict()


def test_tied_embeddings_share_one_table() -> None:
    config = LuongConfig(**{**TINY_CONFIG, "embedding_size": 12}, tie_word_embeddings=True)
    model = LuongForConditionalGeneration(config)
    assert model.lm_head.weight is model.model.decoder.embed_tokens.weight
