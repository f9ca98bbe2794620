"""`align`: the weights are those of the returned sequence, whatever search and batch it came from."""

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
)

from hf_attention_zoo import align, translate

TEXTS = ["das haus ist gross", "", "katze", "Müller , die 무지개 katze !", "ein " * 30]


def generated_attention(model, inputs: dict, **options: object) -> tuple[torch.Tensor, np.ndarray]:
    """Ids and cross-attention (T, S) of one sentence, read off the search itself by following its beams."""
    output = model.generate(**inputs, output_attentions=True, return_dict_in_generate=True, **options)
    ids = output.sequences[0, 1:]
    steps = [step[-1] for step in output.cross_attentions]  # each (beams, H, 1, S)
    beams = output.beam_indices[0].tolist() if "beam_indices" in output else [0] * len(ids)
    rows = [steps[step][beam].mean(0)[-1] for step, beam in enumerate(beams[: len(ids)]) if beam >= 0]
    return ids, torch.stack(rows).numpy()


@pytest.mark.parametrize("options", [{"num_beams": 1}, {"num_beams": 4}, {"num_beams": 3, "length_penalty": 0.0}])
def test_weights_equal_those_that_the_search_itself_saw(tiny_translator, options: dict) -> None:
    model, tokenizer = tiny_translator
    options = {**options, "max_new_tokens": 9}
    crossed = 0
    for text, alignment in zip(TEXTS, align(model, tokenizer, TEXTS, batch_size=3, **options), strict=True):
        inputs = dict(tokenizer(text, return_tensors="pt"))
        ids, weights = generated_attention(model, inputs, **options)
        np.testing.assert_allclose(alignment.weights, weights, atol=1e-5)
        assert alignment.target_tokens == tuple(tokenizer.target_surface(ids.tolist()))
        assert alignment.target_text == tokenizer.decode(ids, skip_special_tokens=True)
        if options["num_beams"] > 1:
            output = model.generate(**inputs, return_dict_in_generate=True, output_scores=True, **options)
            crossed += len({beam for beam in output.beam_indices[0].tolist() if beam >= 0}) > 1
    assert crossed or options["num_beams"] == 1


