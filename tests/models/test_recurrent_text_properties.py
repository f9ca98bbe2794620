"""Networks that read one text with a state, in all their forms: pads, steps, beams, carried states, starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.registry import CAUSAL
from hf_attention_zoo.seq2seq.recurrent_texts import RecurrentBody
from hf_attention_zoo.tasks.running_text.carried_states import load_carried, save_carried

sys.path.insert(0, str(Path(__file__).parent))

from model_cases import spread
from text_models import batch, check_equal, row_alone

LABELS = "AutoModelForSequenceClassification"
ONE_HOT: dict[str, Any] = {"embedding_size": None}
# Fields of each architecture's tiny config; one without an entry is read as it is.
FORMS: dict[str, list[dict[str, Any]]] = {
    "elman": [{}, {"activation": "tanh", "truncation": 1}, {**ONE_HOT, "truncation": 3}],
    "lstm1997": [
        {},
        {**ONE_HOT, "truncated_gradients": True},
        {"form": "forget_gate"},
        {"form": "peephole", "block_size": 1, "output_bias": True},
    ],
    "nnlm": [{}, {"direct_connections": False, "order": 2}],
}
ROWS = [row for row in list_architectures() if issubclass(row.model_classes["AutoModel"], RecurrentBody)]
CASES = [(row.model_type, changes) for row in ROWS for changes in FORMS.get(row.model_type, [{}])]
LABELLERS = {row.model_type for row in ROWS if LABELS in row.models}


def made(model_type: str, changes: dict[str, Any], auto: str = CAUSAL, dtype: torch.dtype = torch.float64) -> Any:
    row = get_architecture(model_type)
    fields = {**row.tiny_config().to_diff_dict(), "num_labels": 3, **changes}
    return spread(row.model_classes[auto](row.config_class(**fields)), std=0.5).to(dtype)


@pytest.fixture(params=CASES, ids=lambda case: "-".join([case[0], *map(str, case[1].values())]))
def case(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


def test_the_rows_are_there() -> None:
    assert {row.model_type for row in ROWS} >= {"elman", "lstm1997", "nnlm"}
    assert {"elman", "lstm1997"} <= LABELLERS


@pytest.fixture
def labelled_case(case: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """A case of an architecture that labels texts, too."""
    if case[0] not in LABELLERS:
        pytest.skip(f"{case[0]} predicts words alone")
    return case


@pytest.mark.parametrize("auto", [CAUSAL, LABELS])
def test_pads_on_either_side_change_neither_results_nor_losses_nor_gradients(
    case: tuple[str, dict[str, Any]], auto: str
) -> None:
    if auto not in get_architecture(case[0]).models:
        pytest.skip(f"{case[0]} predicts words alone")
    model = made(*case, auto)

    def read(given: dict[str, Tensor]) -> tuple[Tensor, Tensor, list[Tensor]]:
        model.zero_grad()
        mask = given["attention_mask"].bool()
        labels = given["input_ids"].where(mask, -100) if auto == CAUSAL else torch.tensor([0, 1, 2])
        outputs = model(**given, labels=labels)
        outputs.loss.backward()
        logits = outputs.logits[mask] if auto == CAUSAL else outputs.logits
        return logits.detach(), outputs.loss.detach(), [weight.grad.clone() for weight in model.parameters()]

    wanted = read(batch())
    for side, extra in (("left", 3), ("right", 2)):
        found = read(batch(side=side, extra=extra))
        check_equal(found[0], wanted[0])
        check_equal(found[1], wanted[1])
        torch.testing.assert_close(found[2], wanted[2], rtol=1e-9, atol=1e-10)
    given = batch(side="left")
    whole = model(**given).logits
    for row in range(3):
        alone = model(**row_alone(given, row)).logits
        check_equal(whole[row : row + 1, -alone.shape[1] :] if auto == CAUSAL else whole[row : row + 1], alone)


def test_steps_with_a_state_give_the_logits_of_the_whole(case: tuple[str, dict[str, Any]]) -> None:
    model, given = made(*case), batch((9, 5), side="left")
    whole = model(**given, use_cache=False)
    assert whole.cache is None
    cache, seen = None, []
    for start, end in ((0, 4), (4, 5), (5, 8), (8, 9)):
        mask = given["attention_mask"][:, :end]
        part = model(given["input_ids"][:, start:end], attention_mask=mask, cache=cache, use_cache=True)
        cache = part.cache
        seen.append(part.logits)
    check_equal(torch.cat(seen, 1), whole.logits, given["attention_mask"])
    check_equal(model(**given, logits_to_keep=2).logits, whole.logits[:, -2:])
    with pytest.raises(ValueError, match="cache has shape"):
        model(given["input_ids"][:1], cache=cache)


@pytest.mark.parametrize(
    "options",
    [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True, "top_k": 5}],
    ids=["greedy", "beams", "sampling"],
)
def test_texts_are_continued_the_same_with_a_state_without_it_and_one_by_one(
    case: tuple[str, dict[str, Any]], options: dict[str, Any]
) -> None:
    model, given = made(*case, dtype=torch.float32), batch((6, 3), side="left")
    found = []
    for use_cache in (True, False):
        torch.manual_seed(0)
        found.append(model.generate(**given, max_new_tokens=8, use_cache=use_cache, **options))
    assert torch.equal(*found)
    if not options.get("do_sample"):
        alone = model.generate(given["input_ids"][1:, 3:], max_new_tokens=8, **options)
        count = options.get("num_return_sequences", 1)
        assert torch.equal(found[0][count:, 6:], alone[:, 3:])


def test_a_continuation_goes_on_from_its_state_and_beams_have_their_scores(case: tuple[str, dict[str, Any]]) -> None:
    model, prompt = made(*case, dtype=torch.float32), batch((4,))["input_ids"]
    begun = model.generate(prompt, max_new_tokens=3, do_sample=False, return_dict_in_generate=True)
    further = model.generate(begun.sequences, cache=begun.cache, max_new_tokens=3, do_sample=False)
    assert torch.equal(further, model.generate(prompt, max_new_tokens=6, do_sample=False))
    found = model.generate(
        prompt, max_new_tokens=6, num_beams=4, num_return_sequences=4, length_penalty=0.0,
        output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    logits = model(found.sequences).logits[:, 3:-1].log_softmax(-1).detach()
    scores = logits.gather(2, found.sequences[:, 4:, None]).sum((1, 2))
    check_equal(scores, found.sequences_scores, tolerance=1e-4)


def test_a_text_without_a_token_has_the_state_zero(labelled_case: tuple[str, dict[str, Any]]) -> None:
    model = made(*labelled_case, LABELS)
    nothing = model(torch.zeros(1, 4, dtype=torch.long)).logits
    bias = model.classifier.bias
    check_equal(nothing, torch.zeros(1, 3, dtype=torch.float64) if bias is None else bias[None])


def test_a_stateful_training_goes_on_where_the_last_batch_ended(
    case: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    model_type, changes = case
    model = made(model_type, {**changes, "stateful": True})
    ids = batch((9, 9, 9))["input_ids"]
    whole = model(ids).logits
    check_equal(model(ids).logits, whole)  # only training carries
    model.train()
    first, second = model(ids[:, :4]).logits, model(ids[:, 4:7])
    check_equal(torch.cat([first, second.logits], 1), whole[:, :7])
    save_carried(model, tmp_path, 0, 1)
    other = made(model_type, {**changes, "stateful": True}).train()
    load_carried(other, tmp_path, 0, 1)
    check_equal(other(ids[:, 7:]).logits, whole[:, 7:])
    check_equal(model(ids[:2, 7:]).logits, whole[:2, 7:])  # fewer rows than before
    model.model.reset_state()
    check_equal(model(ids[:, :4]).logits, whole[:, :4])


def test_gates_begin_where_the_config_says_and_loaded_ones_stay(tmp_path: Path) -> None:
    row = get_architecture("lstm1997")
    starts = {"input_gate_bias": -3.0, "output_gate_bias": -2.0, "forget_gate_bias": 1.5}
    for form, wanted in (("original", [-3.0, -2.0]), ("forget_gate", [-3.0, 1.5, -2.0])):
        config = row.config_class(**{**row.tiny_config().to_diff_dict(), "form": form, **starts})
        model = row.model_classes["AutoModel"](config)
        for layer in model.layers:
            assert layer.gate_bias.unflatten(0, (len(wanted), -1))[:, 0].tolist() == wanted
            layer.gate_bias.data.normal_()
        model.save_pretrained(tmp_path / form)
        again = type(model).from_pretrained(tmp_path / form)
        assert torch.equal(again.layers[1].gate_bias, model.layers[1].gate_bias)


@pytest.mark.parametrize(
    ("model_type", "wrong", "said"),
    [
        ("elman", {"activation": "relu"}, "activation is 'relu'; choose one of logistic, tanh"),
        ("elman", {"truncation": 0}, "truncation is 0; sizes are 1 or more"),
        ("elman", {"tie_word_embeddings": True}, "W and V are two tables"),
        ("nnlm", {"order": 1}, "order is 1; give 2 or more"),
        ("nnlm", {"hidden_size": 0, "direct_connections": False}, "hidden_size is 0; give 1 or more, or 0 with"),
        ("nnlm", {"tie_word_embeddings": True}, "C and the outputs are two tables"),
        ("lstm1997", {"form": "1997"}, "form is '1997'; choose one of original, forget_gate, peephole"),
        ("lstm1997", {"block_size": 5}, "hidden_size 6 is no multiple of block_size 5"),
        ("lstm1997", {"form": "peephole"}, "block_size 2: each gate sees one cell; give 1"),
        ("lstm1997", {"form": "peephole", "block_size": 1, "truncated_gradients": True}, "choose form='forget_gate'"),
    ],
)
def test_settings_that_do_not_go_together_are_said(model_type: str, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        get_architecture(model_type).config_class(**wrong)
