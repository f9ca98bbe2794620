"""Show, Attend and Tell against the loop-only reference: every option, both kinds of attention, ragged batches."""

import numpy as np
import pytest
import torch
from show_attend_tell_reference import Form, coverage, entropy, letters_of, tell

from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig
from hf_attention_zoo.models.show_attend_tell.modeling_show_attend_tell import ShowAttendTellForConditionalGeneration

SIZES = {"vocab_size": 11, "embedding_size": 4, "hidden_size": 5, "annotation_size": 3, "dropout": 0.0}
FORMS = {
    "default": {},
    "code": {"readout": "tanh"},
    "plain": {
        "num_attention_layers": 1,
        "num_initial_layers": 1,
        "context_gate": False,
        "word_to_output": False,
        "context_to_output": False,
    },
    "deep": {"num_attention_layers": 3, "num_output_layers": 3},
}
CAPTIONS = [[7, 4, 8, 5, 3], [9, 3], [10, 6, 4, 3]]
REGIONS = [6, 4, 1]  # a grid of six, and two that lack some
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
forms = pytest.mark.parametrize("form", FORMS)


def build(form: str = "default", **more: object) -> ShowAttendTellForConditionalGeneration:
    model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**SIZES, **FORMS[form], **more)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.6)
    return model.eval()


def form_of(model: ShowAttendTellForConditionalGeneration) -> Form:
    c = model.config
    return Form(
        c.num_attention_layers,
        c.num_initial_layers,
        c.num_output_layers,
        c.context_gate,
        c.word_to_output,
        c.context_to_output,
        c.readout == "tanh",
        c.decoder_start_token_id,
    )


def state_of(model: ShowAttendTellForConditionalGeneration) -> dict[str, np.ndarray]:
    return {name: tensor.detach().double().numpy().copy() for name, tensor in model.state_dict().items()}


