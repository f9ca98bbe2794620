"""Weights taken over from Marian, fairseq (as its port in transformers has them) and the Annotated Transformer."""

import argparse
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, FSMTConfig, FSMTForConditionalGeneration, MarianConfig, MarianMTModel

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.models.transformer2017.convert_transformer2017 import convert_checkpoint
from hf_attention_zoo.models.transformer2017.renamed_weights import first_of
from hf_attention_zoo.models.transformer2017.weight_files import load_weights

SOURCE = torch.tensor([[5, 6, 7, 8, 2], [9, 4, 2, 1, 1]])
TARGET = torch.tensor([[2, 6, 5, 7], [2, 8, 8, 4]])


def spread(model: torch.nn.Module) -> Any:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                centre = 1.0 if "layer_norm.weight" in name else 0.0
                parameter.copy_(centre + 0.3 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


@torch.no_grad()
def logits(model: Any, pad: int) -> Tensor:
    return model(
        input_ids=SOURCE, attention_mask=SOURCE.ne(pad).long(), decoder_input_ids=TARGET, use_cache=False
    ).logits


def marian(**fields: Any) -> MarianMTModel:
    return spread(
        MarianMTModel(
            MarianConfig(
                **{
                    **dict(
                        vocab_size=12, d_model=8, encoder_layers=2, decoder_layers=2, pad_token_id=1, eos_token_id=2
                    ),
                    **dict(encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=6, decoder_ffn_dim=6),
                    **dict(max_position_embeddings=20, decoder_start_token_id=1, scale_embedding=True),
                    **fields,
                }
            )
        )
    )


@pytest.mark.parametrize(
    "fields", [{}, {"scale_embedding": False, "activation_function": "relu"}], ids=["", "unscaled"]
)
def test_a_marian_folder_computes_the_same_here(fields: dict[str, Any], tmp_path: Path) -> None:
    model = marian(**fields)
    model.final_logits_bias.copy_(torch.linspace(-1, 1, 12))
    model.save_pretrained(tmp_path / "marian")
    (tmp_path / "marian" / "source.spm").write_bytes(b"pieces")
    assert main(["convert", str(tmp_path / "marian"), str(tmp_path / "ours")]) == 0
    converted = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours").eval()
    assert converted.config.model_type == "transformer2017"
    assert converted.config.share_encoder_decoder_embeddings == (not fields)
    torch.testing.assert_close(logits(converted, 1), logits(model, 1), rtol=1e-4, atol=1e-5)
    inputs = {"input_ids": SOURCE, "attention_mask": (SOURCE != 1).long()}
    assert converted.generation_config.forced_eos_token_id == model.generation_config.forced_eos_token_id
    settings = {"max_new_tokens": 6, "num_beams": 1}
    assert torch.equal(converted.generate(**inputs, **settings), model.generate(**inputs, **settings))
    assert (tmp_path / "ours" / "source.spm").read_bytes() == b"pieces"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"normalize_before": True}, "pre-norm"),
        ({"decoder_layers": 1}, "2 encoder layers and 1 decoder layers"),
        ({"decoder_attention_heads": 4}, "differ in heads"),
        ({"normalize_embedding": True}, "nothing that computes it"),
    ],
)
def test_another_marian_is_refused(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    marian(**fields).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        convert_checkpoint(tmp_path)


def fairseq_model() -> FSMTForConditionalGeneration:
    config = FSMTConfig(
        langs=["a", "b"],
        src_vocab_size=12,
        tgt_vocab_size=11,
        d_model=8,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=6,
        decoder_ffn_dim=6,
        max_position_embeddings=20,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        tie_word_embeddings=False,
    )
    return spread(FSMTForConditionalGeneration(config))


def fairseq_state(model: torch.nn.Module) -> dict[str, Tensor]:
    state = {name.removeprefix("model."): tensor.clone() for name, tensor in model.state_dict().items()}
    return {name: tensor for name, tensor in state.items() if "embed_positions" not in name}


def test_a_fairseq_checkpoint_computes_the_same_here(tmp_path: Path) -> None:
    model = fairseq_model()
    args = argparse.Namespace(encoder_attention_heads=2, decoder_attention_heads=2, encoder_normalize_before=False)
    unread = {"encoder.version": torch.tensor([3.0]), "encoder.embed_positions.weights": torch.zeros(20, 8)}
    unread["decoder.embed_positions._float_tensor"] = torch.zeros(1)
    torch.save({"args": args, "model": {**fairseq_state(model), **unread}}, tmp_path / "model.pt")
    assert main(["convert", str(tmp_path / "model.pt"), str(tmp_path / "ours")]) == 0
    converted = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours").eval()
    assert converted.config.position_encoding == "tensor2tensor" and converted.config.position_offset == 2
    torch.testing.assert_close(logits(converted, 1), logits(model, 1), rtol=1e-4, atol=1e-5)


def test_the_second_copies_that_fairseq_0_12_2_keeps_of_its_encoder_are_not_read(tmp_path: Path) -> None:
    state = fairseq_state(fairseq_model())
    copies = {"in_proj": (24, 8), "out_proj": (8, 8), "fc1": (6, 8), "fc2": (8, 6)}
    for layer in range(2):
        for name, shape in copies.items():
            state[f"encoder.layers.{layer}.{name}_weight"] = torch.zeros(shape)
            state[f"encoder.layers.{layer}.{name}_bias"] = torch.zeros(shape[0])
    state |= {f"{side}.version": torch.tensor([3.0]) for side in ("encoder", "decoder")}
    state |= {f"{side}.embed_positions._float_tensor": torch.zeros(1) for side in ("encoder", "decoder")}
    settings = argparse.Namespace(encoder_attention_heads=2, decoder_attention_heads=2)
    content = {"args": None, "cfg": {"model": settings}, "criterion": None, "extra_state": {}, "model": state}
    torch.save(content, tmp_path / "model.pt")
    made, wanted = convert_checkpoint(tmp_path / "model.pt"), fairseq_model()
    torch.testing.assert_close(logits(made, 1), logits(wanted, 1), rtol=1e-4, atol=1e-5)


def test_older_fairseq_weights_and_learned_positions_are_understood(tmp_path: Path) -> None:
    state = fairseq_state(fairseq_model())
    save_file(state, tmp_path / "new.safetensors")
    first = convert_checkpoint(tmp_path / "new.safetensors", heads=2)
    for name in [name for name in state if ".q_proj." in name]:
        parts = [state.pop(name.replace("q_proj", f"{letter}_proj")) for letter in "qkv"]
        state[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
    torch.save(state, tmp_path / "old.pt")
    second = convert_checkpoint(tmp_path / "old.pt", heads=2)
    assert torch.equal(logits(first, 1), logits(second, 1))
    for side in ("encoder", "decoder"):
        state[f"{side}.embed_positions.weight"] = torch.randn(10, 8)
    torch.save(state, tmp_path / "learned.pt")
    learned = convert_checkpoint(tmp_path / "learned.pt", heads=2)
    assert learned.config.max_position_embeddings == 8
    table = learned.model.encoder.positions
    assert torch.equal(table(3, device="cpu", dtype=torch.float32), state["encoder.embed_positions.weight"][2:5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder.layer_norm.weight": torch.ones(8)}, "pre-norm"),
        ({"encoder.layernorm_embedding.weight": torch.ones(8)}, "normalises its embeddings"),
        ({"encoder.layers.0.gate.weight": torch.ones(8)}, "gate.weight has no counterpart"),
        ({"encoder.layers.0.fc3_weight": torch.zeros(6, 8)}, "fc3_weight has no counterpart"),
        ({"decoder.layers.0.fc1_weight": torch.zeros(6, 8)}, "fc1_weight has no counterpart"),
        ({"encoder.in_proj_weight": torch.zeros(24, 8)}, "encoder.in_proj_weight: without a counterpart"),
        ({"decoder.output_projection.bias": torch.ones(11)}, "output_projection.bias: without a counterpart"),
        ({"encoder.layers.0.fc1.weight": torch.ones(3, 8)}, "do not fit"),
        ({"encoder.layers.0.fc1.bias": None}, "missing in the weights"),
        ({"decoder.embed_tokens.weight": None}, "not a whole fairseq Transformer"),
    ],
)
def test_another_fairseq_model_is_refused(change: dict[str, Tensor | None], message: str, tmp_path: Path) -> None:
    state = {**fairseq_state(fairseq_model()), **change}
    torch.save({name: tensor for name, tensor in state.items() if tensor is not None}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match=message):
        convert_checkpoint(tmp_path / "model.pt", heads=2)


@pytest.mark.parametrize("kind", [argparse.Namespace, dict])
def test_settings_of_newer_fairseq_files_are_read(kind: type[Any], tmp_path: Path) -> None:
    settings = {
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "no_scale_embedding": True,
        "activation_fn": "gelu",
    }
    state = fairseq_state(fairseq_model())
    torch.save({"args": None, "cfg": {"model": kind(**settings)}, "model": state}, tmp_path / "model.pt")
    made = convert_checkpoint(tmp_path / "model.pt")
    assert (made.config.num_attention_heads, made.config.hidden_act) == (2, "gelu")
    table = state["encoder.embed_tokens.weight"]
    torch.testing.assert_close(made.get_input_embeddings().weight.detach() * 8**0.5, table)
    without = {**settings, "no_token_positional_embeddings": True}
    torch.save({"cfg": {"model": kind(**without)}, "model": state}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="has no positions"):
        convert_checkpoint(tmp_path / "model.pt")


class Tricky:
    """Something that only its own code can load."""


def test_files_that_would_run_code_are_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"cfg": Tricky(), "model": {}}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="without running what is in it"):
        load_weights(tmp_path / "model.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    with pytest.raises(ValueError, match="no dictionary of tensors"):
        load_weights(tmp_path / "list.pt")
    torch.save({"a": torch.ones(1)}, tmp_path / "strange.pt")
    with pytest.raises(ValueError, match=r"called a \.\.\. are of no known form"):
        convert_checkpoint(tmp_path / "strange.pt")
    torch.save(fairseq_state(fairseq_model()), tmp_path / "headless.pt")
    assert main(["convert", str(tmp_path / "headless.pt"), str(tmp_path / "out")]) == 2
    assert "give --heads" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 2
    assert "does not exist" in capsys.readouterr().err


# --- Annotated names, post-norm: shapes (D=8, 2 heads, 2 layers), written out with a loop over heads


def annotated_state() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(4)

    def draw(*shape: int) -> Tensor:
        return 0.4 * torch.randn(shape, generator=generator, dtype=torch.float64)

    state: dict[str, Tensor] = {"src_embed.0.lut.weight": draw(12, 8), "tgt_embed.0.lut.weight": draw(11, 8)}
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "src_attn"])):
        for i in range(2):
            at = f"{side}.layers.{i}."
            for name in attentions:
                for j in range(4):
                    state |= {f"{at}{name}.linears.{j}.weight": draw(8, 8), f"{at}{name}.linears.{j}.bias": draw(8)}
            state |= {f"{at}feed_forward.w_1.weight": draw(6, 8), f"{at}feed_forward.w_1.bias": draw(6)}
            state |= {f"{at}feed_forward.w_2.weight": draw(8, 6), f"{at}feed_forward.w_2.bias": draw(8)}
            for j in range(len(attentions) + 1):
                state |= {f"{at}sublayer.{j}.norm.a_2": 1 + draw(8), f"{at}sublayer.{j}.norm.b_2": draw(8)}
    return state | {"generator.proj.weight": draw(11, 8), "generator.proj.bias": draw(11)}


