"""The Transformer's learning rate: the values of the formula, and that a run follows them at every update."""

from pathlib import Path

import pytest
import torch
from datasets import Dataset

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.noam_schedule import model_width, noam_rate
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer


@pytest.mark.parametrize(
    ("step", "width", "rate"),
    [(1, 512, 1.7469e-7), (4000, 512, 6.9877e-4), (100_000, 512, 1.3975e-4), (4000, 1024, 4.9411e-4)],
)
def test_the_rates_of_the_paper_come_out(step: int, width: int, rate: float) -> None:
    assert noam_rate(step, width, 4000) == pytest.approx(rate, rel=1e-4)


def test_the_rate_rises_in_a_line_and_falls_with_the_root() -> None:
    rates = [noam_rate(step, 16, 10) for step in range(1, 41)]
    assert rates.index(max(rates)) == 9
    assert rates[4] == pytest.approx(rates[9] / 2) and rates[39] == pytest.approx(rates[9] / 2)


@pytest.mark.parametrize("wrong", [(0, 512, 4000), (1, 0, 4000), (1, 512, 0)])
def test_update_zero_has_no_rate(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        noam_rate(*wrong)


def run_of_four_steps(tmp_path: Path, **settings: object) -> ZooSeq2SeqTrainer:
    row = get_architecture("rnnsearch")
    torch.manual_seed(0)
    words = torch.randint(4, 40, (8, 4)).tolist()
    trainer = ZooSeq2SeqTrainer(
        model=row.model_classes["AutoModelForSeq2SeqLM"](row.tiny_config()),
        args=ZooTrainingArguments(
            output_dir=str(tmp_path),
            use_cpu=True,
            disable_tqdm=True,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            per_device_train_batch_size=8,
            max_steps=4,
            noam_schedule=True,
            **settings,
        ),
        train_dataset=Dataset.from_list([{"input_ids": w, "attention_mask": [1] * 4, "labels": w} for w in words]),
        data_collator=lambda batch: {key: torch.tensor([one[key] for one in batch]) for key in batch[0]},
    )
    trainer.train()
    return trainer


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_a_run_uses_the_rate_of_each_update(tmp_path: Path, factor: float) -> None:
    trainer = run_of_four_steps(tmp_path, warmup_steps=2, learning_rate=factor)
    width = trainer.model.config.hidden_size
    logged = [log["learning_rate"] for log in trainer.state.log_history if "learning_rate" in log]
    assert logged == pytest.approx([factor * noam_rate(step, width, 2) for step in (1, 2, 3, 4)])


def test_the_width_is_the_configs_own() -> None:
    class Wide:
        d_model = 24
        hidden_size = 48

    class Nameless:
        pass

    assert model_width(Wide()) == 24
    with pytest.raises(ValueError, match="Nameless has neither d_model nor hidden_size"):
        model_width(Nameless())


@pytest.mark.parametrize("warmup", [0, 0.1, 2.5])
def test_a_warmup_that_is_no_number_of_steps_is_refused(warmup: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="whole number of steps"):
        ZooTrainingArguments(output_dir=str(tmp_path), noam_schedule=True, warmup_steps=warmup)


def test_two_schedules_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two schedules"):
        ZooTrainingArguments(
            output_dir=str(tmp_path), noam_schedule=True, warmup_steps=4, halve_learning_rate_from=1.0
        )
