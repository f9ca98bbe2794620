"""Losses and gradients: what Trainer relies on."""

import copy
from typing import Any

import pytest
import torch
from model_cases import Maker
from torch import Tensor
from transformers import DataCollatorForSeq2Seq

from hf_attention_zoo import get_architecture


def labelled(maker: Maker, lengths: tuple[int, ...] = (5, 3), target_length: int = 6) -> dict[str, Tensor]:
    """Sources and labels; the second row's labels end two positions early."""
    batch = maker.batch(list(lengths), target_length=target_length)
    del batch["decoder_input_ids"]
    labels = maker.ids(len(lengths), target_length, target=True, seed=7)
    labels[:, -1] = 3
    labels[1:, -2:] = -100
    return {**batch, "labels": labels}


def test_every_parameter_gets_a_gradient(seq2seq: Maker) -> None:
    model = seq2seq.model()
    model(**labelled(seq2seq)).loss.backward()
    untouched = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    assert untouched == []


def test_every_parameter_of_a_new_model_gets_a_gradient_tensor(seq2seq: Maker) -> None:
    """Distributed training waits for all of them, also where initial values make some gradients zero."""
    model = seq2seq.new().train()
    model(**labelled(seq2seq)).loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_loss_is_the_mean_over_labels_that_are_not_ignored(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), labelled(seq2seq)
    labels = batch["labels"]
    made = model(**batch)
    previous = torch.cat([torch.full((2, 1), 2), labels[:, :-1]], 1)
    logits = model(**{**batch, "labels": None}, decoder_input_ids=previous.masked_fill(previous == -100, 0)).logits
    torch.testing.assert_close(made.logits, logits)
    picked = logits.log_softmax(-1).gather(2, labels.clamp(min=0)[..., None])[..., 0]
    torch.testing.assert_close(made.loss, -picked[labels != -100].mean())


def test_what_follows_the_last_label_does_not_change_loss_or_gradient(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), labelled(seq2seq)
    longer = {**batch, "labels": torch.cat([batch["labels"], torch.full((2, 4), -100)], 1)}
    losses, gradients = [], []
    for inputs in (batch, longer):
        model.zero_grad()
        loss = model(**inputs).loss
        loss.backward()
        losses.append(loss.detach())
        gradients.append([p.grad.clone() for p in model.parameters()])
    torch.testing.assert_close(losses[0], losses[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("as_tensor", [True, False])
def test_the_number_of_items_in_the_batch_reaches_the_loss(seq2seq: Maker, as_tensor: bool) -> None:
    model, batch = seq2seq.model(), labelled(seq2seq)
    count = int((batch["labels"] != -100).sum())
    items = torch.tensor(2 * count) if as_tensor else 2 * count
    torch.testing.assert_close(model(**batch, num_items_in_batch=items).loss * 2, model(**batch).loss)


def test_accumulated_gradients_are_those_of_the_whole_batch(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), labelled(seq2seq, (5, 3, 7, 1))
    items = (batch["labels"] != -100).sum()
    model(**batch).loss.backward()
    whole = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for rows in (slice(0, 1), slice(1, 4)):
        model(**{name: tensor[rows] for name, tensor in batch.items()}, num_items_in_batch=items).loss.backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], whole, rtol=1e-10, atol=1e-10)


def test_a_batch_without_any_label_has_loss_zero(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), labelled(seq2seq)
    batch["labels"] = torch.full_like(batch["labels"], -100)
    loss = model(**batch).loss
    loss.backward()
    assert loss.item() == 0.0
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_a_loss_function_given_by_the_user_is_used(seq2seq: Maker) -> None:
    model, batch, seen = seq2seq.model(), labelled(seq2seq), {}

    def loss_function(**kwargs: object) -> Tensor:
        seen.update(kwargs)
        return torch.tensor(7.0)

    model.loss_function = loss_function
    assert model(**batch).loss.item() == 7.0
    assert torch.equal(seen["shift_labels"], batch["labels"]) and seen["labels"] is None


def test_labels_that_do_not_fit_the_decoder_inputs_are_refused(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), labelled(seq2seq)
    with pytest.raises(ValueError, match=r"labels have shape \(2, 6\), the decoder made \(2, 4\)"):
        model(**batch, decoder_input_ids=batch["labels"][:, :4].clamp(min=0))


