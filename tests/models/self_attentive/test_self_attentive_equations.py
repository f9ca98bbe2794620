"""The self-attentive model against the loop-only reference, with padding, empty texts and pairs in the batch."""

import numpy as np
import pytest
import torch
from self_attentive_reference import logits, loss, paper_letters, penalty, read

from hf_attention_zoo.models.self_attentive.configuration_self_attentive import SelfAttentiveConfig
from hf_attention_zoo.models.self_attentive.facts_self_attentive import TINY_CONFIG
from hf_attention_zoo.models.self_attentive.modeling_self_attentive import SelfAttentiveForSequenceClassification
from hf_attention_zoo.recurrent import bidirectional_lstm

SINGLE = [[[5, 9, 4, 11, 6, 7, 8]], [[8, 1]], [[]], [[3]], [[10, 10, 7, 6]]]
PAIRS = [[[5, 9, 4], [11, 6, 7, 8]], [[8], [1, 12]], [[], [4, 4]], [[3, 9], []], [[], []]]
LABELS = [2, 0, 1, 1, 2]
SIDES = ["right", "left", "between"]
FORMS = [(pairs, connection) for pairs in (False, True) for connection in ("full", "pruned")]
each_form = pytest.mark.parametrize(("pairs", "connection"), FORMS, ids=lambda value: str(value))


@pytest.fixture(autouse=True, params=["strides", "one stride"])
def strides(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny texts are read in one stride; here also in as many as there can be."""
    if request.param == "strides":
        monkeypatch.setattr(bidirectional_lstm, "LEAST_SAVING", {"cpu": 0.0})
        monkeypatch.setattr(bidirectional_lstm, "LARGEST_SHARE", 0.99)


def build(pairs: bool = False, connection: str = "full", **more: object) -> SelfAttentiveForSequenceClassification:
    config = SelfAttentiveConfig(**TINY_CONFIG, sentence_pairs=pairs, connection=connection, **more)
    model = SelfAttentiveForSequenceClassification(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model


def batch(rows: list[list[list[int]]], side: str) -> dict[str, torch.Tensor]:
    """Ids, mask and types; side "between": half of the pads in the middle of each row's tokens."""
    width = max(sum(map(len, texts)) for texts in rows) + 2
    ids, mask, types = (torch.zeros(len(rows), width, dtype=torch.long) for _ in range(3))
    for row, texts in enumerate(rows):
        words = [word for text in texts for word in text]
        free = width - len(words)
        half = len(words) // 2
        places = {
            "right": list(range(len(words))),
            "left": list(range(free, width)),
            "between": [*range(half), *range(half + free, width)],
        }[side]
        ids[row] = 7  # what stands on pads does not matter
        ids[row, places] = torch.tensor(words, dtype=torch.long)
        mask[row, places] = 1
        types[row, places] = torch.tensor([k for k, text in enumerate(texts) for _ in text], dtype=torch.long)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "labels": torch.tensor(LABELS)}


def rows_of(pairs: bool) -> list[list[list[int]]]:
    return PAIRS if pairs else SINGLE


def letters_of(model: torch.nn.Module) -> dict[str, np.ndarray]:
    return paper_letters({name: tensor.double().numpy() for name, tensor in model.state_dict().items()})


@pytest.mark.parametrize("side", SIDES)
@each_form
def test_matrices_annotations_logits_and_loss_are_those_of_the_reference(
    pairs: bool, connection: str, side: str
) -> None:
    model, rows = build(pairs, connection, penalty_coefficient=0.7), rows_of(pairs)
    inputs, p = batch(rows, side), letters_of(model)
    with torch.no_grad():
        made = model(**inputs, output_attentions=True)
        labels = inputs.pop("labels")
        read_ = model.model(**inputs, output_hidden_states=True)
    matrices = [read_.last_hidden_state, read_.second_hidden_state]
    for row, texts in enumerate(rows):
        np.testing.assert_allclose(made.logits[row], logits(p, texts), rtol=0, atol=1e-10)
        for place, text in enumerate(texts):
            h, a, m = read(p, text)
            mine = (inputs["attention_mask"][row] * (inputs["token_type_ids"][row] == place)).bool()
            np.testing.assert_allclose(matrices[place][row], m, rtol=0, atol=1e-10)
            np.testing.assert_allclose(made.attentions[place][row, :, 0][:, mine], a, rtol=0, atol=1e-10)
            assert (made.attentions[place][row, :, 0][:, ~mine] == 0).all()
            np.testing.assert_allclose(read_.hidden_states[1][row, mine], h, rtol=0, atol=1e-10)
        found = sum(penalty(read(p, text)[1]) for text in texts)
        assert made.penalty[row].item() == pytest.approx(found, rel=1e-12, abs=1e-12)
    assert (read_.hidden_states[1][~inputs["attention_mask"].bool()] == 0).all()
    assert made.loss.item() == pytest.approx(loss(p, rows, labels.tolist(), 0.7), rel=0, abs=1e-10)


