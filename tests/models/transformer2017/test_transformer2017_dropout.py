"""Dropout stands where the paper puts it: on the sums of embeddings and positions, and on each sub-layer's output."""

import pytest
import torch
from torch import nn

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration

LAYERS = 3


def rates(**changes: float) -> list[tuple[str, float]]:
    """(name, rate) of every dropout of one forward pass in training that can drop something, in order."""
    config = Transformer2017Config(
        vocab_size=30, hidden_size=8, num_attention_heads=2, num_hidden_layers=LAYERS, intermediate_size=8, **changes
    )
    model = Transformer2017ForConditionalGeneration(config).train()
    found: list[tuple[str, float]] = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda made, *call, name=name: found.append((name, made.p)))
    ids = torch.randint(4, 30, (2, 5))
    model(ids, torch.ones_like(ids), labels=ids)
    return [(name, rate) for name, rate in found if rate > 0]


def test_the_sums_of_embeddings_and_the_outputs_of_sub_layers_are_dropped() -> None:
    found = rates(dropout=0.1)
    assert {rate for _, rate in found} == {0.1}
    sums = [name for name, _ in found if name.endswith(("encoder.dropout", "decoder.dropout"))]
    outputs = [name for name, _ in found if "_residual." in name]
    assert len(sums) == 2
    assert len(outputs) == 2 * LAYERS + 3 * LAYERS
    assert len(found) == len(sums) + len(outputs)


def test_the_inner_layer_s_dropout_is_a_choice_of_its_own() -> None:
    found = rates(dropout=0.0, activation_dropout=0.3)
    assert [rate for _, rate in found] == [0.3] * 2 * LAYERS
    assert all("feed_forward" in name for name, _ in found)


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_attention_weights_are_dropped_only_where_it_is_asked_for(kernel: str) -> None:
    ids = torch.randint(4, 30, (2, 5))
    for rate, changes in ((0.0, False), (0.5, True)):
        config = Transformer2017Config(
            vocab_size=30, hidden_size=8, num_attention_heads=2, dropout=0.0, attention_dropout=rate
        )
        model = Transformer2017ForConditionalGeneration(config).train()
        model.set_attn_implementation(kernel)
        first, second = (model(ids, decoder_input_ids=ids).logits for _ in range(2))
        assert torch.equal(first, second) != changes