def test_training_without_special_ids_is_refused(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(), labelled(seq2seq)
    model.config.decoder_start_token_id = None
    with pytest.raises(ValueError, match="decoder_start_token_id is None"):
        model(**batch)


def test_the_standard_collator_makes_the_decoder_inputs(seq2seq: Maker) -> None:
    """With label smoothing Trainer takes the labels away, and the collator's decoder inputs must be the model's."""
    model, batch = seq2seq.model(), labelled(seq2seq)

    class Padder:
        padding_side = "right"

        def pad(self, features: list[dict], **_: object) -> dict[str, Tensor]:
            return {name: torch.stack([torch.as_tensor(row[name]) for row in features]) for name in features[0]}

    features = [{name: tensor[row].tolist() for name, tensor in batch.items()} for row in range(2)]
    collated = DataCollatorForSeq2Seq(Padder(), model=model)(features)
    wanted = model(**batch).logits
    torch.testing.assert_close(model(**collated).logits, wanted)
    assert torch.equal(
        collated["decoder_input_ids"], model.prepare_decoder_input_ids_from_labels(labels=batch["labels"])
    )


def test_a_few_steps_of_adam_lower_the_loss_from_the_papers_initialisation(seq2seq: Maker) -> None:
    model, batch = seq2seq.new().train(), labelled(seq2seq)
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.03), []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_dropout_acts_in_training_only(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(dropout=0.5), labelled(seq2seq)
    assert torch.equal(model(**batch).logits, model(**batch).logits)
    model.train()
    assert not torch.equal(model(**batch).logits, model(**batch).logits)


def test_dropout_never_acts_on_exported_attention(attending: Maker) -> None:
    more = {"attention_dropout": 0.5} if hasattr(attending.case.config(), "attention_dropout") else {}
    model, batch = attending.model(dropout=0.5, **more).train(), labelled(attending)
    attending.check_sums(model(**batch, output_attentions=True).cross_attentions[0], 1e-5)


def test_training_keeps_no_state_from_one_batch_to_the_next(seq2seq: Maker) -> None:
    model, batch, other = seq2seq.model(), labelled(seq2seq), labelled(seq2seq, (2, 8), 3)
    before = model(**batch).loss
    model(**other).loss.backward()
    torch.testing.assert_close(model(**batch).loss, before, rtol=0, atol=0)
    assert model(**batch).cache is None


def test_two_backward_passes_over_one_graph_give_the_same_gradients(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), labelled(seq2seq)
    parameters = list(model.parameters())
    loss = model(**batch).loss
    first = torch.autograd.grad(loss, parameters, retain_graph=True)
    second = torch.autograd.grad(loss, parameters)
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_gradients_for_some_parameters_only_are_those_of_all(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(torch.float64), labelled(seq2seq)
    whole = dict(
        zip(
            dict(model.named_parameters()),
            torch.autograd.grad(model(**batch).loss, list(model.parameters())),
            strict=True,
        )
    )
    for name, parameter in model.named_parameters():
        (alone,) = torch.autograd.grad(model(**batch).loss, [parameter])
        torch.testing.assert_close(alone, whole[name], rtol=0, atol=1e-12, msg=name)
    frozen = copy.deepcopy(model)
    for name, parameter in frozen.named_parameters():
        parameter.requires_grad_("decoder" in name)
    frozen(**batch).loss.backward()
    for name, parameter in frozen.named_parameters():
        if parameter.requires_grad:
            torch.testing.assert_close(parameter.grad, whole[name], rtol=0, atol=1e-12, msg=name)
        else:
            assert parameter.grad is None


def test_training_under_autocast_is_close_to_float32(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(std=0.3), labelled(seq2seq)
    exact = model(**batch).loss
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(**batch).loss
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=0.05)
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_training_in_half_precision_gives_finite_gradients(seq2seq: Maker, dtype: torch.dtype) -> None:
    model = seq2seq.model(dtype, std=0.3)
    loss = model(**labelled(seq2seq)).loss
    loss.backward()
    assert loss.isfinite() and all(p.grad.isfinite().all() for p in model.parameters())


def test_activation_checkpointing_works_or_says_that_it_does_not(seq2seq: Maker) -> None:
    model, batch = seq2seq.model(dropout=0.0).train(), labelled(seq2seq)
    if not model.supports_gradient_checkpointing:
        with pytest.raises(ValueError, match="does not support activation checkpointing"):
            model.activation_checkpointing_enable()
        return
    model(**batch).loss.backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model.activation_checkpointing_enable()
    model(**batch).loss.backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], wanted)


@pytest.mark.parametrize("architecture", ["transformer2017", "bert2018", "gpt2018"])
def test_attention_on_a_cpu_learns_in_float32_under_autocast(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way back of torch's kernel in bfloat16 takes longer there than all else that autocast gains."""
    row = get_architecture(architecture)
    torch.manual_seed(0)
    model = row.model_classes["AutoModel"](row.tiny_config()).eval()
    seen: set[torch.dtype] = set()
    kernel = torch.nn.functional.scaled_dot_product_attention

    def noted(query: Tensor, *rest: Any, **more: Any) -> Tensor:
        seen.add(query.dtype)
        return kernel(query, *rest, **more)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", noted)
    ids = torch.tensor([[5, 6, 7, 8], [9, 5, 6, 0]])
    inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    if architecture == "transformer2017":
        inputs["decoder_input_ids"] = ids
    with torch.autocast("cpu", torch.bfloat16):
        learning = model(**inputs).last_hidden_state
        assert seen == {torch.float32}
        with torch.no_grad():
            read = model(**inputs).last_hidden_state
    assert torch.bfloat16 in seen
    torch.testing.assert_close(learning.float(), read.float(), rtol=0.1, atol=0.1)
