"""The model computes the paper's equations: against NumPy loops, torch.nn.Transformer and transformers' Marian."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformer2017_reference as reference
from model_cases import spread
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration
from hf_attention_zoo.attention.multi_head import MultiHeadAttention
from hf_attention_zoo.attention.positions import sinusoids

SIZES = {"vocab_size": 21, "decoder_vocab_size": 19, "hidden_size": 8, "num_attention_heads": 2, "head_dim": 3}
SEPARATE = {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}


def build(dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer2017ForConditionalGeneration:
    """A small model with random weights, norms included."""
    config = Transformer2017Config(
        **{**SIZES, "value_head_dim": 5, "intermediate_size": 12, "num_hidden_layers": 2, **SEPARATE, **changes}
    )
    model = spread(Transformer2017ForConditionalGeneration(config), std=0.4)
    made = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.weight.copy_(1 + 0.3 * torch.randn(module.weight.shape, generator=made))
                module.bias.copy_(0.3 * torch.randn(module.bias.shape, generator=made))
    return model.to(dtype)


def padded(side: str = "right") -> tuple[dict[str, Tensor], list[list[int]], list[list[int]]]:
    """Three pairs of different lengths as a batch, and as lists."""
    sources, targets = [[5, 9, 4, 17, 3], [3], [7, 20, 3]], [[2, 6, 18, 9], [2, 5, 11, 7], [2, 4, 4, 12]]
    ids, mask = torch.zeros(3, 7, dtype=torch.long), torch.zeros(3, 7, dtype=torch.long)
    for row, source in enumerate(sources):
        where = slice(0, len(source)) if side == "right" else slice(7 - len(source), 7)
        ids[row, where], mask[row, where] = torch.tensor(source), 1
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": torch.tensor(targets)}, sources, targets


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("layout", ["sinusoidal", "tensor2tensor", "marian", "learned"])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_outputs_are_those_of_the_papers_formulas(
    layout: str, side: str, implementation: str, dtype: torch.dtype
) -> None:
    options = {"attention_bias": layout in ("tensor2tensor", "learned"), "output_bias": layout == "marian"}
    model = build(dtype, position_encoding=layout, max_position_embeddings=9, **options)
    model.set_attn_implementation(implementation)
    tolerance = {"rtol": 0, "atol": 1e-10 if dtype == torch.float64 else 1e-5}
    batch, sources, targets = padded(side)
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        plain = model(**batch)
        made = model(**batch, output_attentions=True)
    torch.testing.assert_close(plain.logits, made.logits, **tolerance)
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        wanted = reference.run(weights, source, target, 2, 2, 1e-6, layout)
        np.testing.assert_allclose(made.logits[row].numpy(), wanted["logits"], **tolerance)
        real = batch["attention_mask"][row].bool()
        for layer in range(2):
            own = made.encoder_attentions[layer][row][:, real][..., real]
            np.testing.assert_allclose(own.numpy(), wanted["encoder"][layer], **tolerance)
            np.testing.assert_allclose(
                made.decoder_attentions[layer][row].numpy(), wanted["decoder"][layer], **tolerance
            )
            cross = made.cross_attentions[layer][row][..., real]
            np.testing.assert_allclose(cross.numpy(), wanted["cross"][layer], **tolerance)


def test_the_loss_is_the_mean_of_the_reference_s_negative_log_probabilities() -> None:
    model = build()
    batch, sources, _ = padded()
    labels = torch.tensor([[6, 18, 9, 3], [5, 11, 3, -100], [4, 3, -100, -100]])
    inputs = {**batch, "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels)}
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    losses = []
    for row, source in enumerate(sources):
        previous = [word for word in inputs["decoder_input_ids"][row].tolist()]
        logits = reference.run(weights, source, previous, 2, 2, 1e-6, "sinusoidal")["logits"]
        for t, word in enumerate(labels[row].tolist()):
            if word != -100:
                losses.append(np.log(np.exp(logits[t]).sum()) - logits[t][word])
    assert model(**batch | {"decoder_input_ids": None}, labels=labels).loss.item() == pytest.approx(
        np.mean(losses), abs=1e-10
    )


def to_torch(model: Transformer2017ForConditionalGeneration, gradients: bool = False) -> torch.nn.Transformer:
    """`torch.nn.Transformer` with the model's weights, or their gradients, without its norms after the stacks."""
    config = model.config
    if gradients:
        learned, model = model, copy.deepcopy(model)
        for parameter, copied in zip(learned.parameters(), model.parameters(), strict=True):
            copied.data = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    other = torch.nn.Transformer(
        config.hidden_size,
        config.num_attention_heads,
        config.num_hidden_layers,
        config.num_hidden_layers,
        config.intermediate_size,
        dropout=0.0,
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
    ).to(model.dtype)
    other.encoder.norm = other.decoder.norm = None

    def attention(to: torch.nn.MultiheadAttention, ours: Any) -> None:
        to.in_proj_weight.copy_(torch.cat([ours.q_proj.weight, ours.k_proj.weight, ours.v_proj.weight]))
        to.in_proj_bias.copy_(torch.cat([ours.q_proj.bias, ours.k_proj.bias, ours.v_proj.bias]))
        to.out_proj.load_state_dict(ours.o_proj.state_dict())

    with torch.no_grad():
        for stack, theirs in ((model.model.encoder, other.encoder), (model.model.decoder, other.decoder)):
            for ours, layer in zip(stack.layers, theirs.layers, strict=True):
                attention(layer.self_attn, ours.self_attention)
                norms = [layer.norm1, layer.norm2]
                residuals = [ours.self_attention_residual, ours.feed_forward_residual]
                if stack is model.model.decoder:
                    attention(layer.multihead_attn, ours.cross_attention)
                    norms.append(layer.norm3)
                    residuals.insert(1, ours.cross_attention_residual)
                for norm, residual in zip(norms, residuals, strict=True):
                    norm.load_state_dict(residual.norm.state_dict())
                layer.linear1.load_state_dict(ours.feed_forward.linear_1.state_dict())
                layer.linear2.load_state_dict(ours.feed_forward.linear_2.state_dict())
    return other.train()  # without the shortcuts that it takes in evaluation


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)], ids=str)
def test_values_and_gradients_are_those_of_torchs_transformer(dtype: torch.dtype, tolerance: float) -> None:
    model = build(dtype, head_dim=None, value_head_dim=None, attention_bias=True)
    other = to_torch(model)
    batch, _, _ = padded()
    pads = ~batch["attention_mask"].bool()
    causal = torch.ones(4, 4).triu(1).bool()
    with torch.no_grad():
        source = model.get_encoder().positioned(model.get_encoder().embed_tokens(batch["input_ids"]))
        target = model.get_decoder().positioned(model.get_decoder().embed_tokens(batch["decoder_input_ids"]))
    wanted = other(
        source, target, tgt_mask=causal, src_key_padding_mask=pads, memory_key_padding_mask=pads
    )  # (B, T, D)
    made = model.model(**batch).last_hidden_state
    torch.testing.assert_close(made, wanted, rtol=0, atol=tolerance)
    direction = torch.randn(made.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    (made * direction).sum().backward()
    (wanted * direction).sum().backward()
    gradients = to_torch(model, gradients=True)
    compared = 0
    for name, parameter in other.named_parameters():
        wanted = dict(gradients.named_parameters())[name]
        torch.testing.assert_close(wanted, parameter.grad, rtol=20 * tolerance, atol=20 * tolerance, msg=name)
        compared += parameter.numel()
    tables = ("embed_tokens", "lm_head")
    assert compared == sum(p.numel() for n, p in model.named_parameters() if not any(t in n for t in tables))


def to_marian(model: Transformer2017ForConditionalGeneration) -> MarianMTModel:
    """transformers' Marian with the model's weights."""
    config = model.config
    other = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            decoder_vocab_size=config.decoder_vocab_size,
            d_model=config.hidden_size,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=config.intermediate_size,
            decoder_ffn_dim=config.intermediate_size,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=3,
            forced_eos_token_id=None,
            decoder_start_token_id=2,
            dropout=0.0,
        )
    ).to(model.dtype)
    names = {
        "self_attention.": "self_attn.",
        "cross_attention.": "encoder_attn.",
        "o_proj": "out_proj",
        "self_attention_residual.norm": "self_attn_layer_norm",
        "cross_attention_residual.norm": "encoder_attn_layer_norm",
        "feed_forward_residual.norm": "final_layer_norm",
        "feed_forward.linear_1": "fc1",
        "feed_forward.linear_2": "fc2",
    }
    state = other.state_dict()
    for name, tensor in model.state_dict().items():
        if ".layers." in name:
            for ours, theirs in names.items():
                name = name.replace(ours, theirs)
            assert name in state
            state[name] = tensor
    table = model.get_input_embeddings().weight
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        state[f"{name}.weight"] = table
    other.load_state_dict(state)
    return other.eval()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 2e-5)], ids=str)
