"""What transformers' users expect of a model with keys and values: static caches, compilation, export, precision."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import EncoderDecoderCache, StaticCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration

OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "beams": {"num_beams": 3},
    "beams-returned": {"num_beams": 3, "num_return_sequences": 3},
}


def small_model(**changes: Any) -> Transformer2017ForConditionalGeneration:
    fields = {"vocab_size": 40, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
    model = Transformer2017ForConditionalGeneration(
        Transformer2017Config(**{**fields, "num_hidden_layers": 2, **changes})
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.4)
    return model


def sources() -> dict[str, Tensor]:
    mask = torch.tensor([[1] * 7, [1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1]])
    return {"input_ids": torch.randint(4, 40, (3, 7)) * mask, "attention_mask": mask}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_static_cache_gives_the_words_of_the_growing_one(options: str, positions: str) -> None:
    model, inputs = small_model(position_encoding=positions), sources()
    wanted = model.generate(**inputs, **OPTIONS[options], max_new_tokens=9)
    made = model.generate(**inputs, **OPTIONS[options], max_new_tokens=9, cache_implementation="static")
    assert torch.equal(made, wanted)


def static_steps(model: Any, step: Any, inputs: dict[str, Tensor], targets: Tensor) -> Tensor:
    """Logits of one step after the other through a static cache; the first step is not compiled."""
    config = model.config
    cache = EncoderDecoderCache(
        StaticCache(config=config, max_cache_len=12), StaticCache(config=config, max_cache_len=7)
    )
    with torch.no_grad():
        made = model(**inputs, decoder_input_ids=targets[:, :1], cache=cache, use_cache=True)
        parts, encoded = [made.logits], (made.encoder_last_hidden_state,)
        for t in range(1, targets.shape[1]):
            made = step(
                encoder_outputs=encoded,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=targets[:, t : t + 1],
                cache=made.cache,
                use_cache=True,
            )
            parts.append(made.logits)
    return torch.cat(parts, 1)


@pytest.mark.slow
def test_a_step_of_decoding_is_one_graph() -> None:
    model, inputs, targets = small_model(), sources(), torch.randint(4, 40, (3, 6))
    compiled = torch.compile(model.forward, fullgraph=True, backend="eager")
    wanted = model(**inputs, decoder_input_ids=targets).logits
    torch.testing.assert_close(static_steps(model, compiled, inputs, targets), wanted, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_compiled_step_of_decoding_gives_the_same_logits() -> None:
    model, inputs, targets = small_model(), sources(), torch.randint(4, 40, (3, 6))
    compiled = torch.compile(model.forward, fullgraph=True)
    wanted = model(**inputs, decoder_input_ids=targets).logits
    torch.testing.assert_close(static_steps(model, compiled, inputs, targets), wanted, rtol=0, atol=1e-5)


class EncoderStates(nn.Module):
    """Ids and mask to states, for export."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.encoder(input_ids, attention_mask).last_hidden_state