def annotated_logits(state: dict[str, Tensor], source: list[int], target: list[int]) -> Tensor:
    def linear(at: str, x: Tensor) -> Tensor:
        return x @ state[f"{at}.weight"].T + state[f"{at}.bias"]

    def norm(at: str, x: Tensor) -> Tensor:
        return state[f"{at}.a_2"] * (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + 1e-6) + state[f"{at}.b_2"]

    def attention(at: str, x: Tensor, memory: Tensor, causal: bool) -> Tensor:
        q, k, v = linear(f"{at}.linears.0", x), linear(f"{at}.linears.1", memory), linear(f"{at}.linears.2", memory)
        heads = []
        for h in (slice(0, 4), slice(4, 8)):
            scores = q[:, h] @ k[:, h].T / 2.0
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
            heads.append(scores.softmax(-1) @ v[:, h])
        return linear(f"{at}.linears.3", torch.cat(heads, -1))

    def embed(side: str, ids: list[int]) -> Tensor:
        rows = state[f"{side}.0.lut.weight"][ids] * math.sqrt(8)
        for p in range(len(ids)):
            for i in range(4):
                angle = p / 10000 ** (2 * i / 8)
                rows[p, 2 * i] += math.sin(angle)
                rows[p, 2 * i + 1] += math.cos(angle)
        return rows

    def feed_forward(at: str, x: Tensor) -> Tensor:
        return linear(f"{at}.w_2", linear(f"{at}.w_1", x).clamp(min=0))

    x = embed("src_embed", source)
    for i in range(2):
        at = f"encoder.layers.{i}"
        x = norm(f"{at}.sublayer.0.norm", x + attention(f"{at}.self_attn", x, x, False))
        x = norm(f"{at}.sublayer.1.norm", x + feed_forward(f"{at}.feed_forward", x))
    y = embed("tgt_embed", target)
    for i in range(2):
        at = f"decoder.layers.{i}"
        y = norm(f"{at}.sublayer.0.norm", y + attention(f"{at}.self_attn", y, y, True))
        y = norm(f"{at}.sublayer.1.norm", y + attention(f"{at}.src_attn", y, x, False))
        y = norm(f"{at}.sublayer.2.norm", y + feed_forward(f"{at}.feed_forward", y))
    return linear("generator.proj", y)


