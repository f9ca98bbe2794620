"""The parts of the RNN encoder-decoder against ONNX's GRU and against what follows from the equations."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from onnx_gru import onnx_gru
from rnn_encoder_decoder_reference import Letters, decode, paper_letters
from torch import Tensor

from hf_attention_zoo import RNNEncoderDecoderForConditionalGeneration
from hf_attention_zoo.recurrent.gated_unit import GatedUnit, read_states

FORMS = ("paper", "groundhog")
SOURCE = torch.tensor([[5, 9, 4, 11, 3], [7, 2, 8, 6, 3]])
TARGET = torch.tensor([[2, 4, 7, 9], [2, 10, 5, 6]])
N = 5  # hidden units of `build`


def letters_of(model: torch.nn.Module) -> Letters:
    return paper_letters({name: tensor.double().numpy() for name, tensor in model.state_dict().items()})


def stacked(letters: Letters, form: str, *names: str) -> np.ndarray:
    """Matrices or vectors in ONNX's order z, r, candidate; its z keeps the old state, that of the code does not."""
    sign = 1 if form == "paper" else -1
    z, r, candidate = (np.concatenate([letters[name + gate] for name in names], -1) for gate in ("z", "r", ""))
    return np.concatenate([sign * z, r, candidate])[None].astype(np.float32)


def log_probabilities(model: RNNEncoderDecoderForConditionalGeneration, source: Tensor = SOURCE, **changes) -> Tensor:
    with torch.no_grad():
        return model(source, **{"decoder_input_ids": TARGET, **changes}).logits.log_softmax(-1)


# --- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_encoder_is_the_gru_of_onnx_with_the_reset_before_the_matrix(build: Callable, form: str) -> None:
    model = build(form, biases=False).float()
    letters, lengths = letters_of(model), torch.tensor([5, 1, 3])
    ids, mask = torch.randint(1, 12, (3, 5)), torch.arange(5)[None] < lengths[:, None]
    with torch.no_grad():
        made = model.model.encoder(ids, mask)
        inputs = model.model.encoder.embed_tokens(ids).transpose(0, 1).numpy()
    states, last = onnx_gru(
        {
            "X": inputs,
            "W": stacked(letters, form, "W"),
            "R": stacked(letters, form, "U"),
            "sequence_lens": lengths.int().numpy(),
        },
        N,
    )
    np.testing.assert_allclose(made.last_hidden_state.numpy(), states[:, 0].swapaxes(0, 1), rtol=0, atol=1e-6)
    wanted = np.tanh(last[0] @ letters["V"].T.astype(np.float32)) if form == "paper" else last[0]
    np.testing.assert_allclose(made.summary.numpy(), wanted, rtol=0, atol=1e-6)


def decoder_states(model: RNNEncoderDecoderForConditionalGeneration, words: Tensor, summary: Tensor) -> Tensor:
    """States from words (1, T, d), c (1, n) and the state that c gives, without the first step's exceptions."""
    decoder = model.model.decoder
    return read_states(decoder.unit, words, decoder.begin(summary, 1), summary)


@pytest.mark.parametrize("form", FORMS)
def test_decoder_is_the_gru_of_onnx_with_its_own_reset(build: Callable, form: str) -> None:
    model = build(form).float()
    letters = letters_of(model)
    words, summary = torch.randn(1, 4, 4), torch.randn(1, N)
    first = np.tanh(letters["dV"] @ summary[0].numpy() + letters["bdV"])
    inputs = {"R": stacked(letters, form, "dU"), "initial_h": first[None, None].astype(np.float32)}
    bias, nothing = stacked(letters, form, "db")[0], np.zeros(2 * N, np.float32)
    if form == "groundhog":  # reset before the matrix; the context is one more input
        repeated = summary[None].expand(1, 4, N)
        inputs["X"] = torch.cat([words, repeated], -1).transpose(0, 1).numpy()
        inputs["W"] = stacked(letters, form, "dW", "C")
        inputs["B"] = np.concatenate([bias, nothing, nothing[:N]])[None]
    else:  # reset after the matrix; C c is the bias inside the reset, C_z c and C_r c those of the gates
        context = stacked(letters, form, "C")[0] @ summary[0].numpy()
        inputs["X"], inputs["W"] = words.transpose(0, 1).numpy(), stacked(letters, form, "dW")
        gates = np.concatenate([context[: 2 * N], nothing[:N]])
        inputs["B"] = np.concatenate([bias + gates, nothing, context[2 * N :]])[None]
    states, _ = onnx_gru(inputs, N, linear_before_reset=form == "paper")
    with torch.no_grad():
        made = decoder_states(model, words, summary)
    np.testing.assert_allclose(made[0].numpy(), states[:, 0, 0], rtol=0, atol=1e-6)


