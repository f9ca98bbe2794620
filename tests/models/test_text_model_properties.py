"""Every head of the models that read one sequence of tokens a row: padding, saving, training, precision, export."""

import copy
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers import DynamicCache

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from model_cases import spread
from text_models import LENGTHS, batch, check_equal, row_alone

DROPOUTS = {
    "bert2018": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "gpt2018": ("residual_dropout", "embedding_dropout", "attention_dropout", "classifier_dropout"),
}


@dataclass(frozen=True)
class Head:
    """A head of an architecture, named by its Auto class."""

    model_type: str
    auto: str

    def __str__(self) -> str:
        return f"{self.model_type}-{self.auto.removeprefix('AutoModelFor')}"

    @property
    def model_class(self) -> type[Any]:
        return get_architecture(self.model_type).model_classes[self.auto]

    def new(self, dropout: float = 0.0, **changes: Any) -> Any:
        row = get_architecture(self.model_type)
        fields = {**row.tiny_config().to_diff_dict(), "num_labels": 2, "max_position_embeddings": 64, **changes}
        fields |= dict.fromkeys(DROPOUTS[self.model_type], dropout)
        return self.model_class(row.config_class(**fields)).eval()

    def model(self, dtype: torch.dtype = torch.float64, **changes: Any) -> Any:
        model = spread(self.new(**changes), std=0.4)
        model.tie_weights()
        return model.to(dtype)

    def batch(self, lengths: tuple[int, ...] = LENGTHS, **options: Any) -> dict[str, Tensor]:
        given = batch(lengths, **options)
        if self.auto == "AutoModelForMultipleChoice":
            return {name: torch.stack([tensor, tensor.flip(0)], 1) for name, tensor in given.items()}
        return given

    def labels(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        rows = len(given["input_ids"])
        of_rows = torch.arange(rows) % 2
        ids, mask = given["input_ids"], given["attention_mask"].bool()
        if self.auto in ("AutoModelForMaskedLM", "AutoModelForPreTraining"):
            words = {"labels": ids.where(mask & ((mask.cumsum(-1) % 3) == 1), -100)}
            return words | ({"next_sentence_label": of_rows} if self.auto == "AutoModelForPreTraining" else {})
        if self.auto == "AutoModelForCausalLM":
            return {"labels": ids.where(mask, -100)}
        if self.auto == "AutoModelForTokenClassification":
            return {"labels": (ids % 2).where(mask, -100)}
        if self.auto == "AutoModelForQuestionAnswering":
            first = mask.int().argmax(1)
            return {"start_positions": first + 1, "end_positions": first + 2}
        return {"labels": of_rows}


HEADS = [
    Head(name, auto)
    for name in ("bert2018", "gpt2018")
    for auto in get_architecture(name).models
    if auto != "AutoModel"
]


@pytest.fixture(params=HEADS, ids=str)
def head(request: pytest.FixtureRequest) -> Head:
    torch.manual_seed(0)
    return request.param


def outputs(model: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of the first kind of a model's output, without what belongs to pads."""
    with torch.no_grad():
        made = model(**given)
    mask = given["attention_mask"].bool()
    found = {}
    for name, value in made.items():
        if isinstance(value, Tensor):
            found[name] = value[mask] if value.shape[:2] == mask.shape and mask.ndim == 2 else value
    return found


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_padding_changes_neither_results_nor_losses_nor_gradients(head: Head, side: str, kernel: str) -> None:
    model = head.model()
    model.set_attn_implementation(kernel)
    seen = []
    for given in (head.batch(), head.batch(side=side, extra=3)):
        model.zero_grad()
        results = outputs(model, given)
        model.train()
        loss = model(**given, **head.labels(given)).loss
        loss.backward()
        model.eval()
        seen.append((results, loss.detach(), [p.grad.clone() for p in model.parameters()]))
    (plain, plain_loss, plain_grads), (padded, padded_loss, padded_grads) = seen
    for name, tensor in plain.items():
        check_equal(padded[name], tensor)
    check_equal(padded_loss, plain_loss)
    torch.testing.assert_close(padded_grads, plain_grads, rtol=1e-9, atol=1e-10)


def test_a_batch_gives_what_each_row_gives_alone(head: Head) -> None:
    model, given = head.model(), head.batch()
    whole = model(**given)
    for row in range(3):
        alone = {name: tensor[row : row + 1] for name, tensor in given.items()}
        if head.auto != "AutoModelForMultipleChoice":
            alone = row_alone(given, row)
        made = model(**alone)
        for name, tensor in made.items():
            if isinstance(tensor, Tensor):
                wanted = whole[name][row]
                if wanted.ndim >= 1 and tensor.shape[1] != wanted.shape[0]:
                    wanted = wanted[given["attention_mask"][row].bool()]
                check_equal(tensor[0], wanted)


def test_leaving_pads_out_is_exact_in_training_too(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    from hf_attention_zoo.attention.packing import Packing

    model, given = head.model().train(), head.batch((9, 2, 3), extra=2)
    labels = head.labels(given)
    results, calls = [], []
    original = Packing.of.__func__
    for off in (False, True):

        def of(cls: type, mask: Tensor | None, by_length: bool = False, off: bool = off) -> Packing | None:
            found = None if off else original(cls, mask, by_length)
            calls.append(found is not None)
            return found

        monkeypatch.setattr(Packing, "of", classmethod(of))
        model.zero_grad()
        loss = model(**given, **labels).loss
        loss.backward()
        results.append((loss.detach(), [p.grad.clone() for p in model.parameters()]))
    assert any(calls)
    torch.testing.assert_close(results[0], results[1], rtol=1e-9, atol=1e-10)


def test_devices_that_score_whole_rows_get_the_same_losses_and_gradients(
    head: Head, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hf_attention_zoo.parts import post_norm_layers

    model, given = head.model().train(), head.batch((9, 2, 3), extra=2)
    labels, results = head.labels(given), []
    for devices in (("cpu",), ()):
        monkeypatch.setattr(post_norm_layers, "ROW_DEVICES", devices)
        model.zero_grad()
        loss = model(**given, **labels).loss
        loss.backward()
        results.append((loss.detach(), [p.grad.clone() for p in model.parameters()]))
    torch.testing.assert_close(results[0], results[1], rtol=1e-9, atol=1e-10)


def test_what_stands_on_pads_does_not_matter(head: Head) -> None:
    model, given = head.model(), head.batch(extra=2)
    other = {**given, "input_ids": given["input_ids"].where(given["attention_mask"].bool(), 9)}
    for name, tensor in outputs(model, given).items():
        check_equal(outputs(model, other)[name], tensor, tolerance=1e-12)


def test_a_row_of_pads_is_finite_and_leaves_its_neighbours(head: Head) -> None:
    model, given = head.model(), head.batch((5, 6))
    empty = copy.deepcopy(given)
    empty["attention_mask"][0] = 0
    for kernel in ("sdpa", "eager"):
        model.set_attn_implementation(kernel)
        made, wanted = model(**empty), model(**given)
        tensors = [(t, wanted[n]) for n, t in made.items() if isinstance(t, Tensor)]
        assert tensors and all(t.isfinite().all() for t, _ in tensors)
        if head.auto != "AutoModelForMultipleChoice":
            for tensor, right in tensors:
                check_equal(tensor[1], right[1])


def test_every_parameter_gets_a_gradient_and_a_new_model_learns(head: Head) -> None:
    model = head.new().train()
    given = head.batch((8, 5, 7, 6))
    given |= head.labels(given)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for step in range(25):
        optimizer.zero_grad()
        loss = model(**given).loss
        loss.backward()
        if not step:
            missing = [name for name, p in model.named_parameters() if p.grad is None]
            assert not [name for name in missing if "embed_segments" not in name]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_parts_of_a_batch_add_up_to_the_whole(head: Head) -> None:
    model, given = head.model(), head.batch((8, 5, 7, 6))
    given |= head.labels(given)
    if "labels" not in given:
        return
    items = (given["labels"] != -100).sum()
    if head.auto == "AutoModelForCausalLM":
        items = (given["labels"][:, 1:] != -100).sum()
    if head.auto == "AutoModelForPreTraining":
        given.pop("next_sentence_label")  # its mean is over rows, the number of which no part knows
    model(**given).loss.backward()
    whole = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    for rows in (slice(0, 1), slice(1, 4)):
        model(**{name: tensor[rows] for name, tensor in given.items()}, num_items_in_batch=items).loss.backward()
    parts = [p.grad for p in model.parameters() if p.grad is not None]
    torch.testing.assert_close(parts, whole, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.bfloat16], ids=str)
def test_half_precision_is_close_and_trains_without_nan(head: Head, dtype: torch.dtype) -> None:
    given = head.batch()
    model = head.new()
    half = copy.deepcopy(model).to(dtype)
    for name, tensor in outputs(half, given).items():
        wanted = outputs(model, given)[name]
        real = wanted > -1e30
        assert tensor.dtype == dtype
        assert (tensor.float() - wanted)[real].abs().max() < 0.06 * max(1.0, wanted[real].abs().max().item())
    loss = half.train()(**given, **head.labels(given)).loss
    loss.backward()
    assert loss.isfinite() and all(p.grad.isfinite().all() for p in half.parameters() if p.grad is not None)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_activations_give_the_same_gradients(head: Head, reentrant: bool) -> None:
    model, given = head.model().train(), head.batch()
    given |= head.labels(given)
    model(**given).loss.backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model.activation_checkpointing_enable({"use_reentrant": reentrant})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model(**given).loss.backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], wanted, rtol=1e-9, atol=1e-10)


def test_saved_models_come_back_through_their_auto_class(head: Head, tmp_path: Path) -> None:
    model, given = head.model(torch.float32), head.batch()
    model.save_pretrained(tmp_path)
    auto = getattr(transformers, head.auto)
    again, report = auto.from_pretrained(tmp_path, output_loading_info=True)
    assert type(again) is head.model_class and not any(report.values()), report
    for name, tensor in outputs(model, given).items():
        check_equal(outputs(again, given)[name], tensor, tolerance=1e-5)
    body = transformers.AutoModel.from_pretrained(tmp_path)
    assert all(torch.equal(t, body.state_dict()[name]) for name, t in model.model.state_dict().items())


@pytest.mark.parametrize("source", ["AutoModelForPreTraining", "AutoModelForCausalLM"])
def test_a_pre_trained_body_goes_into_every_head(head: Head, source: str, tmp_path: Path) -> None:
    if source not in get_architecture(head.model_type).models:
        return
    trained = Head(head.model_type, source).model(torch.float32)
    trained.save_pretrained(tmp_path)
    model, report = head.model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["unexpected_keys"]
    assert {name.split(".")[0] for name in report["missing_keys"]} <= {"task"}
    theirs = trained.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in model.model.state_dict().items())