class NextWords(nn.Module):
    """Previous words, source states and mask to logits, for export."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, decoder_input_ids: Tensor, states: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(
            decoder_input_ids=decoder_input_ids,
            encoder_outputs=(states,),
            attention_mask=attention_mask,
            use_cache=False,
        ).logits


@pytest.mark.slow
def test_encoder_and_decoder_are_exported_with_any_number_of_rows_and_lengths() -> None:
    model, inputs = small_model(), sources()
    rows, read = torch.export.Dim("rows", min=1, max=64), torch.export.Dim("read", min=2, max=512)
    written = torch.export.Dim("written", min=2, max=512)
    other = {name: tensor.repeat(2, 2)[:5, :11] for name, tensor in inputs.items()}
    encoder = EncoderStates(model)
    exported = torch.export.export(encoder, tuple(inputs.values()), dynamic_shapes=({0: rows, 1: read},) * 2)
    states, real = encoder(*other.values()), other["attention_mask"].bool()
    torch.testing.assert_close(exported.module()(*other.values())[real], states[real], rtol=0, atol=1e-5)

    decoder, targets = NextWords(model), torch.randint(4, 40, (5, 6))
    exported = torch.export.export(
        decoder,
        (targets[:3], encoder(*inputs.values()), inputs["attention_mask"]),
        dynamic_shapes=({0: rows, 1: written}, {0: rows, 1: read}, {0: rows, 1: read}),
    )
    for length in (6, 3):
        arguments = (targets[:, :length], states, other["attention_mask"])
        torch.testing.assert_close(exported.module()(*arguments), decoder(*arguments), rtol=0, atol=1e-5)


def test_gradient_checkpointing_gives_the_same_gradients_with_packed_rows() -> None:
    model, inputs = small_model(dropout=0.0).train(), sources()
    labels = torch.randint(4, 40, (3, 6))
    labels[1, 2:] = -100
    gradients = []
    for reentrant in (None, True, False):
        model.zero_grad()
        if reentrant is not None:
            model.activation_checkpointing_enable({"use_reentrant": reentrant})
        model(**inputs, labels=labels).loss.backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    for other in gradients[1:]:
        torch.testing.assert_close(other, gradients[0])


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradient_checkpointing_without_labels_leaves_the_cache_and_no_gradient_out(reentrant: bool) -> None:
    model, inputs = small_model(dropout=0.0).train(), sources()
    targets, gradients = torch.randint(4, 40, (3, 6)), []
    for checkpointing in (False, True):
        model.zero_grad()
        if checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": reentrant})
        model(**inputs, decoder_input_ids=targets).logits.square().mean().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    torch.testing.assert_close(gradients[1], gradients[0])


CALLS: list[torch.Size] = []


def flash_stand_in(
    module: nn.Module, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, None]:
    """What transformers' flash kernels compute, and their condition: one (B, S) mask for queries and keys."""
    CALLS.append(query.shape)
    allowed = torch.ones(query.shape[2], keys.shape[2], dtype=torch.bool)[None, None]
    if mask is not None:
        assert mask.ndim == 2 and query.shape[2] in (1, keys.shape[2])
        allowed = allowed & mask[:, None, None].bool()
    if getattr(module, "is_causal", False) and query.shape[2] > 1:
        allowed = allowed & torch.ones_like(allowed[0, 0]).tril(keys.shape[2] - query.shape[2])
    mixed = nn.functional.scaled_dot_product_attention(query, keys, values, allowed, scale=kwargs["scaling"])
    return mixed.transpose(1, 2), None


def test_with_a_flash_kernel_padded_sources_of_any_length_are_attended_to_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS._global_mapping, "flash_attention_2", flash_stand_in)
    model, inputs = small_model(), sources()
    with torch.no_grad():
        for length in (1, 4, 7, 9):  # 7: as long as the sources
            targets, made = torch.randint(4, 40, (3, length)), []
            for kernel in ("sdpa", "flash_attention_2"):
                model.config._attn_implementation = kernel
                made.append(model(**inputs, decoder_input_ids=targets).logits)
            torch.testing.assert_close(made[1], made[0], rtol=0, atol=1e-5)
        beams = []
        for kernel in ("sdpa", "flash_attention_2"):
            model.config._attn_implementation = kernel
            beams.append(model.generate(**inputs, num_beams=3, max_new_tokens=8))
    assert torch.equal(*beams)
    assert len(CALLS) > 10  # self-attention has no need of the other kernel


def test_the_flex_kernel_takes_padded_batches() -> None:
    model, inputs = small_model(), sources()
    targets, made = torch.randint(4, 40, (3, 5)), []
    with torch.no_grad():
        for kernel in ("sdpa", "flex_attention"):
            model.set_attn_implementation(kernel)
            made.append(model(**inputs, decoder_input_ids=targets).logits)
    torch.testing.assert_close(made[1], made[0], rtol=0, atol=1e-4)


def test_weights_come_out_whatever_kernel_is_set() -> None:
    model, inputs = small_model(), sources()
    assert model.config._attn_implementation == "sdpa"
    targets = torch.randint(4, 40, (3, 4))
    with torch.no_grad():
        fast = model(**inputs, decoder_input_ids=targets, output_attentions=True)
        quiet = model(**inputs, decoder_input_ids=targets)
        model.set_attn_implementation("eager")
        plain = model(**inputs, decoder_input_ids=targets, output_attentions=True)
    assert quiet.cross_attentions is quiet.encoder_attentions is quiet.decoder_attentions is None
    torch.testing.assert_close(quiet.logits, fast.logits, rtol=0, atol=1e-5)
    for name in ("cross_attentions", "encoder_attentions", "decoder_attentions"):
        assert all(torch.equal(a, b) for a, b in zip(fast[name], plain[name], strict=True))


@pytest.mark.parametrize("options", OPTIONS)
def test_half_precision_decodes_with_both_caches(options: str) -> None:
    model, inputs = small_model().to(torch.bfloat16), sources()
    for implementation in (None, "static"):
        made = model.generate(
            **inputs, **OPTIONS[options], max_new_tokens=5, cache_implementation=implementation, eos_token_id=None
        )
        assert made.shape == (3 * OPTIONS[options].get("num_return_sequences", 1), 6)