def full_bias(unit: GatedUnit) -> torch.nn.Parameter:
    """The unit's bias of gates and candidate; it gets one of zeros where it had none for the gates."""
    unit.bias, unit.bias_on = torch.nn.Parameter(unit.stacked_bias().detach().clone()), "all"
    return unit.bias


@pytest.mark.parametrize(("form", "keeping_sign"), [("paper", 1), ("groundhog", -1)])
def test_an_open_update_gate_keeps_the_state_in_the_paper_and_replaces_it_in_the_code(
    build: Callable, form: str, keeping_sign: int
) -> None:
    model = build(form)
    for unit in (model.model.encoder.unit, model.model.decoder.unit):
        hidden, inputs = torch.randn(2, N).double(), torch.randn(2, unit.input_weight.shape[1]).double()
        made = {}
        for sign in (1, -1):
            with torch.no_grad():
                full_bias(unit)[:N] = 1e3 * sign
                made[sign] = unit(inputs, hidden)
        torch.testing.assert_close(made[keeping_sign], hidden, rtol=0, atol=1e-12)
        assert (made[-keeping_sign] - hidden).abs().max() > 0.1


@pytest.mark.parametrize("form", FORMS)
def test_a_closed_reset_hides_the_state_and_in_the_paper_the_context_too(build: Callable, form: str) -> None:
    decoder = build(form).model.decoder
    unit = decoder.unit
    word, summary, hidden = torch.randn(1, 4).double(), torch.randn(1, N).double(), torch.randn(1, N).double()

    def candidate(summary: Tensor, hidden: Tensor) -> Tensor:
        return read_states(unit, word[:, None], hidden, summary)

    with torch.no_grad():
        bias = full_bias(unit)
        bias[:N] = -1e3 if form == "paper" else 1e3  # h' is the candidate
        bias[N : 2 * N] = -1e3  # r = 0
        first = candidate(summary, hidden)
        torch.testing.assert_close(candidate(summary, hidden + 1), first, rtol=0, atol=1e-12)
        gap = (candidate(summary + 1, hidden) - first).abs().max()
    assert (gap < 1e-12) == (form == "paper")


def test_a_constant_context_inside_the_reset_by_hand() -> None:
    unit = GatedUnit(1, 1, context_size=1, reset="after", update="keep", reset_bias=False)
    assert unit.reset_bias is None and GatedUnit(1, 1, reset="after").reset_bias is not None
    with torch.no_grad():
        unit.input_weight.copy_(torch.tensor([[0.5], [-1.0], [2.0]]))
        unit.gate_weight.copy_(torch.tensor([[1.0], [0.5]]))
        unit.candidate_weight.fill_(-3.0)
        unit.context_weight.copy_(torch.tensor([[0.2], [0.3], [0.4]]))
        unit.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
        x, h, c = torch.tensor([[0.4]]), torch.tensor([[0.6]]), torch.tensor([[0.5]])
        made = unit(x, h, c)
        both = read_states(unit, torch.stack([x, x], 1), h, c)
    torch.testing.assert_close(read_states(unit, torch.stack([x, x], 1), h, c), both)  # with gradients
    z = 1 / (1 + np.exp(-(0.5 * 0.4 + 0.1 + 0.6 + 0.2 * 0.5)))
    r = 1 / (1 + np.exp(-(-0.4 + 0.2 + 0.3 + 0.3 * 0.5)))
    candidate = np.tanh(2 * 0.4 + 0.3 + r * (-3 * 0.6 + 0.4 * 0.5))
    assert made.item() == pytest.approx(z * 0.6 + (1 - z) * candidate, abs=1e-6)
    torch.testing.assert_close(both, torch.stack([made, unit(x, made, c)], 1))