@pytest.mark.parametrize("norm", ["squared", "unsquared"])
@each_form
def test_gradients_are_the_complex_step_derivatives_of_the_reference(pairs: bool, connection: str, norm: str) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    model, rows = build(pairs, connection, penalty_norm=norm, penalty_coefficient=0.7), rows_of(pairs)
    model(**batch(rows, "between")).loss.backward()
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    random, step = np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        direction = random.standard_normal(parameter.shape)
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name] = moved[name] + 1j * step * direction
        wanted = loss(paper_letters(moved), rows, LABELS, 0.7, norm == "squared").imag / step
        got = float((parameter.grad.numpy() * direction).sum())
        assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


@each_form
def test_float32_is_within_a_hundred_thousandth(pairs: bool, connection: str) -> None:
    model, rows = build(pairs, connection), rows_of(pairs)
    p = letters_of(model.float())
    made = model(**batch(rows, "right"))
    for row, texts in enumerate(rows):
        np.testing.assert_allclose(made.logits[row].detach(), logits(p, texts), rtol=1e-5, atol=1e-5)
    assert made.loss.item() == pytest.approx(loss(p, rows, LABELS, 1.0), rel=1e-5)


def test_the_coefficient_weighs_the_mean_penalty_and_nothing_else() -> None:
    losses = {}
    for coefficient in (0.0, 0.5, 2.0):
        torch.manual_seed(0)
        made = build(penalty_coefficient=coefficient)(**batch(SINGLE, "right"))
        losses[coefficient] = made.loss.item()
    mean = made.penalty[[0, 1, 3, 4]].mean().item()  # the third text is empty
    assert losses[0.5] - losses[0.0] == pytest.approx(0.5 * mean, rel=1e-12)
    assert losses[2.0] - losses[0.0] == pytest.approx(2 * mean, rel=1e-12)


def test_a_text_of_one_token_has_annotations_of_one_and_a_penalty_without_slope() -> None:
    model = build()
    ids = torch.tensor([[5]])
    read_ = model.model(ids, output_attentions=True)
    assert (read_.attentions[0] == 1).all()
    made = model(ids, labels=torch.tensor([0]))
    hops = model.config.num_hops
    assert made.penalty.item() == pytest.approx(hops * (hops - 1))
    made.penalty.sum().backward()
    assert all(p.grad is None or p.grad.abs().max() < 1e-12 for p in model.parameters())


def test_without_second_layer_every_hop_is_the_mean_of_the_states() -> None:
    model = build()
    with torch.no_grad():
        model.model.attention.hops.weight.zero_()
        read_ = model.model(torch.tensor([[5, 9, 4]]), output_hidden_states=True)
    mean = read_.hidden_states[1].mean(1, keepdim=True).expand_as(read_.last_hidden_state)
    torch.testing.assert_close(read_.last_hidden_state, mean)


def test_swapped_texts_give_the_same_logits_where_both_have_the_same_projection() -> None:
    model = build(True)
    first, second = batch([[[5, 9], [4]]] * 5, "right"), batch([[[4], [5, 9]]] * 5, "right")
    with torch.no_grad():
        assert not torch.allclose(model(**first).logits, model(**second).logits)
        model.gated.hypothesis.weight.copy_(model.gated.premise.weight)
        torch.testing.assert_close(model(**first).logits, model(**second).logits, rtol=0, atol=1e-12)


def test_the_gated_encoder_is_linear_in_each_text() -> None:
    model = build(True)
    first, second = torch.randn(2, 3, 4, 12, dtype=torch.float64)
    torch.testing.assert_close(model.gated(first, 2 * second), 2 * model.gated(first, second))
    torch.testing.assert_close(
        model.gated(first + second, second), model.gated(first, second) + model.gated(second, second)
    )
