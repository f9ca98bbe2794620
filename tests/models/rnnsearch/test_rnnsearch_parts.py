"""The parts of RNNsearch against independent programs and against cases that can be computed by hand."""

import numpy as np
import pytest
import torch
from onnx_gru import onnx_gru
from rnnsearch_reference import decode, paper_letters, summary_vector_decode
from torch import Tensor

from hf_attention_zoo import RNNsearchConfig, RNNsearchForConditionalGeneration
from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.attention.attention_base import AttendedSource
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.readout import MaxoutReadout, maxout

TIMINGS = ("paper", "groundhog", "appendix")


def build(timing: str = "paper", std: float = 0.6, **changes: object) -> RNNsearchForConditionalGeneration:
    config = RNNsearchConfig(
        vocab_size=12,
        decoder_vocab_size=11,
        embedding_size=4,
        hidden_size=5,
        attention_size=3,
        maxout_size=7,
        decoder_timing=timing,
        **changes,
    )
    torch.manual_seed(5)
    model = RNNsearchForConditionalGeneration(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
    return model


def letters_of(model: torch.nn.Module) -> dict[str, np.ndarray]:
    return paper_letters({name: tensor.numpy() for name, tensor in model.state_dict().items()})


# --- gated unit and encoder ------------------------------------------------------------------------------------------


def onnx_weights(letters: dict[str, np.ndarray], unit: str, context: bool = False) -> tuple[np.ndarray, ...]:
    """W, R, B of one direction; ONNX orders z, r, candidate, and its z keeps the old state: the signs of z turn."""

    def stack(letter: str) -> np.ndarray:
        return np.concatenate(
            [-letters[f"{unit}.{letter}z"], letters[f"{unit}.{letter}r"], letters[f"{unit}.{letter}"]]
        )

    inputs = np.concatenate([stack("W"), stack("C")], axis=1) if context else stack("W")
    bias = stack("b")
    return inputs, stack("U"), np.concatenate([bias, np.zeros_like(bias)])


def test_encoder_is_the_bidirectional_gru_of_onnx_with_the_reset_before_the_matrix() -> None:
    model = build().float()
    letters = letters_of(model)
    lengths = [6, 1, 4]
    ids = torch.randint(1, 12, (3, 6))
    mask = torch.arange(6)[None] < torch.tensor(lengths)[:, None]
    embedded = model.model.encoder.embed_tokens(ids)
    both = [onnx_weights(letters, unit) for unit in ("forward", "backward")]
    w, r, b = (np.stack(pair).astype(np.float32) for pair in zip(*both, strict=True))
    states, _ = onnx_gru(
        {
            "X": embedded.detach().numpy().swapaxes(0, 1),
            "W": w,
            "R": r,
            "B": b,
            "sequence_lens": np.array(lengths, dtype=np.int32),
        },
        5,
    )
    with torch.no_grad():
        ours = model.model.encoder(ids, mask).last_hidden_state.numpy()  # (B, S, 2n)
    theirs = np.concatenate([states[:, 0], states[:, 1]], axis=-1).swapaxes(0, 1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_decoder_unit_is_one_step_of_the_gru_of_onnx_over_word_and_context() -> None:
    model = build().float()
    unit = model.model.decoder.unit
    word, context, hidden = torch.randn(3, 4), torch.randn(3, 10), torch.randn(3, 5)
    w, r, b = (x[None].astype(np.float32) for x in onnx_weights(letters_of(model), "decoder", context=True))
    _, last = onnx_gru(
        {
            "X": torch.cat([word, context], 1)[None].numpy(),
            "W": w,
            "R": r,
            "B": b,
            "initial_h": hidden[None].numpy(),
        },
        5,
    )
    with torch.no_grad():
        ours = unit(word, hidden, context)
    np.testing.assert_allclose(ours.numpy(), last[0], rtol=0, atol=1e-6)


def test_the_units_of_torch_compute_something_else() -> None:
    """torch.nn.GRUCell resets after the matrix: a different function, not another order of the same weights."""
    unit, cell = GatedUnit(4, 5), torch.nn.GRUCell(4, 5)
    after = GatedUnit(4, 5, reset="after", update="keep")
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.normal_(std=0.8)
        order = [1, 0, 2]  # torch: r, z, candidate

        def reordered(matrix: Tensor, signs: tuple[int, int, int]) -> Tensor:
            parts = matrix.chunk(3)
            return torch.cat([parts[k] * signs[k] for k in order])

        recurrent = torch.cat([unit.gate_weight, unit.candidate_weight])
        cell.weight_ih.copy_(reordered(unit.input_weight, (-1, 1, 1)))
        cell.bias_ih.copy_(reordered(unit.bias, (-1, 1, 1)))
        cell.weight_hh.copy_(reordered(recurrent, (-1, 1, 1)))
        cell.bias_hh.zero_()
        for parameter, other in ((after.input_weight, unit.input_weight), (after.bias, unit.bias)):
            parameter.copy_(torch.cat([-other[:5], other[5:]]))
        after.gate_weight.copy_(torch.cat([-unit.gate_weight[:5], unit.gate_weight[5:]]))
        after.candidate_weight.copy_(unit.candidate_weight)
        x, h = torch.randn(6, 4), torch.randn(6, 5)
        before = unit(x, h)
        torch_way = cell(x, h)
        ours_after = after(x, h)
    assert (before - torch_way).abs().max() > 0.05
    torch.testing.assert_close(ours_after, torch_way, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("gate_bias", "weight_of_new"), [(40.0, 1.0), (-40.0, 0.0)])
def test_an_open_update_gate_takes_the_new_state(gate_bias: float, weight_of_new: float) -> None:
    unit = GatedUnit(1, 1)
    with torch.no_grad():
        unit.input_weight.zero_()
        unit.gate_weight.zero_()
        unit.candidate_weight.zero_()
        unit.bias.copy_(torch.tensor([gate_bias, 0.0, 0.5]))
        h = unit(torch.zeros(1, 1), torch.tensor([[-0.25]]))
    wanted = weight_of_new * np.tanh(0.5) + (1 - weight_of_new) * -0.25
    assert h.item() == pytest.approx(wanted, abs=1e-6)


def test_gated_unit_by_hand() -> None:
    unit = GatedUnit(1, 1, bias="none")
    with torch.no_grad():
        unit.input_weight.copy_(torch.tensor([[0.5], [-1.0], [2.0]]))
        unit.gate_weight.copy_(torch.tensor([[1.0], [0.5]]))
        unit.candidate_weight.fill_(-3.0)
        h = unit(torch.tensor([[0.4]]), torch.tensor([[0.6]]))
    z, r = 1 / (1 + np.exp(-(0.2 + 0.6))), 1 / (1 + np.exp(-(-0.4 + 0.3)))
    wanted = (1 - z) * 0.6 + z * np.tanh(0.8 - 3.0 * (r * 0.6))
    assert h.item() == pytest.approx(wanted, abs=1e-6)


# --- attention -------------------------------------------------------------------------------------------------------


@pytest.fixture
def attention() -> AdditiveAttention:
    module = AdditiveAttention(5, 10, 3).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module


def test_permuted_annotations_permute_the_alignment_and_leave_the_context(attention: AdditiveAttention) -> None:
    query, values, order = torch.randn(2, 1, 5).double(), torch.randn(2, 6, 10).double(), torch.randperm(6)
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]]).bool()
    context, weights = attention(query, attention.prepare(values, mask))
    moved_context, moved = attention(query, attention.prepare(values[:, order], mask[:, order]))
    torch.testing.assert_close(moved, weights[..., order], rtol=0, atol=1e-12)
    torch.testing.assert_close(moved_context, context, rtol=0, atol=1e-12)