def test_weights_of_attention_sum_to_one_and_are_zero_on_pads(head: Head) -> None:
    model, given = head.model(), head.batch(extra=1)
    made = model(**given, output_attentions=True, output_hidden_states=True)
    mask = given["attention_mask"].flatten(0, -2).bool()
    assert len(made.attentions) == 2 and len(made.hidden_states) == 3
    for weights in made.attentions:
        assert weights.shape == (len(mask), 4, mask.shape[1], mask.shape[1])
        rows = weights.transpose(1, 2)[mask]  # of attending tokens: (n, heads, T)
        check_equal(rows.sum(-1), torch.ones_like(rows[..., 0]))
        assert (weights.masked_select(~mask[:, None, None, :]) == 0).all()
    plain = model(**given)
    for name in ("logits", "prediction_logits", "start_logits"):
        if name in plain:
            real = given["attention_mask"].bool()
            check_equal(made[name], plain[name], real if real.ndim == 2 else None)


def test_vectors_take_the_place_of_ids(head: Head) -> None:
    model, given = head.model(), head.batch()
    wanted = outputs(model, given)
    vectors = model.get_input_embeddings()(given["input_ids"])
    mask = {"attention_mask": given["attention_mask"]}
    made = outputs(model, {**mask, "inputs_embeds": vectors})
    for name, tensor in wanted.items():
        check_equal(made[name], tensor, tolerance=1e-12)
    with pytest.raises(ValueError, match="exactly one"):
        model(**given, inputs_embeds=vectors)


