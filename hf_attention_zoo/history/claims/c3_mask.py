"""C3: with a mask no word sees the future; without one BERT sees both sides."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from hf_attention_zoo import (
    BERT2018Config,
    BERT2018ForMaskedLM,
    GPT2018Config,
    GPT2018ForCausalLM,
    Transformer2017Config,
    Transformer2017ForConditionalGeneration,
)
from hf_attention_zoo.history.claim import Budget, Claim, Difference, Exact, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import FIRST, IGNORED, START, held_out_draws, training_draws
from hf_attention_zoo.history.training import thinned, train

SYMBOLS, LENGTH = 10, 8
VOCABULARY = FIRST + SYMBOLS
STEPS, BATCH = 200, 32
EXACTLY = 1e-10  # what float64 may be off by
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "attn_implementation": "eager",
}


def made(kind: str) -> nn.Module:
    """A small model without dropout."""
    if kind == "decoder":
        special: dict[str, Any] = {"decoder_start_token_id": START, "bos_token_id": START, "pad_token_id": 0}
        return Transformer2017ForConditionalGeneration(Transformer2017Config(**SIZES, **special, dropout=0.0))
    if kind == "gpt":
        none: dict[str, Any] = dict.fromkeys(("residual_dropout", "embedding_dropout", "attention_dropout"), 0.0)
        return GPT2018ForCausalLM(GPT2018Config(**SIZES, **none))
    none = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)
    return BERT2018ForMaskedLM(BERT2018Config(**SIZES, **none, left_to_right=kind == "left_to_right"))


def reader(kind: str, model: Any) -> Callable[[Tensor], Tensor]:
    """Word vectors (1, T, D) -> logits (1, T, V); the decoder reads a fixed source beside them."""
    if kind != "decoder":
        return lambda vectors: model(inputs_embeds=vectors).logits
    source = torch.arange(FIRST, FIRST + LENGTH)[None]
    return lambda vectors: model(input_ids=source, decoder_inputs_embeds=vectors).logits


def table_of(kind: str, model: Any) -> nn.Embedding:
    """The words' vectors, of the target for the decoder."""
    return model.model.decoder.embed_tokens if kind == "decoder" else model.get_input_embeddings()


def influence(kind: str, model: nn.Module, seed: int) -> tuple[list[list[float]], float]:
    """Who depends on whom, in float64.

    Returns:
        |d logits_t / d x_j| for every t (rows) and j; the largest change of logits up to t when all words behind t
        are replaced.
    """
    random = held_out_draws(seed)
    exact = model.double().eval()
    read, table = reader(kind, exact), table_of(kind, exact)
    ids, others = (torch.from_numpy(random.integers(FIRST, VOCABULARY, (1, LENGTH))) for _ in range(2))
    with torch.no_grad():
        vectors, replaced = table(ids), table(others)
        whole, change = read(vectors), 0.0
        for place in range(1, LENGTH):
            changed = read(torch.cat((vectors[:, :place], replaced[:, place:]), 1))
            change = max(change, (changed - whole)[:, :place].abs().max().item())
    vectors.requires_grad_(True)
    logits = read(vectors)
    weights = torch.from_numpy(random.normal(size=VOCABULARY))
    rows = []
    for place in range(LENGTH):
        (gradient,) = torch.autograd.grad(logits[0, place] @ weights, vectors, retain_graph=True)
        rows.append(gradient[0].norm(dim=-1).tolist())
    model.float()
    return rows, change


def next_words(kind: str, seed: int) -> Iterator[dict[str, Tensor]]:
    """Endless random sentences, each word to be foretold from those before it: there is nothing to learn."""
    random = training_draws(seed)
    while True:
        ids = torch.from_numpy(random.integers(FIRST, VOCABULARY, (BATCH, LENGTH)))
        if kind == "decoder":
            yield {"input_ids": torch.from_numpy(random.integers(FIRST, VOCABULARY, (BATCH, LENGTH))), "labels": ids}
        elif kind == "gpt":
            yield {"input_ids": ids, "labels": ids}  # shifted by the model
        else:
            yield {"input_ids": ids, "labels": nn.functional.pad(ids[:, 1:], (0, 1), value=IGNORED)}


def trial(kind: str, seed: int, budget: Budget) -> Measures:
    """Who depends on whom in a fresh model; what the model then learns of random words."""
    model = made(kind)
    rows, change = influence(kind, model, seed)
    future = max(rows[place][other] for place in range(LENGTH) for other in range(place + 1, LENGTH))
    least = min(min(row) for row in rows)
    losses = train(model, next_words(kind, seed), budget.steps(STEPS))
    return {
        "no_future": float(change < EXACTLY and future < EXACTLY),
        "both_sides": float(least > 0),
        "change": change,
        "future_gradient": future,
        "first_loss": losses[0],
        "loss": sum(losses[-20:]) / len(losses[-20:]),
        "influence": rows,
        "curve": thinned(losses, 40),
    }


