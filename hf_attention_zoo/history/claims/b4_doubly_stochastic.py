"""B4: the doubly stochastic term makes a captioner look at every region, and its captions get better."""

from __future__ import annotations

from functools import partial

import torch
from matplotlib.figure import Figure
from torch import Tensor

from hf_attention_zoo.history.claim import Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_bars
from hf_attention_zoo.history.planted_grids import CELLS, KINDS, SIDE, captioner, picture_batches, pictures
from hf_attention_zoo.history.synthetic import FIRST, held_out_draws, training_draws
from hf_attention_zoo.history.training import accuracy, decode, train

STEPS, BATCH, HELD_OUT = 500, 32, 400
FULL, FEW = CELLS, 3  # objects in a picture


def trial(objects: int, weight: float, seed: int, budget: Budget) -> Measures:
    """Train a captioner; how much each cell was looked at in all, and which objects it names twice or not at all."""
    model = captioner("soft", weight)
    batches = picture_batches(training_draws(seed), BATCH, objects)
    train(model, batches, budget.steps(STEPS), rate=5e-3)
    batch, _ = next(pictures(held_out_draws(seed), HELD_OUT, objects))
    with torch.no_grad():
        said = model(**batch, output_attentions=True)
    looked = said.cross_attentions[0][:, 0].sum(1)  # (B, CELLS), over the words and the end symbol
    labels = batch.pop("labels")
    written = decode(model, batch, objects + 1)
    repeated, missing = repeated_and_missing(written, labels[:, :-1])
    return {
        "uneven": (1 - looked).abs().mean().item(),
        "loss": said.loss.item(),
        "words": accuracy(written, labels),
        "repeated": repeated,
        "missing": missing,
        "looked": looked[0].view(SIDE, SIDE).tolist(),
    }


def repeated_and_missing(written: Tensor, objects: Tensor) -> tuple[float, float]:
    """Words (N, W) against the objects of the pictures (N, K): named once more, and never named, for each object."""
    kinds = torch.arange(FIRST, FIRST + KINDS)
    times = (written[:, :, None] == kinds).sum(1)  # (N, KINDS)
    there = (objects[:, :, None] == kinds).any(1)
    repeated = (times - 1).clamp(min=0).sum() / there.sum()
    return repeated.item(), (there & (times == 0)).sum().item() / there.sum().item()


def draw(figure: Figure, results: Results) -> None:
    """How unevenly cells are looked at, mistakes, and one picture's cells with and without the term."""
    figure.set_size_inches(11, 3.2)
    uneven, words, missing, *maps = figure.subplots(1, 5, width_ratios=(1.4, 1.4, 1.4, 1, 1))
    names = {"full": "9 objects,\nλ = 0", "full_even": "9 objects,\nλ = 1", "few": "3 objects,\nλ = 0"}
    names["few_even"] = "3 objects,\nλ = 1"
    for axes, measure, said in (
        (uneven, "uneven", "|1 - what a cell got|, mean"),
        (words, "words", "words right"),
        (missing, "missing", "objects not named"),
    ):
        draw_bars(axes, {name: results.of(f"{arm}/{measure}") for arm, name in names.items()}, said)
        axes.tick_params(axis="x", labelsize=6.5, labelrotation=0)
    for axes, arm, said in zip(maps, ("full", "full_even"), ("λ = 0", "λ = 1"), strict=True):
        cells = results.of(f"{arm}/looked")[0]
        axes.imshow(cells, vmin=0, vmax=2, cmap="Blues")
        for row, column in ((row, column) for row in range(SIDE) for column in range(SIDE)):
            axes.text(column, row, f"{cells[row][column]:.1f}", ha="center", va="center", fontsize=8)
        axes.set_axis_off()
        axes.set_title(f"weight of each cell,\n9 objects, {said}", fontsize=8)


CLAIM = Claim(
    number="B4",
    title=Text("Look at everything once", "모든 곳을 한 번씩 보기"),
    statement=Text(
        "A term that asks for a total weight of 1 for every region makes captions attend more evenly, and better.",
        "모든 영역의 가중치 합이 1이 되도록 요구하는 항은 어텐션을 고르게 하고 캡션을 더 낫게 만든다.",
    ),
    paper="Xu et al. 2015",
    year=2015,
    printed=(
        "Section 4.2.1: the term improves BLEU and makes captions richer and more descriptive; no numbers without it",
    ),
    data=f"grids of {CELLS} cells as annotation vectors with noise, {FULL} or {FEW} different objects of {KINDS} "
    f"kinds each; the caption lists them in reading order; {HELD_OUT} held out",
    models=("show_attend_tell",),
    equal="everything but λ. Nine words and the end symbol can give nine cells 1 each; three words cannot",
    metric="the mean of |1 - the weight that a cell gets in all words of its caption|, given the right words; words "
    "right, and objects named twice or never, in what greedy search writes",
    refuted_by="with λ = 1 cells get weights as uneven as with 0, or words are not more often right",
    parts=(
        Difference("9 objects, unevenness: λ = 0 over 1", "full/uneven", "full_even/uneven"),
        Difference("3 objects, unevenness: λ = 0 over 1", "few/uneven", "few_even/uneven"),
        Difference("9 objects, words right: λ = 1 over 0", "full_even/words", "full/words"),
        Difference("3 objects, words right: λ = 1 over 0", "few_even/words", "few/words"),
        Difference("9 objects, never named: λ = 0 over 1", "full/missing", "full_even/missing"),
    ),
    arms={
        "full": partial(trial, FULL, 0.0),
        "full_even": partial(trial, FULL, 1.0),
        "few": partial(trial, FEW, 0.0),
        "few_even": partial(trial, FEW, 1.0),
    },
    draw=draw,
    seen=Text(
        "The term does what it says: with λ = 1 the deviation is {full_even/uneven:.3f} and {few_even/uneven:.3f}, "
        "the least that ten and four steps over nine cells allow. But it was small before, {full/uneven:.3f} and "
        "{few/uneven:.3f}, since a list of objects must look around anyway. Captions are no better: "
        "{full_even/words:.1%} of the words right with it and {full/words:.1%} without it for nine objects, where "
        "little is left to gain, {few_even/words:.1%} and {few/words:.1%} for three.",
        "이 항은 말 그대로 작동한다. λ = 1이면 어긋난 정도가 {full_even/uneven:.3f}과 {few_even/uneven:.3f}으로, "
        "칸 아홉 개에 열 스텝과 네 스텝으로 이룰 수 있는 최솟값이다. 그러나 없을 때도 {full/uneven:.3f}과 "
        "{few/uneven:.3f}으로 이미 작았다. 물체를 차례로 말하려면 어차피 둘러보아야 하기 때문이다. 캡션은 나아지지 "
        "않는다. 물체가 아홉이면 있을 때 {full_even/words:.1%}, 없을 때 {full/words:.1%}로 더 얻을 것이 거의 없고, "
        "셋이면 {few_even/words:.1%}와 {few/words:.1%}이다.",
    ),
    minutes=0.4,
)
