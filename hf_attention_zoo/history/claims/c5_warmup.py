"""C5: a norm behind the sub-layer needs a warm-up, one before it does not."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from hf_attention_zoo.history.claim import Alike, Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.deep_encoder import DeepTagger
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.tagging import reversed_tags, tag_batches
from hf_attention_zoo.history.training import thinned, train

SYMBOLS, LENGTH = 10, 6
UNITS, HEADS, LAYERS = 32, 4, 6
STEPS, BATCH, WARMUP = 300, 64, 100
RATE = 3e-3


def trial(norm: str, warmup: int, seed: int, budget: Budget) -> Measures:
    """Learn to write a sentence from its end."""
    model = DeepTagger(SYMBOLS, UNITS, HEADS, LAYERS, True, norm)
    batches = tag_batches(training_draws(seed), BATCH, (LENGTH, LENGTH), SYMBOLS, reversed_tags)
    losses = train(model, batches, budget.steps(STEPS), rate=RATE, warmup=warmup)
    return {"loss": sum(losses[-20:]) / len(losses[-20:]), "curve": thinned(losses)}


def draw(figure: Figure, results: Results) -> None:
    """Losses with and without a warm-up."""
    figure.set_size_inches(8, 3.2)
    axes = figure.subplots(1, 2, sharey=True)
    for place, (norm, said) in enumerate((("behind", "norm behind (2017)"), ("before", "norm before"))):
        curves = {
            name: results.of(f"{norm}_{arm}/curve")
            for arm, name in (("warm", f"warm-up of {WARMUP} steps"), ("cold", "no warm-up"))
        }
        points = len(next(iter(curves.values()))[0])
        draw_lines(axes[place], [STEPS * (point + 0.5) / points for point in range(points)], curves, "step", "loss")
        axes[place].set_title(f"{said}, rate {RATE}", fontsize=9)


CLAIM = Claim(
    number="C5",
    title=Text("Warm-up for norms behind", "웜업이 필요한 이유"),
    statement=Text(
        "With the norm behind each sub-layer, as in 2017, a deep Transformer needs a warm-up of the rate; with the "
        "norm before it, it does not.",
        "2017년처럼 레이어 정규화를 뒤에 두면 깊은 Transformer는 학습률 웜업이 필요하고, 앞에 두면 필요하지 않다.",
    ),
    paper="Vaswani et al. 2017; Xiong et al. 2020",
    year=2017,
    printed=("Vaswani, Section 5.3: 4000 steps of warm-up; Xiong et al. 2020 compared both places of the norm",),
    data=f"sentences of {LENGTH} of {SYMBOLS} symbols, to be written from their end, made as they are needed",
    models=("torch",),
    equal=f"{LAYERS} layers of {UNITS} units of plain torch layers, since the zoo's Transformer has its norms "
    f"behind; "
    "steps, batches and their order, rate after the warm-up. Norms before have one norm more, behind the last layer",
    metric=f"loss of the last 20 of {STEPS} steps",
    refuted_by="norm behind: the loss without warm-up is not 0.1 above that with; or norm before: it is",
    parts=(
        Difference("norm behind: no warm-up over warm-up", "behind_cold/loss", "behind_warm/loss", least=0.1),
        Alike("norm before: no warm-up and warm-up", "before_cold/loss", "before_warm/loss", margin=0.1),
    ),
    arms={
        f"{norm}_{name}": partial(trial, norm, steps)
        for norm in ("behind", "before")
        for name, steps in (("warm", WARMUP), ("cold", 0))
    },
    draw=draw,
    seen=Text(
        "The claim did not come out here: with the norm behind, six narrow layers learned without warm-up "
        "to a loss of {behind_cold/loss:.4f}, and with it to {behind_warm/loss:.4f}, later by about the "
        "length of the warm-up. With the norm before it was the same, {before_cold/loss:.4f} and "
        "{before_warm/loss:.4f}. Layers of 32 units at a rate of 0.003 with clipped gradients are too tame; "
        "whether wider layers or a higher rate would show the need for a warm-up was not tried.",
        "여기서는 주장이 나타나지 않았습니다. 정규화를 뒤에 둔 좁은 여섯 층은 웜업 없이도 손실 "
        "{behind_cold/loss:.4f}까지 배웠고, 웜업이 있으면 {behind_warm/loss:.4f}로 웜업 길이만큼 "
        "늦었습니다. 정규화를 앞에 두어도 {before_cold/loss:.4f}와 {before_warm/loss:.4f}로 같았습니다. "
        "너비 32, 학습률 0.003, 기울기 클리핑으로는 너무 온순한 설정입니다. 더 넓은 층이나 더 큰 학습률에서 "
        "웜업이 필요해지는지는 해 보지 않았습니다.",
    ),
    minutes=0.3,
)
