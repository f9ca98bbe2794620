"""Steps of a search that are fast twins: the formula's numbers, and the formula itself wherever a layer is wrapped."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from transformers import DynamicCache, EncoderDecoderCache

import hf_attention_zoo
from hf_attention_zoo import get_architecture
from hf_attention_zoo.loops import packed_products
from hf_attention_zoo.loops.may_run import formulas_only
from hf_attention_zoo.seq2seq.beam_search import LARGE, largest


def model_of(name: str, **settings: Any) -> Any:
    torch.manual_seed(0)
    row = get_architecture(name)
    config = row.tiny_config()
    config.update(settings)
    model = row.model_classes["AutoModelForSeq2SeqLM"](config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


NAMES = ("rnnsearch", "transformer2017")
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "rnnsearch": [{}, {"decoder_timing": "appendix"}, {"biases": "none"}, {"biases": "groundhog", "output_rank": 3}],
    "transformer2017": [{}, {"attention_bias": True}, {"position_encoding": "learned", "max_position_embeddings": 12}],
}
CASES = [(name, settings) for name in NAMES for settings in SETTINGS[name]]
SEARCHES: list[dict[str, Any]] = [{"num_beams": 4, "num_return_sequences": 2}, {"num_beams": 1}]


def test_the_models_that_have_one_are_those_that_are_tried() -> None:
    found = {
        row.model_type
        for row in hf_attention_zoo.list_architectures()
        for cls in row.model_classes.values()
        if hasattr(getattr(getattr(cls(row.tiny_config()), "model", None), "decoder", None), "search_step")
    }
    assert found == set(NAMES)


@pytest.fixture(params=[False, True], ids=["as small as it is", "laid out"])
def laid_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of any size are laid out, or none of the tiny model's."""
    if request.param:
        for name in ("LEAST_NUMBERS", "LEAST_FOR_ONE"):
            monkeypatch.setattr(packed_products, name, 1)


@pytest.mark.usefixtures("laid_out")
@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize(("name", "settings"), CASES, ids=str)
def test_a_search_gives_the_logits_of_the_formula(name: str, settings: dict[str, Any], search: dict[str, Any]) -> None:
    model = model_of(name, **settings)
    assert model.model.decoder.search_step(8) is None  # gradients are wanted
    with torch.no_grad():
        assert model.model.decoder.search_step(8) is not None
    source = torch.randint(4, 40, (3, 7))
    source[1, 4:] = model.config.pad_token_id
    given = {"max_new_tokens": 9, "return_dict_in_generate": True, "output_logits": True, **search}
    made = model.generate(source, **given)
    with formulas_only():
        wanted = model.generate(source, **given)
    assert torch.equal(made.sequences, wanted.sequences)
    torch.testing.assert_close(made.logits, wanted.logits, rtol=1e-4, atol=1e-5)
    assert torch.equal(model.generate(source, max_new_tokens=9, **search), wanted.sequences)  # finished sources leave


