"""Saving, loading, resizing, tying: nothing is lost and nothing is made anew that was there."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from model_cases import SEQ2SEQ_CASES, Case, Maker, spread
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM

from hf_attention_zoo import get_architecture


def same(logits: torch.Tensor, wanted: torch.Tensor) -> None:
    """Equal up to rounding: torch's recurrent layers round by where their weights stand in memory."""
    torch.testing.assert_close(logits, wanted, rtol=0, atol=1e-5)


def logits_of(model: torch.nn.Module, maker: Maker) -> torch.Tensor:
    with torch.no_grad():
        return model(**maker.batch([5, 3])).logits


def test_config_survives_saving(case: Case, tmp_path: Path) -> None:
    config = case.config()
    config.save_pretrained(tmp_path)
    again = AutoConfig.from_pretrained(tmp_path)
    assert type(again) is get_architecture(case.model_type).config_class
    origin = {"transformers_version": None, "_name_or_path": None}
    assert {**again.to_dict(), **origin} == {**config.to_dict(), **origin}


def test_a_saved_model_comes_back_through_its_auto_classes(case: Case, tmp_path: Path) -> None:
    for auto_name, model_class in get_architecture(case.model_type).model_classes.items():
        folder = tmp_path / auto_name
        model = spread(model_class(case.config()))
        model.save_pretrained(folder)
        assert (folder / "model.safetensors").exists()
        again, report = model_class.from_pretrained(folder, output_loading_info=True)
        assert not any(report.values()), report
        for name, tensor in model.state_dict().items():
            assert torch.equal(again.state_dict()[name], tensor), name
        assert not again.training
        if auto_name == "AutoModelForSeq2SeqLM":
            assert type(AutoModelForSeq2SeqLM.from_pretrained(folder)) is model_class


def test_the_body_loads_from_the_checkpoint_of_the_whole(seq2seq: Maker, tmp_path: Path) -> None:
    model = seq2seq.model()
    model.save_pretrained(tmp_path)
    body = AutoModel.from_pretrained(tmp_path)
    wanted = model.base_model.state_dict()
    assert body.state_dict().keys() == wanted.keys()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in body.state_dict().items())


def test_the_whole_loads_from_the_checkpoint_of_the_body_with_a_new_output_layer(
    seq2seq: Maker, tmp_path: Path
) -> None:
    model = seq2seq.model()
    model.base_model.save_pretrained(tmp_path)
    again, report = seq2seq.model_class.from_pretrained(tmp_path, output_loading_info=True)
    assert {name.split(".")[0] for name in report["missing_keys"]} == {"lm_head"}
    wanted = model.base_model.state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in again.base_model.state_dict().items())
    assert again.lm_head.weight.isfinite().all()