# --- the summary and its ways into the decoder -----------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_the_words_changes_the_summary(build: Callable, form: str) -> None:
    model = build(form)
    with torch.no_grad():
        vectors = model.sentence_vectors(torch.cat([SOURCE, SOURCE[:, [1, 0, 2, 3, 4]]]))
    assert vectors.shape == (4, N)
    assert (vectors[:2] - vectors[2:]).abs().amax(1).min() > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_the_summary_enters_the_state_and_the_output_layer(build: Callable, form: str) -> None:
    other = SOURCE.flip(0)
    ways = {
        "first state": lambda decoder: decoder.initial_state.weight,
        "every state": lambda decoder: decoder.unit.context_weight,
        "output": lambda decoder: decoder.readout.projections[2].weight,
    }
    for kept in (*ways, None):
        model = build(form)
        with torch.no_grad():
            for way, weight in ways.items():
                if way != kept:
                    weight(model.model.decoder).zero_()
        gap = (log_probabilities(model) - log_probabilities(model, other)).abs().max()
        assert gap < 1e-14 if kept is None else gap > 1e-3, kept


@pytest.mark.parametrize("form", FORMS)
def test_nothing_precedes_the_first_word_and_position_decides_not_the_id(build: Callable, form: str) -> None:
    model = build(form)
    other_start, zero_later = TARGET.clone(), TARGET.clone()
    other_start[:, 0], zero_later[:, 2] = 8, 0
    assert torch.equal(log_probabilities(model), log_probabilities(model, decoder_input_ids=other_start))
    made = log_probabilities(model, decoder_input_ids=zero_later)
    for i in range(2):
        wanted = torch.tensor(np.array(decode(letters_of(model), SOURCE[i].tolist(), zero_later[i].tolist(), form)))
        torch.testing.assert_close(made[i], wanted.log_softmax(-1), rtol=0, atol=1e-12)


def test_only_the_code_spends_no_update_on_the_first_word(build: Callable) -> None:
    for form in FORMS:
        model = build(form)
        with torch.no_grad():
            states = model(SOURCE, decoder_input_ids=TARGET, output_hidden_states=True).decoder_hidden_states[1]
            first = model.model.decoder.begin(model.sentence_vectors(SOURCE), 1)
        assert torch.equal(states[:, 0], first) == (form == "groundhog")


def test_the_factorised_output_layer_is_the_product_of_its_factors(build: Callable) -> None:
    thin, plain = build(), build(output_rank=None)
    state = thin.state_dict()
    factor = state.pop("model.decoder.output_factor.weight")
    state["lm_head.weight"] = state["lm_head.weight"] @ factor
    plain.load_state_dict(state)
    torch.testing.assert_close(log_probabilities(plain), log_probabilities(thin), rtol=0, atol=1e-12)


# --- odd inputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_what_stands_on_pads_never_counts_not_even_as_no_number(build: Callable, form: str, side: str) -> None:
    model = build(form)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0] if side == "right" else [0, 0, 0, 1, 1]])
    vectors = torch.randn(2, 5, 4).double()
    broken = vectors.masked_fill(mask[..., None] == 0, float("nan")).requires_grad_()
    made = model(inputs_embeds=broken, attention_mask=mask, decoder_input_ids=TARGET).logits
    made.square().sum().backward()
    clean = model(inputs_embeds=vectors, attention_mask=mask, decoder_input_ids=TARGET).logits
    assert torch.equal(made, clean)
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
    assert (broken.grad[mask == 0] == 0).all()


def test_a_source_without_a_word_is_refused_and_one_end_symbol_is_enough(build: Callable) -> None:
    model, mask = build(), torch.ones_like(SOURCE)
    mask[1] = 0
    with pytest.raises(ValueError, match=r"source rows \[1\] have no token"):
        model(SOURCE, mask, decoder_input_ids=TARGET)
    mask[1, -1] = 1
    wanted = log_probabilities(model, torch.tensor([[3]]), decoder_input_ids=TARGET[1:])
    torch.testing.assert_close(log_probabilities(model, attention_mask=mask)[1:], wanted, rtol=0, atol=1e-12)