def test_outputs_are_those_of_transformers_marian(dtype: torch.dtype, tolerance: float) -> None:
    """Marian keeps its positions in float32, hence the tolerance in float64."""
    model = build(
        dtype,
        vocab_size=21,
        decoder_vocab_size=21,
        head_dim=None,
        value_head_dim=None,
        attention_bias=True,
        position_encoding="marian",
        layer_norm_eps=1e-5,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
    )
    batch, _, _ = padded()
    with torch.no_grad():
        wanted = to_marian(model)(**batch, output_attentions=False).logits
        torch.testing.assert_close(model(**batch).logits, wanted, rtol=0, atol=tolerance)


def test_positions_have_the_papers_geometry() -> None:
    size = 512
    table = sinusoids(300, size)
    assert table[0, :4].tolist() == [0.0, 1.0, 0.0, 1.0]
    torch.testing.assert_close(table.square().sum(1), torch.full((300,), size / 2, dtype=torch.float64))
    for k in (1, 7, 50):
        products = (table[:-k] * table[k:]).sum(1)
        assert products.std() < 1e-12  # of the distance alone
    k, turned = 9, table[:-9].unflatten(1, (-1, 2))
    angles = k / 10000 ** (torch.arange(size // 2, dtype=torch.float64) * 2 / size)
    sine, cosine = turned[..., 0], turned[..., 1]
    rotated = torch.stack(
        (sine * angles.cos() + cosine * angles.sin(), cosine * angles.cos() - sine * angles.sin()), -1
    ).flatten(1)
    torch.testing.assert_close(rotated, table[k:], rtol=0, atol=1e-11)


def test_the_authors_positions_are_no_reordering_of_the_papers() -> None:
    paper, code, marian = (sinusoids(512, 512, layout) for layout in ("sinusoidal", "tensor2tensor", "marian"))
    reordered = torch.cat([paper[:, 0::2], paper[:, 1::2]], 1)
    torch.testing.assert_close(marian, reordered)
    assert (code - reordered).abs().max().item() == pytest.approx(0.71, abs=0.02)
    ratios = (code[1, 1:256].asin() / code[1, :255].asin())[100:200]
    assert ratios.std() < 1e-6  # geometric
    # the longest wave is exactly 10000 * 2 pi long
    assert code[1, 255].item() == pytest.approx(np.sin(1e-4), rel=1e-9)


def test_without_positions_the_encoder_does_not_know_the_order() -> None:
    model = build()
    encoder, ids = model.get_encoder(), torch.tensor([[4, 9, 12, 7, 3]])
    order = torch.tensor([3, 0, 4, 1, 2])
    with torch.no_grad():
        plain = encoder(ids).last_hidden_state
        assert (encoder(ids[:, order]).last_hidden_state - plain[:, order]).abs().max() > 1e-3
        vectors = encoder.embed_tokens(ids)
        away = encoder.positions(5, device="cpu", dtype=torch.float64) / 8**0.5
        unplaced = encoder(inputs_embeds=vectors - away).last_hidden_state
        moved = encoder(inputs_embeds=vectors[:, order] - away).last_hidden_state
    torch.testing.assert_close(moved, unplaced[:, order], rtol=0, atol=1e-12)


def test_a_later_target_word_changes_no_earlier_prediction() -> None:
    model = build()
    batch, _, _ = padded()
    with torch.no_grad():
        before = model(**batch).logits
        batch["decoder_input_ids"][:, 2] = 13
        after = model(**batch).logits
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2:] - after[:, 2:]).abs().amax((1, 2)).min() > 1e-3


