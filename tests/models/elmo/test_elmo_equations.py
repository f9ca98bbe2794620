"""Every equation against the loops of `elmo_reference`, and what must not depend on what."""

from typing import Any

import numpy as np
import pytest
import torch
from elmo_cases import TEXTS, as_numpy, labels_of, made, tiny
from elmo_reference import layers_of, mixed, negative_log_likelihoods
from torch import Tensor, nn

from hf_attention_zoo.losses.sampled_softmax import draw_words, log_expected_count, sampled_cross_entropy
from hf_attention_zoo.models.elmo.layers_elmo import ScalarMix, normalised
from hf_attention_zoo.models.elmo.modeling_elmo import (
    ELMoForPreTraining,
    ELMoForSequenceClassification,
    ELMoForTokenClassification,
    ELMoModel,
)
from hf_attention_zoo.recurrent.packed_reading import pack_rows
from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTMPair

HEADS = (ELMoForSequenceClassification, ELMoForTokenClassification)


def reference_layers(model: ELMoModel, words: list[str], residual: bool = True) -> list[list[np.ndarray]]:
    config = model.config
    clips = (config.cell_clip or 1e9, config.projection_clip or 1e9)
    return layers_of(
        as_numpy(model.bilm), words, config.filters, config.num_highway_layers, config.num_layers, clips, residual
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"skip_connections": False, "num_highway_layers": 2},
        {"cell_clip": 0.3, "projection_clip": 0.2},
        {"cell_clip": None, "projection_clip": None, "num_layers": 3},
    ],
    ids=["default", "no residual", "clips that act", "no clips"],
)
def test_layers_and_mix_are_those_of_the_loops(batch: dict[str, Tensor], changes: dict[str, Any]) -> None:
    model = made(ELMoModel, **changes)
    with torch.no_grad():
        out = model(**batch, output_boundaries=True, output_hidden_states=True)
        plain = model(**batch, output_hidden_states=True)
    assert plain.last_hidden_state.shape == (4, 7, 12) and out.last_hidden_state.shape == (4, 9, 12)
    mix = model.mixes[0]
    for row, words in enumerate(TEXTS):
        layers = reference_layers(model, words, model.config.skip_connections)
        wanted = mixed(layers, mix.scalars.detach().numpy(), mix.gamma.item())
        for j, layer in enumerate(layers):
            np.testing.assert_allclose(out.hidden_states[j][row, : len(layer)].numpy(), layer, atol=1e-10)
            if words:
                np.testing.assert_allclose(plain.hidden_states[j][row, : len(words)].numpy(), layer[1:-1], atol=1e-10)
        np.testing.assert_allclose(out.last_hidden_state[row, : len(wanted)].numpy(), wanted, atol=1e-10)
        assert not plain.last_hidden_state[row, len(words) :].any()
        assert not out.last_hidden_state[row, len(words) + 2 :].any()
    if model.config.cell_clip == 0.3:
        assert (out.hidden_states[1].abs() <= 0.2 + 1e-12).all()
        assert (out.hidden_states[1].abs() > 0.2 - 1e-12).any(), "the clip never acts"


def test_losses_of_both_directions_are_those_of_the_loops(batch: dict[str, Tensor]) -> None:
    model = made(ELMoForPreTraining)
    labels = labels_of(batch)
    out = model(**batch, labels=labels, output_logits=True)
    softmax, bias = model.lm_head.weight.detach().numpy(), model.lm_head.bias.detach().numpy()
    forwards, backwards = [], []
    for row, words in enumerate(TEXTS):
        top = reference_layers(model.model, words)[-1]
        targets = [0, *batch["input_ids"][row, : len(words)].tolist(), 1]
        one, other = negative_log_likelihoods(top, softmax, bias, targets)
        forwards += one
        backwards += other
        shown = out.forward_logits[row].log_softmax(-1)
        for k, value in enumerate(one):
            assert -shown[k, targets[k + 1]].item() == pytest.approx(value, abs=1e-9)
        shown = out.backward_logits[row].log_softmax(-1)
        for k, value in enumerate(other):
            assert -shown[k, targets[k]].item() == pytest.approx(value, abs=1e-9)
    assert out.forward_loss.item() == pytest.approx(np.mean(forwards), abs=1e-9)
    assert out.backward_loss.item() == pytest.approx(np.mean(backwards), abs=1e-9)
    assert out.loss.item() == pytest.approx((np.mean(forwards) + np.mean(backwards)) / 2, abs=1e-9)