def inner_layers(name: str) -> list[str]:
    """Names of the decoder's modules that a step runs through."""
    decoder = model_of(name).model.decoder
    kinds = (nn.ModuleList, nn.Identity, nn.Dropout)  # lists are not called, and what a step has no need of neither
    unread = ("attention.key_projection", "readout.projections.2", "initial_state", "k_proj", "v_proj")
    return [
        place
        for place, layer in decoder.named_modules()
        if not isinstance(layer, kinds) and not place.endswith(unread) and place != ""
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_hook_on_any_layer_is_obeyed(name: str) -> None:
    model = model_of(name)
    options = {"num_beams": 2, "max_new_tokens": 4, "min_new_tokens": 4}
    source = torch.randint(4, 40, (1, 6))
    wanted = model.generate(source, **options)
    calls: list[None] = []
    run: Callable[..., None] = lambda *_: calls.append(None)  # noqa: E731
    for place in inner_layers(name):
        calls.clear()
        handle = model.model.decoder.get_submodule(place).register_forward_hook(run)
        assert torch.equal(model.generate(source, **options), wanted), place
        heard = len(calls)
        with formulas_only():
            model.generate(source, **options)
        handle.remove()
        assert heard == len(calls) - heard > 0, place


@pytest.mark.parametrize("name", NAMES)
def test_other_layers_and_weights_are_obeyed(name: str) -> None:
    """A layer of another class, and other numbers behind the first search."""
    model = model_of(name)
    source, options = torch.randint(4, 40, (1, 6)), {"num_beams": 4, "max_new_tokens": 6}
    kept = {"return_dict_in_generate": True, "output_logits": True}
    model.generate(source, **options)

    def check() -> None:
        made = model.generate(source, **options, **kept)
        with formulas_only():
            wanted = model.generate(source, **options, **kept)
        torch.testing.assert_close(made.logits, wanted.logits, rtol=1e-4, atol=1e-5)

    for parameter in model.parameters():
        parameter.data.mul_(-0.7)
    check()

    class Doubled(nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(states)

    place, layer = next(
        (place, layer)
        for place, layer in model.model.decoder.named_modules()
        if type(layer) is nn.Linear and place.endswith(("q_proj", "query_projection"))
    )
    other = Doubled(layer.in_features, layer.out_features, bias=layer.bias is not None)
    other.load_state_dict(layer.state_dict())
    model.model.decoder.set_submodule(place, other)
    check()


@pytest.mark.parametrize("columns", [LARGE // 100, LARGE // 100 + 37])
def test_the_largest_of_a_large_table_are_those_of_topk(columns: int) -> None:
    scores = torch.randn(120, columns)
    scores[3, -5:] = 9 + torch.arange(5.0)
    scores[4] = -torch.inf
    scores[4, 77] = 1.0
    for number in (2, 10):
        found, places = largest(scores, number)
        wanted = scores.topk(number)
        assert torch.equal(found, wanted.values)
        assert torch.equal(scores.gather(1, places), found)
        assert torch.equal(places[:4], wanted.indices[:4])


@pytest.mark.parametrize("name", NAMES)
def test_dropout_that_is_switched_on_alone_is_drawn(name: str) -> None:
    model = model_of(name, dropout=0.3)
    with torch.no_grad():
        assert model.model.decoder.search_step(4) is not None
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.train()
        assert model.model.decoder.search_step(4) is None


@pytest.mark.parametrize("name", NAMES)
def test_subclasses_and_methods_that_are_replaced_are_called(name: str) -> None:
    model = model_of(name)
    source, options = torch.randint(4, 40, (1, 6)), {"num_beams": 2, "max_new_tokens": 4, "min_new_tokens": 4}
    calls: list[str] = []
    prepare = model.prepare_inputs_for_generation

    def prepared(*args: Any, **given: Any) -> Any:
        calls.append("prepared")
        return prepare(*args, **given)

    model.prepare_inputs_for_generation = prepared
    model.generate(source, **options)
    assert calls == ["prepared"] * 4  # at each word, by transformers' own search
    del model.prepare_inputs_for_generation
    body = type(model.model)

    def forward(self: Any, *args: Any, **given: Any) -> Any:
        calls.append("forward")
        return body.forward(self, *args, **given)

    model.model.__class__ = type("Mine", (body,), {"forward": forward})
    model.generate(source, **options)
    assert calls.count("forward") == 4


def test_a_search_that_goes_on_from_a_plain_cache_leaves_the_pads_of_the_source_out() -> None:
    model = model_of("transformer2017")
    source, prefix = torch.randint(4, 40, (2, 7)), torch.randint(4, 40, (2, 3))
    source[1, 4:] = model.config.pad_token_id
    mask = (source != model.config.pad_token_id).long()
    options = {"max_new_tokens": 4, "return_dict_in_generate": True, "output_logits": True}

    def run() -> Any:
        config = model.config
        cache = EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
        with torch.no_grad():
            encoded = model.get_encoder()(source, mask)
            model(encoder_outputs=encoded, attention_mask=mask, decoder_input_ids=prefix[:, :2], cache=cache)
        given = {"encoder_outputs": encoded, "attention_mask": mask, "decoder_input_ids": prefix, "cache": cache}
        return model.generate(**given, **options)

    made = run()
    with formulas_only():
        torch.testing.assert_close(made.logits, run().logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", ["eager", "sdpa"])
def test_what_the_encoder_gave_may_be_handed_over_as_a_tuple(kernel: str) -> None:
    model = model_of("transformer2017")
    model.set_attn_implementation(kernel)
    source = torch.randint(4, 40, (2, 7))
    encoded = model.get_encoder()(source, return_dict=False)
    options = {"num_beams": 2, "max_new_tokens": 4}
    made = model.generate(encoder_outputs=encoded, attention_mask=torch.ones_like(source), **options)
    assert torch.equal(made, model.generate(source, **options))


@pytest.mark.parametrize("search", [*SEARCHES, {"num_beams": 4, "length_penalty": 2.0}], ids=str)
@pytest.mark.usefixtures("laid_out")
@pytest.mark.parametrize("laid_out", [True], indirect=True)
@pytest.mark.parametrize("name", ["luong", "rnn_encoder_decoder", "seq2seq_lstm"])
def test_an_output_layer_that_is_laid_out_says_what_the_layer_says(name: str, search: dict[str, Any]) -> None:
    model = model_of(name)
    source = torch.randint(4, 40, (3, 7))
    for rows in (source, source[:1]):
        made = model.generate(rows, max_new_tokens=9, **search)
        with formulas_only():
            assert torch.equal(made, model.generate(rows, max_new_tokens=9, **search))
