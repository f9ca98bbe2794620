"""`translate`: order, batches, modes and limits."""

import pytest
import torch
from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration

from hf_attention_zoo import translate
from hf_attention_zoo.seq2seq.forced_attention import cross_attention, evaluation_mode

TEXTS = ["das haus ist gross", "", "katze", "ein kleines haus , die katze !", "haus " * 60]


def test_translations_are_those_of_generate_in_the_order_of_the_input(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    expected = []
    for text in TEXTS:
        sequences = model.generate(**tokenizer(text, return_tensors="pt"), num_beams=3, max_new_tokens=7)
        expected.append(tokenizer.decode(sequences[0], skip_special_tokens=True))
    for batch_size in (1, 2, 5):
        assert translate(model, tokenizer, TEXTS, batch_size=batch_size, num_beams=3, max_new_tokens=7) == expected


def test_one_text_gives_a_list_of_one_and_none_an_empty_list(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    assert len(translate(model, tokenizer, "haus", max_new_tokens=3)) == 1
    assert translate(model, tokenizer, []) == []


def test_the_modes_of_all_modules_are_restored(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    model.train()
    model.model.encoder.eval()
    before = [module.training for module in model.modules()]
    translate(model, tokenizer, "haus", max_new_tokens=3)
    assert [module.training for module in model.modules()] == before
    with pytest.raises(RuntimeError, match="stop"), evaluation_mode(model):
        assert not model.training
        raise RuntimeError("stop")
    assert [module.training for module in model.modules()] == before


def test_dropout_takes_no_part_in_a_translation_of_a_model_in_training(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    expected = translate(model, tokenizer, TEXTS, max_new_tokens=6)
    model.model.decoder.dropout.p = model.model.encoder.dropout.p = 0.5
    model.train()
    assert translate(model, tokenizer, TEXTS, max_new_tokens=6) == expected


def test_without_any_limit_at_most_256_tokens_are_written(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    with torch.no_grad():
        model.lm_head.bias[tokenizer.eos_token_id] = -1e4
    ids = tokenizer(text_target=translate(model, tokenizer, "haus")[0], add_special_tokens=False)["input_ids"]
    assert len(ids) > 20
    model.generation_config.max_new_tokens = 4
    short = translate(model, tokenizer, "haus")
    assert short == translate(model, tokenizer, "haus", max_new_tokens=4)
    assert short != translate(model, tokenizer, "haus", max_new_tokens=30)
    own = GenerationConfig(
        num_beams=2, max_new_tokens=4, pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2
    )
    assert translate(model, tokenizer, "haus", generation_config=own) == translate(
        model, tokenizer, "haus", num_beams=2
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_return_sequences": 2, "num_beams": 2}, "num_return_sequences=2"),
        ({"return_dict_in_generate": True}, "return_dict_in_generate"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"dictionary": {"a": "b"}}, "replace_unknown=True"),
    ],
)
def test_options_that_cannot_work_are_refused(tiny_translator, options: dict, message: str) -> None:
    model, tokenizer = tiny_translator
    with pytest.raises(ValueError, match=message):
        translate(model, tokenizer, ["haus"], **options)


def test_texts_of_the_wrong_type_are_named(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    with pytest.raises(ValueError, match=r"texts\[1\] is of type int"):
        translate(model, tokenizer, ["haus", 7])


def test_layers_and_heads_are_chosen_or_averaged(tiny_translator) -> None:
    _, tokenizer = tiny_translator
    config = T5Config(
        vocab_size=50,
        d_model=8,
        d_kv=4,
        d_ff=8,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=2,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config).eval()
    inputs = tokenizer(["das haus", "katze"], padding=True, return_tensors="pt")
    inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    decoder_ids = torch.tensor([[0, 5, 6], [0, 7, 8]])
    model.set_attn_implementation("eager")
    output = model(**inputs, decoder_input_ids=decoder_ids, output_attentions=True)
    every = torch.stack(output.cross_attentions)  # (layers, B, H, T, S)
    model.set_attn_implementation("sdpa")
    for options, expected in (
        ({}, every[-1].mean(1)),
        ({"layer": 0}, every[0].mean(1)),
        ({"layer": 1, "head": 1}, every[1][:, 1]),
        ({"layer": "mean", "head": -1}, every.mean(0)[:, -1]),
    ):
        torch.testing.assert_close(cross_attention(model, inputs, decoder_ids, **options), expected)
    assert model.config._attn_implementation == "sdpa"
    for options, message in (
        ({"layer": 3}, "layer=3: this model has 3"),
        ({"head": "every"}, "head='every': this model has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            cross_attention(model, inputs, decoder_ids, **options)