def test_gradients_are_those_of_finite_differences(batch: dict[str, Tensor]) -> None:
    model = made(ELMoForPreTraining, cell_clip=0.9, projection_clip=0.7)
    labels = labels_of(batch)
    model(**batch, labels=labels).loss.backward()
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        values = []
        with torch.no_grad():
            for sign in (1, -1):
                parameter.add_(direction, alpha=sign * 1e-6)
                values.append(model(**batch, labels=labels).loss.item())
                parameter.sub_(direction, alpha=sign * 1e-6)
        plain = (values[0] - values[1]) / 2e-6
        assert (parameter.grad * direction).sum().item() == pytest.approx(plain, rel=2e-5, abs=1e-7), name


def test_without_clips_a_layer_is_torchs_lstm_with_a_projection() -> None:
    torch.manual_seed(0)
    pair = ProjectedLSTMPair(5, 7, 3, None, None).double()
    lengths = torch.tensor([4, 1, 6])
    rows = pack_rows(lengths)
    inputs = torch.randn(int(lengths.sum()), 5, dtype=torch.float64, requires_grad=True)
    states, end = pair(torch.stack([inputs[order] for order in rows.orders]), rows)
    ours = [side[back] for side, back in zip(states, rows.inverses, strict=True)]
    lstm = nn.LSTM(5, 7, proj_size=3, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for suffix, one in (("", pair.forward_lstm), ("_reverse", pair.backward_lstm)):
            getattr(lstm, f"weight_ih_l0{suffix}").copy_(one.input_weight)
            getattr(lstm, f"weight_hh_l0{suffix}").copy_(one.recurrent_weight)
            getattr(lstm, f"weight_hr_l0{suffix}").copy_(one.projection_weight)
            getattr(lstm, f"bias_hh_l0{suffix}").zero_()
            bias = getattr(lstm, f"bias_ih_l0{suffix}")
            bias.copy_(one.bias)
            bias[7:14] += 1.0
    start = 0
    total = 0.0
    for row, length in enumerate(lengths.tolist()):
        made_states, (hidden, cell) = lstm(inputs[None, start : start + length])
        wanted = made_states[0].chunk(2, -1)
        for side in range(2):
            torch.testing.assert_close(ours[side][start : start + length], wanted[side], rtol=0, atol=1e-12)
            torch.testing.assert_close(end.hidden[side, row], hidden[side, 0], rtol=0, atol=1e-12)
            torch.testing.assert_close(end.cell[side, row], cell[side, 0], rtol=0, atol=1e-12)
        total = total + made_states.square().sum()
        start += length
    wanted_grads = torch.autograd.grad(total, [inputs, lstm.weight_hh_l0, lstm.weight_hr_l0, lstm.bias_ih_l0])
    first = pair.forward_lstm
    grads = torch.autograd.grad(
        sum(side.square().sum() for side in ours),
        [inputs, first.recurrent_weight, first.projection_weight, first.bias],
    )
    torch.testing.assert_close(grads, wanted_grads, rtol=0, atol=1e-11)


# --- what depends on what


def test_a_text_gives_the_same_alone_in_a_batch_and_with_pads_on_either_side(batch: dict[str, Tensor]) -> None:
    model = made(ELMoModel)
    with torch.no_grad():
        wanted = model(**batch).last_hidden_state
        for row, words in enumerate(TEXTS):
            if not words:
                continue
            alone = model(batch["character_ids"][row : row + 1, : len(words)]).last_hidden_state
            torch.testing.assert_close(alone[0], wanted[row, : len(words)], rtol=0, atol=1e-12)
        pads = torch.zeros(4, 3, 50, dtype=torch.long)
        left = model(torch.cat([pads, batch["character_ids"]], 1)).last_hidden_state
        torch.testing.assert_close(left[:, 3:], wanted, rtol=0, atol=1e-12)
        assert not left[:, :3].any()
        order = torch.tensor([2, 0, 3, 1])
        turned = model(batch["character_ids"][order]).last_hidden_state
        torch.testing.assert_close(turned, wanted[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("words", [0, 3], ids=["no column", "pads alone"])
def test_a_batch_without_words_gives_zeros(words: int) -> None:
    ids = torch.zeros(2, words, 50, dtype=torch.long)
    out = made(ELMoModel)(ids, output_hidden_states=True)
    assert out.last_hidden_state.shape == (2, words, 12)
    assert all(not layer.any() for layer in out.hidden_states)
    logits = made(ELMoForSequenceClassification, task_lstm_cells=4)(ids).logits
    assert logits.shape == (2, 3) and logits.isfinite().all()
    assert made(ELMoForTokenClassification)(ids).logits.shape == (2, words, 3)


def test_each_direction_sees_its_own_side_alone_and_words_see_nothing(batch: dict[str, Tensor]) -> None:
    model = made(ELMoModel)
    ids = batch["character_ids"][:1]
    other = ids.clone()
    other[0, 3] = batch["character_ids"][1, 0]
    with torch.no_grad():
        one = model(ids, output_hidden_states=True).hidden_states
        two = model(other, output_hidden_states=True).hidden_states
    assert torch.equal(one[0][..., :6], one[0][..., 6:])
    changed = [(a - b).abs()[0] > 1e-9 for a, b in zip(one, two, strict=True)]
    assert changed[0].any(-1).nonzero()[:, 0].tolist() == [3]
    for layer in changed[1:]:
        assert layer[:, :6].any(-1).tolist() == [False] * 3 + [True] * 4
        assert layer[:, 6:].any(-1).tolist() == [True] * 4 + [False] * 3


def test_forward_scores_do_not_know_the_word_that_they_predict(batch: dict[str, Tensor]) -> None:
    model = made(ELMoForPreTraining)
    ids = batch["character_ids"][:1]
    other = ids.clone()
    other[0, 3] = batch["character_ids"][1, 0]
    with torch.no_grad():
        one, two = model(ids), model(other)
    same = [(a - b).abs().amax(-1)[0] < 1e-9 for a, b in ((one[0], two[0]), (one[1], two[1]))]
    assert same[0].tolist() == [True] * 4 + [False] * 4  # behind <S>, t_1, t_2, t_3: all that stand before the change
    assert same[1].tolist() == [False] * 4 + [True] * 4


def test_the_padding_of_words_is_read_up_to_the_widest_filter_and_more_changes_nothing() -> None:
    model = made(ELMoModel)
    with torch.no_grad():
        model.bilm.characters.embedding.weight[260] *= 4  # windows of padding win
    rows = torch.full((1, 2, 50), 261)
    rows[0, 0, :4] = torch.tensor([259, 98, 99, 260])
    rows[0, 1, :32] = torch.tensor([259, *range(60, 90), 260])
    with torch.no_grad():
        wanted = model(rows).last_hidden_state
        torch.testing.assert_close(model(rows[..., :36]).last_hidden_state, wanted, rtol=0, atol=1e-12)
        assert (model(rows[..., :32]).last_hidden_state - wanted).abs().max() > 1e-6
        single = model(rows[:, :1]).last_hidden_state
    assert (single[0, 0] - wanted[0, 0]).abs().max() > 1e-6, "the backward state knows the second word"


def test_a_highway_carries_or_transforms(batch: dict[str, Tensor]) -> None:
    model = made(ELMoModel)
    highway = model.bilm.characters.highways[0]
    words = torch.randn(3, 20, dtype=torch.float64)
    with torch.no_grad():
        highway.carry.weight.zero_()
        highway.carry.bias.fill_(-50.0)
        torch.testing.assert_close(highway(words), words)
        highway.carry.bias.fill_(50.0)
        torch.testing.assert_close(highway(words), torch.relu(highway.transform(words)))


# --- mixes


def test_a_new_mix_is_the_mean_and_extreme_weights_choose_a_layer() -> None:
    mix = ScalarMix(3).double()
    layers = [torch.randn(2, 4, 5, dtype=torch.float64) for _ in range(3)]
    torch.testing.assert_close(mix(layers), torch.stack(layers).mean(0))
    with torch.no_grad():
        mix.scalars.copy_(torch.tensor([-9e10, 1.0, -9e10]))
        mix.gamma.fill_(2.0)
    torch.testing.assert_close(mix(layers), 2 * layers[1])
    assert mix.layer_weights.tolist() == [0.0, 1.0, 0.0]


def test_several_mixes_begin_alike_and_none_is_the_mean(batch: dict[str, Tensor]) -> None:
    torch.manual_seed(0)
    two = ELMoModel(tiny(num_mixes=2)).eval()
    with torch.no_grad():
        out = two(**batch, output_hidden_states=True)
    assert torch.equal(out.mixed_states[0], out.mixed_states[1])
    none = ELMoModel(tiny(num_mixes=0)).eval()
    none.bilm.load_state_dict(two.bilm.state_dict())
    torch.testing.assert_close(none(**batch).last_hidden_state, out.last_hidden_state)
    torch.testing.assert_close(out.last_hidden_state, torch.stack(out.hidden_states).mean(0))


@pytest.mark.parametrize("form", ["bilm", "allennlp"])
def test_layers_are_normalised_over_all_words_of_the_batch(batch: dict[str, Tensor], form: str) -> None:
    model = made(ELMoModel, layer_normalization=form)
    real = batch["attention_mask"].bool()
    raw = made(ELMoModel)(**batch, output_boundaries=True, output_hidden_states=True).hidden_states
    inside = made(ELMoModel)(**batch, output_hidden_states=True).hidden_states
    out = model(**batch, output_hidden_states=True).hidden_states
    for j, layer in enumerate(out):
        kept = torch.arange(9) < (real.sum(1) + 2)[:, None]
        over = raw[j][kept] if form == "allennlp" else inside[j][real]
        epsilon = {"bilm": 1e-12, "allennlp": 1e-13}[form]
        wanted = (inside[j][real] - over.mean()) / (over.var(correction=0) + epsilon).sqrt()
        torch.testing.assert_close(layer[real], wanted, rtol=0, atol=1e-10)
        assert not layer[~real].any()
    assert normalised(torch.zeros(0, 4), 1e-12).shape == (0, 4)


# --- state


def test_two_calls_agree_and_a_stateful_model_goes_on_until_it_is_reset(batch: dict[str, Tensor]) -> None:
    plain, carrying = made(ELMoModel), made(ELMoModel, stateful=True)
    with torch.no_grad():
        wanted = plain(**batch).last_hidden_state
        assert torch.equal(plain(**batch).last_hidden_state, wanted)
        torch.testing.assert_close(carrying(**batch).last_hidden_state, wanted, rtol=0, atol=1e-12)
        second = carrying(**batch).last_hidden_state
        assert (second - wanted).abs().max() > 1e-3
        carrying.reset_state()
        torch.testing.assert_close(carrying(**batch).last_hidden_state, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("head", HEADS)
def test_heads_of_a_stateful_model_are_reset_too(batch: dict[str, Tensor], head: type[Any]) -> None:
    model = made(head, stateful=True)
    with torch.no_grad():
        first, second = model(**batch).logits, model(**batch).logits
        model.reset_state()
        assert torch.equal(model(**batch).logits, first) and not torch.equal(first, second)


def test_a_stream_that_is_cut_anywhere_is_one_stream_to_a_stateful_model(batch: dict[str, Tensor]) -> None:
    stream = batch["character_ids"][:1].repeat(2, 1, 1)
    whole = made(ELMoModel)(stream, boundaries=False, output_hidden_states=True).hidden_states
    carrying = made(ELMoModel, stateful=True)
    parts = [
        carrying(stream[:, cut], boundaries=False, output_hidden_states=True) for cut in (slice(0, 3), slice(3, 7))
    ]
    for j in range(3):
        joined = torch.cat([part.hidden_states[j] for part in parts], 1)
        torch.testing.assert_close(joined[..., :6], whole[j][..., :6], rtol=0, atol=1e-12)


def test_fewer_and_more_rows_than_before_take_up_their_own_states(batch: dict[str, Tensor]) -> None:
    ids = batch["character_ids"]
    carrying = made(ELMoModel, stateful=True)
    with torch.no_grad():
        carrying(ids[:2])
        two_rows = carrying(ids)[0]
        plain = made(ELMoModel)(ids)[0]
        alone = made(ELMoModel, stateful=True)
        alone(ids[:1])
        first = alone(ids[:1])[0]
    torch.testing.assert_close(two_rows[:1], first, rtol=0, atol=1e-12)
    torch.testing.assert_close(two_rows[3:], plain[3:], rtol=0, atol=1e-12)


def test_streams_of_both_directions_are_read_apart(batch: dict[str, Tensor]) -> None:
    model = made(ELMoForPreTraining)
    forwards, backwards = batch["character_ids"][:1], batch["character_ids"][:1].flip(1)
    labels, other = torch.randint(3, 20, (1, 7)), torch.randint(3, 20, (1, 7))
    out = model(forwards, labels=labels, backward_character_ids=backwards, backward_targets=other, output_logits=True)
    reading = model.model(forwards, boundaries=False, output_hidden_states=True).hidden_states[-1]
    torch.testing.assert_close(out.forward_logits, model.lm_head(reading[..., :6]), rtol=0, atol=1e-12)
    reading = model.model(backwards, boundaries=False, output_hidden_states=True).hidden_states[-1]
    torch.testing.assert_close(out.backward_logits, model.lm_head(reading[..., 6:]), rtol=0, atol=1e-12)
    wanted = nn.functional.cross_entropy(out.backward_logits[0], other[0])
    torch.testing.assert_close(out.backward_loss, wanted)


# --- the sampled softmax


def test_words_are_drawn_once_each_and_frequent_ones_more_often() -> None:
    torch.manual_seed(0)
    counts = torch.zeros(100)
    for _ in range(400):
        words, draws = draw_words(100, 10, torch.device("cpu"))
        assert len(set(words.tolist())) == 10 <= draws
        counts[words] += 1
    assert counts[0] > 2 * counts[20] > 0
    expected = log_expected_count(torch.arange(100), 100, 15).exp()
    assert expected[0] == pytest.approx(1 - (1 - np.log(2) / np.log(101)) ** 15)


def test_the_sampled_loss_is_the_softmax_over_target_and_sample() -> None:
    torch.manual_seed(1)
    hidden, layer, labels = torch.randn(3, 4), nn.Linear(4, 30), torch.tensor([0, -100, 7])
    weight, bias = (parameter.detach() for parameter in layer.parameters())
    torch.manual_seed(5)
    loss = sampled_cross_entropy(hidden, layer, labels, 6)
    seen = []
    with layer.register_forward_hook(lambda *_: seen.append(1)):  # then all scores are computed, by calling it
        torch.manual_seed(5)
        assert sampled_cross_entropy(hidden, layer, labels, 6).item() == pytest.approx(loss.item(), abs=1e-5) and seen
    torch.manual_seed(5)
    words, draws = draw_words(30, 6, torch.device("cpu"))
    wanted = 0.0
    for row, label in ((0, 0), (2, 7)):
        others = [word for word in words.tolist() if word != label]
        scores = [
            (hidden[row] @ weight[word] + bias[word]).double() - log_expected_count(torch.tensor(word), 30, draws)
            for word in [label, *others]
        ]
        wanted = wanted + torch.logsumexp(torch.stack(scores), 0) - scores[0]
    assert loss.item() == pytest.approx(wanted.item(), abs=1e-5)
    nothing = sampled_cross_entropy(hidden, layer, torch.full((3,), -100), 6)
    assert nothing.item() == 0.0
    with pytest.raises(ValueError, match="sample fewer"):
        draw_words(6, 6, torch.device("cpu"))


def test_training_samples_and_evaluation_does_not(batch: dict[str, Tensor]) -> None:
    model, labels = made(ELMoForPreTraining, num_negative_samples=5), labels_of(batch)
    wanted = made(ELMoForPreTraining)(**batch, labels=labels).loss
    torch.testing.assert_close(model(**batch, labels=labels).loss, wanted)
    model.config.dropout = 0.0
    losses = {model.train()(**batch, labels=labels).loss.item() for _ in range(3)}
    assert len(losses) == 3 and wanted.item() not in losses


# --- training


def test_every_parameter_of_a_language_model_and_only_the_mix_of_a_frozen_one_learns(batch: dict[str, Tensor]) -> None:
    model = made(ELMoForPreTraining).train()
    model(**batch, labels=labels_of(batch)).loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()] == []
    for head in HEADS:
        labels = torch.tensor([0, 1, 2, 1]) if head is HEADS[0] else torch.randint(0, 3, (4, 7))
        for frozen in (True, False):
            model = made(head, freeze_bilm=frozen, task_lstm_cells=4).train()
            model(**batch, labels=labels).loss.backward()
            without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
            bilm = {name for name, _ in model.named_parameters() if ".bilm." in name}
            assert without == (bilm if frozen else set())
            assert all(p.requires_grad != (name in bilm and frozen) for name, p in model.named_parameters())


def test_a_frozen_bilm_drops_nothing_and_stays_frozen_when_it_is_loaded(
    batch: dict[str, Tensor], tmp_path: Any
) -> None:
    model = made(ELMoForTokenClassification, torch.float32, dropout=0.5, mix_dropout=0.0)
    with torch.no_grad():
        wanted = model(**batch).logits
        assert torch.equal(model.train()(**batch).logits, wanted)
    model.save_pretrained(tmp_path)
    again = ELMoForTokenClassification.from_pretrained(tmp_path)
    assert not any(p.requires_grad for p in again.model.bilm.parameters())
    assert again.classifier.weight.requires_grad
    body, report = ELMoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert torch.equal(body.mixes[0].scalars, model.model.mixes[0].scalars)


@pytest.mark.parametrize("head", HEADS)
def test_the_loss_is_cross_entropy_and_lambda_times_the_squares_of_w(head: type, batch: dict[str, Tensor]) -> None:
    model = made(head, mix_l2=0.25)
    words = head is ELMoForTokenClassification
    labels = torch.where(batch["attention_mask"].bool(), 1, -100) if words else torch.tensor([0, 1, 2, 1])
    out = model(**batch, labels=labels)
    logits = out.logits.flatten(0, -2)
    penalty = 0.25 * model.model.mixes[0].scalars.square().sum()
    torch.testing.assert_close(out.loss, nn.functional.cross_entropy(logits, labels.flatten()) + penalty)
    parts = [
        model(**{name: tensor[rows] for name, tensor in batch.items()}, labels=labels[rows], num_items_in_batch=items)
        for items in [int((labels != -100).sum())]
        for rows in (slice(0, 1), slice(1, 4))
    ]
    torch.testing.assert_close(parts[0].loss + parts[1].loss, out.loss)


def test_parts_of_a_batch_add_up_to_the_whole(batch: dict[str, Tensor]) -> None:
    model, labels = made(ELMoForPreTraining), labels_of(batch)
    whole = model(**batch, labels=labels).loss
    items = int((labels != -100).sum())
    parts = [
        model(**{name: tensor[rows] for name, tensor in batch.items()}, labels=labels[rows], num_items_in_batch=items)
        for rows in (slice(0, 1), slice(1, 4))
    ]
    torch.testing.assert_close(parts[0].loss + parts[1].loss, whole)


# --- wrong inputs


def test_wrong_inputs_say_what_came_and_what_to_do(batch: dict[str, Tensor]) -> None:
    model, lm = made(ELMoModel), made(ELMoForPreTraining)
    with pytest.raises(ValueError, match="WordCharacterTokenizer"):
        model(input_ids=batch["input_ids"])
    with pytest.raises(ValueError, match=r"shape \(4, 7\)"):
        model(batch["input_ids"])
    with pytest.raises(ValueError, match="give it 1 at words"):
        model(batch["character_ids"], torch.ones(4, 2))
    with pytest.raises(ValueError, match="this model has 0"):
        model(batch["character_ids"] + 1)
    with pytest.raises(ValueError, match="one for each word and one for the end"):
        lm(**batch, labels=batch["input_ids"])
    with pytest.raises(ValueError, match="label 48 is outside"):
        lm(**batch, labels=labels_of(batch, end=48))
    with pytest.raises(ValueError, match="the widest filter need 3"):
        model(torch.full((1, 1, 2), 5))
    with pytest.raises(ValueError, match="one a word"):
        made(ELMoForTokenClassification)(**batch, labels=torch.zeros(4, 2, dtype=torch.long))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cell_clip", 0.0),
        ("dropout", 1.0),
        ("layer_normalization", "layer"),
        ("filters", [[0, 4]]),
        ("num_negative_samples", -1),
        ("projection_size", 0),
        ("num_mixes", -1),
    ],
)
def test_wrong_configs_say_what_is_allowed(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field):
        tiny(**{field: value})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_close_to_full(batch: dict[str, Tensor], dtype: torch.dtype) -> None:
    full = made(ELMoModel, torch.float32)(**batch)[0]
    half = made(ELMoModel, torch.float32).to(dtype)(**batch)[0]
    assert half.dtype == dtype and (half.float() - full).abs().max() < 0.05 * full.abs().max()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model = made(ELMoForPreTraining, torch.float32)
        loss = model(**batch, labels=labels_of(batch)).loss
    loss.backward()
    assert loss.dtype == torch.float32 and all(p.grad.isfinite().all() for p in model.parameters())