def test_the_first_input_of_the_decoder_can_be_zero_as_in_the_authors_code() -> None:
    model, zero = build(), build(decoder_start="zero")
    batch, _, _ = padded()
    with torch.no_grad():
        model.get_decoder().embed_tokens.weight[2] = 0.0
        torch.testing.assert_close(zero(**batch).logits, model(**batch).logits, rtol=0, atol=1e-12)
        made = zero.generate(batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=6)
        wanted = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=6)
    assert torch.equal(made, wanted)


def test_states_after_every_layer_of_a_new_model_have_mean_zero_and_variance_one() -> None:
    config = Transformer2017Config(vocab_size=50, hidden_size=64, num_hidden_layers=2, intermediate_size=64)
    made = (
        Transformer2017ForConditionalGeneration(config)
        .eval()
        .model(torch.randint(4, 50, (2, 9)), decoder_input_ids=torch.randint(4, 50, (2, 6)), output_hidden_states=True)
    )
    for states in (*made.encoder_hidden_states[1:], *made.decoder_hidden_states[1:]):
        torch.testing.assert_close(states.mean(-1), torch.zeros(states.shape[:2]), rtol=0, atol=1e-5)
        torch.testing.assert_close(states.var(-1, correction=0), torch.ones(states.shape[:2]), rtol=0, atol=1e-3)
    assert len(made.encoder_hidden_states) == len(made.decoder_hidden_states) == 3


