"""fastText's equations against `nn.EmbeddingBag` and `nn.Linear`, and against the authors' package."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import run_kinds
import torch
from torch import nn

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.models.fasttext.configuration_fasttext import FastTextConfig
from hf_attention_zoo.models.fasttext.facts_fasttext import PAPER_CONFIG, PAPER_PARAMETERS
from hf_attention_zoo.models.fasttext.modeling_fasttext import FastTextForSequenceClassification
from hf_attention_zoo.parts.huffman_tree import HierarchicalSoftmax, huffman_paths
from hf_attention_zoo.tokenization.hashed_ngram_tokenizer import HashedNGramTokenizer
from hf_attention_zoo.tokenization.ngram_hashing import character_ngrams, fnv1a, word_ngram_buckets

WORDS = ["the", "cat", "sat", "한국", "어", "개가", "über", "naïve", "x", "3.5", "don't"]


def spread(**changes: Any) -> FastTextForSequenceClassification:
    """A model whose weights all matter, in float64."""
    fields = {"vocab_size": 30, "embedding_size": 5, "num_labels": 4, **changes}
    model = FastTextForSequenceClassification(FastTextConfig(**fields)).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


IDS = torch.tensor([[3, 4, 4, 9, 0], [29, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 7, 3, 8, 5]])
MASK = (IDS != 0).long()


def test_a_text_is_the_mean_of_its_rows_and_a_linear_layer_reads_it() -> None:
    model, labels = spread(), torch.tensor([2, 0, 1, 3])
    bag, linear = nn.EmbeddingBag(30, 5, mode="mean").double(), nn.Linear(5, 4, bias=False).double()
    bag.weight.data.copy_(model.model.embed_tokens.weight)
    linear.weight.data.copy_(model.classifier.weight)
    rows = [ids[ids > 0] for ids in IDS]
    offsets = torch.tensor([0, *(len(row) for row in rows[:-1])]).cumsum(0)
    logits = linear(bag(torch.cat(rows), offsets))
    loss = nn.functional.cross_entropy(logits, labels)
    made = model(IDS, MASK, labels=labels)
    torch.testing.assert_close(made.logits, logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(made.loss.double(), loss, rtol=0, atol=1e-12)
    loss.backward()
    made.loss.backward()
    torch.testing.assert_close(model.model.embed_tokens.weight.grad, bag.weight.grad, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.classifier.weight.grad, linear.weight.grad, rtol=0, atol=1e-12)


def test_empty_texts_are_zero_and_pads_and_neighbours_change_nothing() -> None:
    model = spread()
    whole = model(IDS, MASK).logits
    assert (whole[2] == 0).all()
    torch.testing.assert_close(model(IDS).logits, whole, rtol=0, atol=0)
    for row in range(4):
        alone = IDS[row : row + 1, MASK[row].bool()] if MASK[row].any() else IDS[row : row + 1, :1]
        torch.testing.assert_close(model(alone).logits[0], whole[row], rtol=0, atol=1e-12)
    vectors = model.get_input_embeddings()(IDS)
    torch.testing.assert_close(model(attention_mask=MASK, inputs_embeds=vectors).logits, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("output", ["softmax", "hierarchical_softmax"])
def test_all_labels_are_as_likely_before_training(output: str) -> None:
    """Of eight labels, whose tree has ways of one length."""
    model = FastTextForSequenceClassification(FastTextConfig(vocab_size=30, num_labels=8, output=output))
    rows = model.model.embed_tokens.weight
    assert rows.abs().max() <= 0.1 and rows.std().item() == pytest.approx(0.1 / 3**0.5, rel=0.1)
    loss = model(IDS, labels=torch.tensor([0, 3, 5, 7])).loss
    assert loss.item() == pytest.approx(math.log(8), abs=1e-6)


def test_the_tree_is_huffmans_and_its_probabilities_sum_to_one() -> None:
    counts = [50, 1, 20, 3, 3, 9]
    paths = huffman_paths(counts)
    lengths = [len(path) for path in paths]
    assert sum(2.0**-length for length in lengths) == 1
    assert lengths[0] == 1 and lengths[2] == 2 and lengths[5] == 3
    assert sorted(lengths) == [1, 2, 3, 4, 5, 5]
    tree = HierarchicalSoftmax(5, counts).double()
    nn.init.normal_(tree.nodes.weight)
    vectors = torch.randn(7, 5, dtype=torch.float64)
    whole = tree(vectors)
    torch.testing.assert_close(whole.exp().sum(-1), torch.ones(7, dtype=torch.float64))
    classes = torch.tensor([0, 1, 2, 3, 4, 5, 1])
    by_hand = [
        sum(math.log(1 / (1 + math.exp(-sign * float(vector @ tree.nodes.weight[node])))) for node, sign in paths[one])
        for vector, one in zip(vectors, classes.tolist(), strict=True)
    ]
    torch.testing.assert_close(tree.of_classes(vectors, classes), torch.tensor(by_hand, dtype=torch.float64))
    torch.testing.assert_close(whole.gather(1, classes[:, None])[:, 0], tree.of_classes(vectors, classes))


def test_a_tree_comes_back_from_its_counts(tmp_path: Path) -> None:
    model = spread(output="hierarchical_softmax", label_counts=[9, 1, 4, 2]).float()
    model.save_pretrained(tmp_path)
    again = FastTextForSequenceClassification.from_pretrained(tmp_path)
    assert torch.equal(again(IDS).logits, model(IDS).logits)
    with pytest.raises(ValueError, match="3 numbers for 4 labels"):
        spread(output="hierarchical_softmax", label_counts=[9, 1, 4])
    with pytest.raises(ValueError, match="use output='softmax'"):
        spread(output="hierarchical_softmax", problem_type="multi_label_classification")


def test_training_counts_the_labels_for_the_tree(tmp_path: Path) -> None:
    rows = run_kinds.write_data("labels", tmp_path / "data")
    argv = ["train", "fasttext", "--dataset", str(rows), "--output_dir", str(tmp_path / "run"), *run_kinds.COMMON]
    argv += ["--tokenizer.word_ngrams", "2", "--tokenizer.num_buckets", "20", "--config.embedding_size", "4"]
    assert main([*argv, "--config.output", "hierarchical_softmax"]) == 0
    model = FastTextForSequenceClassification.from_pretrained(tmp_path / "run")
    labels = [json.loads(line)["label"] for line in (rows / "train.jsonl").read_text().splitlines()]
    assert model.config.label_counts == [labels.count(model.config.id2label[number]) for number in range(2)]
    assert model.classifier.counts == tuple(model.config.label_counts)


def test_sparse_gradients_are_the_dense_ones() -> None:
    labels, found = torch.tensor([2, 0, 1, 3]), []
    for sparse in (False, True):
        model = spread(sparse_gradients=sparse)
        model(IDS, MASK, labels=labels).loss.backward()
        found.append(model.model.embed_tokens.weight.grad)
    assert found[1].is_sparse
    torch.testing.assert_close(found[1].to_dense(), found[0])


def test_the_count_of_the_paper() -> None:
    """(V + 10,000,000) 10 for A and 10 K for B, with V = 100,000 words and K = 4 labels."""
    assert PAPER_PARAMETERS == (100_000 + 10_000_000) * 10 + 10 * 4
    with torch.device("meta"):
        model = FastTextForSequenceClassification(FastTextConfig(**PAPER_CONFIG))
    assert sum(parameter.numel() for parameter in model.parameters()) == PAPER_PARAMETERS


# ---- hashes


def test_hashes_are_those_of_fnv_1a_over_signed_bytes() -> None:
    assert fnv1a("") == 2166136261 and fnv1a("a") == 0xE40C292C
    unsigned = 2166136261
    for byte in "한".encode():
        unsigned = ((unsigned ^ byte) * 16777619) % 2**32
    assert fnv1a("한") != unsigned


def test_ngrams_by_hand() -> None:
    assert character_ngrams("ab", 3, 6) == ["<ab", "<ab>", "ab>"]
    assert character_ngrams("한", 1, 2) == ["<한", "한", "한>"]
    hashes = [fnv1a("a"), fnv1a("b"), fnv1a("c")]
    signed = [value - 2**32 if value >= 2**31 else value for value in hashes]
    assert min(signed) < 0
    first = (signed[0] * 116049371 + signed[1]) % 2**64
    assert word_ngram_buckets(hashes, 3, 1000)[:2] == [
        (first % 1000, 0, 1),
        ((first * 116049371 + signed[2]) % 2**64 % 1000, 0, 2),
    ]


SETTINGS: list[dict[str, int]] = [
    {"word_ngrams": 3, "num_buckets": 53},
    {"word_ngrams": 2, "min_char_ngram": 2, "max_char_ngram": 4, "num_buckets": 97},
    {"word_ngrams": 1},
]
THEIRS = {"word_ngrams": "wordNgrams", "num_buckets": "bucket", "min_char_ngram": "minn", "max_char_ngram": "maxn"}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_model_of_the_authors_package_gives_the_same_probabilities(settings: dict[str, int], tmp_path: Path) -> None:
    """Its rows under our ids: every hash, the end of the line and words that are unknown must agree."""
    fasttext = pytest.importorskip("fasttext")
    drawn = random.Random(0)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 9))) for _ in range(60)]
    lines = "".join(f"__label__{drawn.choice('abc')} {text}\n" for text in texts)
    (tmp_path / "train.txt").write_text(lines, encoding="utf-8")
    theirs = fasttext.train_supervised(
        str(tmp_path / "train.txt"), dim=4, epoch=5, lr=0.5, thread=1, verbose=0,
        **{THEIRS[name]: value for name, value in settings.items()},
    )  # fmt: skip
    words = theirs.get_words()
    tok = HashedNGramTokenizer.from_words(words, **settings)
    model = FastTextForSequenceClassification(FastTextConfig(vocab_size=len(tok), embedding_size=4, num_labels=3))
    rows = torch.from_numpy(theirs.get_input_matrix())
    with torch.no_grad():
        model.model.embed_tokens.weight[tok.convert_tokens_to_ids(words)] = rows[: len(words)]
        if tok.num_buckets:
            model.model.embed_tokens.weight[tok.num_words :] = rows[len(words) :]
        model.classifier.weight.copy_(torch.from_numpy(theirs.get_output_matrix()))
    for text in ("the cat 개가 unknown x", "", "zzz", "한국 어 über naïve", "don't don't don't"):
        wanted = {label: value for value, label in theirs.f.predict(f"{text}\n", 3, 0.0, "strict")}
        made = model(**tok(text, return_tensors="pt")).logits.softmax(-1)[0]
        for label, probability in zip(theirs.get_labels(), made.tolist(), strict=True):
            assert wanted[label] == pytest.approx(probability + 1e-5, abs=2e-6)  # theirs adds 1e-5 to each
