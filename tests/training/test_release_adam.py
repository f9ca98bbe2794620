"""Adam and the schedules of the released codes of BERT and GPT, against their formulas."""

import math
from copy import deepcopy as copy_of
from pathlib import Path

import numpy as np
import pytest
import torch

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.historical_adam import BERTAdam, GPTAdam
from hf_attention_zoo.training.release_schedules import release_factor
from hf_attention_zoo.training.zoo_trainer import ZooTrainer


def by_formula(kind: type, value: float, gradients: list[float], lr: float, eps: float, decay: float) -> float:
    mean = square = 0.0
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        rate = lr if kind is BERTAdam else lr * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        value -= rate * (mean / (math.sqrt(square) + eps) + decay * value)
    return value


@pytest.mark.parametrize("kind", [BERTAdam, GPTAdam])
def test_updates_follow_the_released_code(kind: type) -> None:
    random = np.random.default_rng(0)
    gradients = random.normal(size=(6, 4))
    start = random.normal(size=4)
    decayed, other = (torch.nn.Parameter(torch.tensor(part)) for part in (start[:2], start[2:]))
    optimizer = kind(
        [{"params": [decayed], "weight_decay": 0.01}, {"params": [other], "weight_decay": 0.0}], lr=0.01, eps=1e-6
    )
    for row in gradients:
        decayed.grad, other.grad = torch.tensor(row[:2]), torch.tensor(row[2:])
        optimizer.step()
    found = torch.cat([decayed, other]).detach().numpy()
    for place in range(4):
        decay = 0.01 if place < 2 else 0.0
        expected = by_formula(kind, start[place], gradients[:, place].tolist(), 0.01, 1e-6, decay)
        assert found[place] == pytest.approx(expected, rel=1e-12)


def test_the_first_update_of_bert_is_three_times_as_large() -> None:
    steps = []
    for kind in (BERTAdam, GPTAdam):
        weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        weight.grad = torch.full((1,), 5.0, dtype=torch.float64)
        kind([weight], lr=1.0, eps=1e-12, weight_decay=0.0).step()
        steps.append(-weight.item())
    assert steps == pytest.approx([0.1 / math.sqrt(0.001), 1.0])


@pytest.mark.parametrize(
    ("name", "auto", "optimizer"),
    [
        ("bert2018", "AutoModelForPreTraining", "bert_adam"),
        ("bert2018", "AutoModelForMultipleChoice", None),
        ("gpt2018", "AutoModelForCausalLM", "gpt_adam"),
        ("gpt2018", "AutoModelForMultipleChoice", None),
    ],
)
def test_norms_and_biases_do_not_decay_and_tables_do(
    tmp_path: Path, name: str, auto: str, optimizer: str | None
) -> None:
    row = get_architecture(name)
    args = ZooTrainingArguments(
        output_dir=str(tmp_path), optimizer=optimizer, weight_decay=0.01, use_cpu=True, report_to=[]
    )
    model = row.model_classes[auto](row.tiny_config())
    trainer = ZooTrainer(model=model, args=args)
    trainer.create_optimizer()
    groups = trainer.optimizer.param_groups
    decays = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
    assert len(decays) == sum(len(group["params"]) for group in groups) == len(list(model.parameters()))
    for field, parameter in model.named_parameters():
        plain = field.endswith("bias") or "norm" in field
        assert plain == (parameter.ndim == 1), field
        assert decays[id(parameter)] == (0.0 if plain else 0.01), field


def test_a_state_survives_saving() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = BERTAdam([weight], lr=0.1)
    weight.grad = torch.tensor([1.0, -1.0, 0.5])
    optimizer.step()
    copy = torch.nn.Parameter(weight.detach().clone())
    again = BERTAdam([copy], lr=0.1)
    again.load_state_dict(copy_of(optimizer.state_dict()))
    copy.grad = weight.grad.clone()
    optimizer.step()
    again.step()
    assert torch.equal(weight, copy)


def test_constants_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="betas are below 1"):
        BERTAdam([torch.nn.Parameter(torch.ones(1))], betas=(1.0, 0.9))


def test_schedules_fall_from_the_first_step() -> None:
    linear = release_factor("bert_linear", 10, 100)
    assert [linear(done) for done in (0, 5, 9, 10, 50, 100)] == pytest.approx([0, 0.5, 0.9, 0.9, 0.5, 0])
    cosine = release_factor("gpt_cosine", 10, 100)
    assert cosine(10) == 1.0 and cosine(11) == pytest.approx(0.5 * (1 + math.cos(0.11 * math.pi)))
    assert cosine(50) == pytest.approx(0.5) and cosine(100) == pytest.approx(0.0) and cosine(9) == 0.9
    both = release_factor("gpt_linear", 10, 100)
    assert both(5) == pytest.approx(0.5 * 0.95)
    with pytest.raises(ValueError, match="one of bert_linear"):
        release_factor("flat", 1, 2)