@pytest.mark.parametrize("case", [case for case in SEQ2SEQ_CASES if case.option == "default"], ids=str)
def test_a_fresh_process_gives_the_same_outputs_through_the_auto_classes(case: Case, tmp_path: Path) -> None:
    seq2seq = Maker(case)
    model, sources = seq2seq.model(), seq2seq.sources([5, 1, 8])
    model.save_pretrained(tmp_path / "model")
    wanted = model.generate(**sources, num_beams=3, max_new_tokens=8, gnmt_length_penalty=0.6)
    torch.save(
        {"sources": sources, "logits": logits_of(model, seq2seq), "batch": seq2seq.batch([5, 3])}, tmp_path / "in"
    )
    script = f"""
import torch
import hf_attention_zoo
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM
given = torch.load({str(tmp_path / "in")!r})
model = AutoModelForSeq2SeqLM.from_pretrained({str(tmp_path / "model")!r})
assert AutoConfig.from_pretrained({str(tmp_path / "model")!r}).model_type == {seq2seq.case.model_type!r}
assert type(AutoModel.from_pretrained({str(tmp_path / "model")!r})) is type(model.base_model)
torch.testing.assert_close(model(**given["batch"]).logits, given["logits"], rtol=0, atol=1e-5)
words = model.generate(**given["sources"], num_beams=3, max_new_tokens=8, gnmt_length_penalty=0.6)
print("words", words.tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == f"words {wanted.tolist()}"


def test_a_checkpoint_that_lacks_a_tensor_keeps_all_that_it_has(seq2seq: Maker, tmp_path: Path) -> None:
    seq2seq.model().save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    state = load_file(weights)
    for missing in sorted(state):
        save_file({name: t for name, t in state.items() if name != missing}, weights, metadata={"format": "pt"})
        again = seq2seq.model_class.from_pretrained(tmp_path).state_dict()
        changed = [name for name, t in state.items() if name != missing and not torch.equal(again[name], t)]
        assert changed == [], f"changed because {missing} was missing"
        assert again[missing].isfinite().all() and again[missing].abs().max() < 5, missing


def test_tensors_made_anew_on_loading_follow_the_initialisation_of_the_model(seq2seq: Maker, tmp_path: Path) -> None:
    seq2seq.model().save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    save_file({"nothing": torch.zeros(1)}, weights, metadata={"format": "pt"})
    again, new = seq2seq.model_class.from_pretrained(tmp_path), seq2seq.new()
    for (name, loaded), fresh in zip(again.named_parameters(), new.parameters(), strict=True):
        assert loaded.isfinite().all(), name
        if fresh.numel() > 20:
            assert loaded.std().item() == pytest.approx(fresh.std().item(), rel=0.5, abs=1e-6), name
        if not fresh.any():
            assert not loaded.any(), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_model_loads_in_the_precision_that_it_was_saved_in(
    seq2seq: Maker, tmp_path: Path, dtype: torch.dtype
) -> None:
    model = seq2seq.model().to(dtype)
    model.save_pretrained(tmp_path)
    for options in ({}, {"dtype": "auto"}):
        again = seq2seq.model_class.from_pretrained(tmp_path, **options)
        assert {p.dtype for p in again.parameters()} == {dtype}
    assert {p.dtype for p in seq2seq.model_class.from_pretrained(tmp_path, dtype=torch.float32).parameters()} == {
        torch.float32
    }
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == str(dtype).removeprefix("torch.")


def test_a_model_survives_copying_and_pickling(seq2seq: Maker) -> None:
    model = seq2seq.model()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        same(logits_of(again, seq2seq), logits_of(model, seq2seq))
        assert again.generation_config.to_dict() == model.generation_config.to_dict()


def test_a_model_in_shards_is_the_same_model(seq2seq: Maker, tmp_path: Path) -> None:
    model = seq2seq.model()
    model.save_pretrained(tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    same(logits_of(seq2seq.model_class.from_pretrained(tmp_path), seq2seq), logits_of(model, seq2seq))


def test_encoder_decoder_and_tables_are_found(seq2seq: Maker) -> None:
    model = seq2seq.model()
    config = model.config
    assert model.get_encoder() is model.base_model.encoder and model.get_decoder() is model.base_model.decoder
    assert model.get_input_embeddings().weight.shape[0] == config.vocab_size
    assert model.get_decoder_input_embeddings().weight.shape[0] == config.decoder_vocab_size
    assert model.get_output_embeddings().weight.shape[0] == config.decoder_vocab_size
    assert config.vocab_size != config.decoder_vocab_size


def test_the_source_vocabulary_can_be_resized_alone(seq2seq: Maker, tmp_path: Path) -> None:
    model = seq2seq.model()
    before = logits_of(model, seq2seq)
    old = model.get_input_embeddings().weight.detach().clone()
    table = model.resize_source_embeddings(len(old) + 5)
    assert table is model.get_input_embeddings()
    assert torch.equal(table.weight[: len(old)], old) and table.weight[len(old) :].isfinite().all()
    assert (model.config.vocab_size, model.config.decoder_vocab_size) == (len(old) + 5, before.shape[-1])
    same(logits_of(model, seq2seq), before)
    model.save_pretrained(tmp_path)
    same(logits_of(seq2seq.model_class.from_pretrained(tmp_path), seq2seq), before)


def test_the_target_vocabulary_can_be_resized_alone(seq2seq: Maker, tmp_path: Path) -> None:
    model = seq2seq.model()
    before, size = logits_of(model, seq2seq), model.config.decoder_vocab_size
    model.resize_target_embeddings(size + 5)
    after = logits_of(model, seq2seq)
    assert after.shape[-1] == model.config.decoder_vocab_size == size + 5
    torch.testing.assert_close(after[..., :size], before)
    assert model.get_input_embeddings().weight.shape[0] == model.config.vocab_size
    words = model.generate(**seq2seq.sources([4, 2]), num_beams=3, max_new_tokens=5)
    assert words.max() < size + 5
    model.save_pretrained(tmp_path)
    same(logits_of(seq2seq.model_class.from_pretrained(tmp_path), seq2seq), after)


def test_one_number_for_two_vocabularies_of_different_sizes_is_refused(seq2seq: Maker) -> None:
    model = seq2seq.model()
    with pytest.raises(ValueError, match="resize_source_embeddings or resize_target_embeddings"):
        model.resize_token_embeddings(100)
    assert model.resize_token_embeddings() is model.get_input_embeddings()


def test_vocabularies_of_one_size_are_resized_together(seq2seq: Maker) -> None:
    size = seq2seq.case.config().vocab_size
    model = seq2seq.model(decoder_vocab_size=size)
    before = logits_of(model, seq2seq)
    model.resize_token_embeddings(size + 1, pad_to_multiple_of=16)
    assert model.config.vocab_size == model.config.decoder_vocab_size == -(-(size + 1) // 16) * 16
    after = logits_of(model, seq2seq)
    torch.testing.assert_close(after[..., :size], before)
    model.resize_token_embeddings(size)
    same(logits_of(model, seq2seq), before)


def tied(maker: Maker) -> torch.nn.Module:
    """A tied model, whose output layer and embedding have one width."""
    config = maker.case.config()
    if hasattr(config, "output_rank"):
        options = {"output_rank": config.embedding_size}
    else:
        options = {"embedding_size": config.hidden_size} if hasattr(config, "embedding_size") else {}
    return maker.model(tie_word_embeddings=True, **options)


def test_tied_tables_are_one_table_also_after_loading_and_resizing(seq2seq: Maker, tmp_path: Path) -> None:
    model = tied(seq2seq)
    assert model.lm_head.weight is model.get_decoder_input_embeddings().weight
    assert model.get_input_embeddings().weight is not model.lm_head.weight
    model.save_pretrained(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    again = seq2seq.model_class.from_pretrained(tmp_path)
    assert again.lm_head.weight is again.get_decoder_input_embeddings().weight
    same(logits_of(again, seq2seq), logits_of(model, seq2seq))
    again.resize_target_embeddings(50)
    assert again.lm_head.weight is again.get_decoder_input_embeddings().weight
    assert again.lm_head.weight.shape[0] == logits_of(again, seq2seq).shape[-1] == 50


def test_tied_tables_get_the_gradients_of_both_uses(seq2seq: Maker) -> None:
    model = tied(seq2seq).double()
    batch = seq2seq.batch([5, 3])
    model(**batch).logits.square().sum().backward()
    step, table = 1e-6, model.lm_head.weight
    with torch.no_grad():
        direction = torch.randn_like(table)
        values = []
        for sign in (1, -1):
            table.add_(direction, alpha=sign * step)
            values.append(model(**batch).logits.square().sum())
            table.sub_(direction, alpha=sign * step)
    plain = ((values[0] - values[1]) / (2 * step)).item()
    assert (table.grad * direction).sum().item() == pytest.approx(plain, rel=1e-5)