def test_an_exported_program_does_not_depend_on_where_pads_stand(head: Head) -> None:
    model, given = head.model(torch.float32), head.batch()
    model.config.use_cache = False  # a cache is no tensor, which a program could return
    program = torch.export.export(model, (), given, strict=False)
    other = head.batch((3, 10, 1))
    wanted = outputs(model, other)
    made = program.module()(**other)
    mask = other["attention_mask"].bool()
    for name, tensor in wanted.items():
        value = made[name]
        value = value[mask] if value.shape[:2] == mask.shape and mask.ndim == 2 else value
        check_equal(value, tensor, tolerance=1e-5)


def test_a_traced_program_does_not_depend_on_where_pads_stand(head: Head) -> None:
    model, given = head.model(torch.float32), head.batch()
    model.config.use_cache = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.jit.trace(model, example_kwarg_inputs=given, strict=False, check_trace=False)
    other = head.batch((3, 10, 1))
    mask = other["attention_mask"].bool()
    made = program(**other)
    for name, tensor in outputs(model, other).items():
        value = made[name]
        value = value[mask] if value.shape[:2] == mask.shape and mask.ndim == 2 else value
        check_equal(value, tensor, tolerance=1e-5)


def test_wrong_inputs_say_what_came_and_what_to_do(head: Head) -> None:
    model, given = head.model(), head.batch()
    ids, mask = given["input_ids"], given["attention_mask"]
    with pytest.raises(ValueError, match="the texts have shape"):
        model(ids[..., :0], attention_mask=mask[..., :0])
    with pytest.raises(ValueError, match="attention_mask has shape"):
        model(ids, attention_mask=mask[..., :3])
    with pytest.raises(ValueError, match="65 positions were asked for, but the model has 64"):
        model(torch.ones(*ids.shape[:-1], 65, dtype=torch.long))
    words = model.config.vocab_size
    with pytest.raises(ValueError, match=rf"id {words} is outside 0 to {words - 1}: the model has {words} tokens"):
        model(torch.full_like(ids, words), attention_mask=mask)
    if "token_type_ids" in given:
        with pytest.raises(ValueError, match=r"id 7 is outside 0 to 1: the model has 2 segments"):
            model(**{**given, "token_type_ids": torch.full_like(ids, 7)})
    if head.auto == "AutoModelForQuestionAnswering":
        return  # answers that begin or end outside of a text are left out, as transformers does
    wrong = {name: torch.full_like(tensor, 999) for name, tensor in head.labels(given).items()}
    with pytest.raises(ValueError, match=r"label 999 is outside 0 to \d+"):
        model(**given, **wrong)