def test_equal_annotations_give_that_annotation_as_context(attention: AdditiveAttention) -> None:
    value = torch.randn(1, 1, 10).double()
    context, weights = attention(
        torch.randn(1, 3, 5).double(), attention.prepare(value.expand(1, 7, 10), torch.ones(1, 7))
    )
    torch.testing.assert_close(context, value.expand(1, 3, 10), rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, torch.full((1, 3, 7), 1 / 7, dtype=torch.double), rtol=0, atol=1e-12)


def test_keys_projected_once_are_those_projected_for_every_query(attention: AdditiveAttention) -> None:
    values, queries = torch.randn(2, 6, 10).double(), torch.randn(2, 4, 5).double()
    _, together = attention(queries, attention.prepare(values, torch.ones(2, 6)))
    w, u = attention.query_projection.weight, attention.key_projection
    for b in range(2):
        for i in range(4):
            energies = [attention.score_vector @ torch.tanh(w @ queries[b, i] + u(values[b, j])) for j in range(6)]
            torch.testing.assert_close(together[b, i], torch.stack(energies).softmax(0), rtol=0, atol=1e-12)


# --- output layer ----------------------------------------------------------------------------------------------------


def test_maxout_takes_neighbours() -> None:
    assert maxout(torch.tensor([[1.0, 2.0, 9.0, -3.0, -5.0, -4.0]])).tolist() == [[2.0, 9.0, -4.0]]


