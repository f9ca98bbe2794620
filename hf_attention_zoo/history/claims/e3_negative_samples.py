"""E3: word vectors from a few noise words or from a tree, with frequent words left out or not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from hf_attention_zoo import Word2VecConfig, Word2VecForPreTraining
from hf_attention_zoo.history.claim import Alike, Budget, Claim, Difference, Measures, Text
from hf_attention_zoo.history.kept_results import Results
from hf_attention_zoo.history.pictures import draw_lines
from hf_attention_zoo.history.synthetic import training_draws
from hf_attention_zoo.history.training import parameters_of, train, watched
from hf_attention_zoo.losses.token_loss import IGNORED
from hf_attention_zoo.tasks.running_text.word_windows import keep_probabilities

PAD, FRAMES = 0, 10  # words that every subject has; they come first
SUBJECTS, WORDS = 20, 20
VOCABULARY = 1 + FRAMES + SUBJECTS * WORDS
FRAMED = 0.6  # the share of the text that frame words are
ASTRAY = 0.45  # of the other words, the share that is of any subject
LENGTH, WINDOW, NOISE, THRESHOLD = 20, 3, 20, 2e-3
STEPS, BATCH, EVERY = 600, 16, 30
# Each the best of three, 0.005 to 0.02 and 0.01 to 0.04, after 900 steps with seed 100.
RATES = {"hierarchical_softmax": 0.01, "negative_sampling": 0.02}
NEAREST = WORDS - 1  # as many as a word has others of its subject


def frequencies() -> np.ndarray:
    """How often each word is to be expected, (V,): within frames and within a subject the r-th as often as 1 / r."""
    ranks = 1 / np.arange(1, WORDS + 1)
    frames = 1 / np.arange(1, FRAMES + 1)
    subjects = np.tile(ranks / ranks.sum(), SUBJECTS) / SUBJECTS
    return np.concatenate([[0.0], FRAMED * frames / frames.sum(), (1 - FRAMED) * subjects])


def sentences(random: np.random.Generator, count: int) -> np.ndarray:
    """Sentences of one subject each, (count, LENGTH): its words, some of others, between frame words."""
    expected = frequencies()
    first = 1 + FRAMES
    of_frames, of_subject = expected[1:first] / FRAMED, expected[first : first + WORDS]
    framed = random.random((count, LENGTH)) < FRAMED
    frames = 1 + random.choice(FRAMES, (count, LENGTH), p=of_frames)
    words = random.choice(WORDS, (count, LENGTH), p=of_subject / of_subject.sum())
    subjects = np.where(
        random.random((count, LENGTH)) < ASTRAY,
        random.integers(0, SUBJECTS, (count, LENGTH)),
        random.integers(0, SUBJECTS, (count, 1)),
    )
    return np.where(framed, frames, first + WORDS * subjects + words)


def batches(random: np.random.Generator, threshold: float, noise: np.ndarray) -> Iterator[dict[str, Tensor]]:
    """Endless batches: what subsampling leaves of sentences, a window drawn around each word, noise for each row."""
    kept = keep_probabilities(1e6 * frequencies(), threshold)
    while True:
        drawn = sentences(random, BATCH)
        left = random.random(drawn.shape) < kept[drawn]
        order = np.argsort(~left, axis=1, kind="stable")  # what is left moves together, pads stand behind it
        ids = np.take_along_axis(np.where(left, drawn, PAD), order, 1)
        reach = np.repeat(random.integers(1, WINDOW + 1, (*ids.shape, 1)), 2, axis=2)
        yield {
            "input_ids": torch.from_numpy(ids),
            "labels": torch.from_numpy(np.where(ids == PAD, IGNORED, ids)),
            "reach": torch.from_numpy(reach),
            "noise_ids": torch.from_numpy(random.choice(VOCABULARY, (BATCH, NOISE), p=noise)),
        }


@torch.no_grad()
def recovered(vectors: Tensor) -> list[float]:
    """For each rank of words in their subject: the share of their nearest words that are of the same subject."""
    subjects = torch.arange(SUBJECTS * WORDS) // WORDS
    words = nn.functional.normalize(vectors[1 + FRAMES :], dim=-1)
    alike = (words @ words.T).fill_diagonal_(-2)
    right = subjects[alike.topk(NEAREST).indices] == subjects[:, None]  # (words, NEAREST)
    return right.float().mean(1).view(SUBJECTS, WORDS).mean(0).tolist()


def trial(output: str, threshold: float, seed: int, budget: Budget) -> Measures:
    """Learn vectors from so many sentences, and see every so often which words stand near those of their subject."""
    model = Word2VecForPreTraining(
        Word2VecConfig(
            vocab_size=VOCABULARY,
            embedding_size=16,
            output=output,
            window=WINDOW,
            num_negative_samples=5,
            word_counts=(1e6 * frequencies()).astype(int).tolist(),
        )
    )
    vectors = model.model.embed_tokens.weight
    noise = frequencies() ** model.config.noise_power
    curve: list[float] = []
    words: list[int] = []

    own_loss = watched(EVERY, lambda: curve.append(sum(recovered(vectors)) / WORDS))

    def loss_of(learner: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        words.append(int((batch["input_ids"] != PAD).sum()))
        return own_loss(learner, batch)

    random = training_draws(seed)
    train(
        model,
        batches(random, threshold, noise / noise.sum()),
        budget.steps(STEPS),
        rate=RATES[output],
        loss_of=loss_of,
    )
    by_rank = recovered(vectors)
    return {
        "parameters": parameters_of(model),
        "recovered": sum(by_rank) / WORDS,
        "rare": sum(by_rank[WORDS // 2 :]) / (WORDS - WORDS // 2),
        "words": sum(words) / len(words) / BATCH,
        "by_rank": by_rank,
        "curve": curve,
    }


def draw(figure: Figure, results: Results) -> None:
    """What is recovered against the sentences read, and by how frequent a word is."""
    figure.set_size_inches(9, 3.4)
    left, right = figure.subplots(1, 2, sharey=True)
    names = {
        "sampling": "negative sampling",
        "sampling_thinned": "negative sampling, subsampled",
        "tree": "hierarchical softmax",
        "tree_thinned": "hierarchical softmax, subsampled",
    }
    read = [BATCH * EVERY * step for step in range(len(results.of("tree/curve")[0]))]
    curves = {name: results.of(f"{arm}/curve") for arm, name in names.items()}
    draw_lines(left, read, curves, "sentences read", "near words of the same subject")
    ranks = {name: results.of(f"{arm}/by_rank") for arm, name in names.items()}
    draw_lines(right, list(range(1, WORDS + 1)), ranks, "rank of the word in its subject, 1 is frequent", "")
    right.set_xticks([1, 5, 10, 15, 20])
    right.get_legend().remove()
    for axes in (left, right):
        axes.axhline(1 / SUBJECTS, color="grey", linestyle="--", linewidth=0.8)


CLAIM = Claim(
    number="E3",
    title=Text("Noise words or a tree", "노이즈 단어인가, 트리인가"),
    statement=Text(
        "Negative sampling learns better word vectors than the hierarchical softmax, which gains more when frequent "
        "words are left out.",
        "네거티브 샘플링은 계층적 소프트맥스보다 좋은 단어 벡터를 배우고, 흔한 단어를 덜어 내면 계층적 소프트맥스가 "
        "더 크게 나아진다.",
    ),
    paper="Mikolov, Sutskever, Chen, Corrado and Dean 2013",
    year=2013,
    printed=(
        "Table 1, analogies right in percent: 5 negative samples 59, 15 61, hierarchical softmax 47",
        "with subsampling at 1e-5: 60, 61 and 55, and learning is faster",
    ),
    data=f"sentences of {LENGTH} words: {FRAMED:.0%} frame words that every subject has, the others of one of "
    f"{SUBJECTS} subjects with {WORDS} words each, the r-th as often as 1 / r, {ASTRAY:.0%} of them of any; "
    f"{STEPS * BATCH:,} sentences",
    models=("word2vec",),
    equal=f"sentences and their order, windows, vectors of 16 numbers, Adam, whose rate is the best of three for "
    f"either without subsampling. The tree has one row less. {NOISE} words of noise are shared by a sentence",
    metric=f"of the {NEAREST} words nearest to a word of a subject, the share that is of the same subject; "
    f"1 / {SUBJECTS} by chance",
    refuted_by="the hierarchical softmax is ahead, or gains no more from subsampling than negative sampling does",
    parts=(
        Difference("negative sampling over hierarchical softmax", "sampling/recovered", "tree/recovered"),
        Difference("hierarchical softmax: subsampled over all words", "tree_thinned/recovered", "tree/recovered"),
        Alike("negative sampling: subsampled and all words", "sampling_thinned/recovered", "sampling/recovered", 0.05),
    ),
    arms={
        "sampling": partial(trial, "negative_sampling", 0.0),
        "sampling_thinned": partial(trial, "negative_sampling", THRESHOLD),
        "tree": partial(trial, "hierarchical_softmax", 0.0),
        "tree_thinned": partial(trial, "hierarchical_softmax", THRESHOLD),
    },
    draw=draw,
    seen=Text(
        "After equally many sentences {sampling/recovered:.2f} of the near words are of the same subject with "
        "negative sampling and {tree/recovered:.2f} with the tree, so the order of the paper does not come out here. "
        "Leaving out frequent words helps negative sampling most, {sampling_thinned/recovered:.2f}, and the tree "
        "little, {tree_thinned/recovered:.2f}, the other way round than in the paper; either then reads "
        "{tree_thinned/words:.0f} words of {tree/words:.0f} in a sentence. Rare words are what negative sampling "
        "without it has not learnt yet: {sampling/rare:.2f} against {tree/rare:.2f}.",
        "같은 수의 문장을 읽은 뒤 가까운 단어 가운데 같은 주제인 비율은 네거티브 샘플링이 {sampling/recovered:.2f}, "
        "트리가 {tree/recovered:.2f}로, 논문의 순서가 여기서는 나오지 않습니다. 흔한 단어를 덜어 내면 네거티브 "
        "샘플링이 {sampling_thinned/recovered:.2f}로 가장 크게 나아지고 트리는 {tree_thinned/recovered:.2f}로 조금만 "
        "나아져, 이것도 논문과 반대입니다. 이때 두 방법 모두 문장의 {tree/words:.0f}단어 가운데 "
        "{tree_thinned/words:.0f}단어만 읽습니다. 덜어 내지 않은 네거티브 샘플링이 아직 배우지 못한 것은 드문 "
        "단어입니다. {sampling/rare:.2f} 대 {tree/rare:.2f}입니다.",
    ),
    minutes=0.12,
)
