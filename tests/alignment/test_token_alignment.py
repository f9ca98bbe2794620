"""Heads and layers of BERT and GPT through `align`: tokens, pads, what was filled in, pictures, other viewers."""

from pathlib import Path

import pytest
import torch
from model_cases import spread

from hf_attention_zoo import BERT2018Tokenizer, GPT2018Tokenizer, align, get_architecture
from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment
from hf_attention_zoo.cli.command import main

TEXTS = ["the white dog barks loudly", "흰 개가 짖는다", "a cat sleeps on the white bed"] * 3


def build(name: str, auto: str):
    if name == "bert2018":
        tokenizer = BERT2018Tokenizer.train(TEXTS, vocab_size=120)
    else:
        tokenizer = GPT2018Tokenizer.train(TEXTS, vocab_size=120, text_packages=False)
    row = get_architecture(name)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    model = spread(row.model_classes[auto](row.config_class(**fields, num_labels=3)), std=0.3)
    model.tie_weights()
    return model, tokenizer


@pytest.fixture(scope="module")
def masked():
    return build("bert2018", "AutoModelForMaskedLM")


def test_a_hidden_word_is_filled_in_and_its_attention_is_drawn(masked, tmp_path: Path) -> None:
    model, tokenizer = masked
    text = "the white [MASK] barks"
    (heads,) = align(model, tokenizer, [text], layer=0, head="all")
    assert isinstance(heads, HeadAlignment) and heads.weights.shape[0] == 4 and heads.layer == 0
    assert heads.target_tokens[0] == "[CLS]" and heads.target_tokens[-1] == "[SEP]" and "[MASK]" in heads.target_tokens
    inputs = tokenizer(text, return_tensors="pt")
    place = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero().item()
    best = tokenizer.convert_ids_to_tokens(model(**inputs).logits[0, place].argmax().item())
    assert "[MASK]" not in heads.target_text and best.removeprefix("##") in heads.target_text
    heads.plot(tmp_path / "masked.png", token="[MASK]")
    assert (tmp_path / "masked.png").stat().st_size > 2000
    wanted = model(**inputs, output_attentions=True).attentions[0][0]
    torch.testing.assert_close(torch.from_numpy(heads.weights.copy()), wanted.detach())


def test_rows_are_those_of_each_text_alone_and_sum_to_one(masked) -> None:
    model, tokenizer = masked
    texts = ["the dog", ("a cat sleeps", "on the bed"), {"text": "흰 개가", "text_pair": "짖는다"}]
    together = align(model, tokenizer, texts)
    for text, found in zip(texts, together, strict=True):
        assert isinstance(found, Alignment)
        (alone,) = align(model, tokenizer, text)
        assert alone.source_tokens == found.source_tokens == found.target_tokens
        assert abs(found.weights - alone.weights).max() < 1e-6 and abs(found.weights.sum(-1) - 1).max() < 1e-5
    assert together[1].source_tokens.count("[SEP]") == 2


def test_a_classifier_says_its_label_and_mean_and_single_heads_are_matrices() -> None:
    model, tokenizer = build("bert2018", "AutoModelForSequenceClassification")
    (mean,) = align(model, tokenizer, ["the dog"], layer="mean")
    (second,) = align(model, tokenizer, ["the dog"], layer=1, head=2)
    (some,) = align(model, tokenizer, ["the dog"], layer=1, head=[2, 0])
    assert mean.target_text in model.config.id2label.values()
    assert some.heads == (2, 0) and abs(some.weights[0] - second.weights).max() < 1e-6


def test_gpt_looks_back_only_and_pieces_are_read_without_their_marks() -> None:
    model, tokenizer = build("gpt2018", "AutoModelForCausalLM")
    heads, _ = align(model, tokenizer, ["the white dog barks", "a cat"], head="all")
    assert heads.kind == "decoder" and not any("</w>" in token for token in heads.source_tokens)
    assert (heads.weights[:, range(len(heads.source_tokens) - 1), range(1, len(heads.source_tokens))] == 0).all()
    with pytest.raises(ValueError, match="gives no token"):
        align(model, tokenizer, [""])


def test_layers_and_heads_that_are_not_there_are_refused(masked) -> None:
    model, tokenizer = masked
    for options, said in (({"layer": 2}, "layer=2"), ({"head": 9}, "head=9"), ({"head": []}, "empty list")):
        with pytest.raises(ValueError, match=said):
            align(model, tokenizer, ["the dog"], **options)
    with pytest.raises(ValueError, match="is no text"):
        align(model, tokenizer, [3])


def test_the_command_draws_every_head(masked, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    model, tokenizer = masked
    model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    command = ["align", str(tmp_path / "m"), "the [MASK] barks", "--layer", "1", "--head", "all"]
    assert main([*command, "--output", str(tmp_path / "a.json")]) == 0
    made = HeadAlignment.from_json(tmp_path / "a.json")
    assert made.layer == 1 and len(made.heads) == 4
    assert "the" in capsys.readouterr().out
    assert main([*command, "--num_beams", "3", "--output", str(tmp_path / "b.png")]) != 0


@pytest.mark.filterwarnings("ignore")
def test_bertviz_draws_what_the_models_give_out(masked) -> None:
    bertviz = pytest.importorskip("bertviz")
    pytest.importorskip("IPython")
    for model, tokenizer in (masked, build("gpt2018", "AutoModel")):
        inputs = tokenizer("the white dog", return_tensors="pt")
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
        attention = model(**inputs, output_attentions=True).attentions
        for view in (bertviz.head_view, bertviz.model_view):
            html = view(attention, tokens, html_action="return")
            assert "script" in html.data and tokens[1].removesuffix("</w>") in html.data
