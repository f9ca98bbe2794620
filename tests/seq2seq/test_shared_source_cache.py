"""The cache of beams that share their source: the same numbers as transformers' own, with fewer copies."""

import pytest
import torch
from transformers import DynamicCache, EncoderDecoderCache

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration
from hf_attention_zoo.seq2seq.shared_source_cache import GrowingLayer, SharedSourceCache


def small_model() -> Transformer2017ForConditionalGeneration:
    config = Transformer2017Config(
        vocab_size=30, hidden_size=12, num_attention_heads=3, num_hidden_layers=2, intermediate_size=16
    )
    model = Transformer2017ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.5)
    return model


def columns(rows: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 2, length, 4), torch.randn(rows, 2, length, 3)


def test_a_growing_layer_holds_what_was_appended_across_its_growth() -> None:
    layer, parts = GrowingLayer(), [columns(3, length) for length in (2, 1, 40, 1, 1)]
    for part in parts:
        keys, values = layer.update(*part)
    assert torch.equal(keys, torch.cat([part[0] for part in parts], 2))
    assert torch.equal(values, torch.cat([part[1] for part in parts], 2))
    assert layer.get_seq_length() == 45


def test_a_step_writes_into_the_buffer_without_moving_it() -> None:
    layer = GrowingLayer()
    layer.update(*columns(3, 2))
    before = layer.keys.data_ptr()
    for _ in range(20):
        layer.update(*columns(3, 1))
    assert layer.keys.data_ptr() == before


def test_moved_rows_crops_and_selections_are_those_of_the_plain_layer() -> None:
    layer = GrowingLayer()
    layer.update(*columns(4, 3))
    plain = layer.keys.clone(), layer.values.clone()
    order = torch.tensor([1, 1, 3, 2])
    moved = (order != torch.arange(4)).nonzero()[:, 0]
    layer.move_rows(moved, order[moved])
    assert torch.equal(layer.keys, plain[0][order]) and torch.equal(layer.values, plain[1][order])
    layer.crop(-1)
    assert torch.equal(layer.keys, plain[0][order][:, :, :2])
    more = columns(4, 1)
    assert torch.equal(layer.update(*more)[0], torch.cat([plain[0][order][:, :, :2], more[0]], 2))
    layer.batch_select_indices(torch.tensor([3, 0]))
    layer.move_rows(torch.tensor([0]), torch.tensor([1]))
    wanted = torch.cat([plain[0][order][:, :, :2], more[0]], 2)[[0, 0]]
    assert torch.equal(layer.keys, wanted)
    last = columns(2, 1)
    assert torch.equal(layer.update(*last)[0], torch.cat([wanted, last[0]], 2))
    layer.reset()
    assert layer.get_seq_length() == 0 and torch.equal(layer.update(*last)[0], last[0])


def test_gradients_pass_through_the_cache() -> None:
    model = small_model()
    source, target = torch.randint(4, 30, (2, 5)), torch.randint(4, 30, (2, 4))
    cache, parts = None, []
    for part in target.split(1, 1):
        made = model(source, decoder_input_ids=part, cache=cache, use_cache=True)
        cache = made.cache
        parts.append(made.logits)
    torch.cat(parts, 1).square().sum().backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    model(source, decoder_input_ids=target).logits.square().sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-4, msg=name)


def test_beams_keep_one_copy_of_their_source_and_an_unmoved_beam_is_not_copied() -> None:
    model = small_model()
    source = torch.randint(4, 30, (3, 6))
    made = model.generate(source, num_beams=4, max_new_tokens=5, return_dict_in_generate=True)
    cache = made.cache
    assert isinstance(cache, SharedSourceCache)
    assert (cache.sources, cache.rows, cache.hypotheses_per_source) == (3, 12, 4)
    assert cache.cross_attention_cache.layers[0].keys.shape == (3, 3, 6, 4)
    before = [layer.keys.data_ptr() for layer in cache.self_attention_cache.layers]
    version = cache.self_attention_cache.layers[0].keys._version
    cache.reorder_cache(torch.arange(12))
    assert before == [layer.keys.data_ptr() for layer in cache.self_attention_cache.layers]
    assert cache.self_attention_cache.layers[0].keys._version == version


def test_transformers_own_cache_may_be_given() -> None:
    model = small_model()
    source = torch.randint(4, 30, (3, 6))
    for options in ({}, {"num_beams": 4}):
        cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
        made = model.generate(source, cache=cache, max_new_tokens=8, **options)
        assert torch.equal(made, model.generate(source, max_new_tokens=8, **options))
    logits = model(
        source, decoder_input_ids=source[:, :3], cache=cache.__class__(DynamicCache(), DynamicCache())
    ).logits
    torch.testing.assert_close(logits, model(source, decoder_input_ids=source[:, :3]).logits)
    with pytest.raises(ValueError, match="cache is a DynamicCache; an encoder-decoder wants"):
        model(source, decoder_input_ids=source[:, :3], cache=DynamicCache())
