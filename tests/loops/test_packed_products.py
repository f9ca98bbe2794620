"""The output layer of a search: the layer's numbers, and the layer itself wherever it is more than its weight."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from hf_attention_zoo import get_architecture
from hf_attention_zoo.loops import packed_products
from hf_attention_zoo.loops.may_run import formulas_only
from hf_attention_zoo.loops.packed_products import LEAST_NUMBERS, packed_output

WORDS, WIDTH = LEAST_NUMBERS // 50, 50
on_this_machine = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch is built without oneDNN")


class Doubled(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return 2 * weight


@on_this_machine
@pytest.mark.parametrize("bias", [True, False])
def test_numbers_are_those_of_the_layer_as_it_is_at_the_time(bias: bool) -> None:
    layer = nn.Linear(WIDTH, WORDS, bias=bias)
    for rows in (5, 160):
        with torch.no_grad():
            run = packed_output(layer, rows)
            assert run is not None
            for states in (torch.randn(rows, WIDTH), torch.randn(1, WIDTH)):  # sources leave the search
                torch.testing.assert_close(run(states), layer(states))
            layer.weight.data.mul_(-3)  # which no count of changes sees


@on_this_machine
def test_whatever_is_more_than_its_weight_is_called_itself() -> None:
    def linear(**more: object) -> nn.Linear:
        return nn.Linear(WIDTH, WORDS, **more)  # type: ignore[arg-type]

    hooked, wrapped = linear(), linear()
    hooked.register_forward_hook(lambda *_: None)
    parametrize.register_parametrization(wrapped, "weight", Doubled())
    with torch.no_grad():
        assert packed_output(linear(), 5) is not None
        for layer in (hooked, wrapped, linear(dtype=torch.double), nn.Linear(WIDTH, 100), nn.Identity()):
            assert packed_output(layer, 5) is None
        assert packed_output(linear(), 1) is None  # too small for one row
        with formulas_only():
            assert packed_output(linear(), 5) is None
        with torch.autocast("cpu", torch.bfloat16):
            assert packed_output(linear(), 5) is None
    assert packed_output(linear(), 5) is None  # gradients are wanted


@on_this_machine
@pytest.mark.parametrize("name", ["rnnsearch", "transformer2017"])
@pytest.mark.parametrize("place", ["", "model", "lm_head"])
def test_a_search_finds_the_same_with_a_hook_and_calls_it(name: str, place: str) -> None:
    row = get_architecture(name)
    config = row.tiny_config()
    config.update({"decoder_vocab_size": WORDS * WIDTH // 8, "tie_word_embeddings": False})
    model = row.model_classes["AutoModelForSeq2SeqLM"](config).eval()
    with torch.no_grad():
        assert packed_output(model.lm_head, 4) is not None
    source = torch.randint(4, 40, (1, 6))
    options: dict[str, int] = {"num_beams": 4, "max_new_tokens": 7, "min_new_tokens": 7}
    wanted = model.generate(source, **options)
    calls: list[None] = []
    run: Callable[..., None] = lambda *_: calls.append(None)  # noqa: E731
    model.get_submodule(place).register_forward_hook(run)
    assert torch.equal(model.generate(source, **options), wanted)
    assert len(calls) == 7


@on_this_machine
def test_what_was_searched_before_changes_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_products, "LEAST_FOR_ONE", 1)
    first, second = nn.Linear(1000, 600), nn.Linear(1000, 600)
    second.load_state_dict(first.state_dict())
    states = torch.randn(5, 1000)
    with torch.no_grad():
        assert packed_output(first, 1) is not None
        said = [run(states) for run in (packed_output(first, 5), packed_output(second, 5)) if run is not None]
    assert len(said) == 2 and torch.equal(*said)


@on_this_machine
def test_what_cannot_be_kept_is_not_laid_out_for_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_products, "LEAST_FOR_ONE", 1)
    layer, other, states = nn.Linear(WIDTH, WORDS), nn.Linear(WIDTH, WORDS), torch.randn(5, WIDTH)
    with torch.no_grad():
        assert packed_output(layer, 1) is not None
        monkeypatch.setattr(packed_products, "MOST_KEPT", 0)
        assert packed_output(layer, 1) is not None  # is kept already
        assert packed_output(other, 1) is None
        run = packed_output(other, 5)
        assert run is not None
        torch.testing.assert_close(run(states), other(states))


@on_this_machine
def test_defaults_of_type_and_device_do_not_matter() -> None:
    width = 61  # of no other test
    layer = nn.Linear(width, 2 * LEAST_NUMBERS // width)
    torch.set_default_dtype(torch.double)
    try:
        with torch.no_grad(), torch.device("meta"):
            run = packed_output(layer, 5)
    finally:
        torch.set_default_dtype(torch.float)
    assert run is not None
    with torch.no_grad():
        states = torch.randn(5, width)
        torch.testing.assert_close(run(states), layer(states))
