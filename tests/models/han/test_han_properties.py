"""What must hold whatever the weights are: pads, order, batches, saving, dtypes, labels of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, Trainer, TrainingArguments

from hf_attention_zoo import HANConfig, HANForSequenceClassification, get_architecture

POOLINGS = ("attention", "average", "max")


@pytest.fixture(params=POOLINGS)
def pooling(request: pytest.FixtureRequest) -> str:
    return request.param


def spread(pooling: str = "attention", **changes: Any) -> HANForSequenceClassification:
    row = get_architecture("han")
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), "pooling": pooling, **changes})
    model = HANForSequenceClassification(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 1.5 if "embed" in name else 0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return model


def documents() -> tuple[torch.Tensor, torch.Tensor]:
    """Three documents of 3, 1 and 4 sentences, padded to 4 sentences of 6 words."""
    ids = torch.randint(2, 48, (3, 4, 6), generator=torch.Generator().manual_seed(3))
    lengths = torch.tensor([[6, 2, 4, 0], [3, 0, 0, 0], [1, 5, 2, 6]])
    mask = (torch.arange(6) < lengths[..., None]).long()
    return ids * mask, mask


def logits(model: Any, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    with torch.no_grad():
        return model(ids, mask).logits


def test_a_batch_is_each_document_by_itself_without_its_pads(pooling: str) -> None:
    model, (ids, mask) = spread(pooling), documents()
    together = logits(model, ids, mask)
    for row in range(3):
        sentences, words = int(mask[row].any(-1).sum()), int(mask[row].sum(-1).max())
        alone = logits(model, ids[row : row + 1, :sentences, :words], mask[row : row + 1, :sentences, :words])
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-6)
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(logits(model, ids[order], mask[order]), together[order], rtol=0, atol=1e-6)


def test_pads_of_any_content_on_any_side_of_both_axes_change_nothing(pooling: str) -> None:
    model, (ids, mask) = spread(pooling), documents()
    wanted = logits(model, ids, mask)
    for places in ((0, 3, 0, 2), (3, 0, 2, 0), (1, 2, 1, 1)):
        wider = torch.nn.functional.pad(ids, places, value=7)
        torch.testing.assert_close(
            logits(model, wider, torch.nn.functional.pad(mask, places)), wanted, rtol=0, atol=1e-6
        )
    apart = torch.zeros(3, 4, 12, dtype=torch.long)
    apart_mask = apart.clone()
    apart[..., ::2], apart_mask[..., ::2] = ids, mask
    torch.testing.assert_close(logits(model, apart, apart_mask), wanted, rtol=0, atol=1e-6)


def test_an_empty_sentence_anywhere_is_no_sentence(pooling: str) -> None:
    model, (ids, mask) = spread(pooling), documents()
    wanted = logits(model, ids, mask)
    for place in range(5):
        nothing = torch.full((3, 1, 6), 5)
        wider = torch.cat([ids[:, :place], nothing, ids[:, place:]], 1)
        wider_mask = torch.cat([mask[:, :place], 0 * nothing, mask[:, place:]], 1)
        torch.testing.assert_close(logits(model, wider, wider_mask), wanted, rtol=0, atol=1e-6)


def test_an_empty_document_gives_the_bias_and_its_neighbours_nothing_else(pooling: str) -> None:
    model, (ids, mask) = spread(pooling), documents()
    wanted = logits(model, ids, mask)
    made = logits(model, torch.cat([ids, ids[:1]]), torch.cat([mask, 0 * mask[:1]]))
    torch.testing.assert_close(made[:3], wanted, rtol=0, atol=1e-6)
    assert torch.equal(made[3], model.classifier.bias)
    for width in (0, 4):
        empty = torch.zeros(2, width, 3, dtype=torch.long)
        assert torch.equal(logits(model, empty, empty), model.classifier.bias.expand(2, -1))


@pytest.mark.parametrize("empty", [False, True])
def test_every_parameter_gets_a_finite_gradient_also_from_empty_documents(pooling: str, empty: bool) -> None:
    model, (ids, mask) = spread(pooling), documents()
    model(ids, 0 * mask if empty else mask, labels=torch.tensor([0, 1, 2])).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert empty or parameter.grad.abs().sum() > 0, name
    if not empty:
        seen = torch.zeros(48, dtype=torch.bool)
        seen[ids[mask.bool()]] = True
        assert torch.equal(model.model.embed_tokens.weight.grad.abs().sum(1) > 0, seen)


def test_without_a_mask_every_id_but_the_pad_is_a_word() -> None:
    model, (ids, mask) = spread(), documents()
    assert torch.equal(logits(model, ids, None), logits(model, ids, mask))


def test_embedded_words_are_read_like_ids(pooling: str) -> None:
    model, (ids, mask) = spread(pooling), documents()
    with torch.no_grad():
        made = model(inputs_embeds=model.get_input_embeddings()(ids), attention_mask=mask).logits
    torch.testing.assert_close(made, logits(model, ids, mask), rtol=0, atol=1e-6)


def test_weights_sum_to_one_where_there_are_words_and_are_zero_elsewhere() -> None:
    model, (ids, mask) = spread(), documents()
    mask[1] = 0
    words, sentences = model(ids, mask, output_attentions=True).attentions
    torch.testing.assert_close(words.sum(-1), mask.any(-1).float())
    torch.testing.assert_close(sentences.sum(-1), mask.any(-1).any(-1).float())
    assert not words[mask == 0].any() and not sentences[~mask.any(-1)].any()
    torch.testing.assert_close((words * sentences[..., None]).sum((1, 2)), torch.tensor([1.0, 0.0, 1.0]))


def test_hidden_states_are_those_of_words_and_sentences_and_zero_at_pads() -> None:
    model, (ids, mask) = spread(), documents()
    embedded, words, sentences = model(ids, mask, output_hidden_states=True).hidden_states
    assert (embedded.shape, words.shape, sentences.shape) == ((3, 4, 6, 8), (3, 4, 6, 12), (3, 4, 12))
    assert not words[mask == 0].any() and not sentences[~mask.any(-1)].any()
    torch.testing.assert_close(model.model(ids, mask).last_hidden_state, sentences, rtol=0, atol=1e-6)
    made = model(ids, mask, output_hidden_states=True)
    made.hidden_states[0].retain_grad()
    made.logits.sum().backward()
    assert torch.equal(made.hidden_states[0].grad.abs().sum(-1) > 0, mask.bool())


def test_context_vectors_of_zero_are_the_average_network() -> None:
    model, average, (ids, mask) = spread(), spread("average"), documents()
    average.load_state_dict(model.state_dict(), strict=False)
    with torch.no_grad():
        for level in (model.model.words, model.model.sentences):
            level.pooling.context_vector.zero_()
    torch.testing.assert_close(logits(model, ids, mask), logits(average, ids, mask), rtol=0, atol=1e-6)


def test_the_order_of_words_and_of_sentences_matters() -> None:
    model, (ids, mask) = spread(), documents()
    wanted = logits(model, ids, mask)[2]
    other_sentences = logits(model, ids[2:, [1, 0, 2, 3]], mask[2:, [1, 0, 2, 3]])[0]
    other_words = ids[2:].clone()
    other_words[0, 1, :2] = other_words[0, 1, :2].flip(0)
    assert not torch.allclose(other_sentences, wanted, atol=1e-3)
    assert not torch.allclose(logits(model, other_words, mask[2:])[0], wanted, atol=1e-3)


def test_large_scores_choose_one_word_without_nan_and_small_ones_beside_them_stay() -> None:
    model, (ids, mask) = spread(), documents()
    with torch.no_grad():
        model.model.words.pooling.context_vector.mul_(1e4)
    words, _ = model(ids, mask, output_attentions=True).attentions
    assert words.isfinite().all()
    best = words.max(-1).values[mask.any(-1)]
    torch.testing.assert_close(best, torch.ones_like(best), rtol=0, atol=1e-4)


def test_the_maximum_has_no_weights_to_give() -> None:
    ids, mask = documents()
    with pytest.raises(ValueError, match="pooling='max' gives no weights"):
        spread("max")(ids, mask, output_attentions=True)


def test_dropout_reads_every_word_by_itself_and_rests_in_evaluation() -> None:
    model, (ids, mask) = spread(dropout=0.5), documents()
    assert torch.equal(logits(model, ids, mask), logits(model, ids, mask))
    torch.testing.assert_close(logits(model, ids, mask), logits(spread(), ids, mask), rtol=0, atol=1e-6)
    model.train()
    assert not torch.equal(logits(model, ids, mask), logits(model, ids, mask))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_stays_near_and_trains(pooling: str, dtype: torch.dtype) -> None:
    model, (ids, mask) = spread(pooling), documents()
    wanted = logits(model, ids, mask)
    half = model.to(dtype)
    assert (logits(half, ids, mask).float() - wanted).abs().max() < 0.2
    half(ids, mask, labels=torch.tensor([0, 1, 2])).loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in half.parameters())


def test_autocast_stays_near_float32_and_keeps_gradients_wide() -> None:
    model, (ids, mask) = spread(), documents()
    exact = model(ids, mask, labels=torch.tensor([0, 1, 2])).loss
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(ids, mask, labels=torch.tensor([0, 1, 2])).loss
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.1)
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())


def test_saved_and_loaded_the_model_is_the_same(pooling: str, tmp_path: Path) -> None:
    model, (ids, mask) = spread(pooling), documents()
    model.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert type(again) is HANForSequenceClassification
    torch.testing.assert_close(logits(again, ids, mask), logits(model, ids, mask), rtol=0, atol=1e-6)
    body = AutoModel.from_pretrained(tmp_path)
    with torch.no_grad():
        wanted = model.model(ids, mask).pooler_output
        torch.testing.assert_close(body(ids, mask).pooler_output, wanted, rtol=0, atol=1e-6)


def test_a_checkpoint_that_lacks_a_tensor_keeps_all_that_it_has(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    spread().save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    for missing in ("model.words.reader.forward_unit.gate_weight", "model.words.pooling.context_vector"):
        rest = {name: tensor for name, tensor in state.items() if name != missing}
        save_file(rest, tmp_path / "model.safetensors", metadata={"format": "pt"})
        again = HANForSequenceClassification.from_pretrained(tmp_path).state_dict()
        assert all(torch.equal(again[name], tensor) for name, tensor in rest.items())
        assert again[missing].isfinite().all() and 0 < again[missing].abs().max() < 5


def test_a_new_model_starts_orthogonal_and_spread_as_its_config_says() -> None:
    model = HANForSequenceClassification(HANConfig(vocab_size=300, embedding_size=40, hidden_size=30))
    for block in model.model.words.reader.forward_unit.gate_weight.split(30):
        torch.testing.assert_close(block @ block.T, torch.eye(30), atol=1e-5, rtol=0)
    assert model.model.embed_tokens.weight.std().item() == pytest.approx(0.1, rel=0.05)
    assert 0.05 < model.model.sentences.pooling.context_vector.std().item() < 0.15
    assert not model.classifier.bias.any()


def test_the_embedding_can_be_resized() -> None:
    model, (ids, mask) = spread(), documents()
    wanted = logits(model, ids, mask)
    model.resize_token_embeddings(60)
    assert model.config.vocab_size == 60 and torch.equal(logits(model, ids, mask), wanted)


@pytest.mark.parametrize(
    "ids, mask, message",
    [
        (torch.ones(3, 7, dtype=torch.long), None, r"HAN reads \(documents, sentences, words\)"),
        (torch.ones(0, 2, 3, dtype=torch.long), None, "at least one document"),
        (torch.ones(1, 2, 3, dtype=torch.long), torch.ones(1, 2, 4), r"attention_mask has shape \(1, 2, 4\)"),
        (None, None, "exactly one of input_ids and inputs_embeds"),
    ],
)
def test_words_of_another_shape_are_refused(ids: Any, mask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spread()(ids, mask)


@pytest.mark.parametrize(
    "kind, labels, outputs",
    [
        ("single_label_classification", torch.tensor([0, 2, 1, 1]), 3),
        ("multi_label_classification", torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]), 3),
        ("regression", torch.tensor([0.5, -1.0, 2.0, 0.0]), 1),
    ],
)
def test_losses_of_parts_of_a_batch_add_up_to_that_of_the_whole(kind: str, labels: torch.Tensor, outputs: int) -> None:
    model = spread(problem_type=kind, num_labels=outputs)
    ids, mask = documents()
    ids, mask = torch.cat([ids, ids[:1] + 1]), torch.cat([mask, mask[:1]])
    whole = model(ids, mask, labels=labels).loss
    items = labels.numel()
    parts = [model(ids[p], mask[p], labels=labels[p], num_items_in_batch=items).loss for p in (slice(3), slice(3, 4))]
    torch.testing.assert_close(sum(parts), whole)
    direct = {
        "single_label_classification": lambda out: torch.nn.functional.cross_entropy(out, labels),
        "multi_label_classification": lambda out: torch.nn.functional.binary_cross_entropy_with_logits(out, labels),
        "regression": lambda out: ((out[:, 0] - labels) ** 2).mean(),
    }[kind](model(ids, mask).logits)
    torch.testing.assert_close(whole, direct)


@pytest.mark.parametrize("labels, message", [([0, 1, 3], "label 3 is outside 0 to 2"), ([0, 1], "give one per text")])
def test_labels_that_do_not_fit_are_refused(labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spread()(*documents(), labels=torch.tensor(labels))


def test_trainer_learns_and_accumulates_like_one_batch(tmp_path: Path) -> None:
    ids, mask = documents()
    rows = [{"input_ids": ids[i % 3], "attention_mask": mask[i % 3], "labels": torch.tensor(i % 3)} for i in range(12)]

    def train(batch: int, accumulate: int) -> list[float]:
        torch.manual_seed(0)
        args = TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulate,
            num_train_epochs=5,
            learning_rate=0.02,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
            train_sampling_strategy="sequential",
        )
        trainer = Trainer(spread().train(), args, train_dataset=rows)
        trainer.train()
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    whole, parts = train(6, 1), train(3, 2)
    assert whole == pytest.approx(parts, rel=1e-3) and whole[-1] < whole[0] / 2