def test_scores_of_unit_queries_and_keys_have_unit_variance_at_any_width() -> None:
    for size in (4, 64, 1024):
        attention = MultiHeadAttention(size, 1, size, size, False, 0.0)
        query, key = (torch.randn(1, 1, 40, size, generator=torch.Generator().manual_seed(k)) for k in (0, 1))
        _, weights = attention.attend(query, key, key, None, True)
        scores = weights.log() - weights.log().mean(-1, keepdim=True)  # up to what the softmax takes away
        assert scores.std().item() == pytest.approx(1, rel=0.06)


def test_the_initial_weights_are_spread_as_in_the_authors_code() -> None:
    config = Transformer2017Config(vocab_size=500, hidden_size=128, num_hidden_layers=1, intermediate_size=256)
    model = Transformer2017ForConditionalGeneration(config)
    assert model.get_input_embeddings().weight.std().item() == pytest.approx(128**-0.5, rel=0.03)
    encoder, decoder = model.get_encoder().layers[0], model.get_decoder().layers[0]
    reaches = {
        encoder.self_attention.q_proj: (6 / (128 + 3 * 128)) ** 0.5,
        encoder.self_attention.v_proj: (6 / (128 + 3 * 128)) ** 0.5,
        decoder.cross_attention.k_proj: (6 / (128 + 2 * 128)) ** 0.5,
        decoder.cross_attention.q_proj: (6 / (128 + 128)) ** 0.5,
        decoder.cross_attention.o_proj: (6 / (128 + 128)) ** 0.5,
        encoder.feed_forward.linear_1: (6 / (128 + 256)) ** 0.5,
    }
    for module, reach in reaches.items():
        assert 0.98 * reach < module.weight.abs().max().item() <= reach
    logits = model(torch.randint(4, 500, (4, 9)), decoder_input_ids=torch.randint(4, 500, (4, 6))).logits
    assert 0.5 < logits.std() < 2
