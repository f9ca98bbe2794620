"""word2vec's equations against loops in NumPy, against gradients by hand and against gensim on the same pairs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hf_attention_zoo.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_attention_zoo.models.word2vec.facts_word2vec import PAPER_CONFIG, PAPER_PARAMETERS
from hf_attention_zoo.models.word2vec.modeling_word2vec import Word2VecForPreTraining
from hf_attention_zoo.parts.huffman_tree import huffman_paths
from hf_attention_zoo.parts.negative_sampling import noise_distribution
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.word_windows import (
    Stretch,
    WordWindowsObjective,
    keep_probabilities,
    pair_rows,
    window_rows,
)

WORDS, SIZE = 20, 6
COUNTS = [0, 0, *(200 // rank for rank in range(1, WORDS - 1))]
IDS = torch.tensor([[3, 4, 5, 4, 9, 7], [2, 8, 6, 0, 0, 0]])
MASK = (IDS != 0).long()
FORMS = list(itertools.product(("skip_gram", "cbow"), ("negative_sampling", "hierarchical_softmax")))


def new(**changes: Any) -> Word2VecForPreTraining:
    fields = {"vocab_size": WORDS, "embedding_size": SIZE, "window": 2, "num_negative_samples": 3}
    torch.manual_seed(0)
    return Word2VecForPreTraining(Word2VecConfig(**{**fields, "word_counts": COUNTS, **changes})).double()


def spread(**changes: Any) -> Word2VecForPreTraining:
    """A model whose weights all matter, in float64."""
    model = new(**changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
    return model


def sigmoid(number: float) -> float:
    return 1 / (1 + math.exp(-number))


def loss_by_loops(model: Word2VecForPreTraining, ids: list[list[int]]) -> float:
    """Equations 1, 3 and 4, a word and a pair at a time."""
    config, v = model.config, model.model.embed_tokens.weight.detach().numpy()
    noise = [count**0.75 for count in COUNTS]
    noise = [weight / sum(noise) for weight in noise]

    def log_p(word: int, h: np.ndarray) -> float:
        if config.output == "hierarchical_softmax":
            nodes = model.output.nodes.weight.detach().numpy()
            return sum(math.log(sigmoid(sign * nodes[node] @ h)) for node, sign in huffman_paths(COUNTS)[word])
        u = model.output.table.weight.detach().numpy()
        told = sum(noise[n] * math.log(sigmoid(-u[n] @ h)) for n in range(WORDS) if noise[n])
        return math.log(sigmoid(u[word] @ h)) + config.num_negative_samples * told

    total = words = 0.0
    for text in ids:
        words += len(text)
        for t, word in enumerate(text):
            around = [
                text[i] for i in range(t - config.window, t + config.window + 1) if i != t and 0 <= i < len(text)
            ]
            if config.form == "skip_gram":
                total += sum(log_p(other, v[word]) for other in around)
            elif around:
                total += log_p(word, sum(v[other] for other in around) / len(around))
    return -total / words


@pytest.mark.parametrize(("form", "output"), FORMS)
def test_the_loss_is_that_of_the_equations(form: str, output: str) -> None:
    model = spread(form=form, output=output)
    made = model(IDS, MASK, labels=IDS.where(MASK.bool(), -100))
    assert made.loss.item() == pytest.approx(loss_by_loops(model, [IDS[0].tolist(), IDS[1, :3].tolist()]), abs=1e-6)
    made.loss.backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


@pytest.mark.parametrize(("form", "output"), FORMS)
def test_pads_and_neighbours_change_nothing_and_probabilities_sum_to_one(form: str, output: str) -> None:
    model = spread(form=form, output=output).eval()
    left = torch.tensor([[0, 0, 0, 2, 8, 6]])
    alone, padded = model(IDS[1:, :3]), model(left, (left != 0).long())
    torch.testing.assert_close(padded.logits[:, 3:], alone.logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(model(IDS, MASK).logits[1:, :3], alone.logits, rtol=0, atol=1e-12)
    if output == "hierarchical_softmax":
        torch.testing.assert_close(alone.logits.exp().sum(-1), torch.ones(1, 3).double(), rtol=0, atol=1e-12)


def test_a_new_models_loss_is_ln_2_for_each_decision() -> None:
    """u is 0: every word is told from noise as likely as not."""
    row = Stretch(IDS[0].numpy(), np.zeros(6), 2)
    pairs = {name: torch.from_numpy(values) for name, values in pair_rows(row).items()}
    noise = torch.randint(2, WORDS, (len(pairs["labels"]), 3))
    loss = new()(pairs["input_ids"], labels=pairs["labels"], reach=pairs["reach"], noise_ids=noise).loss
    assert loss.item() == pytest.approx((3 + 1) * math.log(2))


def test_the_gradients_are_those_by_hand() -> None:
    """d/dv = (s(u_o v) - 1) u_o + sum s(u_n v) u_n, and the like for each u."""
    model = spread()
    pair, noise = torch.tensor([[3, 5]]), torch.tensor([[7, 7, 4]])
    reach = torch.tensor([[[0, 1], [0, 0]]])
    model(pair, labels=torch.tensor([[-100, 5]]), reach=reach, noise_ids=noise).loss.backward()
    v, u = model.model.embed_tokens.weight.detach(), model.output.table.weight.detach()
    of_v, of_u = torch.zeros_like(v), torch.zeros_like(u)
    for word, right in ((5, 1.0), (7, 0.0), (7, 0.0), (4, 0.0)):
        error = torch.sigmoid(u[word] @ v[3]) - right
        of_v[3] += error * u[word]
        of_u[word] += error * v[3]
    torch.testing.assert_close(model.model.embed_tokens.weight.grad, of_v, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.output.table.weight.grad, of_u, rtol=0, atol=1e-12)


def test_drawn_noise_estimates_the_expectation() -> None:
    """All words as noise, each as often as P_n says, give the expectation; words labelled -100 are not predicted."""
    model = spread(word_counts=[0, 0, *([2] * 9), *([5] * 9)], noise_power=1)
    drawn = torch.tensor([[word for word in range(2, WORDS) for _ in range(2 if word < 11 else 5)]])
    exact = model(IDS[:1], labels=IDS[:1]).loss
    torch.testing.assert_close(model(IDS[:1], labels=IDS[:1], noise_ids=drawn).loss, exact, rtol=0, atol=1e-5)
    fewer = IDS[:1].clone()
    fewer[0, 2:] = -100
    assert model(IDS[:1], labels=fewer).loss != exact


def test_rows_of_pairs_and_of_windows_learn_what_the_text_teaches() -> None:
    """The same predictions, each with the expectation of the noise: the same sum."""
    documents = np.array([0, 0, 0, 0, 1, 1])
    windows = np.array([2, 1, 2, 2, 1, 1])
    stretch = Stretch(IDS[0].numpy(), documents, windows)
    assert stretch.reach.tolist() == [[0, 2], [1, 1], [2, 1], [2, 0], [0, 1], [1, 0]]
    for form, rows in (("skip_gram", pair_rows(stretch)), ("cbow", window_rows(stretch, 2))):
        model = spread(form=form)
        given = {name: torch.from_numpy(values) for name, values in rows.items()}
        own = model(given["input_ids"], labels=given["labels"], reach=given["reach"]).loss * len(rows["labels"])
        whole = model(IDS[:1], labels=IDS[:1], reach=torch.from_numpy(stretch.reach)[None]).loss * 6
        torch.testing.assert_close(own, whole)


def test_the_bag_of_words_has_the_gradient_of_a_mean_or_that_of_the_authors_code() -> None:
    grads = {}
    for kind in ("mean", "sum"):
        model = spread(form="cbow", context_gradient=kind)
        loss = model(torch.tensor([[3, 4, 5]]), labels=torch.tensor([[-100, 4, -100]])).loss
        loss.backward()
        grads[kind] = loss, model.model.embed_tokens.weight.grad
    assert grads["mean"][0] == grads["sum"][0]
    torch.testing.assert_close(grads["sum"][1], 2 * grads["mean"][1])  # two words around


@pytest.mark.parametrize(("sg", "cbow_mean"), [(1, 0), (0, 1)])
def test_a_step_is_gensims_on_the_same_pairs(sg: int, cbow_mean: int) -> None:
    """One plain step for each word of a sentence, by gensim and here, from the same tables and words of noise.

    Noise is one word alone, so that both draw the same; gensim leaves out noise that is the predicted word.
    """
    word2vec = pytest.importorskip("gensim.models.word2vec")
    words = ["a", "b", "c", "n"]
    theirs = word2vec.Word2Vec(
        vector_size=SIZE, window=1, min_count=1, sg=sg, negative=1, cbow_mean=cbow_mean, sample=0, workers=1, seed=1
    )
    theirs.build_vocab([words])
    order = theirs.wv.index_to_key
    drawn = np.random.default_rng(0)
    theirs.wv.vectors[:] = drawn.normal(size=(4, SIZE))
    theirs.syn1neg[:] = drawn.normal(size=(4, SIZE))
    noise = order.index("n")
    theirs.cum_table[:] = [0 if place < noise else 2**31 - 1 for place in range(4)]
    v, u = torch.tensor(theirs.wv.vectors.copy()), torch.tensor(theirs.syn1neg.copy())
    theirs.train([["a", "b"]], total_examples=1, epochs=1, start_alpha=0.05, end_alpha=0.05)

    config = Word2VecConfig(
        vocab_size=4,
        embedding_size=SIZE,
        form="skip_gram" if sg else "cbow",
        window=1,
        num_negative_samples=1,
        pad_token_id=None,
        context_gradient="sum",  # which is what gensim computes
    )
    model = Word2VecForPreTraining(config)
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(v)
        model.output.table.weight.copy_(u)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    a, b = order.index("a"), order.index("b")
    # gensim goes through the words in the middle; what is beside each is read, and it is predicted
    for middle, beside in ((a, b), (b, a)):
        pair = torch.tensor([[beside, middle]])
        reach = torch.tensor([[[0, 1], [0, 0]]] if sg else [[[0, 0], [1, 0]]])
        noise_ids = torch.tensor([[noise]])
        optimizer.zero_grad()
        model(pair, labels=torch.tensor([[-100, middle]]), reach=reach, noise_ids=noise_ids).loss.backward()
        optimizer.step()
    # gensim reads sigmoids from a table of 1,000 entries
    torch.testing.assert_close(
        model.model.embed_tokens.weight.data, torch.tensor(theirs.wv.vectors), rtol=0, atol=1e-3
    )
    torch.testing.assert_close(model.output.table.weight.data, torch.tensor(theirs.syn1neg), rtol=0, atol=1e-3)
    assert (model.output.table.weight.data - u).abs().max() > 0.02


def test_frequent_words_are_kept_as_the_paper_or_the_code_says() -> None:
    counts, t = np.array([0, 900, 90, 10]), 0.01
    shares = counts[1:] / 1000
    paper = [min(1.0, math.sqrt(t / share)) for share in shares]
    code = [min(1.0, math.sqrt(t / share) + t / share) for share in shares]
    np.testing.assert_allclose(keep_probabilities(counts, t)[1:], paper)
    np.testing.assert_allclose(keep_probabilities(counts, t, "code")[1:], code)
    assert keep_probabilities(counts, 0).tolist() == [1, 1, 1, 1]


def test_the_noise_is_the_counts_to_the_power_of_three_quarters() -> None:
    weights = [count**0.75 for count in COUNTS]
    wanted = torch.tensor(weights) / sum(weights)
    torch.testing.assert_close(noise_distribution(COUNTS, 0.75), wanted)
    torch.testing.assert_close(noise_distribution([0, 3, 5], 0), torch.tensor([0, 0.5, 0.5]))
    assert new().output.log_noise[:2].isneginf().all()


def test_huffman_codes_fill_the_tree_and_frequent_words_have_short_ones() -> None:
    lengths = [len(path) for path in huffman_paths(COUNTS)]
    assert sum(2.0**-length for length in lengths) == 1.0
    assert lengths[2] == min(lengths) and lengths[2] < lengths[-1]


def test_the_papers_sizes() -> None:
    """Two tables of 692,000 words by 300; the tree has a node less than words."""
    with torch.device("meta"):
        for output, wanted in (
            ("negative_sampling", PAPER_PARAMETERS),
            ("hierarchical_softmax", PAPER_PARAMETERS - 300),
        ):
            model = Word2VecForPreTraining(Word2VecConfig(**PAPER_CONFIG, output=output))
            assert (
                sum(parameter.numel() for parameter in model.parameters())
                == wanted
                == 2 * 692_000 * 300 - (PAPER_PARAMETERS - wanted)
            )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"form": "glove"}, "form is 'glove'; choose one of skip_gram, cbow"),
        ({"word_counts": [1, 2]}, "word_counts has 2 numbers for 692000 words"),
        ({"vocab_size": 2, "word_counts": [0, 0]}, "some word occurs"),
        ({"window": 0}, "window is 0; sizes are 1 or more"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Word2VecConfig(**changes)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"keeping": "some"}, "keeping='some'; choose paper or code"),
        ({"noise": "loud"}, "noise='loud'; choose shared or own"),
        ({"subsampling": 2}, "subsampling=2; it is a share of the text"),
        ({"shared_noise": 0}, "shared_noise=0; give 1 word or more"),
    ],
)
def test_objectives_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        WordWindowsObjective(get_architecture("word2vec"), **settings)


def test_wrong_tensors_are_refused() -> None:
    model = new()
    with pytest.raises(ValueError, match=r"reach has shape \(2, 6\), the texts \(2, 6, 2\)"):
        model(IDS, reach=MASK)
    with pytest.raises(ValueError, match="label 20 is outside 0 to 19, the words"):
        model(IDS, labels=torch.full_like(IDS, 20))
    with pytest.raises(ValueError, match=r"labels has shape \(2, 3\), the texts \(2, 6\)"):
        model(IDS, labels=IDS[:, :3])


def test_sparse_gradients_are_the_rows_that_were_read() -> None:
    def gradients(sparse: bool) -> list[Tensor]:
        model = spread(sparse_gradients=sparse)
        model(IDS[:1], labels=IDS[:1], noise_ids=torch.tensor([[2, 3]])).loss.backward()
        return [parameter.grad for parameter in model.parameters()]

    for sparse, dense in zip(gradients(True), gradients(False), strict=True):
        assert sparse.is_sparse and len(sparse.coalesce().indices()[0]) < WORDS
        torch.testing.assert_close(sparse.to_dense(), dense)