def test_encoder_outputs_may_come_as_a_tuple_and_must_hold_the_summary(build: Callable) -> None:
    model = build()
    with torch.no_grad():
        encoded = model.get_encoder()(SOURCE)
    wanted = log_probabilities(model)
    for outputs in (encoded, encoded.to_tuple()):
        assert torch.equal(log_probabilities(model, None, encoder_outputs=outputs), wanted)
    with pytest.raises(ValueError, match="without the summary"):
        model(encoder_outputs=(encoded.last_hidden_state,), decoder_input_ids=TARGET)


@pytest.mark.parametrize("form", FORMS)
def test_gradients_reach_embeddings_given_in_place_of_ids(build: Callable, form: str) -> None:
    model, mask = build(form), torch.tensor([[1, 1, 1], [1, 1, 0]])
    source = torch.randn(2, 3, 4, dtype=torch.double, requires_grad=True)
    target = torch.randn(2, 3, 4, dtype=torch.double, requires_grad=True)

    def logits(source: Tensor, target: Tensor) -> Tensor:
        return model(inputs_embeds=source, attention_mask=mask, decoder_inputs_embeds=target).logits

    assert torch.autograd.gradcheck(logits, (source, target), atol=1e-7, fast_mode=True)
    logits(source, target).sum().backward()
    assert (source.grad[1, 2] == 0).all() and (source.grad[0] != 0).all()
    assert (target.grad[:, 0] == 0).all() and (target.grad[:, 1] != 0).all()


# --- scores and search -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_scores_are_sums_over_words_however_they_are_computed(build: Callable, form: str) -> None:
    model = build(form)
    labels = torch.tensor([[4, 7, 9, 3], [10, 3, -100, -100]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    with torch.no_grad():
        scores = model.score(SOURCE, labels, attention_mask=mask)
        made = model(SOURCE, mask, labels=labels)
        assert made.logits.softmax(-1).sum(-1).allclose(torch.ones(2, 4).double())
        assert scores.sum().item() == pytest.approx(-6 * made.loss.item(), abs=1e-10)
        for row, length in ((0, 4), (1, 2)):
            words, cache, total = torch.tensor([[2]]), None, 0.0
            for word in labels[row, :length].tolist():
                step = model(SOURCE[row, mask[row].bool()][None], decoder_input_ids=words, cache=cache, use_cache=True)
                cache, total = step.cache, total + step.logits[0, -1].log_softmax(-1)[word].item()
                words = torch.tensor([[word]])
            assert scores[row].item() == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_beams_have_the_scores_of_their_words_and_one_projection_of_the_source(build: Callable, form: str) -> None:
    model = build(form)
    calls: list[tuple[int, ...]] = []
    model.model.decoder.readout.projections[2].register_forward_hook(
        lambda _, inputs, __: calls.append(inputs[0].shape)
    )
    made = model.generate(
        SOURCE,
        num_beams=3,
        num_return_sequences=3,
        max_new_tokens=5,
        length_penalty=0.0,
        early_stopping="never",
        output_scores=True,
        return_dict_in_generate=True,
    )
    assert calls == [(2, N)]
    labels = made.sequences[:, 1:].clone()
    ended = (labels == 3).long().cumsum(1) - (labels == 3).long() > 0
    with torch.no_grad():
        wanted = model.score(SOURCE.repeat_interleave(3, 0), labels.masked_fill(ended, -100))
    torch.testing.assert_close(made.sequences_scores, wanted, rtol=0, atol=1e-6, check_dtype=False)


@pytest.mark.parametrize("form", FORMS)
def test_a_saved_model_scores_as_before(build: Callable, form: str, tmp_path) -> None:
    from transformers import AutoModel, AutoModelForSeq2SeqLM

    model = build(form)
    model.save_pretrained(tmp_path)
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, dtype=torch.float64)
    labels = torch.tensor([[4, 3], [6, 3]])
    assert torch.equal(again.score(SOURCE, labels), model.score(SOURCE, labels))
    body = AutoModel.from_pretrained(tmp_path, dtype=torch.float64)
    assert torch.equal(body.sentence_vectors(SOURCE), model.sentence_vectors(SOURCE))
