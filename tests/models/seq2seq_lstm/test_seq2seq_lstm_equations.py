"""The deep LSTM against the loop-only reference, and what the paper says about its state and its source order."""

import numpy as np
import pytest
import torch
from seq2seq_lstm_reference import mean_loss, named_weights, read, write

from hf_attention_zoo.models.seq2seq_lstm.configuration_seq2seq_lstm import Seq2SeqLSTMConfig
from hf_attention_zoo.models.seq2seq_lstm.modeling_seq2seq_lstm import Seq2SeqLSTMForConditionalGeneration

LAYERS = 3
SETTINGS = [(biases, peephole) for biases in ("none", "one", "two") for peephole in (False, True)]
PAIRS = [
    ([5, 9, 4, 11, 6, 3], [7, 4, 8, 3]),
    ([8, 1, 3], [5, 9, 6, 10, 4, 3]),
    ([3], [1, 3]),
    ([10, 10, 7, 3], [3]),
    ([9, 4], [6, 8, 3]),  # cut off: it does not end with the end symbol
]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def build(biases: str = "one", peephole: bool = False, **more: object) -> Seq2SeqLSTMForConditionalGeneration:
    config = Seq2SeqLSTMConfig(
        vocab_size=12,
        decoder_vocab_size=11,
        embedding_size=4,
        hidden_size=5,
        num_hidden_layers=LAYERS,
        biases=biases,
        peephole=peephole,
        **more,
    )
    model = Seq2SeqLSTMForConditionalGeneration(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model


def weights_of(model: Seq2SeqLSTMForConditionalGeneration) -> dict[str, np.ndarray]:
    return named_weights({name: tensor.double().numpy() for name, tensor in model.state_dict().items()}, LAYERS)


def padded(rows: list[list[int]], side: str, fill: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask; side "right", "left", or "between": half of the pads on each side of the middle."""
    width = max(map(len, rows)) + 2
    ids, mask = torch.full((len(rows), width), fill), torch.zeros(len(rows), width, dtype=torch.long)
    for i, row in enumerate(rows):
        free = width - len(row)
        places = {
            "right": list(range(len(row))),
            "left": list(range(free, width)),
            "between": [*range(len(row) // 2), *range(len(row) // 2 + free, width)],
        }[side]
        ids[i, places], mask[i, places] = torch.tensor(row), 1
    return ids, mask


def batch(side: str) -> dict[str, torch.Tensor]:
    ids, mask = padded([source for source, _ in PAIRS], side)
    labels, _ = padded([target for _, target in PAIRS], "right", fill=-100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def check_against_reference(
    model: Seq2SeqLSTMForConditionalGeneration, side: str, dtype: torch.dtype = torch.float64
) -> None:
    model, config = model.to(dtype), model.config
    inputs, weights = batch(side), weights_of(model)
    reading = {"reverse": config.reverse_source, "reads_end": config.source_eos}
    with torch.no_grad():
        made = model(**inputs)
    for i, (source, target) in enumerate(PAIRS):
        logits = write(weights, *read(weights, source, LAYERS, **reading), [2, *target[:-1]])
        got = made.logits[i, : len(target)].double().numpy()
        np.testing.assert_allclose(got, np.array(logits), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    wanted = mean_loss(weights, PAIRS, LAYERS, **reading)
    assert made.loss.item() == pytest.approx(wanted, rel=0, abs=TOLERANCE[dtype])


def check_gradients(model: Seq2SeqLSTMForConditionalGeneration) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    model(**batch("between")).loss.backward()
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    random, step = np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        direction = random.standard_normal(parameter.shape)
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name] = moved[name] + 1j * step * direction
        wanted = mean_loss(named_weights(moved, LAYERS), PAIRS, LAYERS).imag / step
        got = float((parameter.grad.numpy() * direction).sum())
        assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


@pytest.mark.parametrize(
    ("side", "dtype"),
    [("right", torch.float64), ("left", torch.float64), ("between", torch.float64), ("right", torch.float32)],
    ids=str,
)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0]}-{'peephole' if s[1] else 'plain'}")
def test_logits_and_loss_are_those_of_the_reference(setting: tuple[str, bool], side: str, dtype: torch.dtype) -> None:
    check_against_reference(build(*setting), side, dtype)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0]}-{'peephole' if s[1] else 'plain'}")
def test_gradients_are_the_complex_step_derivatives_of_the_reference(setting: tuple[str, bool]) -> None:
    check_gradients(build(*setting))


@pytest.mark.parametrize(("source_eos", "reverse"), [(False, True), (True, False), (False, False)])
def test_reading_order_and_end_symbol_follow_the_config(source_eos: bool, reverse: bool) -> None:
    check_against_reference(build(source_eos=source_eos, reverse_source=reverse), "left")


def test_decoder_starts_from_h_and_c_of_every_layer() -> None:
    model, inputs = build(), batch("left")
    weights = weights_of(model)
    with torch.no_grad():
        states = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
        made = model(encoder_outputs=states, decoder_input_ids=torch.full((len(PAIRS), 1), 2), use_cache=True)
        stack = model.model.decoder.lstm
        below = model.model.decoder.embed_tokens.weight[2].expand(len(PAIRS), -1)
        for k in range(LAYERS):
            w, r = getattr(stack.library, f"weight_ih_l{k}"), getattr(stack.library, f"weight_hh_l{k}")
            gates = below @ w.T + states.final_hidden[:, k] @ r.T + stack.gate_biases[k]
            i, f, g, o = gates.chunk(4, dim=1)
            cell = f.sigmoid() * states.final_cell[:, k] + i.sigmoid() * g.tanh()
            below = o.sigmoid() * cell.tanh()
            torch.testing.assert_close(made.cache.hypothesis[f"cell_{k}"], cell, rtol=0, atol=1e-12)
            torch.testing.assert_close(made.cache.hypothesis[f"hidden_{k}"], below, rtol=0, atol=1e-12)
    for i, (source, _) in enumerate(PAIRS):
        hs, cs = read(weights, source, LAYERS)
        np.testing.assert_allclose(states.final_hidden[i], np.array(hs), rtol=0, atol=1e-12)
        np.testing.assert_allclose(states.final_cell[i], np.array(cs), rtol=0, atol=1e-12)


def test_reversal_in_the_model_equals_a_reversed_source_without_it() -> None:
    reversing, plain = build(), build(reverse_source=False)
    plain.load_state_dict(reversing.state_dict())
    start = torch.tensor([[2, 7, 4]])
    with torch.no_grad():
        one = reversing(torch.tensor([[5, 9, 4, 11, 3]]), decoder_input_ids=start).logits
        other = plain(torch.tensor([[11, 4, 9, 5, 3]]), decoder_input_ids=start).logits  # the end symbol stays last
    torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_the_source_reaches_the_target_through_the_final_state_alone() -> None:
    model, inputs = build(), batch("right")
    with torch.no_grad():
        states = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
        wanted = model(encoder_outputs=states, labels=inputs["labels"]).logits
        states.last_hidden_state = torch.full_like(states.last_hidden_state, 99.0)
        got = model(encoder_outputs=states, labels=inputs["labels"]).logits
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    with torch.no_grad():
        states.final_cell = states.final_cell + 1.0
        assert (model(encoder_outputs=states, labels=inputs["labels"]).logits - wanted).abs().min() > 0


def test_sentence_vectors_hold_h_and_c_of_every_layer_or_the_top_state() -> None:
    model, inputs = build(), batch("left")
    weights = weights_of(model)
    with torch.no_grad():
        every = model.sentence_vectors(inputs["input_ids"], inputs["attention_mask"])
        top = model.sentence_vectors(inputs["input_ids"], inputs["attention_mask"], part="top")
    assert every.shape == (len(PAIRS), 2 * LAYERS * 5)
    for i, (source, _) in enumerate(PAIRS):
        hs, cs = read(weights, source, LAYERS)
        np.testing.assert_allclose(every[i], np.concatenate([*hs, *cs]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(top[i], hs[-1], rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"'all' .* or 'top'"):
        model.sentence_vectors(inputs["input_ids"], part="bottom")


def test_a_sentence_vector_of_the_paper_has_8000_numbers() -> None:
    config = Seq2SeqLSTMConfig()
    assert 2 * config.num_hidden_layers * config.hidden_size == 8000


def test_loss_per_sentence_does_not_change_when_a_sentence_stands_twice_in_the_batch() -> None:
    """What the paper's clipping refers to: the sum over words divided by the number of sentences."""
    model = build()
    source, labels = torch.tensor([[5, 9, 4, 3]]), torch.tensor([[7, 4, 8, 3]])
    gradients = []
    for copies in (1, 2):
        model.zero_grad()
        rows = {"input_ids": source.repeat(copies, 1), "labels": labels.repeat(copies, 1)}
        model(**rows, num_items_in_batch=torch.tensor(copies)).loss.backward()
        gradients.append(model.lm_head.weight.grad.clone())
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-12, atol=1e-14)
