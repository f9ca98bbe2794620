"""What the config allows, and one table for three uses."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import set_seed

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration, get_architecture

SHARED = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"position_encoding": "rotary"}, "position_encoding is 'rotary'; choose one of sinusoidal, tensor2tensor"),
        ({"decoder_start": "none"}, "decoder_start is 'none'; choose one of symbol, zero"),
        ({"num_attention_heads": 7}, "no multiple of num_attention_heads 7; change one of them, or give head_dim"),
        ({"hidden_size": 9, "head_dim": 2}, "hidden_size 9 is odd"),
        ({"dropout": 1.0}, "dropout is 1.0; give a probability"),
        ({"attention_dropout": -0.1}, "attention_dropout is -0.1; give a probability"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0; sizes are 1 or more"),
        ({"position_offset": -1}, "position_offset is -1"),
        ({"layer_norm_eps": 0.0}, "layer_norm_eps is 0.0"),
        ({"initializer_range": 0.0}, "initializer_range is 0.0; give a number above 0"),
        ({"tie_word_embeddings": False}, "shared table is the output layer, too"),
        ({"decoder_vocab_size": 50}, "one table for both sides needs one vocabulary"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_impossible_configs_say_what_to_do(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Transformer2017Config(**fields)


def test_sizes_of_heads_follow_the_model_size_unless_given() -> None:
    config = Transformer2017Config()
    assert (config.head_dim, config.value_head_dim) == (64, 64)
    config = Transformer2017Config(head_dim=16, value_head_dim=32)
    assert (config.head_dim, config.value_head_dim) == (16, 32)
    assert Transformer2017Config(hidden_size=9, head_dim=2, position_encoding="learned").head_dim == 2


def test_only_learned_positions_have_a_limit() -> None:
    assert Transformer2017Config(max_position_embeddings=9).max_position_embeddings is None
    assert Transformer2017Config(position_encoding="learned").max_position_embeddings == 512
    assert Transformer2017Config(position_encoding="learned", max_position_embeddings=9).max_position_embeddings == 9


def shared_model() -> Transformer2017ForConditionalGeneration:
    return Transformer2017ForConditionalGeneration(Transformer2017Config(**SHARED)).eval()


def the_table(model: Any) -> torch.nn.Parameter:
    tables = (
        model.get_input_embeddings().weight,
        model.get_decoder_input_embeddings().weight,
        model.get_output_embeddings().weight,
    )
    assert tables[0] is tables[1] is tables[2]
    assert sum(parameter is tables[0] for parameter in model.parameters()) == 1
    return tables[0]


def test_source_target_and_output_share_one_table_also_after_loading_and_resizing(tmp_path: Path) -> None:
    model = shared_model()
    assert the_table(model).shape == (40, 16)
    model.save_pretrained(tmp_path)
    assert [name for name in load_file(tmp_path / "model.safetensors") if "embed" in name or "lm_head" in name] == [
        "model.decoder.embed_tokens.weight"
    ]
    again = Transformer2017ForConditionalGeneration.from_pretrained(tmp_path)
    assert torch.equal(the_table(again), the_table(model))
    before = the_table(again).detach().clone()
    again.resize_token_embeddings(45)
    assert the_table(again).shape == (45, 16) and torch.equal(the_table(again)[:40], before)
    assert (again.config.vocab_size, again.config.decoder_vocab_size) == (45, 45)
    made = again(torch.tensor([[44, 3]]), labels=torch.tensor([[43, 3]]))
    assert made.logits.shape == (1, 2, 45) and made.loss.isfinite()
    again.save_pretrained(tmp_path)
    assert the_table(Transformer2017ForConditionalGeneration.from_pretrained(tmp_path)).shape == (45, 16)


def test_one_side_of_a_shared_table_cannot_be_resized_alone() -> None:
    for resize in ("resize_source_embeddings", "resize_target_embeddings"):
        with pytest.raises(ValueError, match="one table; call resize_token_embeddings"):
            getattr(shared_model(), resize)(45)


def test_the_body_shares_its_tables_too(tmp_path: Path) -> None:
    model = shared_model()
    model.model.save_pretrained(tmp_path)
    body = type(model.model).from_pretrained(tmp_path)
    assert body.encoder.embed_tokens.weight is body.decoder.embed_tokens.weight
    assert torch.equal(body.encoder.embed_tokens.weight, the_table(model))


def test_the_shared_table_gets_the_gradients_of_all_three_uses() -> None:
    model = shared_model().double()
    inputs = {"input_ids": torch.tensor([[5, 9, 3]]), "labels": torch.tensor([[7, 3]])}
    model(**inputs).loss.backward()
    grad = the_table(model).grad
    assert (grad.abs().sum(1) > 0).all()  # as output layer every row
    step, direction, values = 1e-6, torch.randn(40, 16, dtype=torch.float64), []
    with torch.no_grad():
        for sign in (1, -1):
            the_table(model).add_(direction, alpha=sign * step)
            values.append(model(**inputs).loss.item())
            the_table(model).sub_(direction, alpha=sign * step)
    assert (grad * direction).sum().item() == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-5)


def test_learned_positions_end_with_a_message_and_sinusoids_do_not() -> None:
    fields = {"max_position_embeddings": 6, "position_encoding": "learned"}
    learned = Transformer2017ForConditionalGeneration(Transformer2017Config(**SHARED, **fields))
    source, target = torch.randint(4, 40, (1, 6)), torch.randint(4, 40, (1, 7))
    learned.eval()
    with pytest.raises(ValueError, match=r"7 positions were asked for, but the learned table has 6 \(max_position"):
        learned(source, decoder_input_ids=target)
    with pytest.raises(ValueError, match="7 positions"):
        learned(target, decoder_input_ids=source)
    with pytest.raises(ValueError, match="7 positions"):
        learned.generate(source, max_new_tokens=7, min_new_tokens=7)
    assert learned.generate(source, max_new_tokens=6, min_new_tokens=6).shape == (1, 7)
    plain = shared_model()
    assert plain(target.repeat(1, 100), decoder_input_ids=target).logits.isfinite().all()


def test_fairseq_s_positions_are_counted_from_an_offset() -> None:
    config = Transformer2017Config(**SHARED, position_offset=2, position_encoding="tensor2tensor")
    shifted, plain = Transformer2017ForConditionalGeneration(config), shared_model()
    table = shifted.get_encoder().positions(3, device="cpu", dtype=torch.float32)
    from hf_attention_zoo.attention.positions import sinusoids

    torch.testing.assert_close(table, sinusoids(5, 16, "tensor2tensor")[2:].float())
    assert plain.config.position_offset == 0


def test_every_recipe_for_translation_names_a_shared_vocabulary_and_the_papers_search() -> None:
    for name, recipe in get_architecture("transformer2017").recipes.items():
        if "parsing" in name:
            continue
        assert recipe["tokenizer"]["shared"], name
        assert recipe["generation"] == {"num_beams": 4, "gnmt_length_penalty": 0.6, "max_length_beyond_source": 50}
        get_architecture("transformer2017").config_class(**recipe["config"])


def test_weights_begin_as_in_the_authors_code_or_with_one_standard_deviation(tmp_path: Path) -> None:
    set_seed(0)
    sizes = {"vocab_size": 400, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    for spread, tables, matrices in ((None, 64**-0.5, (2 / (64 + 2048)) ** 0.5), (0.02, 0.02, 0.02)):
        config = Transformer2017Config(**sizes, initializer_range=spread)
        config.save_pretrained(tmp_path)
        model = Transformer2017ForConditionalGeneration(Transformer2017Config.from_pretrained(tmp_path))
        assert model.model.encoder.embed_tokens.weight.std().item() == pytest.approx(tables, rel=0.05)
        found = model.model.encoder.layers[0].feed_forward.linear_1.weight
        assert found.std().item() == pytest.approx(matrices, rel=0.05)
