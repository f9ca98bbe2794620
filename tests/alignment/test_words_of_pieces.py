"""Pieces of a word are one column and one row: whatever the tokenizer, in every result, in pictures and pages."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attended_results import MADE
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from hf_attention_zoo import Alignment, DocumentAttention, PictureAttention, align, get_architecture
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment
from hf_attention_zoo.alignment.results.hop_attention import AttendedText, HopAttention
from hf_attention_zoo.alignment.results.lineage import Lineage
from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection
from hf_attention_zoo.alignment.results.word_clusters import WordClusters
from hf_attention_zoo.alignment.results.word_weights import LabelShare, WordWeights
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tokenization.word_groups import decoded_spans, word_groups

CARDS = Path(__file__).parents[2] / "model_cards"
TEXTS = ["Danach ist's gut, 고양이를 보았다!", "naïve façade 42.5"]
SPECIAL = ["<unk>", "</s>"]
GENERATOR = np.random.default_rng(0)


def trained(model: Any, trainer: Any, before: Any, decoder: Any, normalizer: Any = None) -> PreTrainedTokenizerFast:
    backend = Tokenizer(model)
    backend.pre_tokenizer, backend.decoder = before, decoder
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.train_from_iterator(TEXTS * 3, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="</s>")


def bpe(**options: Any) -> Any:
    return trainers.BpeTrainer(vocab_size=options.pop("vocab_size", 42), special_tokens=SPECIAL, **options)


def tokenizers() -> dict[str, Callable[[], Any]]:
    """A tokenizer of each kind of mark, with few entries, so that words are cut."""
    spaces = pre_tokenizers.WhitespaceSplit()
    return {
        "metaspace": lambda: trained(
            models.BPE(unk_token="<unk>"), bpe(), pre_tokenizers.Metaspace(), decoders.Metaspace()
        ),
        "end of word": lambda: trained(
            models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
            bpe(end_of_word_suffix="</w>"),
            spaces,
            decoders.BPEDecoder(suffix="</w>"),
        ),
        "continued": lambda: trained(
            models.WordPiece(unk_token="<unk>"),
            trainers.WordPieceTrainer(vocab_size=70, special_tokens=SPECIAL),
            spaces,
            decoders.WordPiece(cleanup=False),
        ),
        "bytes": lambda: trained(
            models.BPE(), bpe(vocab_size=70), pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        ),
        "jamo": lambda: trained(
            models.BPE(unk_token="<unk>"),
            bpe(),
            pre_tokenizers.Metaspace(),
            decoders.Metaspace(),
            normalizers.NFD(),
        ),
        "ours": lambda: get_architecture("luong").tokenizer_class.train(TEXTS * 3, TEXTS * 3, vocab_size=60),
        "bert2018": lambda: get_architecture("bert2018").tokenizer_class.train(TEXTS * 3, vocab_size=66),
        "gpt2018": lambda: get_architecture("gpt2018").tokenizer_class.train(TEXTS * 3, vocab_size=48),
    }


@pytest.mark.parametrize("kind", tokenizers())
@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_the_text_whatever_marks_the_pieces(kind: str, text: str) -> None:
    tokenizer = tokenizers()[kind]()
    ids = tokenizer(text_target=text)["input_ids"] if kind == "ours" else tokenizer(text)["input_ids"]
    written, spans, special = decoded_spans(tokenizer, ids)
    words = word_groups(written, spans, special, [str(number) for number in ids])
    assert sum(count for _, count in words) == len(ids) and any(count > 1 for _, count in words)
    said = [word for (word, _), first in zip(words, starts(words), strict=True) if not special[first]]
    written = unicodedata.normalize("NFC", written)
    assert "".join(said) == "".join(written.split())
    for word in ("Danach", "고양이를", "보았다", "naïve", "façade", "42"):  # none is parted, though a mark may hang on
        wanted = word if word in written else word.lower()
        assert wanted not in written or any(wanted in one for one in said), (words, written)


def starts(words: Any) -> Iterator[int]:
    first = 0
    for _, count in words:
        yield first
        first += count


def test_special_tokens_spaces_and_tokens_of_several_words_are_words_by_themselves() -> None:
    text = "New York, a b"
    spans = [(0, 0), (0, 0), (0, 8), (8, 9), (9, 10), (10, 11), (11, 11), (12, 13), (0, 0)]
    special = [True, *[False] * 7, True]
    found = word_groups(text, spans, special, ["<s>", "␣", "New York", ",", "␣", "a", "␣", "b", "</s>"])
    assert found == (("<s>", 1), ("New York", 2), (",", 1), ("a", 2), ("b", 2), ("</s>", 1))
    assert word_groups("", [(0, 0)], [False], ["␣"]) == (("␣", 1),)


def joined_results() -> dict[str, tuple[Any, Callable[[Any], np.ndarray], np.ndarray]]:
    """A result with pieces, what is looked at, and what it must be in words, counted by hand."""
    source, target = (("ab", 2), ("c", 1)), (("xy", 2), ("z", 1))
    weights = GENERATOR.dirichlet(np.ones(3), 3)
    columns = np.stack([weights[:, 0] + weights[:, 1], weights[:, 2]], 1)
    matrix = np.stack([(columns[0] + columns[1]) / 2, columns[2]])
    heads = np.stack([matrix, matrix])
    document = DocumentAttention((("ab"[0], "b", "c"),), (weights[0],), np.ones(1), {"x": 1.0}, "x", (source,))
    grid = weights.reshape(3, 1, 3)
    picture = PictureAttention(("x", "y", "z"), grid, weights[:, 0], np.zeros((4, 4, 3), np.uint8), "xy z", target)
    tokens = (("a", "b", "c"), ("x", "y", "z"))
    return {
        "alignment": (Alignment(*tokens, weights, "ab c", "xy z", source, target), lambda one: one.weights, matrix),
        "heads": (
            HeadAlignment(*tokens, np.stack([weights, weights]), source_words=source, target_words=target),
            lambda one: one.weights,
            heads,
        ),
        "hops": (
            HopAttention((AttendedText("ab c", ((0, 1), (1, 2), (3, 4)), weights),)),
            lambda one: one.weights,
            columns,
        ),
        "document": (document, lambda one: one.word_weights[0], columns[0]),
        "picture": (picture, lambda one: one.weights[:, 0], np.stack([(weights[0] + weights[1]) / 2, weights[2]])),
    }


@pytest.mark.parametrize("kind", joined_results())
def test_weights_are_summed_over_what_is_attended_to_and_averaged_over_what_attends(kind: str, tmp_path: Path) -> None:
    result, look, wanted = joined_results()[kind]
    words = result.words()
    np.testing.assert_allclose(look(words), wanted, rtol=1e-6)
    assert words.words() is words or words.words() == words
    page, pieces = result.to_html(), result.to_html(pieces=True)
    in_words, in_pieces = ('"xy"', '"x"') if kind == "picture" else ('"ab"', '"a"')
    assert in_words in page and in_pieces not in page
    assert in_pieces in pieces and in_words not in pieces
    assert type(result).from_json(result.to_json()).to_html() == page
    old = {name: value for name, value in json.loads(result.to_json()).items() if not name.endswith("_words")}
    if kind in ("alignment", "heads"):  # what an earlier release wrote has no words
        assert type(result).from_json(json.dumps(old)).words().to_html() == pieces
    drawn = [shown_texts(result.plot(pieces=raw)) for raw in (False, True)]
    assert drawn[0] != drawn[1] and in_words.strip('"') in " ".join(drawn[0])


def shown_texts(figure: Any) -> list[str]:
    texts = [text.get_text() for axes in figure.axes for text in axes.texts] + [
        text.get_text() for text in figure.texts
    ]
    texts += [text.get_text() for axes in figure.axes for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    return texts


def test_words_that_do_not_fit_the_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the source words take \[1, 1\] tokens; there are 1"):
        Alignment(("a",), ("b",), np.ones((1, 1)), source_words=(("a", 1), ("b", 1)))


SHOWN = {
    **MADE,
    "sentences": lambda: SentenceProjection(("a", "b"), np.array([[0.0, 1.0], [1.0, 0.0]]), (0.6, 0.4)),
    "word weights": lambda: WordWeights("a", {"x": LabelShare([0.5], [0.5], [0.1], [0.1])}, 1),
    "clusters": lambda: WordClusters(("a", "b"), np.eye(2), (1, 2), np.array([[0.0, 1.0, 0.5]])),
    "lineage": lambda: Lineage("a", ()),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_every_result_shows_itself_in_a_notebook(kind: str) -> None:
    result = SHOWN[kind]()
    made = {name: getattr(result, name)() for name in ("_repr_html_", "_repr_png_") if hasattr(result, name)}
    assert made and all(made.values())
    assert made.get("_repr_png_", b"\x89PNG").startswith(b"\x89PNG") and "<script" not in made.get("_repr_html_", "")


def test_every_result_class_is_among_those() -> None:
    """What has a picture or a page of its own."""
    folder = Path(__file__).parents[2] / "hf_attention_zoo" / "alignment" / "results"
    classes = set()
    for file in folder.glob("*.py"):
        for body in re.split(r"\n(?=class )", file.read_text(encoding="utf-8"))[1:]:
            if re.search(r"\n    def (plot|to_html)\(", body.split("\n@")[0]):
                classes.add(re.match(r"class (\w+)", body)[1])
    assert classes == {type(make()).__name__ for make in SHOWN.values()}


def test_drawings_say_what_their_colours_mean() -> None:
    for kind, make in MADE.items():
        result = make()
        said = " ".join([*shown_texts(result.plot()), *(axes.get_ylabel() for axes in result.plot().axes)])
        assert re.search("weight|weigh", said), kind
        assert re.search("weight|weigh", re.sub("title='[^']*'|<style.*?</style>", "", result._repr_html_())), kind


def test_layers_and_heads_are_called_by_their_numbers(tiny_translator: Any) -> None:
    from hf_attention_zoo.folders.saved_model import load_checkpoint

    model, tokenizer = load_checkpoint(CARDS / "transformer2017-emoji-names-ko-en")
    (heads,) = align(model, tokenizer, ["깃발: 대한민국"], head=[-1, 0])
    layers, count = model.config.num_hidden_layers, model.config.num_attention_heads
    assert (heads.layer, heads.heads) == (layers - 1, (count - 1, 0))
    shown = " ".join(shown_texts(heads.plot()))
    assert f"layer {layers - 1}" in shown and f"■ {count - 1}" in shown and "-1" not in shown
    assert "layer -1" not in heads._repr_html_()
    (model, tokenizer), (one,) = tiny_translator, align(*tiny_translator, ["das haus"], head="all")
    assert one.layer == 0


def test_the_command_shows_words_and_pieces_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, text = str(CARDS / "rnnsearch-emoji-names-ko-en"), "깃발: 대한민국"
    pages = [tmp_path / "words.html", tmp_path / "pieces.html"]
    for page, flags in zip(pages, ([], ["--pieces"]), strict=True):
        assert main(["align", folder, text, "--output", str(page), *flags]) == 0
    words, pieces = (json.loads(re.search(r"id='zoo-data'>(.*?)</script>", page.read_text())[1]) for page in pages)
    assert "대한민국" in words["stops"][0]["source"] and len(pieces["stops"][0]["source"]) > len(
        words["stops"][0]["source"]
    )