def test_both_axes_keep_the_end_mark_and_no_padding(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    with torch.no_grad():
        model.lm_head.bias[tokenizer.eos_token_id] += 9.0
    ended = 0
    for alignment in align(model, tokenizer, TEXTS, num_beams=2, max_new_tokens=12):
        assert alignment.source_tokens[-1] == "</s>" and "<pad>" not in alignment.source_tokens
        assert "<pad>" not in alignment.target_tokens and "<s>" not in alignment.target_tokens
        assert alignment.target_tokens.count("</s>") == (alignment.target_tokens[-1] == "</s>")
        ended += alignment.target_tokens[-1] == "</s>"
        np.testing.assert_allclose(alignment.weights.sum(1), 1.0, atol=1e-5)
        assert alignment.weights.shape == (len(alignment.target_tokens), len(alignment.source_tokens))
    assert ended


@pytest.mark.parametrize("side", ["left", "right"])
def test_batches_and_padding_sides_change_nothing(tiny_translator, side: str) -> None:
    model, tokenizer = tiny_translator
    alone = [align(model, tokenizer, text, num_beams=2, max_new_tokens=6)[0] for text in TEXTS]
    tokenizer.padding_side = side
    for batch_size in (2, 16):
        together = align(model, tokenizer, TEXTS, num_beams=2, max_new_tokens=6, batch_size=batch_size)
        for one, other in zip(alone, together, strict=True):
            assert one.target_tokens == other.target_tokens and one.source_tokens == other.source_tokens
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


def test_given_targets_are_aligned_instead_of_searched(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    texts, targets = ["das haus", "die katze schläft nicht"], ["the big house !", "cat"]
    for text, target, alignment in zip(texts, targets, align(model, tokenizer, texts, targets=targets), strict=True):
        inputs = tokenizer(text, text_target=target, return_tensors="pt")
        output = model(**inputs, output_attentions=True)
        np.testing.assert_allclose(alignment.weights, output.cross_attentions[0][0, 0].detach(), atol=1e-6)
        assert alignment.target_tokens == tuple(tokenizer.target_surface(inputs["labels"][0].tolist()))
        assert alignment.target_text == target


def test_a_found_translation_given_as_target_has_the_same_weights(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    with torch.no_grad():
        model.lm_head.bias[tokenizer.eos_token_id] += 9.0
        model.lm_head.bias[tokenizer.unk_token_id] -= 1e3
    found = align(model, tokenizer, TEXTS, num_beams=3, max_new_tokens=20)
    assert [alignment.target_text for alignment in found] == translate(
        model, tokenizer, TEXTS, num_beams=3, max_new_tokens=20
    )
    again = align(model, tokenizer, TEXTS, targets=[alignment.target_text for alignment in found])
    same = [pair for pair in zip(found, again, strict=True) if pair[0].target_tokens == pair[1].target_tokens]
    assert same
    for one, other in same:
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


def test_dropout_takes_no_part_and_the_training_mode_comes_back(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    expected = align(model, tokenizer, TEXTS, max_new_tokens=5)
    model.model.decoder.dropout.p = model.model.encoder.dropout.p = 0.5
    model.train()
    for one, other in zip(expected, align(model, tokenizer, TEXTS, max_new_tokens=5), strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    assert all(module.training for module in model.modules())


def test_an_empty_list_and_a_single_string(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    assert align(model, tokenizer, []) == []
    assert align(model, tokenizer, [], targets=[]) == []
    assert len(align(model, tokenizer, "das haus", max_new_tokens=3)) == 1


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (None, {}, "texts must be a string"),
        (["a", 1], {}, r"texts\[1\]"),
        (["a"], {"targets": ["b", "c"]}, "1 texts, but 2 targets"),
        (["a"], {"targets": [None]}, r"targets\[0\]"),
        (["a"], {"targets": ["b"], "num_beams": 2, "do_sample": True}, "leave out num_beams, do_sample"),
        (["a"], {"num_return_sequences": 2, "num_beams": 2}, "num_return_sequences=2"),
        (["a"], {"layer": 1, "max_new_tokens": 2}, "layer=1: this model has 1"),
        (["a"], {"head": True, "max_new_tokens": 2}, "head=True"),
        (["a"], {"batch_size": 0}, "batch_size"),
    ],
)
def test_wrong_calls_are_refused(tiny_translator, texts: object, options: dict, message: str) -> None:
    model, tokenizer = tiny_translator
    with pytest.raises(ValueError, match=message):
        align(model, tokenizer, texts, **options)


@pytest.mark.parametrize("kind", ["marian", "t5"])
def test_models_of_transformers_with_fused_attention_are_aligned_too(tiny_translator, kind: str) -> None:
    _, tokenizer = tiny_translator
    common = {"vocab_size": 60, "d_model": 8, "pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 2}
    if kind == "t5":
        config = T5Config(d_kv=4, d_ff=8, num_layers=2, num_heads=2, **common)
        model = T5ForConditionalGeneration(config).eval()
    else:
        config = MarianConfig(
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=8,
            decoder_ffn_dim=8,
            max_position_embeddings=40,
            forced_eos_token_id=3,
            **common,
        )
        model = MarianMTModel(config).eval()
    with torch.no_grad():  # only ids that the target vocabulary has
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    options = {
        "num_beams": 3,
        "max_new_tokens": 6,
        "suppress_tokens": list(range(tokenizer.target_vocab_size, 60)),
    }
    texts = ["das haus ist gross", "katze"]
    found = align(model, tokenizer, texts, **options)
    assert model.config._attn_implementation != "eager"
    model.set_attn_implementation("eager")
    for text, alignment in zip(texts, found, strict=True):
        _, weights = generated_attention(model, dict(tokenizer(text, return_tensors="pt")), **options)
        np.testing.assert_allclose(alignment.weights, weights, atol=1e-4)
        np.testing.assert_allclose(alignment.weights.sum(1), 1.0, atol=1e-5)


def test_input_beyond_the_positions_of_a_model_is_refused_before_the_work(tiny_translator) -> None:
    _, tokenizer = tiny_translator
    sizes = {
        "d_model": 8,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
    }
    config = MarianConfig(vocab_size=60, pad_token_id=0, decoder_start_token_id=2, max_position_embeddings=9, **sizes)
    with pytest.raises(ValueError, match=r"text 1 has \d\d tokens, the positions of MarianMTModel end at 9"):
        align(MarianMTModel(config), tokenizer, ["haus", "ein " * 30])


def test_a_model_without_a_source_is_refused(tiny_translator) -> None:
    _, tokenizer = tiny_translator
    model = BertForMaskedLM(
        BertConfig(vocab_size=60, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    )
    with pytest.raises(ValueError, match="BertForMaskedLM has no attention from a target to a source"):
        align(model, tokenizer, ["haus"])


def test_half_precision_gives_float32_weights(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    (alignment,) = align(model.to(torch.bfloat16), tokenizer, "das haus", max_new_tokens=4)
    assert alignment.weights.dtype == np.float32
    np.testing.assert_allclose(alignment.weights.sum(1), 1.0, atol=2e-2)