def batch(dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    """Regions in the middle of what is masked, captions padded with -100."""
    random = torch.Generator().manual_seed(1)
    annotations = torch.randn(3, 6, 3, generator=random, dtype=torch.float64).to(dtype)
    mask = torch.zeros(3, 6, dtype=torch.long)
    for row, count in enumerate(REGIONS):
        mask[row, (6 - count) // 2 : (6 - count) // 2 + count] = 1
    labels = torch.full((3, 7), -100)
    for row, caption in enumerate(CAPTIONS):
        labels[row, : len(caption)] = torch.tensor(caption)
    return {"annotations": annotations, "attention_mask": mask, "labels": labels}


def regions_of(inputs: dict[str, torch.Tensor], row: int) -> list[np.ndarray]:
    return list(inputs["annotations"][row][inputs["attention_mask"][row].bool()].double().numpy())


def told(state: dict[str, np.ndarray], form: Form, inputs: dict[str, torch.Tensor], row: int, looked=None) -> tuple:
    previous = [form.start, *CAPTIONS[row][:-1]]
    return tell(letters_of(state), regions_of(inputs, row), previous, form, looked)


def negative_log(made: list[np.ndarray], row: int) -> complex:
    return -sum(step[word] for step, word in zip(made, CAPTIONS[row], strict=True))


def check_gradients(model: ShowAttendTellForConditionalGeneration, objective) -> None:
    """A derivative along a random direction of a tensor is wrong if any entry of its gradient is wrong."""
    state, random, step = state_of(model), np.random.default_rng(0), 1e-30
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        direction = random.standard_normal(parameter.shape)
        moved = {key: value.astype(complex) for key, value in state.items()}
        moved[name] = moved[name] + 1j * step * direction
        wanted = objective(moved).imag / step
        got = float((parameter.grad.numpy() * direction).sum())
        assert got == pytest.approx(wanted, rel=1e-9, abs=1e-11), name


@forms
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_logits_alignments_gates_and_loss_are_those_of_the_reference(form: str, dtype: torch.dtype) -> None:
    model = build(form).to(dtype)
    inputs, state = batch(dtype), state_of(model)
    with torch.no_grad():
        made = model(**inputs, output_attentions=True)
    total = 0.0
    for row, caption in enumerate(CAPTIONS):
        steps, alphas, gates = told(state, form_of(model), inputs, row)
        got = made.logits[row, : len(caption)].log_softmax(-1).double().numpy()
        np.testing.assert_allclose(got, np.array(steps), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        weights = made.cross_attentions[0][row, 0, : len(caption)].double().numpy()
        real = inputs["attention_mask"][row].bool().numpy()
        np.testing.assert_allclose(weights[:, real], np.array(alphas), rtol=0, atol=TOLERANCE[dtype])
        assert (weights[:, ~real] == 0).all()
        if model.config.context_gate:
            written = made.context_gates[row, : len(caption), 0].double().numpy()
            np.testing.assert_allclose(written, np.array(gates), rtol=0, atol=TOLERANCE[dtype])
        total += negative_log(steps, row)
    words = sum(map(len, CAPTIONS))
    assert made.loss.item() == pytest.approx(total / words, rel=0, abs=TOLERANCE[dtype])


@forms
@pytest.mark.parametrize("normalisation", ["paper", "code"])
def test_loss_and_gradients_of_soft_attention_are_those_of_the_reference(form: str, normalisation: str) -> None:
    model = build(form, coverage_weight=0.7, normalisation=normalisation).train()
    inputs, words, written = batch(), sum(map(len, CAPTIONS)), form_of(model)

    def objective(state: dict[str, np.ndarray]) -> complex:
        total = 0.0
        for row in range(3):
            steps, alphas, _ = told(state, written, inputs, row)
            weight = 0.7 * (3 / 6 if normalisation == "code" else 1.0)  # lambda B / L
            total = total + negative_log(steps, row) + weight * coverage(alphas)
        return total / words

    made = model(**inputs)
    made.loss.backward()
    assert made.loss.item() == pytest.approx(objective(state_of(model)).real, abs=1e-10)
    check_gradients(model, objective)


@pytest.mark.parametrize("form", ["default", "code"])
@pytest.mark.parametrize("normalisation", ["paper", "code"])
def test_gradients_of_hard_attention_are_those_of_the_sampled_objective(form: str, normalisation: str) -> None:
    """With the drawn locations and the advantage held fixed, as Eq. 11 and 12 have them."""
    options = {"entropy_weight": 0.3, "reinforce_weight": 0.4, "coverage_weight": 0.6, "normalisation": normalisation}
    model = build(form, attention="hard", **options).train()
    model.reward_baseline.fill_(-1.7)
    state, written, inputs, words = state_of(model), form_of(model), batch(), sum(map(len, CAPTIONS))
    torch.manual_seed(0 if normalisation == "paper" else 1)  # the second picture is drawn; all are
    made = model(**inputs, output_attentions=True)
    made.loss.backward()
    looked, advantages = [], []
    for row, caption in enumerate(CAPTIONS):
        real = inputs["attention_mask"][row].bool()
        where = made.locations[row, 0, : len(caption)][:, real].detach()
        sampled = bool(torch.equal(where, where.round())) and int(real.sum()) > 1
        looked.append(where.argmax(-1).tolist() if sampled else None)
        steps, _, _ = told(state, written, inputs, row, looked[row])
        reward = -negative_log(steps, row) / (len(caption) if normalisation == "code" else 1)
        advantages.append(reward + 1.7)
    assert any(where is not None for where in looked)

    def objective(moved: dict[str, np.ndarray]) -> complex:
        total = 0.0
        for row in range(3):
            steps, alphas, _ = told(moved, written, inputs, row, looked[row])
            chosen = (
                0.0 if looked[row] is None else sum(np.log(a[i]) for a, i in zip(alphas, looked[row], strict=True))
            )
            terms = -0.4 * advantages[row] * chosen - 0.3 * entropy(alphas)
            covered = 0.6 * coverage(alphas) if normalisation == "paper" else 0.0  # the code gives it no gradient
            total = total + negative_log(steps, row) + (3 if normalisation == "code" else 1) * terms + covered
        return total / words

    check_gradients(model, objective)
    expected = sum(a + -1.7 for a in advantages) / 3
    if normalisation == "code":
        expected = sum((a - 1.7) * len(c) for a, c in zip(advantages, CAPTIONS, strict=True)) / words
    assert model.reward_baseline.item() == pytest.approx(0.9 * -1.7 + 0.1 * expected, abs=1e-9)
