"""The halving learning rate: the papers' tables, and that a run follows them."""

from pathlib import Path

import pytest
import torch
from datasets import Dataset

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.halving_schedule import halving_factor
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer


@pytest.mark.parametrize(
    ("epoch", "rate"),
    [(0, 0.7), (4.99, 0.7), (5.0, 0.35), (5.49, 0.35), (5.5, 0.175), (6.0, 0.0875), (7.0, 0.021875), (7.49, 0.021875)],
)
def test_rate_of_sutskever_is_halved_every_half_epoch_from_the_fifth(epoch: float, rate: float) -> None:
    assert 0.7 * halving_factor(epoch, 5.0, 0.5) == pytest.approx(rate)


@pytest.mark.parametrize(("first", "epochs"), [(5, 10), (8, 12)])
def test_rate_of_luong_is_halved_every_epoch_after_some(first: int, epochs: int) -> None:
    for number in range(1, epochs + 1):  # epochs counted from 1, as the paper does
        wanted = 0.5 ** max(0, number - first)
        for share in (0.0, 0.5, 0.999):
            assert halving_factor(number - 1 + share, first, 1.0) == wanted


def test_boundaries_reached_by_adding_up_steps_are_not_missed() -> None:
    steps_per_epoch = 7
    factors = [halving_factor(step * (1 / steps_per_epoch), 2.0, 1.0) for step in range(30)]
    assert factors[13] == 1.0 and factors[14] == 0.5 and factors[20] == 0.5 and factors[21] == 0.25


@pytest.mark.parametrize(("name", "value"), [("halve_learning_rate_from", -1.0), ("halve_learning_rate_every", 0.0)])
def test_impossible_intervals_are_refused(name: str, value: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name}={value}"):
        ZooTrainingArguments(output_dir=str(tmp_path), **{name: value})


@pytest.mark.parametrize("name", ["seq2seq_lstm", "luong"])
def test_a_run_with_the_papers_recipe_follows_its_schedule_and_learns(name: str, tmp_path: Path) -> None:
    row = get_architecture(name)
    settings = row.recipes["paper"]["training"]
    size = settings["per_device_train_batch_size"]
    words = torch.randint(4, 8, (2 * size, 4)).tolist()  # that they are few of 40 is soon learnt
    rows = [{"input_ids": ids, "attention_mask": [1] * 4, "labels": ids} for ids in words]
    torch.manual_seed(0)
    config = row.tiny_config()
    config.initializer_range = 0.5  # so few units hardly move from the paper's start
    args = ZooTrainingArguments(
        output_dir=str(tmp_path),
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        **settings,
    )
    trainer = ZooSeq2SeqTrainer(
        model=row.model_classes["AutoModelForSeq2SeqLM"](config),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda batch: {key: torch.tensor([one[key] for one in batch]) for key in batch[0]},
    )
    trainer.train()
    logs = [log for log in trainer.state.log_history if "loss" in log]
    assert len(logs) == 2 * settings["num_train_epochs"]  # two steps an epoch
    first, every = settings["halve_learning_rate_from"], settings["halve_learning_rate_every"]
    for step, log in enumerate(logs):
        wanted = settings["learning_rate"] * halving_factor(step / 2, first, every)
        assert log["learning_rate"] == pytest.approx(wanted)
    first_epoch, last_epoch = logs[:2], logs[-2:]  # the same pairs in two batches
    assert sum(log["loss"] for log in last_epoch) < 0.9 * sum(log["loss"] for log in first_epoch)