def test_vocabularies_are_resized_and_stay_tied(head: Head, tmp_path: Path) -> None:
    model, given = head.model(torch.float32), head.batch()
    before = outputs(model, given)
    model.resize_token_embeddings(60)
    assert model.config.vocab_size == 60 == len(model.get_input_embeddings().weight)
    for name, tensor in outputs(model, given).items():
        check_equal(tensor[..., : before[name].shape[-1]], before[name], tolerance=1e-5)
    if hasattr(model, "lm_head"):
        assert model.lm_head.weight is model.get_input_embeddings().weight and model.lm_head.out_features == 60
    model.save_pretrained(tmp_path)
    again = head.model_class.from_pretrained(tmp_path)
    for name, tensor in outputs(model, given).items():
        check_equal(outputs(again, given)[name], tensor, tolerance=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("name", ["SequenceClassification", "NextSentencePrediction", "MultipleChoice", "PreTraining"])
def test_a_pooled_text_read_from_left_to_right_is_read_to_its_end(name: str, side: str) -> None:
    head = Head("bert2018", f"AutoModelFor{name}")
    model, given = head.model(left_to_right=True), head.batch(side=side, extra=2)
    mask = given["attention_mask"].bool()
    last = mask & (mask.cumsum(-1) == mask.sum(-1, keepdim=True))
    pooled = "seq_relationship_logits" if name == "PreTraining" else "logits"
    before = model(**given)[pooled]
    for changed in (last, mask & ~last):  # the last token alone, and all before it
        ids = given["input_ids"].where(~changed, 50 - given["input_ids"])
        moved = (model(**{**given, "input_ids": ids})[pooled] - before).abs().flatten(1).amax(1)
        assert moved.min() > 1e-3
    check_equal(model(**head.batch())[pooled], before)


# --- continuing texts ------------------------------------------------------------------------------------------------

CAUSAL = Head("gpt2018", "AutoModelForCausalLM")


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_no_token_sees_those_behind_it(kernel: str) -> None:
    model, given = CAUSAL.model(), batch()
    model.set_attn_implementation(kernel)
    changed = {**given, "input_ids": given["input_ids"].clone()}
    changed["input_ids"][:, 3] = 7
    before, after = model(**given).logits, model(**changed).logits
    check_equal(after[:, :3], before[:, :3], tolerance=1e-12)
    assert (after[:, 3] - before[:, 3]).abs().amax(-1).min() > 1e-3


@pytest.mark.parametrize("side", ["right", "left"])
def test_steps_with_a_cache_give_the_logits_of_the_whole(side: str) -> None:
    model, given = CAUSAL.model(), batch((9, 9) if side == "right" else (9, 5), side=side)
    whole = model(**given, use_cache=False).logits
    cache, seen = DynamicCache(config=model.config), []
    for start, end in ((0, 4), (4, 5), (5, 8), (8, 9)):
        made = model(
            given["input_ids"][:, start:end],
            attention_mask=given["attention_mask"][:, :end],
            cache=cache,
            use_cache=True,
        )
        cache = made.cache
        seen.append(made.logits)
    check_equal(torch.cat(seen, 1), whole, given["attention_mask"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_beams": 3, "num_return_sequences": 2},
        {"cache_implementation": "static"},
        {"do_sample": True, "top_k": 5},
    ],
    ids=["greedy", "beams", "static", "sampling"],
)
def test_texts_are_continued_the_same_with_a_cache_without_it_and_one_by_one(options: dict[str, Any]) -> None:
    model, given = CAUSAL.model(torch.float32), batch((6, 3), side="left")
    made = []
    for use_cache in (True, False):
        if not use_cache and "cache_implementation" in options:
            options = {}
        torch.manual_seed(0)
        made.append(model.generate(**given, max_new_tokens=8, use_cache=use_cache, pad_token_id=1, **options))
    assert torch.equal(made[0], made[1])
    if not options.get("do_sample"):
        alone = model.generate(given["input_ids"][1:, 3:], max_new_tokens=8, pad_token_id=1, **options)
        count = options.get("num_return_sequences", 1)
        assert torch.equal(made[0][count:, 6:], alone[:, 3:])


def test_beams_scored_again_have_the_scores_that_the_search_gave_them() -> None:
    model = CAUSAL.model(torch.float32)
    prompt = batch((4,))["input_ids"]
    made = model.generate(
        prompt, max_new_tokens=6, num_beams=4, num_return_sequences=4, length_penalty=0.0, pad_token_id=1,
        output_scores=True, return_dict_in_generate=True,
    )  # fmt: skip
    with torch.no_grad():
        logits = model(made.sequences).logits[:, 3:-1].log_softmax(-1)
    scores = logits.gather(2, made.sequences[:, 4:, None]).sum((1, 2))
    check_equal(scores, made.sequences_scores, tolerance=1e-4)


def test_only_the_logits_asked_for_are_made() -> None:
    model, given = CAUSAL.model(), batch()
    whole = model(**given).logits
    check_equal(model(**given, logits_to_keep=2).logits, whole[:, -2:], tolerance=1e-12)
    places = torch.tensor([1, 3])
    check_equal(model(**given, logits_to_keep=places).logits, whole[:, places], tolerance=1e-12)


def test_labels_smoothed_by_the_trainer_are_shifted(tmp_path: Path) -> None:
    from hf_attention_zoo.training.arguments import ZooTrainingArguments
    from hf_attention_zoo.training.zoo_trainer import ZooTrainer

    model, given = CAUSAL.model(torch.float32), batch()
    labels = given["input_ids"].where(given["attention_mask"].bool(), -100)
    arguments = ZooTrainingArguments(output_dir=str(tmp_path), label_smoothing_factor=0.1, use_cpu=True, report_to=[])
    trainer = ZooTrainer(model=model, args=arguments)
    loss = trainer.compute_loss(model, {**given, "labels": labels})
    logits, targets = model(**given).logits[:, :-1], labels[:, 1:]
    wanted = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=-100, label_smoothing=0.1
    )
    check_equal(loss, wanted, tolerance=1e-4)
