"""Padding, batching and odd inputs: what a row gives does not depend on what stands around it."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_cases import SEQ2SEQ_CASES, Maker, real_columns, row_of

LENGTHS = [1, 4, 9]


def outputs(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Logits and, of a model that attends, the attention."""
    with torch.no_grad():
        made = model(**batch, output_attentions=True)
    return made.logits, made.cross_attentions[0] if made.cross_attentions else None


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_batch_gives_what_each_row_gives_alone(seq2seq: Maker, side: str) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS, side=side)
    logits, weights = outputs(model, batch)
    for row in range(len(LENGTHS)):
        alone, alone_weights = outputs(model, row_of(batch, row))
        torch.testing.assert_close(logits[row], alone[0], rtol=0, atol=1e-10)
        if weights is not None:
            real = real_columns(weights, batch["attention_mask"], row)
            torch.testing.assert_close(real, alone_weights[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("side", ["right", "left"])
def test_more_padding_changes_neither_values_nor_gradients(seq2seq: Maker, side: str) -> None:
    model = seq2seq.model(torch.float64)
    gradients = []
    for extra in (0, 5):
        batch = seq2seq.batch(LENGTHS, side=side, extra=extra)
        model.zero_grad()
        model(**batch).logits.square().sum().backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    plain, padded = (seq2seq.batch(LENGTHS, side=side, extra=extra) for extra in (0, 5))
    torch.testing.assert_close(outputs(model, plain)[0], outputs(model, padded)[0], rtol=0, atol=1e-10)
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-9, atol=1e-9, msg=name)


def test_the_words_that_stand_on_pads_do_not_matter(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS, extra=2)
    other = {**batch, "input_ids": torch.where(batch["attention_mask"].bool(), batch["input_ids"], 7)}
    assert torch.equal(outputs(model, batch)[0], outputs(model, other)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_attention_rows_sum_to_one_and_are_zero_on_pads(attending: Maker, dtype: torch.dtype) -> None:
    model, batch = attending.model(dtype), attending.batch(LENGTHS, side="left", extra=3)
    _, weights = outputs(model, batch)
    assert weights.shape == (3, attending.heads, 5, 12) and weights.dtype == dtype
    pads = ~batch["attention_mask"].bool()[:, None, None].expand_as(weights)
    assert (weights[pads] == 0).all() and (weights >= 0).all()
    tolerance = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}[dtype]
    attending.check_sums(weights, tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_close_to_full(seq2seq: Maker, dtype: torch.dtype) -> None:
    batch = seq2seq.batch(LENGTHS)
    full, _ = outputs(seq2seq.model(std=0.3), batch)
    half, _ = outputs(seq2seq.model(dtype, std=0.3), batch)
    assert half.dtype == dtype and half.isfinite().all()
    assert (half.float() - full).abs().max() < 0.05 * full.abs().max()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    side=st.sampled_from(["left", "right"]),
    extra=st.integers(0, 4),
    target_length=st.integers(1, 6),
    seed=st.integers(0, 50),
    index=st.integers(0, len(SEQ2SEQ_CASES) - 1),
)
def test_any_mix_of_lengths_gives_each_row_its_own_result(
    lengths: list[int], side: str, extra: int, target_length: int, seed: int, index: int
) -> None:
    maker = Maker(SEQ2SEQ_CASES[index])
    model = maker.model(torch.float64, seed=seed)
    batch = maker.batch(lengths, side=side, extra=extra, target_length=target_length, seed=seed)
    logits, _ = outputs(model, batch)
    assert logits.isfinite().all()
    row = seed % len(lengths)
    torch.testing.assert_close(logits[row], outputs(model, row_of(batch, row))[0][0], rtol=0, atol=1e-10)


def test_a_row_of_pads_alone_is_finite_attends_nowhere_and_leaves_its_neighbours(attending: Maker) -> None:
    model, batch = attending.model(torch.float64), attending.batch([4, 0, 9])
    logits, weights = outputs(model, batch)
    assert logits.isfinite().all()
    assert (weights[1] == 0).all()
    for row in (0, 2):
        torch.testing.assert_close(logits[row], outputs(model, row_of(batch, row))[0][0], rtol=0, atol=1e-10)


def test_a_row_of_pads_alone_leaves_gradients_finite(attending: Maker) -> None:
    model, batch = attending.model(), attending.batch([4, 0])
    model(**batch).logits.square().mean().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_a_batch_of_pads_alone_is_finite(attending: Maker) -> None:
    logits, weights = outputs(attending.model(), attending.batch([0, 0], extra=2))
    assert logits.isfinite().all() and (weights == 0).all()


@pytest.mark.parametrize("lengths", [[4, 0, 9], [0, 0]])
def test_a_row_of_pads_alone_is_refused_where_only_the_last_state_counts(
    summarising: Maker, lengths: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"source rows \[.*\] have no token"):
        summarising.model()(**summarising.batch(lengths, extra=2))


def test_five_hundred_words_are_read_and_five_hundred_are_written(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch([500, 3], target_length=500)
    logits, weights = outputs(model, batch)
    assert logits.isfinite().all() and logits.shape[:2] == (2, 500)
    if weights is not None:
        seq2seq.check_sums(weights, 1e-6)
    torch.testing.assert_close(logits[1], outputs(model, row_of(batch, 1))[0][0], rtol=0, atol=1e-10)


def test_one_word_and_unknown_words_are_ordinary_inputs(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), seq2seq.batch([1, 3], target_length=1)
    batch["input_ids"][1, :2] = 1
    logits, weights = outputs(model, batch)
    assert logits.shape[:2] == (2, 1) and logits.isfinite().all()
    if weights is not None:
        assert weights[0, 0, 0, 1:].tolist() == [0.0, 0.0]
        assert 0 < weights[0, 0, 0, 0] < 1 if not seq2seq.sums_to_one else weights[0, 0, 0, 0] == 1


def test_no_mask_means_that_every_position_is_real(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), seq2seq.batch([6, 6])
    with_mask, _ = outputs(model, batch)
    del batch["attention_mask"]
    assert torch.equal(outputs(model, batch)[0], with_mask)


def test_masks_may_be_booleans_integers_or_floats(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), seq2seq.batch(LENGTHS)
    wanted, _ = outputs(model, batch)
    for dtype in (torch.bool, torch.int32, torch.float32):
        again, _ = outputs(model, {**batch, "attention_mask": batch["attention_mask"].to(dtype)})
        assert torch.equal(again, wanted)


def test_embeddings_may_take_the_place_of_ids(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), seq2seq.batch(LENGTHS)
    wanted, _ = outputs(model, batch)
    source = model.get_input_embeddings()(batch.pop("input_ids"))
    target = model.get_decoder_input_embeddings()(batch.pop("decoder_input_ids"))
    again, _ = outputs(model, {**batch, "inputs_embeds": source, "decoder_inputs_embeds": target})
    assert torch.equal(again, wanted)


def test_targets_padded_on_the_right_are_causal(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS)
    wanted, _ = outputs(model, batch)
    more = torch.cat([batch["decoder_input_ids"], torch.zeros(3, 2, dtype=torch.long)], 1)
    mask = torch.cat([torch.ones(3, 5), torch.zeros(3, 2)], 1)
    longer, _ = outputs(model, {**batch, "decoder_input_ids": more, "decoder_attention_mask": mask})
    torch.testing.assert_close(longer[:, :5], wanted, rtol=0, atol=1e-12)


def test_wrong_inputs_say_what_came_and_what_to_do(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), seq2seq.batch(LENGTHS)
    source, mask, target = batch["input_ids"], batch["attention_mask"], batch["decoder_input_ids"]
    with pytest.raises(ValueError, match=r"source has shape \(3, 0\)"):
        model(source[:, :0], mask[:, :0], target)
    with pytest.raises(ValueError, match=r"target has shape \(3, 0\)"):
        model(source, mask, target[:, :0])
    with pytest.raises(ValueError, match=r"source has shape \(9,\)"):
        model(source[2], None, target[2:])
    with pytest.raises(ValueError, match=r"attention_mask has shape \(3, 4\), the source \(3, 9\)"):
        model(source, mask[:, :4], target)
    with pytest.raises(ValueError, match="2 target rows for 3 sources"):
        model(source, mask, target[:2])
    with pytest.raises(ValueError, match="labels"):
        model(source, mask)
    with pytest.raises(ValueError, match="exactly one"):
        model(source, mask, target, inputs_embeds=model.get_input_embeddings()(source))
    words, written = model.config.vocab_size, model.config.decoder_vocab_size
    with pytest.raises(ValueError, match=rf"id {words} is outside 0 to {words - 1}: the model has {words} tokens"):
        model(source.masked_fill(source > 3, words), mask, target)
    with pytest.raises(ValueError, match=rf"id -100 is outside 0 to {written - 1}"):
        model(source, mask, target.masked_fill(target > 3, -100))
    with pytest.raises(ValueError, match=rf"label {written} is outside 0 to {written - 1}"):
        model(source, mask, target, labels=target.masked_fill(target > 3, written))
    if model._is_stateful:
        with pytest.raises(ValueError, match="padded on the right"):
            model(source, mask, target, decoder_attention_mask=torch.tensor([[0, 0, 1, 1, 1]] * 3))


def test_targets_padded_on_the_left_are_those_without_pads_where_they_are_taken(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), seq2seq.batch(LENGTHS)
    if model._is_stateful:
        return
    wanted, _ = outputs(model, batch)
    more = torch.cat([torch.zeros(3, 2, dtype=torch.long), batch["decoder_input_ids"]], 1)
    mask = torch.cat([torch.zeros(3, 2), torch.ones(3, 5)], 1)
    longer, _ = outputs(model, {**batch, "decoder_input_ids": more, "decoder_attention_mask": mask})
    torch.testing.assert_close(longer[:, 2:], wanted, rtol=0, atol=1e-12)
    with torch.no_grad():
        source = {name: batch[name] for name in ("input_ids", "attention_mask")}
        begun = model(**source, decoder_input_ids=more[:, :4], decoder_attention_mask=mask[:, :4], use_cache=True)
        rest = model(**source, decoder_input_ids=more[:, 4:], decoder_attention_mask=mask, cache=begun.cache)
    torch.testing.assert_close(rest.logits, wanted[:, 2:], rtol=0, atol=1e-12)
