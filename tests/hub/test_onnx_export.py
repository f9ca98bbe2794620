"""The two ONNX graphs compute what the model computes, at lengths and batch sizes that they were not traced with."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_attention_zoo import TranslationTokenizer, get_architecture
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.hub.onnx_export import OnnxTranslator

SOURCES = ["das haus ist gross", "die katze schläft nicht", "ein kleines haus", "haus"]
TARGETS = ["the house is big", "the cat does not sleep", "a small house", "house"]


def saved_model(folder: Path, **fields: Any) -> Path:
    tokenizer = TranslationTokenizer.train(SOURCES * 3, TARGETS * 3, kind="word", vocab_size=40)
    row = get_architecture("transformer2017")
    sizes = {"vocab_size": len(tokenizer), "decoder_vocab_size": tokenizer.target_vocab_size}
    torch.manual_seed(3)
    model = row.model_classes["AutoModelForSeq2SeqLM"](
        row.config_class(**{**row.tiny_config().to_dict(), **sizes, **fields})
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(mean=1.0 if "norm.weight" in name else 0.0, std=0.4)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


OTHER = {"decoder_start": "zero", "position_encoding": "tensor2tensor", "head_dim": 6, "value_head_dim": 2}


@pytest.mark.parametrize(
    "fields", [pytest.param({}, id="paper"), pytest.param(OTHER, id="zero start, other heads", marks=pytest.mark.slow)]
)
def test_greedy_output_and_logits_are_equal(fields: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    folder = saved_model(tmp_path / "model", **fields)
    assert main(["export", str(folder), str(tmp_path / "graphs"), "--format", "onnx"]) == 0
    translator = OnnxTranslator(tmp_path / "graphs")
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for texts in (SOURCES, SOURCES[:1], ["haus " * 11]):
        for side in ("right", "left"):
            tokenizer = AutoTokenizer.from_pretrained(folder, padding_side=side)
            batch = tokenizer(texts, padding=True, return_tensors="pt")
            found = translator.generate(batch["input_ids"].numpy(), batch["attention_mask"].numpy(), 9)
            with torch.no_grad():
                rows = model.generate(**batch, max_new_tokens=9, num_beams=1)[:, 1:].tolist()
            end = model.config.eos_token_id
            assert found == [row[: row.index(end) + 1] if end in row else row for row in rows]
    assert translator.translate(SOURCES, 9) == [
        tokenizer.decode(row, skip_special_tokens=True)
        for row in translator.generate(**tokenizer(SOURCES, padding=True, return_tensors="np"), max_new_tokens=9)
    ]

    ids = batch["input_ids"].numpy()
    keys, values = translator.encoder.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    past = {"self_keys": keys[:, :, :, :0], "self_values": values[:, :, :, :0]}
    target = [model.config.decoder_start_token_id, 5, 6, 7]
    with torch.no_grad():
        wanted = model(input_ids=batch["input_ids"], decoder_input_ids=torch.tensor([target])).logits[0].numpy()
    for position, token in enumerate(target):
        logits, past["self_keys"], past["self_values"] = translator.step.run(
            None,
            {
                "token_ids": np.array([[token]]),
                "attention_mask": np.ones_like(ids),
                "cross_keys": keys,
                "cross_values": values,
                **past,
            },
        )
        np.testing.assert_allclose(logits[0], wanted[position], rtol=1e-4, atol=1e-4)


def test_other_models_and_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxscript")
    with pytest.raises(ValueError, match=r"has no encoder\.onnx"):
        OnnxTranslator(tmp_path)
    row = get_architecture("rnnsearch")
    row.model_classes["AutoModelForSeq2SeqLM"](row.tiny_config()).save_pretrained(tmp_path / "model")
    TranslationTokenizer.train(SOURCES, TARGETS, kind="word", vocab_size=40).save_pretrained(tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "out"), "--format", "onnx"]) == 2
    assert "this is a rnnsearch" in capsys.readouterr().err
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "model"), "--format", "onnx"]) == 2
    assert "not an empty folder" in capsys.readouterr().err
    learned = saved_model(tmp_path / "learned", position_encoding="learned", max_position_embeddings=20)
    assert main(["export", str(learned), str(tmp_path / "out"), "--format", "onnx"]) == 2
    assert "learned positions" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_body_whose_embeddings_are_its_head_is_exported_as_the_translator_that_it_is(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    folder = saved_model(tmp_path / "model", tie_word_embeddings=True)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    shutil.copytree(folder, tmp_path / "body")
    model.model.save_pretrained(tmp_path / "body")
    assert main(["export", str(tmp_path / "body"), str(tmp_path / "graphs"), "--format", "onnx"]) == 0
    batch = AutoTokenizer.from_pretrained(folder)(SOURCES, padding=True, return_tensors="pt")
    rows = OnnxTranslator(tmp_path / "graphs").generate(batch["input_ids"].numpy(), batch["attention_mask"].numpy(), 5)
    made = model.eval().generate(**batch, max_new_tokens=5, num_beams=1)[:, 1:].tolist()
    assert [row[:1] for row in rows] == [row[:1] for row in made]
