"""What the Trainer computes: batches, the scale of the loss, and numbers that are exact for the whole split."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer

ROW = get_architecture("rnnsearch")


class Padding:
    """As much of a tokenizer as the collator needs."""

    padding_side = "right"
    pad_token_id = 0
    model_input_names = ["input_ids", "attention_mask"]

    def pad(self, features: list[dict[str, Any]], **kwargs: Any) -> Any:
        from transformers import BatchEncoding

        width = max(len(feature["input_ids"]) for feature in features)
        rows = [feature["input_ids"] + [0] * (width - len(feature["input_ids"])) for feature in features]
        masks = [[1] * len(feature["input_ids"]) + [0] * (width - len(feature["input_ids"])) for feature in features]
        return BatchEncoding({"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(masks)})


def pairs(count: int, longest: int = 9) -> Dataset:
    generator = torch.Generator().manual_seed(count)
    rows = []
    for _ in range(count):
        source, target = (int(torch.randint(1, longest, (), generator=generator)) for _ in range(2))
        ids = [*torch.randint(4, 40, (source,), generator=generator).tolist(), 3]
        labels = [*torch.randint(4, 40, (target,), generator=generator).tolist(), 3]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels})
    return Dataset.from_list(rows)


def build(tmp_path: Path, train: Dataset, evaluation: Dataset | None = None, **arguments: Any) -> ZooSeq2SeqTrainer:
    torch.manual_seed(0)
    model = ROW.model_classes["AutoModelForSeq2SeqLM"](ROW.tiny_config())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    args = ZooTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, disable_tqdm=True, logging_steps=1, save_strategy="no", **arguments
    )
    return ZooSeq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=evaluation,
        data_collator=DataCollatorForSeq2Seq(Padding(), model=model),
    )


def summed_loss(model: torch.nn.Module, data: Dataset) -> tuple[torch.Tensor, int]:
    """Negative log likelihood of all labels, one sentence at a time."""
    total, count = torch.zeros(()), 0
    for row in data:
        labels = torch.tensor([row["labels"]])
        scores = model(input_ids=torch.tensor([row["input_ids"]]), labels=labels).logits.log_softmax(dim=-1)
        total = total - scores.gather(2, labels[..., None]).sum()
        count += labels.numel()
    return total, count


def test_the_clipped_gradient_is_that_of_the_sum_over_target_tokens(tmp_path: Path) -> None:
    data = pairs(8)
    trainer = build(
        tmp_path, data, max_steps=1, per_device_train_batch_size=8, loss_scale="batch_sum", max_grad_norm=1.0
    )
    loss, count = summed_loss(trainer.model, data)
    norm = torch.sqrt(sum(g.square().sum() for g in torch.autograd.grad(loss, list(trainer.model.parameters()))))
    trainer.train()
    logged = trainer.state.log_history[0]
    assert logged["grad_norm"] == pytest.approx(norm.item(), rel=1e-4)
    assert logged["loss"] == pytest.approx(loss.item() / count, rel=1e-4)


def test_the_loss_of_a_sentence_scales_the_gradient_and_not_the_log(tmp_path: Path) -> None:
    data = pairs(8)
    for size, accumulation in ((8, 1), (2, 4)):
        trainer = build(
            tmp_path,
            data,
            max_steps=1,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
            loss_scale="sentence_mean",
        )
        loss, count = summed_loss(trainer.model, data)
        gradients = torch.autograd.grad(loss / 8, list(trainer.model.parameters()))
        trainer.train()
        logged = trainer.state.log_history[0]
        assert logged["grad_norm"] == pytest.approx(sum(g.square().sum() for g in gradients).sqrt().item(), rel=1e-4)
        assert logged["loss"] == pytest.approx(loss.item() / count, rel=1e-4)


def test_embeddings_can_be_left_out_of_the_norm_but_not_of_the_clipping(tmp_path: Path) -> None:
    data = pairs(6)
    trainer = build(
        tmp_path,
        data,
        max_steps=1,
        per_device_train_batch_size=6,
        loss_scale="sentence_mean",
        clip_norm_without_embeddings=True,
        max_grad_norm=0.01,
        optim="sgd",
        learning_rate=1.0,
        lr_scheduler_type="constant",
    )
    before = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}
    loss = summed_loss(trainer.model, data)[0] / 6
    gradients = dict(zip(before, torch.autograd.grad(loss, list(trainer.model.parameters())), strict=True))
    norm = sum(g.square().sum() for name, g in gradients.items() if "embed_tokens" not in name).sqrt()
    trainer.train()
    assert trainer.state.log_history[0]["grad_norm"] == pytest.approx(norm.item(), rel=1e-4)
    for name, parameter in trainer.model.named_parameters():
        wanted = before[name] - gradients[name] * 0.01 / norm
        torch.testing.assert_close(parameter.detach(), wanted, rtol=1e-4, atol=1e-6, msg=name)


def test_accumulated_batches_give_the_sum_of_the_whole_batch(tmp_path: Path) -> None:
    data = pairs(8)
    logs = []
    for size, accumulation in ((8, 1), (2, 4)):
        trainer = build(
            tmp_path,
            data,
            max_steps=2,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
            loss_scale="batch_sum",
            optimizer="adadelta",
            learning_rate=1.0,
        )
        trainer.train()
        logs.append([(entry["loss"], entry["grad_norm"]) for entry in trainer.state.log_history[:2]])
    torch.testing.assert_close(torch.tensor(logs[0]), torch.tensor(logs[1]), rtol=1e-4, atol=1e-5)


def test_a_step_of_the_paper_recipe_is_adadelta_on_the_clipped_sum(tmp_path: Path) -> None:
    data = pairs(6)
    trainer = build(
        tmp_path,
        data,
        max_steps=1,
        per_device_train_batch_size=6,
        loss_scale="batch_sum",
        optimizer="adadelta",
        learning_rate=1.0,
        max_grad_norm=1.0,
        lr_scheduler_type="constant",
    )
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    gradients = torch.autograd.grad(summed_loss(trainer.model, data)[0], list(trainer.model.parameters()))
    norm = torch.sqrt(sum(gradient.square().sum() for gradient in gradients))
    assert norm > 1
    trainer.train()
    for parameter, start, gradient in zip(trainer.model.parameters(), before, gradients, strict=True):
        clipped = gradient / norm
        step = clipped * math.sqrt(1e-6) / torch.sqrt(0.05 * clipped.square() + 1e-6)
        torch.testing.assert_close(parameter.detach(), start - step, rtol=1e-3, atol=1e-6)


def test_a_bad_gradient_can_shrink_the_weights_instead_of_ruining_them(tmp_path: Path) -> None:
    trainer = build(tmp_path, pairs(4), max_steps=1, shrink_on_bad_gradient=True, optim="sgd", learning_rate=1.0)
    trainer.args.max_grad_norm = 0.0
    parameter = trainer.model.get_output_embeddings().weight
    parameter.register_hook(lambda gradient: gradient * float("nan"))
    before = parameter.detach().clone()
    trainer.train()
    torch.testing.assert_close(parameter.detach(), 0.9 * before)


def test_evaluation_gives_the_exact_loss_per_token(tmp_path: Path) -> None:
    evaluation = pairs(11)
    trainer = build(
        tmp_path,
        pairs(4),
        evaluation,
        per_device_eval_batch_size=4,
        predict_with_generate=False,
        label_smoothing_factor=0.3,
    )
    metrics = trainer.evaluate()
    trainer.model.eval()
    total, count = summed_loss(trainer.model, evaluation)
    assert metrics["eval_loss"] == pytest.approx(total.item() / count, rel=1e-5)
    assert metrics["eval_perplexity"] == pytest.approx(math.exp(total.item() / count), rel=1e-4)
    assert metrics["eval_sentences"] == 11


def test_generation_in_evaluation_reaches_the_metrics_once_per_sentence(tmp_path: Path) -> None:
    seen: list[int] = []

    def count(prediction: Any) -> dict[str, float]:
        seen.append(len(prediction.predictions))
        return {"longest": float((prediction.predictions > 0).sum(axis=1).max())}

    trainer = build(
        tmp_path, pairs(4), pairs(7), per_device_eval_batch_size=3, generation_max_length=6, generation_num_beams=2
    )
    trainer.compute_metrics = count
    metrics = trainer.evaluate()
    assert seen == [7]
    assert 0 < metrics["eval_longest"] <= 6


def test_metrics_of_the_user_are_called_without_generation_as_by_the_library(tmp_path: Path) -> None:
    seen = {}

    def accuracy(prediction: Any) -> dict[str, float]:
        real = prediction.label_ids != -100
        guessed = prediction.predictions.argmax(-1)
        seen["shape"] = prediction.predictions.shape
        return {"accuracy": float((guessed == prediction.label_ids)[real].mean())}

    options = {"per_device_eval_batch_size": 3, "predict_with_generate": False}
    trainer = build(tmp_path, pairs(4), pairs(7), **options)
    trainer.compute_metrics = accuracy
    metrics = trainer.evaluate()
    longest = max(map(len, trainer.eval_dataset["labels"]))
    assert seen["shape"] == (7, longest, trainer.model.config.decoder_vocab_size)
    plain = Seq2SeqTrainer(
        model=trainer.model,
        args=trainer.args,
        eval_dataset=trainer.eval_dataset,
        data_collator=trainer.data_collator,
        compute_metrics=accuracy,
    )
    assert metrics["eval_accuracy"] == plain.evaluate()["eval_accuracy"]


@pytest.mark.parametrize(
    "batches", [{"pool_batches": 4}, {"max_tokens_per_batch": 64}, {"train_sampling_strategy": "group_by_length"}]
)
def test_batches_shrink_until_they_fit(tmp_path: Path, batches: dict[str, Any]) -> None:
    """`auto_find_batch_size` tries again with fewer rows, whatever the batches are cut by."""
    trainer = build(
        tmp_path, pairs(40), max_steps=2, per_device_train_batch_size=6, auto_find_batch_size=True, **batches
    )
    step, widest = trainer.training_step, []

    def too_large(model: Any, inputs: dict[str, Any], *rest: Any) -> torch.Tensor:
        widest.append(max(inputs["labels"].numel(), inputs["input_ids"].numel()))
        if trainer._train_batch_size > 5:
            raise RuntimeError("CUDA out of memory.")
        return step(model, inputs, *rest)

    trainer.training_step = too_large
    trainer.train()
    assert trainer.state.global_step == 2
    rows = [len(batch["labels"]) for batch in trainer.get_train_dataloader()]
    assert sum(rows) == 40
    if "max_tokens_per_batch" in batches:
        assert max(widest[-2:]) <= 64 * 5 // 6
    else:
        assert max(rows) == trainer._train_batch_size <= 5


def test_batches_keep_the_token_budget_and_cover_each_epoch(tmp_path: Path) -> None:
    data = pairs(40)
    trainer = build(tmp_path, data, max_tokens_per_batch=48)
    loader = trainer.get_train_dataloader()
    seen = 0
    for batch in loader:
        width = max(batch["input_ids"].shape[1], batch["labels"].shape[1])
        assert batch["labels"].shape[0] * width <= 48
        seen += batch["labels"].shape[0]
    assert seen == 40
    assert trainer.accelerator.even_batches is True


def test_fixed_batches_come_from_sorted_pools(tmp_path: Path) -> None:
    trainer = build(tmp_path, pairs(40), per_device_train_batch_size=5, pool_batches=4)
    widths = [max(batch["input_ids"].shape[1], batch["labels"].shape[1]) for batch in trainer.get_train_dataloader()]
    assert len(widths) == 8
    assert widths[:4] == sorted(widths[:4]) and widths[4:] == sorted(widths[4:])


def test_pools_can_be_shuffled_and_are_cut_anew_every_epoch(tmp_path: Path) -> None:
    trainer = build(tmp_path, pairs(40), per_device_train_batch_size=5, pool_batches=4, pool_order="shuffled")
    loader, epochs = trainer.get_train_dataloader(), []
    for epoch in range(2):
        loader.set_epoch(epoch)
        epochs.append([batch["labels"].tolist() for batch in loader])
    assert all(len(batches) == 8 for batches in epochs)
    widths = [max(map(len, batch)) for batch in epochs[0]]
    assert widths[:4] != sorted(widths[:4]) or widths[4:] != sorted(widths[4:])
    first, second = ({tuple(map(tuple, batch)) for batch in batches} for batches in epochs)
    assert first != second


def test_every_parameter_gets_a_gradient(tmp_path: Path) -> None:
    trainer = build(tmp_path, pairs(6))
    loss, _ = summed_loss(trainer.model, trainer.train_dataset)
    loss.backward()
    assert all(
        parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in trainer.model.parameters()
    )
    assert trainer.args.ddp_find_unused_parameters is False


def test_the_logged_loss_is_smoothed_as_the_transformers_authors_do(tmp_path: Path) -> None:
    data = pairs(5)
    trainer = build(
        tmp_path,
        data,
        max_steps=1,
        per_device_train_batch_size=5,
        label_smoothing_factor=0.2,
        label_smoothing_distribution="other_classes",
    )
    total, count = 0.0, 0
    for row in data:
        labels = torch.tensor([row["labels"]])
        with torch.no_grad():
            scores = trainer.model(input_ids=torch.tensor([row["input_ids"]]), labels=labels).logits.log_softmax(-1)
        at_label = scores.gather(2, labels[..., None]).sum()
        share = 0.2 / (scores.shape[-1] - 1)
        total -= (0.8 * at_label + share * (scores.sum() - at_label)).item()
        count += labels.numel()
    trainer.train()
    assert trainer.state.log_history[0]["loss"] == pytest.approx(total / count, rel=1e-4)