def test_readout_by_hand() -> None:
    readout = MaxoutReadout((1, 1, 2), 1)
    with torch.no_grad():
        for projection, weight in zip(
            readout.projections, ([[1.0], [-1.0]], [[2.0], [3.0]], [[0.5, 0.0], [0.0, 0.5]]), strict=True
        ):
            projection.weight.copy_(torch.tensor(weight))
        readout.projections[0].bias.copy_(torch.tensor([0.25, 0.0]))
        unit = readout(torch.tensor([[2.0]]), torch.tensor([[1.0]]), torch.tensor([[4.0, -8.0]]))
    # pieces: 2 + 2 + 2 + 0.25 = 6.25 and -2 + 3 - 4 = -3
    assert unit.tolist() == [[6.25]]


# --- the whole model -------------------------------------------------------------------------------------------------

SOURCE = torch.tensor([[5, 9, 4, 11, 3], [7, 2, 8, 6, 3]])
TARGET = torch.tensor([[2, 4, 7, 9], [2, 10, 5, 6]])


def log_probabilities(model: torch.nn.Module, **changes: Tensor) -> Tensor:
    inputs = {"input_ids": SOURCE, "decoder_input_ids": TARGET, **changes}
    with torch.no_grad():
        return model(**inputs).logits.log_softmax(-1)


def test_the_three_timings_are_three_models_with_one_first_alignment() -> None:
    made, first = {}, {}
    for timing in TIMINGS:
        model = build(timing)
        made[timing] = log_probabilities(model)
        with torch.no_grad():
            outputs = model(SOURCE, decoder_input_ids=TARGET, output_attentions=True)
        first[timing] = outputs.cross_attentions[0][:, :, 0]
    for one, other in (("paper", "groundhog"), ("paper", "appendix"), ("groundhog", "appendix")):
        assert (made[one] - made[other])[:, 1:].abs().amax((0, 2)).min() > 1e-3, (one, other)
        torch.testing.assert_close(first[one], first[other], rtol=0, atol=1e-14)


def test_in_the_authors_timing_the_start_symbol_says_nothing() -> None:
    other_start = TARGET.clone()
    other_start[:, 0] = 8
    for timing in TIMINGS:
        model = build(timing)
        same = torch.equal(log_probabilities(model), log_probabilities(model, decoder_input_ids=other_start))
        assert same == (timing == "groundhog")


