"""The model against its equations: a NumPy reference that shares no code with it, torch's GRU and ONNX Runtime's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from hf_attention_zoo import HANConfig, HANForSequenceClassification

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "rnn_encoder_decoder"))

from han_reference import Letters, loss, read
from onnx_gru import onnx_gru

from hf_attention_zoo.recurrent.bidirectional import BidirectionalGatedEncoder
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.packed_reading import PackedBidirectionalEncoder, pack_rows

DOCUMENTS = [[[3, 7, 7, 2], [5], [9, 1, 4]], [[8, 8]], [[4, 6, 2, 10, 3], [2, 3]], []]
LABELS = [2, 0, 1, 1]
POOLINGS = ("attention", "average", "max")


def model_of(pooling: str, **changes: Any) -> HANForSequenceClassification:
    config = HANConfig(
        vocab_size=12, embedding_size=5, hidden_size=4, attention_size=6, num_labels=3, pooling=pooling, **changes
    )
    model = HANForSequenceClassification(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


def batch_of(documents: list[list[list[int]]], sentences: int = 5, words: int = 7) -> dict[str, torch.Tensor]:
    """Padded on both axes, with an empty sentence inside the first document, and real words under the pads."""
    ids = torch.full((len(documents), sentences, words), 11)
    mask = torch.zeros_like(ids)
    for row, document in enumerate(documents):
        placed = [*document[:1], [], *document[1:]] if row == 0 else document
        for line, sentence in enumerate(placed):
            ids[row, line, : len(sentence)] = torch.tensor(sentence, dtype=torch.long)
            mask[row, line, : len(sentence)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def letters_of(state: dict[str, torch.Tensor]) -> Letters:
    """Parameters by the letters of the paper."""
    p: dict[str, Any] = {name: tensor.numpy() for name, tensor in state.items()}
    letters = {"We": p["model.embed_tokens.weight"], "Wc": p["classifier.weight"], "bc": p["classifier.bias"]}
    for level, module in (("word", "model.words"), ("sentence", "model.sentences")):
        for side, unit in (("f", "forward_unit"), ("b", "backward_unit")):
            name = f"{module}.reader.{unit}"
            for letter, matrix in zip("zrh", np.split(p[f"{name}.input_weight"], 3), strict=True):
                letters[f"{level}.{side}.W{letter}"] = matrix
            for letter, matrix in zip("zr", np.split(p[f"{name}.gate_weight"], 2), strict=True):
                letters[f"{level}.{side}.U{letter}"] = matrix
            letters[f"{level}.{side}.Uh"] = p[f"{name}.candidate_weight"]
            for letter, vector in zip("zrh", np.split(p[f"{name}.bias"], 3), strict=True):
                letters[f"{level}.{side}.b{letter}"] = vector
        if f"{module}.pooling.context_vector" in p:
            letters[f"{level}.W"] = p[f"{module}.pooling.projection.weight"]
            letters[f"{level}.b"] = p[f"{module}.pooling.projection.bias"]
            letters[f"{level}.u"] = p[f"{module}.pooling.context_vector"]
    return letters


@pytest.mark.parametrize("pooling", POOLINGS)
def test_logits_weights_and_loss_are_those_of_the_equations(pooling: str) -> None:
    model = model_of(pooling)
    letters = letters_of(model.state_dict())
    with torch.no_grad():
        made = model(**batch_of(DOCUMENTS), labels=torch.tensor(LABELS), output_attentions=pooling != "max")
        body = model.model(**batch_of(DOCUMENTS))
    for row, document in enumerate(DOCUMENTS):
        wanted = read(letters, document, pooling)
        np.testing.assert_allclose(made.logits[row].numpy(), wanted.logits, rtol=0, atol=1e-10)
        np.testing.assert_allclose(body.pooler_output[row].numpy(), wanted.document, rtol=0, atol=1e-10)
        if pooling == "max":
            continue
        lines = [0, 2, 3] if row == 0 else range(len(document))
        for line, weights in zip(lines, wanted.word_weights, strict=True):
            np.testing.assert_allclose(made.attentions[0][row, line, : len(weights)].numpy(), weights, atol=1e-10)
        sentence_weights = made.attentions[1][row][made.attentions[1][row] > 0]
        np.testing.assert_allclose(sentence_weights.numpy(), wanted.sentence_weights, atol=1e-10)
    np.testing.assert_allclose(float(made.loss), loss(letters, DOCUMENTS, LABELS, pooling), rtol=0, atol=1e-10)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_are_the_complex_step_derivatives_of_the_reference(pooling: str) -> None:
    model = model_of(pooling)
    model(**batch_of(DOCUMENTS), labels=torch.tensor(LABELS)).loss.backward()
    state = model.state_dict()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.double)
        moved = {key: tensor.to(torch.complex128) for key, tensor in state.items()}
        moved[name] = moved[name] + 1e-30j * direction
        wanted = loss(letters_of(moved), DOCUMENTS, LABELS, pooling).imag / 1e-30
        assert float((parameter.grad * direction).sum()) == pytest.approx(wanted, rel=0, abs=1e-10), name


def as_torch_gru(units: tuple[GatedUnit, GatedUnit]) -> nn.GRU:
    """torch's layer with the same function: its z keeps the old state, so everything inside z changes its sign."""
    size, inputs = units[0].hidden_size, units[0].input_weight.shape[1]
    layer = nn.GRU(inputs, size, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for unit, end in zip(units, ("", "_reverse"), strict=True):
            z, r, n = unit.input_weight.split(size)
            getattr(layer, f"weight_ih_l0{end}").copy_(torch.cat([r, -z, n]))
            z, r = unit.gate_weight.split(size)
            getattr(layer, f"weight_hh_l0{end}").copy_(torch.cat([r, -z, unit.candidate_weight]))
            z, r, n = unit.bias.split(size)
            getattr(layer, f"bias_ih_l0{end}").copy_(torch.cat([r, -z, n]))
            getattr(layer, f"bias_hh_l0{end}").zero_()
    return layer


def test_the_word_encoder_is_torchs_gru_with_the_other_sense_of_the_update_gate() -> None:
    model = model_of("attention")
    reader = model.model.words.reader
    layer = as_torch_gru((reader.forward_unit, reader.backward_unit))
    lengths = torch.tensor([3, 1, 5])
    vectors = torch.randn(int(lengths.sum()), 5, dtype=torch.double)
    made = reader(vectors, pack_rows(lengths))
    for row, part, states in zip(range(3), vectors.split(lengths.tolist()), made.split(lengths.tolist()), strict=True):
        torch.testing.assert_close(states, layer(part[None])[0][0], rtol=0, atol=1e-12, msg=str(row))


def test_the_word_encoder_is_onnx_runtimes_gru_with_the_other_sense_of_the_update_gate() -> None:
    model = model_of("attention").float()
    unit = model.model.words.reader.forward_unit
    sign = np.repeat([-1.0, 1.0, 1.0], 4).astype(np.float32)[:, None]  # rows z, r, candidate
    recurrent = torch.cat([unit.gate_weight, unit.candidate_weight]).detach().numpy()
    bias = unit.bias.detach().numpy() * sign[:, 0]
    words = np.random.default_rng(0).normal(size=(6, 1, 5)).astype(np.float32)
    inputs = {
        "X": words,
        "W": (unit.input_weight.detach().numpy() * sign)[None],
        "R": (recurrent * sign)[None],
        "B": np.concatenate([bias, np.zeros_like(bias)])[None],
    }
    states, _ = onnx_gru(inputs, 4, linear_before_reset=True)
    made = model.model.words.reader(torch.from_numpy(words[:, 0]), pack_rows(torch.tensor([6])))[:, :4]
    np.testing.assert_allclose(made.detach().numpy(), states[:, 0, 0], atol=1e-5)


@pytest.mark.parametrize("reset", ["before", "after"])
@pytest.mark.parametrize("distinct", [True, False])
def test_packed_rows_give_the_states_and_gradients_of_padded_ones(reset: str, distinct: bool) -> None:
    units = [GatedUnit(6, 4, reset=reset, update="new").double() for _ in range(2)]
    for unit in units:
        for parameter in unit.parameters():
            nn.init.normal_(parameter)
    padded, packed = BidirectionalGatedEncoder(*units), PackedBidirectionalEncoder(*units)
    mask = torch.rand(5, 7) > 0.4
    mask[:, 2] = True
    table = torch.randn(9, 6, dtype=torch.double, requires_grad=True)
    words, weights = torch.randint(0, 9, (5, 7)), torch.randn(5, 7, 8, dtype=torch.double)
    wanted = padded(table[words], mask)
    rows = pack_rows(mask.sum(1))
    made = packed(table, rows, words[mask]) if distinct else packed(table[words[mask]], rows)
    torch.testing.assert_close(made, wanted[mask], rtol=0, atol=1e-12)
    inputs = [table, *padded.parameters()]
    torch.testing.assert_close(
        torch.autograd.grad((made * weights[mask]).sum(), inputs),
        torch.autograd.grad((wanted * weights).sum(), inputs),
        rtol=0,
        atol=1e-11,
    )
