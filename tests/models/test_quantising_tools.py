"""Programs that put weights into eight bits: bitsandbytes, torchao and quanto, through transformers and by themselves.

Where weights alone are rounded, the model computes as one in float32 with the rounded weights does: no layer is passed
over, and none is read past its class. What transformers leaves as it is (the output layer) stays as it is.
"""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.quantizers.base import get_keys_to_not_convert

sys.path.insert(0, str(Path(__file__).parent))

from every_head import EVERY_HEAD, RegisteredHead
from test_adapters import TIED
from test_wrapped_layers import FIRST_CASES, WRITERS, batch_of, generated, model_of, outputs_of

CARDS = Path(__file__).parents[2] / "model_cards"


def loaded(model: Any, folder: Path, config: Any) -> Any:
    """The model, saved if the folder is new, and loaded with a setting of transformers."""
    if not folder.is_dir():
        model.save_pretrained(folder)
    return type(model).from_pretrained(folder, quantization_config=config, device_map="cpu").eval()


def through_bitsandbytes(model: Any, folder: Path) -> Any:
    return loaded(model, folder, transformers.BitsAndBytesConfig(load_in_8bit=True))


def through_torchao(model: Any, folder: Path) -> Any:
    import torchao.quantization as torchao

    return loaded(model, folder, transformers.TorchAoConfig(torchao.Int8WeightOnlyConfig()))


def by_torchao(model: Any, folder: Path) -> Any:
    import torchao.quantization as torchao

    made = copy.deepcopy(model)
    torchao.quantize_(made, torchao.Int8WeightOnlyConfig())
    return made


def through_quanto(model: Any, folder: Path) -> Any:
    return loaded(model, folder, transformers.QuantoConfig(weights="int8"))


def by_quanto(model: Any, folder: Path) -> Any:
    from optimum import quanto

    made = copy.deepcopy(model)
    quanto.quantize(made, weights=quanto.qint8)
    quanto.freeze(made)
    return made


WEIGHTS_ALONE = {
    "torchao": (through_torchao, by_torchao),
    "optimum.quanto": (through_quanto, by_quanto),
}


@pytest.fixture(autouse=True)
def without_remarks() -> Iterator[None]:
    """What the programs say about kernels that this machine does not have."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def in_eight_bits(model: Any) -> dict[str, nn.Module]:
    """The layers whose weights are no plain parameters."""
    return {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and type(layer.weight) is not nn.Parameter
    }


def rounded(model: Any, quantised: Any) -> Any:
    """The model in float32 with the numbers that the eight bits of another stand for."""
    made = copy.deepcopy(model)
    for name, layer in in_eight_bits(quantised).items():
        plain = made.get_submodule(name)
        plain.weight = nn.Parameter(layer.weight.dequantize().reshape(plain.weight.shape).float())
    return made


def difference(made: Tensor, wanted: Tensor) -> float:
    """As a share of what is wanted; scores of what is masked out are no numbers."""
    real = wanted.abs() < 1e30
    return ((made - wanted)[real].norm() / wanted[real].norm()).item()


def check_layers(model: Any, quantised: Any, make: Callable[[Any, Path], Any]) -> None:
    """Every linear layer is in eight bits, but for those that transformers keeps; bitsandbytes takes no subclass."""
    kept = get_keys_to_not_convert(model) if make.__name__.startswith("through") else []
    linear = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, nn.Linear)]
    exact = make is through_bitsandbytes
    wanted = {name for name, layer in linear if name not in kept and (type(layer) is nn.Linear or not exact)}
    assert in_eight_bits(quantised).keys() == wanted


@pytest.mark.parametrize("tool", WEIGHTS_ALONE)
@pytest.mark.parametrize("case", FIRST_CASES, ids=lambda case: case[0])
def test_rounded_weights_act_as_rounded_weights(case: tuple[str, str, str], tool: str, tmp_path: Path) -> None:
    pytest.importorskip(tool)
    model = model_of(*case)
    batch = batch_of(model)
    with torch.no_grad():
        for make in WEIGHTS_ALONE[tool]:
            quantised = make(model, tmp_path / "saved")
            check_layers(model, quantised, make)
            reference = rounded(model, quantised)
            assert difference(outputs_of(quantised, batch), outputs_of(reference, batch)) < 1e-4
            assert difference(outputs_of(quantised, batch), outputs_of(model, batch)) < 0.1
            if case in WRITERS:
                assert difference(generated(quantised, batch, 2), generated(reference, batch, 2)) < 1e-4


@pytest.mark.parametrize("head", EVERY_HEAD, ids=str)
def test_bitsandbytes_stays_near_every_head_and_is_saved(head: RegisteredHead, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    model, batch = head.model(), head.batch()
    with torch.no_grad():
        quantised = through_bitsandbytes(model, tmp_path / "saved")
        check_layers(model, quantised, through_bitsandbytes)
        made = outputs_of(quantised, batch)
        assert difference(made, outputs_of(model, batch)) < 0.1
        quantised.save_pretrained(tmp_path / "again")
        assert torch.equal(outputs_of(type(model).from_pretrained(tmp_path / "again"), batch), made)


@pytest.mark.parametrize("model_type", TIED)
def test_a_tied_output_layer_is_rounded_without_its_table_or_not_at_all(model_type: str, tmp_path: Path) -> None:
    pytest.importorskip("optimum.quanto")
    (head,) = [one for one in EVERY_HEAD if one.model_type == model_type]
    model = head.model(tie_word_embeddings=True, **TIED[model_type])
    with torch.no_grad():
        wanted = outputs_of(model, head.batch())
        for make in (through_quanto, by_quanto):
            quantised = make(model, tmp_path / "saved")
            assert torch.equal(quantised.model.decoder.embed_tokens.weight, model.lm_head.weight)
            assert difference(outputs_of(quantised, head.batch()), wanted) < 0.1


MAKERS: dict[str, Callable[[Any, Path], Any]] = {
    "bitsandbytes": through_bitsandbytes,
    "torchao": through_torchao,
    "optimum.quanto": through_quanto,
    "torch.ao": lambda model, folder: torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), dtype=torch.qint8),
}


@pytest.mark.parametrize("tool", MAKERS)
@pytest.mark.parametrize("name", ["rnnsearch-de-en", "luong-de-en"])
def test_a_published_translator_writes_the_same_and_looks_at_the_same_words(name: str, tool: str) -> None:
    pytest.importorskip(tool)
    tokenizer = AutoTokenizer.from_pretrained(CARDS / name)
    model = AutoModelForSeq2SeqLM.from_pretrained(CARDS / name).eval()
    quantised = MAKERS[tool](model, CARDS / name)
    given = tokenizer("Das ist ein kleines Haus.", return_tensors="pt")
    with torch.no_grad():
        written = model.generate(**given, num_beams=4, max_new_tokens=12)
        assert torch.equal(quantised.generate(**given, num_beams=4, max_new_tokens=12), written)
        wanted, made = (one(**given, decoder_input_ids=written, output_attentions=True) for one in (model, quantised))
    assert 0 < difference(made.logits, wanted.logits) < 0.1
    assert (made.cross_attentions[0] - wanted.cross_attentions[0]).abs().max() < 0.1
