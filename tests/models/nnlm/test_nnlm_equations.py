"""The neural language model against the paper's formulas by hand, its counts of parameters, and what it becomes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset

from hf_attention_zoo import NNLMConfig, NNLMForCausalLM, get_architecture
from hf_attention_zoo.models.nnlm.facts_nnlm import BEST_CONFIG, BEST_PARAMETERS
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.zoo_trainer import ZooTrainer

ROW = get_architecture("nnlm")
FORMS: list[dict[str, Any]] = [{}, {"direct_connections": False}, {"hidden_size": 0}, {"order": 2}]


def made(**changes: Any) -> NNLMForCausalLM:
    torch.manual_seed(1)
    fields = {**ROW.tiny_config().to_diff_dict(), "initializer_range": 0.5, **changes}
    return NNLMForCausalLM(NNLMConfig(**fields)).double().eval()


def by_hand(model: NNLMForCausalLM, text: list[int]) -> np.ndarray:
    """P(w_t | w_{t-1}, ..., w_{t-n+1}) of all words after each word of a text, in loops: (T, V)."""
    config = model.config
    n, m, h, vocabulary = config.order, config.embedding_size, config.hidden_size, config.vocab_size
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    C = weights["model.embed_tokens.weight"]
    H, d = (weights[f"model.hidden_projection.{one}"] for one in ("weight", "bias"))
    U, W, b = weights["lm_head.weight"][:, :h], weights["lm_head.weight"][:, h:], weights["lm_head.bias"]
    rows = []
    for t in range(1, len(text) + 1):
        x = []
        for k in range(1, n):
            x += C[text[t - k]].tolist() if t - k >= 0 else [0.0] * m
        a = [math.tanh(d[j] + sum(H[j, i] * x[i] for i in range(len(x)))) for j in range(h)]
        y = []
        for word in range(vocabulary):
            direct = sum(W[word, i] * x[i] for i in range(len(x))) if config.direct_connections else 0.0
            y.append(b[word] + direct + sum(U[word, j] * a[j] for j in range(h)))
        e = np.exp(np.array(y) - max(y))
        rows.append(e / e.sum())
    return np.array(rows)


@pytest.mark.parametrize("changes", FORMS, ids=str)
@torch.no_grad()
def test_probabilities_and_the_loss_are_the_formulas(changes: dict[str, Any]) -> None:
    model, text = made(**changes), [7, 9, 7, 30, 11, 2]
    wanted = by_hand(model, text)
    ids = torch.tensor([text])
    outputs = model(ids, labels=ids)
    found = outputs.logits[0].softmax(-1).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-12)
    likelihood = np.mean([math.log(wanted[t - 1, text[t]]) for t in range(1, len(text))])
    assert outputs.loss.item() == pytest.approx(-likelihood)


def test_gradients_are_those_of_finite_differences() -> None:
    model, ids = made(), torch.tensor([[7, 9, 7, 30, 11, 2]])
    loss = model(ids, labels=ids).loss
    loss.backward()
    for name, weight in model.named_parameters():
        place = int(weight.grad.abs().argmax())
        flat, step = weight.data.view(-1), 1e-6
        losses = []
        for sign in (1, -1):
            flat[place] += sign * step
            losses.append(model(ids, labels=ids).loss.item())
            flat[place] -= sign * step
        assert weight.grad.view(-1)[place].item() == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-5), (
            name
        )


@pytest.mark.parametrize(
    ("config", "count"),
    [({}, 5_762_483), (BEST_CONFIG, 2_158_273), ({"hidden_size": 0}, 4_931_283)],
    ids=["MLP1", "MLP9", "MLP3"],
)
def test_parameters_are_those_of_table_1(config: dict[str, Any], count: int) -> None:
    """V (1 + n m + h) + h (1 + (n - 1) m) with direct connections, V (1 + m + h) + h (1 + (n - 1) m) without."""
    with torch.device("meta"):
        model = NNLMForCausalLM(NNLMConfig(**config))
    found = model.config
    V, n, m, h = found.vocab_size, found.order, found.embedding_size, found.hidden_size
    features = n * m if found.direct_connections else m
    assert model.num_parameters() == count == V * (1 + features + h) + h * (1 + (n - 1) * m)
    assert (ROW.paper_parameters, BEST_PARAMETERS) == (5_762_483, 2_158_273)


@torch.no_grad()
def test_without_w_and_u_every_context_gives_the_unigrams() -> None:
    model = made()
    model.lm_head.weight.zero_()
    logits = model(torch.tensor([[7, 9, 7, 30], [3, 3, 41, 5]])).logits
    torch.testing.assert_close(logits, model.lm_head.bias.expand_as(logits))


@torch.no_grad()
def test_the_last_words_alone_count_and_their_order_does() -> None:
    model = made()  # three words before each
    text = torch.tensor([[5, 6, 7, 8, 9], [20, 21, 7, 8, 9], [5, 6, 8, 7, 9]])
    last = model(text).logits[:, -1]
    assert torch.equal(last[0], last[1]) and not torch.allclose(last[0], last[2])


@torch.no_grad()
def test_the_cache_is_the_last_words() -> None:
    model, text = made(), torch.tensor([[5, 6, 7, 8, 9]])
    cache = model(text, use_cache=True).cache
    nearest_first = model.model.embed_tokens(text[:, [4, 3, 2]]).flatten(1)
    assert list(cache.hypothesis) == ["words"] and torch.equal(cache.hypothesis["words"], nearest_first)


def test_the_papers_recipe_is_its_descent_rates_and_decay(tmp_path: Path) -> None:
    """eps_t = 1e-3 / (1 + 1e-8 t) of plain descent, t counting words, 63 of them an update; biases do not decay."""
    settings = {**ROW.pretraining_recipes["paper"]["training"], "max_steps": 3, "logging_steps": 1, "save_steps": 99}
    ids = torch.randint(5, 48, (64,)).tolist()
    trainer = ZooTrainer(
        made(),
        ZooTrainingArguments(str(tmp_path), use_cpu=True, report_to="none", disable_tqdm=True, **settings),
        train_dataset=Dataset.from_list([{"input_ids": ids, "labels": ids}] * 4),
    )
    decayed = set(trainer.get_decay_parameter_names(trainer.model))
    assert decayed == {"model.embed_tokens.weight", "model.hidden_projection.weight", "lm_head.weight"}  # C, H, [U W]
    trainer.train()
    assert isinstance(trainer.optimizer.optimizer, torch.optim.SGD)
    assert {group["weight_decay"] for group in trainer.optimizer.param_groups} == {1e-4, 0.0}
    rates = [log["learning_rate"] for log in trainer.state.log_history if "loss" in log]
    assert rates == pytest.approx([63 * 1e-3 / (1 + 1e-8 * 63 * t) for t in range(3)], rel=1e-9)
    with pytest.raises(ValueError, match="learning_rate_decay and another schedule"):
        ZooTrainingArguments(str(tmp_path), learning_rate_decay=1e-8, halve_learning_rate_from=1.0)
    with pytest.raises(ValueError, match=r"learning_rate_decay=-1\.0; it must be 0 or more"):
        ZooTrainingArguments(str(tmp_path), learning_rate_decay=-1.0)
