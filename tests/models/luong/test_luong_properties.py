"""What must hold between Luong's scores, windows and feeding, whatever the weights."""

import numpy as np
import pytest
import torch
from test_luong_equations import PAIRS, SETTINGS, SIZES, batch, build, padded

from hf_attention_zoo.models.luong.configuration_luong import LuongConfig
from hf_attention_zoo.models.luong.modeling_luong import LuongForConditionalGeneration

IDS = {"ids": lambda s: "-".join(map(str, s))}
LOCAL = [setting for setting in SETTINGS if setting[1] != "global"]


def run(model: torch.nn.Module, inputs: dict) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        made = model(**inputs, output_attentions=True)
    return made.logits, made.cross_attentions[0][:, 0]


def copy_weights(into: torch.nn.Module, source: torch.nn.Module, **changes: torch.Tensor) -> torch.nn.Module:
    state = {**source.state_dict(), **changes}
    into.load_state_dict({name: state[name] for name in into.state_dict()})
    return into


@pytest.mark.parametrize("setting", SETTINGS, **IDS)
def test_rows_of_weights_sum_to_one_where_no_gaussian_shrinks_them(setting: tuple) -> None:
    inputs = batch("between")
    _, weights = run(build(*setting), inputs)
    assert (weights >= 0).all()
    assert (weights[~inputs["attention_mask"].bool()[:, None].expand_as(weights)] == 0).all()
    sums = weights.sum(-1)
    if setting[1] == "local-p":
        assert (sums > 0).all() and (sums <= 1).all() and sums.min() < 0.95
    else:
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", LOCAL, **IDS)
def test_nothing_outside_the_window_gets_weight(setting: tuple) -> None:
    model, inputs = build(*setting), batch("right")
    _, weights = run(model, inputs)
    for i, (source, target) in enumerate(PAIRS):
        for t in range(len(target)):
            inside = weights[i, t].nonzero()[:, 0]
            assert len(inside) <= 2 * SIZES["window_half_width"] + 1
            assert inside.max() - inside.min() + 1 == len(inside)  # one run of positions
            if setting[1] == "local-m":
                centre = min(t, len(source) - 1)
                wanted = [s for s in range(len(source)) if abs(s - centre) <= SIZES["window_half_width"]]
                assert inside.tolist() == wanted


def test_weights_of_local_p_over_the_gaussian_sum_to_one() -> None:
    model, inputs = build("general", "local-p", False), batch("right")
    with torch.no_grad():
        made = model(**inputs, output_attentions=True, output_hidden_states=True)
        attention = model.model.decoder.attention
        hidden = made.decoder_hidden_states[-1]
        lengths = inputs["attention_mask"].sum(1)
        projected = torch.tanh(hidden @ attention.position_projection.weight.T) @ attention.position_vector.weight[0]
        centre = lengths[:, None] * projected.sigmoid()
    assert (centre > 0).all() and (centre < lengths[:, None]).all()
    deviation = SIZES["window_half_width"] / 2
    positions = torch.arange(inputs["input_ids"].shape[1])
    gaussian = torch.exp(-((positions - centre[..., None]) ** 2) / (2 * deviation**2))
    sums = (made.cross_attentions[0][:, 0] / gaussian).sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-10)


@pytest.mark.parametrize("setting", [s for s in LOCAL if s[1] == "local-m"], **IDS)
def test_window_wider_than_the_source_makes_local_m_global(setting: tuple) -> None:
    score, _, feed = setting
    local = build(*setting)
    local.model.decoder.attention.half_width = 50
    whole = build(score, "global", feed)
    whole.load_state_dict(
        {name.replace("attention.mechanism.", "attention."): t for name, t in local.state_dict().items()}
    )
    inputs = batch("left")
    torch.testing.assert_close(run(local, inputs), run(whole, inputs), rtol=0, atol=1e-12)


def test_very_wide_window_makes_local_p_global() -> None:
    local, whole = build("general", "local-p", True), build("general", "global", True)
    local.model.decoder.attention.half_width = 10**8
    state = {name.replace("attention.mechanism.", "attention."): t for name, t in local.state_dict().items()}
    whole.load_state_dict({name: t for name, t in state.items() if "position_" not in name})
    inputs = batch("right")
    torch.testing.assert_close(run(local, inputs), run(whole, inputs), rtol=0, atol=1e-10)