def draw(figure: Figure, results: Results) -> None:
    """Which output depends on which word, and what a leak does to the loss."""
    figure.set_size_inches(10, 3)
    axes = figure.subplots(1, 4, width_ratios=(1, 1, 1, 1.6))
    names = {"decoder": "Transformer's decoder", "gpt": "GPT", "bert": "BERT"}
    for axis, (arm, name) in zip(axes, names.items(), strict=False):
        rows = torch.tensor(results.of(f"{arm}/influence")[0])
        axis.imshow((rows / rows.amax(1, keepdim=True)) ** 0.3, cmap="Blues", vmin=0, vmax=1)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("word")
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0].set_ylabel("output")
    named = {"gpt": "GPT", "left_to_right": "BERT, left to right", "bert": "BERT, both sides"}
    curves = {name: results.of(f"{arm}/curve") for arm, name in named.items()}
    points = len(next(iter(curves.values()))[0])
    draw_lines(axes[3], [STEPS * (point + 0.5) / points for point in range(points)], curves, "step", "loss")
    axes[3].axhline(math.log(SYMBOLS), color="#888888", lw=0.8, ls=":")
    axes[3].set_title("next word of random sentences (dotted: ln 10)", fontsize=9)


CLAIM = Claim(
    number="C3",
    title=Text("A mask hides the future", "마스크는 미래를 가린다"),
    statement=Text(
        "With the mask of the decoder no output depends on a later word, exactly; BERT, without it, sees both sides.",
        "디코더의 마스킹이 있으면 어떤 출력도 뒤에 오는 단어에 의존하지 않는다(정확히 0). "
        "마스크가 없는 BERT는 양쪽을 모두 본다.",
    ),
    paper="Vaswani et al. 2017; Radford et al. 2018; Devlin et al. 2018",
    year=2017,
    printed=("Vaswani, Section 3.1: position i can depend only on the known outputs before i; no number is printed",),
    data=f"sentences of {LENGTH} of {SYMBOLS} symbols drawn alike; for the loss every word is foretold from those "
    "before it, which no honest model can do better than ln 10 = 2.303",
    models=("transformer2017", "gpt2018", "bert2018"),
    equal="layers, widths, heads, steps. BERT left to right and BERT differ in the mask alone",
    metric="float64: the largest change of an output when later words are replaced, the gradients to later words; "
    "the "
    "training loss of the last 20 steps",
    refuted_by="an output changes by more than rounding when a later word does, or one of BERT's does not",
    parts=(
        Exact("the Transformer's decoder sees no future", "decoder/no_future"),
        Exact("GPT sees no future", "gpt/no_future"),
        Exact("BERT, left to right, sees no future", "left_to_right/no_future"),
        Exact("BERT sees both sides", "bert/both_sides"),
        Difference("loss on random words: masked over not masked", "left_to_right/loss", "bert/loss", least=1.0),
    ),
    arms={kind: partial(trial, kind) for kind in ("decoder", "gpt", "left_to_right", "bert")},
    draw=draw,
    seen=Text(
        "With the mask neither replaced words nor gradients reached an earlier output: {decoder/change:.0f}, "
        "{gpt/change:.0f} and {left_to_right/change:.0f} in the decoder, GPT and BERT left to right, exactly; "
        "BERT's outputs all depended on all words. On random words, of which nothing can be foretold, masked "
        "models stayed at ln 10 (GPT {gpt/loss:.2f}), while BERT without the mask read the answer and came to "
        "{bert/loss:.2f}. A loss below what is possible is therefore the sign of a leak.",
        "마스크가 있으면 뒤의 단어를 바꾸어도, 기울기를 보아도 앞의 출력에 아무것도 닿지 않았습니다. 디코더 "
        "{decoder/change:.0f}, GPT {gpt/change:.0f}, 왼쪽에서 오른쪽으로 읽는 BERT "
        "{left_to_right/change:.0f}로 정확히 0입니다. BERT의 출력은 모두 모든 단어에 의존했습니다. 아무것도 "
        "예측할 수 없는 무작위 단어에서 마스크가 있는 모델은 ln 10에 머물렀고(GPT {gpt/loss:.2f}), 마스크가 "
        "없는 BERT는 답을 보고 {bert/loss:.2f}까지 내려갔습니다. 가능한 값보다 낮은 손실은 정답이 샌다는 "
        "표시입니다.",
    ),
    minutes=0.2,
)