def test_in_the_authors_timing_only_the_first_step_is_wordless() -> None:
    """The original switched the previous word off wherever id 0 was fed; here position decides, not the id."""
    zeros = TARGET.clone()
    zeros[:, 2] = 0
    model = build("groundhog")
    letters = letters_of(model)
    for i in range(2):
        wanted, _ = decode(letters, SOURCE[i].tolist(), zeros[i].tolist(), "groundhog")
        got = model(SOURCE, decoder_input_ids=zeros).logits[i].detach().numpy()
        np.testing.assert_allclose(got, np.array(wanted), rtol=0, atol=1e-12)


def test_without_context_matrices_only_the_first_state_knows_the_source() -> None:
    model = build()
    with torch.no_grad():
        model.model.decoder.unit.context_weight.zero_()
        model.model.decoder.readout.projections[2].weight.zero_()
    other = SOURCE.flip(0)
    assert (log_probabilities(model) - log_probabilities(model, input_ids=other)).abs().max() > 1e-3
    with torch.no_grad():
        model.model.decoder.initial_state.weight.zero_()
    torch.testing.assert_close(log_probabilities(model), log_probabilities(model, input_ids=other), rtol=0, atol=1e-14)


def test_one_hot_alignment_on_the_last_forward_state_is_the_encoder_decoder_without_attention(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RNNenc with the same weights: c_i is the last forward state, which also makes s_0."""
    model = build()
    decoder, n = model.model.decoder, model.config.hidden_size

    def on_the_last_position(query: Tensor, source: AttendedSource) -> tuple[Tensor, Tensor]:
        alignment = torch.zeros(query.shape[0], query.shape[1], SOURCE.shape[1]).double()
        alignment[..., -1] = 1
        return alignment @ source.values, alignment

    def begin(annotations: Tensor, mask: Tensor, copies: int) -> dict[str, Tensor]:
        return {"hidden": torch.tanh(decoder.initial_state(annotations[:, -1, :n]))}

    monkeypatch.setattr(decoder.attention, "forward", on_the_last_position)
    monkeypatch.setattr(decoder, "begin", begin)
    with torch.no_grad():
        states = model.model.encoder(SOURCE).last_hidden_state
        states[..., n:] = 0
        made = model(SOURCE, decoder_input_ids=TARGET, encoder_outputs=(states,)).logits
    for i in range(2):
        wanted = summary_vector_decode(letters_of(model), SOURCE[i].tolist(), TARGET[i].tolist())
        np.testing.assert_allclose(made[i].numpy(), np.array(wanted), rtol=0, atol=1e-12)


@pytest.mark.parametrize("timing", TIMINGS)
def test_gradients_reach_embeddings_given_in_place_of_ids(timing: str) -> None:
    model = build(timing)
    source = torch.randn(2, 3, 4, dtype=torch.double, requires_grad=True)
    target = torch.randn(2, 3, 4, dtype=torch.double, requires_grad=True)
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])

    def logits(source: Tensor, target: Tensor) -> Tensor:
        return model(inputs_embeds=source, attention_mask=mask, decoder_inputs_embeds=target, use_cache=False).logits

    assert torch.autograd.gradcheck(logits, (source, target), atol=1e-7, fast_mode=True)
    logits(source, target).sum().backward()
    assert (source.grad[1, 2] == 0).all() and (source.grad[0] != 0).all()


def test_first_state_reads_the_backward_half_of_the_first_annotation() -> None:
    model = build()
    decoder, n = model.model.decoder, model.config.hidden_size
    annotations, mask = torch.randn(2, 4, 2 * n).double(), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    with torch.no_grad():
        state = decoder.begin(annotations, mask, 1)["hidden"]
        moved = annotations.clone()
        moved[..., :n] += 1  # the forward half does not matter
        moved[0, 1:] += 1  # nor do later annotations
        moved[1, [0, 1, 3]] += 1  # nor pads
        torch.testing.assert_close(decoder.begin(moved, mask, 1)["hidden"], state)
        wanted = torch.tanh(decoder.initial_state(torch.stack([annotations[0, 0, n:], annotations[1, 2, n:]])))
    torch.testing.assert_close(state, wanted)