@pytest.mark.parametrize("window", ["global", "local-m", "local-p"])
def test_general_score_with_an_identity_is_the_dot_score(window: str) -> None:
    general, dot = build("general", window, True), build("dot", window, True)
    name = next(name for name, _ in general.named_parameters() if "key_projection" in name)
    copy_weights(general, dot, **{name: torch.eye(5).double()})
    inputs = batch("right")
    torch.testing.assert_close(run(general, inputs), run(dot, inputs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", ["global", "local-m", "local-p"])
def test_released_concat_is_the_papers_with_an_identity_for_the_source(window: str) -> None:
    paper = build("concat", window, False)
    released = build("concat", window, False, concat_source_weight="identity")
    name = next(name for name, _ in paper.named_parameters() if "key_projection" in name)
    copy_weights(paper, released, **{name: torch.eye(5).double()})
    inputs = batch("right")
    torch.testing.assert_close(run(paper, inputs), run(released, inputs), rtol=0, atol=1e-12)


def test_first_step_of_input_feeding_is_a_step_without_it() -> None:
    fed, plain = build("general", "global", True), build("general", "global", False)
    plain.load_state_dict({name: t for name, t in fed.state_dict().items() if "feed_weight" not in name})
    inputs = batch("right")
    torch.testing.assert_close(run(fed, inputs)[0][:, 0], run(plain, inputs)[0][:, 0], rtol=0, atol=1e-12)
    assert (run(fed, inputs)[0][:, 1] - run(plain, inputs)[0][:, 1]).abs().max() > 1e-3
    with torch.no_grad():
        fed.model.decoder.lstm.feed_weight.zero_()
    torch.testing.assert_close(run(fed, inputs), run(plain, inputs), rtol=0, atol=1e-12)


def test_context_comes_before_the_state_in_the_attentional_layer() -> None:
    model, inputs = build("dot", "global", False), batch("right")
    before = run(model, inputs)[0]
    with torch.no_grad():
        weight = model.model.decoder.attentional.weight
        weight.copy_(weight.roll(5, dims=1))
    assert (run(model, inputs)[0] - before).abs().max() > 1e-2
    with torch.no_grad():
        weight[:, :5] = 0  # without the context the source is still known through the state, but not its words
    states = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"])
    wanted = model(encoder_outputs=states, labels=inputs["labels"]).logits
    states.last_hidden_state = states.last_hidden_state + 1.0
    torch.testing.assert_close(model(encoder_outputs=states, labels=inputs["labels"]).logits, wanted)


def test_predicted_position_depends_on_the_sentence_not_on_the_padding() -> None:
    model, source = build("dot", "local-p", True), [5, 9, 4, 11, 3]
    start = torch.tensor([[2, 4, 5]])
    seen = []
    for width in (5, 25):
        for side in ("left", "right"):
            ids, mask = torch.zeros(1, width, dtype=torch.long), torch.zeros(1, width, dtype=torch.long)
            places = slice(0, 5) if side == "right" else slice(width - 5, width)
            ids[0, places], mask[0, places] = torch.tensor(source), 1
            logits, weights = run(model, {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": start})
            seen.append((logits, weights[:, :, places]))
    for logits, weights in seen[1:]:
        torch.testing.assert_close((logits, weights), seen[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", ["global", "local-m"])
def test_alignments_stand_in_the_order_of_the_sentence_although_it_is_read_backwards(window: str) -> None:
    """Rigged: states that are their words' embeddings and a decoder that asks for the t-th word copies the source."""
    model = build("dot", window, False)
    words = torch.tensor([[4, 5, 6, 7, 3]])
    states = model.get_encoder()(words)
    table = torch.eye(12, 5).double().roll(4, 0) * 30  # word 4 is the first unit vector, word 8 the fifth
    model.model.encoder.forward = lambda *args, **kwargs: states
    states.last_hidden_state = table[words]
    query = table[words]
    model.model.decoder.lstm.run = lambda inputs, state: (query, state)
    _, weights = run(model, {"input_ids": words, "decoder_input_ids": torch.tensor([[2, 4, 5, 6, 7]])})
    # the end symbol (row 3 of the table) has a zero vector, so that only the four words are asked for
    assert weights[0, :4].argmax(-1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("reverse", [True, False])
def test_state_of_each_word_is_the_one_after_reading_it(reverse: bool) -> None:
    model = build("dot", "global", False, reverse_source=reverse)
    ids, mask = padded([[5, 9, 4, 11, 3]], "left")
    with torch.no_grad():
        states = model.get_encoder()(ids, mask).last_hidden_state[0, 2:]
        changed = ids.clone()
        changed[0, 4] = 6  # the third word
        moved = (model.get_encoder()(changed, mask).last_hidden_state[0, 2:] - states).abs().amax(-1) > 1e-9
    wanted = [True, True, True, False, True] if reverse else [False, False, True, True, True]
    assert moved.tolist() == wanted


def test_location_score_ignores_what_the_words_are_and_where_pads_stand() -> None:
    model = build("location", "global", False)
    with torch.no_grad():
        states = model.get_encoder()(*padded([[5, 9, 4, 11, 6, 7, 8, 3], [8, 1, 3]], "left"))
        targets = torch.tensor([[2, 7, 4]] * 2)
        first = model(encoder_outputs=states, decoder_input_ids=targets, output_attentions=True).cross_attentions[0]
        states.last_hidden_state = torch.randn_like(states.last_hidden_state)
        second = model(encoder_outputs=states, decoder_input_ids=targets, output_attentions=True).cross_attentions[0]
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    beyond = first[0, 0, :, 2 + SIZES["location_max_length"] :]
    assert beyond.shape[1] == 2 and (beyond == 0).all()  # positions beyond the last row of W_a
    torch.testing.assert_close(first.sum(-1), torch.ones_like(first.sum(-1)))


def test_unknown_words_are_explained_one_step_later_by_content_and_at_once_by_location() -> None:
    assert build("location", "global", True).alignment_shift == 0
    for score, window, feed in SETTINGS:
        if score != "location":
            assert build(score, window, feed).alignment_shift == 1


@pytest.mark.parametrize("setting", SETTINGS, **IDS)
def test_a_source_of_pads_alone_attends_nowhere_and_leaves_its_neighbours(setting: tuple) -> None:
    model, inputs = build(*setting), batch("right")
    wanted = run(model, inputs)
    inputs["attention_mask"][2] = 0
    logits, weights = run(model, inputs)
    assert logits.isfinite().all() and (weights[2] == 0).all()
    others = [0, 1, 3, 4]
    torch.testing.assert_close((logits[others], weights[others]), (wanted[0][others], wanted[1][others]))


@pytest.mark.parametrize("setting", SETTINGS, **IDS)
def test_one_word_sources_and_targets_longer_than_the_source_are_ordinary(setting: tuple) -> None:
    logits, weights = run(
        build(*setting), {"input_ids": torch.tensor([[7]]), "decoder_input_ids": torch.randint(4, 11, (1, 30))}
    )
    assert logits.isfinite().all() and weights.shape == (1, 30, 1)
    assert (weights > 0).all() if setting[1] == "local-p" else (weights == 1).all()


@pytest.mark.parametrize("setting", SETTINGS, **IDS)
def test_pieces_through_the_cache_and_reordered_beams_give_the_teacher_forced_logits(setting: tuple) -> None:
    model, inputs = build(*setting), batch("left")
    targets = torch.randint(4, 11, (5, 7))
    source = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
    whole, _ = run(model, {**source, "decoder_input_ids": targets})
    rows = torch.tensor([4, 0, 0, 3, 1])
    spliced = torch.cat([targets[rows, :4], targets[:, 4:]], 1)
    moved = {name: tensor[rows] for name, tensor in source.items()}
    with torch.no_grad():
        first = model(**source, decoder_input_ids=targets[:, :1], use_cache=True)
        second = model(**source, decoder_input_ids=targets[:, 1:4], cache=first.cache, use_cache=True)
        torch.testing.assert_close(torch.cat([first.logits, second.logits], 1), whole[:, :4], rtol=0, atol=1e-10)
        cache = second.cache
        cache.reorder_cache(rows)
        rest = model(decoder_input_ids=targets[:, 4:], cache=cache, encoder_outputs=(whole,), output_attentions=True)
        wanted, wanted_alignment = run(model, {**moved, "decoder_input_ids": spliced})
    torch.testing.assert_close(rest.logits, wanted[:, 4:], rtol=0, atol=1e-10)
    torch.testing.assert_close(rest.cross_attentions[0][:, 0], wanted_alignment[:, 4:], rtol=0, atol=1e-10)


@pytest.mark.parametrize("setting", SETTINGS[::2] + SETTINGS[1:2], **IDS)
def test_beams_have_the_scores_of_teacher_forcing_and_do_not_need_the_cache(setting: tuple) -> None:
    model, inputs = build(*setting), batch("left")
    source = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
    keywords = {
        "num_beams": 3,
        "num_return_sequences": 3,
        "max_new_tokens": 6,
        "length_penalty": 0.0,
        "early_stopping": "never",
        "return_dict_in_generate": True,
        "output_scores": True,
    }
    made, uncached = (model.generate(**source, **keywords, use_cache=use) for use in (True, False))
    assert torch.equal(made.sequences, uncached.sequences)
    repeated = {name: tensor.repeat_interleave(3, 0) for name, tensor in source.items()}
    logits, _ = run(model, {**repeated, "decoder_input_ids": made.sequences[:, :-1]})
    words = made.sequences[:, 1:]
    scores = logits.log_softmax(-1).gather(2, words[..., None])[..., 0]
    after_end = (words == 3).long().cumsum(1) - (words == 3).long() > 0
    torch.testing.assert_close(made.sequences_scores.double(), (scores * ~after_end).sum(1), rtol=0, atol=1e-5)
    for i, (row, _) in enumerate(PAIRS):
        alone = model.generate(torch.tensor([row]), **keywords).sequences
        assert torch.equal(made.sequences[3 * i : 3 * i + 3, : alone.shape[1]], alone)


def test_dropout_acts_on_the_inputs_of_layers_only() -> None:
    """Where no layer input is dropped nothing is: not before attention, not before the output, not recurrent."""
    torch.manual_seed(0)
    config = LuongConfig(**SIZES, attention_score="dot", attention_window="global", dropout=0.5)
    model = LuongForConditionalGeneration(config).double().train()
    seen: list[tuple[int, ...]] = []
    keep = torch.nn.functional.dropout

    def watched(tensor: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        if training:
            seen.append(tuple(tensor.shape))
        return tensor if training else keep(tensor, p, training)

    torch.nn.functional.dropout = watched
    try:
        model(torch.tensor([[5, 9, 4, 3]]), labels=torch.tensor([[7, 4, 3]]))
    finally:
        torch.nn.functional.dropout = keep
    # source words, target words, then per step the fed-back vector and the input of the second layer
    assert seen == [(1, 4, 4), (1, 3, 4)] + [(1, 5), (1, 5)] * 3
    model.eval()
    inputs = batch("right")
    assert torch.equal(run(model, inputs)[0], run(model, inputs)[0])


def test_attention_weights_are_exported_without_dropout_after_training_mode() -> None:
    model = build("general", "global", True)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    _, weights = run(model, batch("right"))
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=0, atol=1e-12)


def test_hidden_states_and_attentions_are_given_on_request_only() -> None:
    model, inputs = build("general", "local-m", True), batch("right")
    made = model(**inputs)
    assert made.cross_attentions is None and made.decoder_hidden_states is None and made.cache is None
    made = model(**inputs, output_attentions=True, output_hidden_states=True)
    assert [tuple(t.shape) for t in made.decoder_hidden_states] == [(5, 12, 4), (5, 12, 5)]
    assert [tuple(t.shape) for t in made.encoder_hidden_states] == [(5, 10, 4), (5, 10, 5)]


@pytest.mark.parametrize("feed", [True, False])
def test_bfloat16_autocast_is_finite_and_near_float32(feed: bool) -> None:
    model, inputs = build("general", "local-p", feed).float(), batch("right")
    exact = model(**inputs)
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(**inputs)
    rough.loss.backward()
    assert rough.logits.isfinite().all()
    assert (rough.logits.float() - exact.logits).abs().max() < 0.2
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
