"""Seq2SeqLSTMConfig, parameter counts beside the paper's figure, initialisation, and bad input."""

import pytest
import torch

from hf_attention_zoo.models.seq2seq_lstm.configuration_seq2seq_lstm import Seq2SeqLSTMConfig
from hf_attention_zoo.models.seq2seq_lstm.facts_seq2seq_lstm import PAPER_CONFIG, PAPER_PARAMETERS, TINY_CONFIG
from hf_attention_zoo.models.seq2seq_lstm.modeling_seq2seq_lstm import Seq2SeqLSTMForConditionalGeneration

SOURCE, TARGET, H, LAYERS = 160_000, 80_000, 1000, 4
LAYER = 4 * H * (H + H)  # 8 million
WEIGHTS = SOURCE * H + TARGET * H + TARGET * H + 2 * LAYERS * LAYER
PRINTED = 384_000_000  # Section 3.4: "384M parameters, of which 64M are pure recurrent connections"


def count(**choices: object) -> int:
    with torch.device("meta"):
        model = Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**choices))
    return sum(parameter.numel() for parameter in model.parameters())


def test_weights_alone_are_the_papers_384_million_of_which_64_recurrent() -> None:
    assert WEIGHTS == PRINTED == count(biases="none")
    assert 2 * LAYERS * LAYER == 64_000_000


@pytest.mark.parametrize(("biases", "per_cell"), [("one", 1), ("two", 2)])
@pytest.mark.parametrize("peephole", [False, True])
def test_biases_and_peepholes_come_on_top(biases: str, per_cell: int, peephole: bool) -> None:
    extra = per_cell * 2 * LAYERS * 4 * H + TARGET + (2 * LAYERS * 3 * H if peephole else 0)
    assert count(biases=biases, peephole=peephole) == PRINTED + extra


def test_paper_config_has_the_count_in_the_facts() -> None:
    assert count(**PAPER_CONFIG) == PAPER_PARAMETERS == 384_112_000


def test_luongs_model_without_attention_is_this_one_without_biases() -> None:
    assert count(vocab_size=50_000, decoder_vocab_size=50_000, biases="none") == 214_000_000


def test_defaults_are_the_papers() -> None:
    config = Seq2SeqLSTMConfig()
    assert (config.vocab_size, config.decoder_vocab_size) == (160_000, 80_000)
    assert (config.embedding_size, config.hidden_size, config.num_hidden_layers) == (1000, 1000, 4)
    assert config.reverse_source and config.source_eos and not config.peephole
    assert (config.biases, config.dropout, config.initializer_range) == ("one", 0.0, 0.08)


@pytest.mark.parametrize("choices", [{"biases": "one", "peephole": True}, {"biases": "two"}], ids=str)
def test_everything_is_uniform_within_the_papers_range(choices: dict) -> None:
    sizes = {"vocab_size": 300, "decoder_vocab_size": 200, "embedding_size": 40, "hidden_size": 48}
    model = Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**sizes, num_hidden_layers=2, **choices))
    for name, parameter in model.named_parameters():
        assert parameter.abs().max() <= 0.08, name
        assert parameter.std() > 0.03, name  # biases and peepholes too
        if parameter.numel() > 1000:
            assert parameter.std().item() == pytest.approx(0.08 / 3**0.5, rel=0.06), name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"biases": "three"}, "none, one, two"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"initializer_range": -1.0}, "initializer_range is -1.0"),
        ({"tie_word_embeddings": True}, "14 units .hidden_size. and embedding_size 8 differ"),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(changes: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Seq2SeqLSTMConfig(**{**TINY_CONFIG, **changes})


def test_target_vocabulary_follows_the_source_where_it_is_left_open() -> None:
    assert Seq2SeqLSTMConfig(vocab_size=50, decoder_vocab_size=None).decoder_vocab_size == 50


def test_config_survives_a_round_trip_through_its_dictionary() -> None:
    config = Seq2SeqLSTMConfig(**TINY_CONFIG, biases="two", peephole=True, reverse_source=False, source_eos=False)
    assert Seq2SeqLSTMConfig.from_dict(config.to_dict()).to_dict() == config.to_dict()


def test_a_source_without_tokens_is_refused_with_its_row() -> None:
    model = Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**TINY_CONFIG))
    ids = torch.tensor([[5, 6, 3], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"rows \[1\] have no token.*end symbol"):
        model(ids, (ids != 0).long(), labels=torch.tensor([[5, 3], [6, 3]]))


def test_encoder_outputs_without_final_states_are_refused() -> None:
    model = Seq2SeqLSTMForConditionalGeneration(Seq2SeqLSTMConfig(**TINY_CONFIG))
    with pytest.raises(ValueError, match="final states of the layers"):
        model(encoder_outputs=(torch.zeros(1, 3, 12),), labels=torch.tensor([[5, 3]]))
    states = model.get_encoder()(torch.tensor([[5, 6, 3]]), return_dict=False)
    assert model(encoder_outputs=states, labels=torch.tensor([[5, 3]])).loss.isfinite()


@pytest.mark.parametrize("biases", ["none", "one", "two"])
@pytest.mark.parametrize("peephole", [False, True])
def test_bfloat16_autocast_is_finite_and_near_float32(biases: str, peephole: bool) -> None:
    config = Seq2SeqLSTMConfig(**TINY_CONFIG, biases=biases, peephole=peephole, initializer_range=0.5)
    model = Seq2SeqLSTMForConditionalGeneration(config)
    ids, labels = torch.tensor([[5, 6, 9, 3], [7, 3, 0, 0]]), torch.tensor([[5, 9, 8, 3], [6, 3, -100, -100]])
    exact = model(ids, (ids != 0).long(), labels=labels)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(ids, (ids != 0).long(), labels=labels)
    rough.loss.backward()
    assert (rough.logits.float() - exact.logits).abs().max() < 0.1
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