def test_annotated_names_after_each_sublayer_compute_the_same_here(tmp_path: Path) -> None:
    state = annotated_state()
    torch.save({name: tensor.float() for name, tensor in state.items()}, tmp_path / "model.pt")
    assert main(["convert", str(tmp_path / "model.pt"), str(tmp_path / "ours"), "--heads", "2", "--end_id", "3"]) == 0
    converted = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours").eval()
    assert (converted.config.eos_token_id, converted.config.pad_token_id) == (3, 2)
    found = logits(converted, 1)
    for row, length in ((0, 5), (1, 3)):
        wanted = annotated_logits(state, SOURCE[row, :length].tolist(), TARGET[row].tolist())
        torch.testing.assert_close(found[row].double(), wanted, rtol=1e-3, atol=1e-4)


def test_the_annotated_transformer_itself_is_another_network(tmp_path: Path) -> None:
    torch.save({**annotated_state(), "encoder.norm.a_2": torch.ones(8)}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="final norms: it normalises before each sub-layer"):
        convert_checkpoint(tmp_path / "model.pt", heads=2)
    torch.save({**annotated_state(), "src_embed.2.gain": torch.ones(8)}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match=r"src_embed\.2\.gain: without a counterpart"):
        convert_checkpoint(tmp_path / "model.pt", heads=2)


def test_weights_without_a_table_are_refused_by_its_names() -> None:
    with pytest.raises(ValueError, match="neither a nor b"):
        first_of({"c": torch.zeros(1)}, "a", "b")
    assert first_of({"b": torch.ones(1), "c": torch.zeros(1)}, "a", "b").item() == 1
