"""Linear layers in eight bits for running on a CPU: each row near its own numbers, one setting for all entries."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.folders.eight_bits import in_eight_bits
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.tasks.translation.evaluation import evaluate_checkpoint

AUTO = "AutoModelForSeq2SeqLM"
TRANSLATORS = [row.model_type for row in list_architectures() if AUTO in row.models]


@pytest.mark.parametrize("model_type", TRANSLATORS)
def test_each_row_is_rounded_by_its_own_largest_number(model_type: str) -> None:
    row = get_architecture(model_type)
    torch.manual_seed(0)
    model = row.model_classes[AUTO](row.tiny_config())
    with torch.no_grad():  # rows of very different sizes
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
        model.lm_head.weight.mul_(torch.logspace(-2, 1, len(model.lm_head.weight))[:, None])
    plain = copy.deepcopy(model).eval()
    made = in_eight_bits(model)
    linear = {name: layer for name, layer in plain.named_modules() if type(layer) is nn.Linear}
    assert linear and not any(type(layer) is nn.Linear for layer in made.modules())
    for name, layer in linear.items():
        rounded = made.get_submodule(name).weight().dequantize()
        largest = layer.weight.abs().amax(1, keepdim=True)
        assert ((rounded - layer.weight).abs() <= largest / 127).all(), name
    others = {name for name, _ in plain.named_parameters()} - {name for name, _ in made.named_parameters()}
    assert {name.rpartition(".")[0] for name in others} <= linear.keys()
    ids = torch.randint(4, plain.config.vocab_size, (3, 5))
    with torch.no_grad():
        wanted, found = (one(ids, decoder_input_ids=ids[:, :4] % 8 + 4).logits for one in (plain, made))
        assert 0 < (found - wanted).norm() < 0.2 * wanted.norm()
        assert made.generate(ids, num_beams=2, max_new_tokens=3, min_new_tokens=3).shape == (3, 4)


def test_one_setting_for_loading_scoring_and_both_commands(
    saved_folder: Path, pair_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, _ = load_checkpoint(saved_folder, quantize="int8")
    assert type(model.lm_head) is not nn.Linear
    given, out = ["--dataset", str(pair_file), "--output"], tmp_path / "metrics.json"
    assert main(["evaluate", str(saved_folder), *given, str(out), "--quantize", "int8"]) == 0
    whole = evaluate_checkpoint(saved_folder, dataset=str(pair_file), output=tmp_path / "whole.json")
    metrics = json.loads(out.read_text())
    assert metrics["decoding"] == {**whole["decoding"], "quantize": "int8"}
    assert metrics["parameters"] == whole["parameters"]
    made, wanted = (one["results"]["perplexity_per_token"] for one in (metrics, whole))
    assert made != wanted and made == pytest.approx(wanted, rel=0.05)
    capsys.readouterr()
    assert main(["translate", str(saved_folder), "das haus", "--quantize", "int8"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_other_forms_and_other_numbers_are_refused_before_anything_is_read(
    saved_folder: Path, pair_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for scored in (evaluate_checkpoint, load_checkpoint):
        with pytest.raises(ValueError, match="quantize is 'int4'; known is int8, or leave it out"):
            scored("/no/such/folder", quantize="int4")
    for command in (["evaluate", str(saved_folder)], ["translate", str(saved_folder), "das haus"]):
        assert main([*command, "--quantize", "int4"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "--quantize" in line and "int8" in line
    model, _ = load_checkpoint(saved_folder)
    with pytest.raises(ValueError, match=r"weights are bfloat16; eight bits are made of float32 \(dtype="):
        in_eight_bits(model.bfloat16())
    rounded = in_eight_bits(load_checkpoint(saved_folder)[0])
    with pytest.raises(
        ValueError, match=r"cannot be saved; save it in float32, .* load_checkpoint\(folder, quantize="
    ):
        rounded.save_pretrained(saved_folder / "rounded")
    assert not (saved_folder / "rounded").exists()
    with pytest.raises(ValueError, match="in eight bits already"):
        in_eight_bits(rounded)
    row = get_architecture("word2vec")
    with pytest.raises(ValueError, match="a word2vec has no linear layer"):
        in_eight_bits(row.model_classes["AutoModel"](row.tiny_config()))
