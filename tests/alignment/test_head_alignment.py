"""Attention of several heads: what comes out, under which tokens, and its two-column picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hf_attention_zoo import TranslationTokenizer, align, get_architecture
from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment

TEXTS = ["das haus ist gross", "katze", "ein kleines haus ist gross"]


@pytest.fixture
def transformer() -> tuple[Any, TranslationTokenizer]:
    """A random Transformer of two layers with four heads, and a tokenizer of one vocabulary."""
    german = ["das haus ist gross", "die katze schläft nicht", "ein kleines haus", "der hund , die katze !"] * 3
    english = ["the house is big", "the cat does not sleep", "a small house", "the dog , the cat !"] * 3
    tokenizer = TranslationTokenizer.train(german, english, kind="word", vocab_size=60, shared=True)
    row = get_architecture("transformer2017")
    sizes = {"vocab_size": len(tokenizer), "decoder_vocab_size": len(tokenizer)}
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), **sizes})
    model = row.model_classes["AutoModelForSeq2SeqLM"](config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.6)
    return model, tokenizer


def weights_of(model: Any, tokenizer: Any, text: str, target: str) -> Any:
    inputs = tokenizer(text, text_target=target, return_tensors="pt")
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_every_kind_layer_and_head_is_the_models_own(transformer: Any, implementation: str) -> None:
    model, tokenizer = transformer
    model.set_attn_implementation(implementation)
    targets = ["the house is big", "cat", "a small house"]
    for text, target in zip(TEXTS, targets, strict=True):
        made = weights_of(model, tokenizer, text, target)
        for kind, output in (
            ("cross", made.cross_attentions),
            ("encoder", made.encoder_attentions),
            ("decoder", made.decoder_attentions),
        ):
            (mean,) = align(model, tokenizer, text, targets=target, kind=kind)
            np.testing.assert_allclose(mean.weights, output[-1][0].mean(0), atol=1e-6)
            (one,) = align(model, tokenizer, text, targets=target, kind=kind, layer=0, head=2)
            np.testing.assert_allclose(one.weights, output[0][0, 2], atol=1e-6)
            (layers,) = align(model, tokenizer, text, targets=target, kind=kind, layer="mean", head=1)
            np.testing.assert_allclose(layers.weights, torch.stack(output).mean(0)[0, 1], atol=1e-6)
            (heads,) = align(model, tokenizer, text, targets=target, kind=kind, layer=1, head="all")
            assert isinstance(heads, HeadAlignment) and heads.heads == (0, 1, 2, 3) and heads.kind == kind
            np.testing.assert_allclose(heads.weights, output[1][0], atol=1e-6)
            (some,) = align(model, tokenizer, text, targets=target, kind=kind, layer=1, head=[2, 0])
            assert some.heads == (2, 0)
            np.testing.assert_allclose(some.weights, output[1][0, [2, 0]], atol=1e-6)
    assert model.config._attn_implementation == implementation


def test_rows_and_columns_have_the_tokens_of_their_kind(transformer: Any) -> None:
    model, tokenizer = transformer
    text, target = "das haus ist gross", "the house is big"
    read, written = ("das", "haus", "ist", "gross", "</s>"), ("the", "house", "is", "big", "</s>")
    (cross,) = align(model, tokenizer, text, targets=target)
    assert (cross.target_tokens, cross.source_tokens) == (written, read)
    (encoder,) = align(model, tokenizer, text, targets=target, kind="encoder")
    assert (encoder.target_tokens, encoder.source_tokens) == (read, read)
    (decoder,) = align(model, tokenizer, text, targets=target, kind="decoder")
    assert (decoder.target_tokens, decoder.source_tokens) == (written, ("<s>", "the", "house", "is", "big"))
    assert not np.triu(decoder.weights, 1).any()
    np.testing.assert_allclose(decoder.weights.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_batches_and_padding_change_no_head(transformer: Any, kind: str, side: str) -> None:
    model, tokenizer = transformer
    options = {"kind": kind, "head": "all", "num_beams": 3, "max_new_tokens": 6}
    alone = [align(model, tokenizer, text, **options)[0] for text in TEXTS]
    tokenizer.padding_side = side
    for one, other in zip(alone, align(model, tokenizer, TEXTS, **options), strict=True):
        assert (one.source_tokens, one.target_tokens) == (other.source_tokens, other.target_tokens)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


def test_what_is_not_there_is_refused(transformer: Any, tiny_translator: Any) -> None:
    model, tokenizer = transformer
    for options, message in (
        ({"kind": "self"}, "kind='self'; choose one of cross, encoder, decoder"),
        ({"head": 4}, "head=4: this model has 4"),
        ({"head": [0, 5]}, "head=5: this model has 4"),
        ({"head": []}, "head is an empty list"),
        ({"layer": 2}, "layer=2: this model has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            align(model, tokenizer, "haus", targets="house", **options)
    with pytest.raises(ValueError, match="RNNsearchForConditionalGeneration gives no encoder self-attention"):
        align(*tiny_translator, "haus", targets="house", kind="encoder")


def sample() -> HeadAlignment:
    weights = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.01, 0.99]]])
    return HeadAlignment(
        ("a", "b"), ("x", "y<"), weights, kind="cross", layer=1, source_text="a b", target_text="x y<"
    )


def test_single_heads_and_the_mean_are_ordinary_alignments() -> None:
    heads = sample()
    assert isinstance(heads.head(1), Alignment)
    np.testing.assert_allclose(heads.head(1).weights, heads.weights[1])
    np.testing.assert_allclose(heads.mean().weights, heads.weights.mean(0))
    with pytest.raises(ValueError, match="there is no head 2 here; there are 0, 1"):
        heads.head(2)


def test_json_gives_back_the_same_weights(tmp_path: Path) -> None:
    heads = sample()
    heads.to_json(tmp_path / "heads.json")
    for again in (HeadAlignment.from_json(tmp_path / "heads.json"), HeadAlignment.from_json(heads.to_json())):
        assert np.array_equal(again.weights, heads.weights)
        assert (again.source_tokens, again.heads, again.layer) == (heads.source_tokens, heads.heads, heads.layer)
    with pytest.raises(ValueError, match="not the JSON of attention heads"):
        HeadAlignment.from_json("{}")


def test_the_columns_are_drawn_with_a_line_for_every_weight_that_is_seen(tmp_path: Path) -> None:
    heads = sample()
    figure = heads.plot(tmp_path / "heads.png", title="layer 1")
    assert (tmp_path / "heads.png").stat().st_size > 2000
    assert len(figure.axes[0].lines) == 7  # of eight weights one is below 0.02
    only = heads.plot(token="x")
    assert len(only.axes[0].lines) == 4
    assert len(heads.plot(token=[-1], least_weight=0.9).axes[0].lines) == 1
    colours = {text.get_text(): text.get_color() for text in only.axes[0].texts}
    assert colours["x"] == "black" and colours["y<"] == "#999999"
    with pytest.raises(ValueError, match="no attending token is 'z'; there are: x y<"):
        heads.plot(token="z")
    with pytest.raises(ValueError, match="suffix must be one of"):
        heads.plot(tmp_path / "heads.gif")


def test_the_page_has_every_line_and_nothing_unescaped(tmp_path: Path) -> None:
    page = sample().to_html(tmp_path / "heads.html")
    assert page == (tmp_path / "heads.html").read_text(encoding="utf-8")
    assert sample()._repr_html_() in page
    page = sample()._repr_html_()
    assert page.count("<line") == 7 and "y&lt;" in page and "y<<" not in page and "<script" not in page


def test_weights_that_do_not_fit_their_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=r"weights have shape \(1, 2, 3\), but there are 2 attending and 2 attended"):
        HeadAlignment(("a", "b"), ("x", "y"), np.zeros((1, 2, 3)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        HeadAlignment(("a",), ("x",), np.full((1, 1, 1), np.nan))


@pytest.mark.filterwarnings("ignore")
def test_bertviz_draws_all_three_kinds(transformer: Any) -> None:
    bertviz = pytest.importorskip("bertviz")
    pytest.importorskip("IPython")
    model, tokenizer = transformer
    inputs = tokenizer("das haus ist gross", text_target="the house", return_tensors="pt")
    made = model(**inputs, output_attentions=True)
    words = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    for view in (bertviz.head_view, bertviz.model_view):
        html = view(
            encoder_attention=made.encoder_attentions,
            decoder_attention=made.decoder_attentions,
            cross_attention=made.cross_attentions,
            encoder_tokens=words,
            decoder_tokens=["<s>", "the", "house"],
            html_action="return",
        )
        assert "haus" in html.data
