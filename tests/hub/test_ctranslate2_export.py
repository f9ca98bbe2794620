"""CTranslate2 writes what the model writes: greedy output, scores, both starts, every layout of positions."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_attention_zoo import TranslationTokenizer, get_architecture
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.hub.ctranslate2_export import check_exportable, export_ctranslate2, vocabulary

SOURCES = ["das haus ist gross", "die katze schläft nicht", "ein kleines haus", "haus"]
TARGETS = ["the house is big", "the cat does not sleep", "a small house", "house"]

CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "one table, biases": {
        "shared": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "attention_bias": True,
    },
    "zero start, authors' positions": {"decoder_start": "zero", "position_encoding": "tensor2tensor"},
    "learned positions, output bias": {
        "position_encoding": "learned",
        "max_position_embeddings": 40,
        "position_offset": 1,
        "output_bias": True,
    },
}


def saved_model(folder: Path, shared: bool = False, **fields: Any) -> Path:
    """A Transformer with spread weights and its tokenizer."""
    tokenizer = TranslationTokenizer.train(SOURCES * 3, TARGETS * 3, kind="word", vocab_size=40, shared=shared)
    row = get_architecture("transformer2017")
    sizes = {"vocab_size": len(tokenizer) + 2, "decoder_vocab_size": tokenizer.target_vocab_size + 2}
    config = row.config_class(**{**row.tiny_config().to_dict(), **sizes, "layer_norm_eps": 1e-2, **fields})
    torch.manual_seed(3)
    model = row.model_classes["AutoModelForSeq2SeqLM"](config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(mean=1.0 if "norm.weight" in name else 0.0, std=0.4)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_greedy_output_and_scores_are_equal(name: str, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    folder = saved_model(tmp_path / "model", **CASES[name])
    assert main(["export", str(folder), str(tmp_path / "fast"), "--format", "ctranslate2"]) == 0
    translator = ctranslate2.Translator(str(tmp_path / "fast"), inter_threads=1, intra_threads=1)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "fast" / "tokenizer")
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    seen = set()
    for text in SOURCES:
        encoded = tokenizer(text, return_tensors="pt")
        tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
        found = translator.translate_batch(
            [tokens], beam_size=1, max_decoding_length=12, min_decoding_length=0, length_penalty=0, return_scores=True
        )[0]
        with torch.no_grad():
            ids = model.generate(**encoded, max_new_tokens=12, num_beams=1, do_sample=False)[0, 1:].tolist()
            scores = model(**encoded, labels=torch.tensor([ids])).logits[0].log_softmax(-1)
        ended = ids[-1] == model.config.eos_token_id
        expected = vocabulary_of(tokenizer, model)
        assert found.hypotheses[0] == [expected[i] for i in (ids[:-1] if ended else ids)]
        assert found.scores[0] == pytest.approx(sum(scores[t, i].item() for t, i in enumerate(ids)), abs=1e-3)
        seen.add(round(found.scores[0], 3))
    assert len(seen) == len(SOURCES)  # the source matters


def vocabulary_of(tokenizer: Any, model: Any) -> list[str]:
    return vocabulary(tokenizer.get_target_vocab(), model.config.decoder_vocab_size)


def test_weights_can_be_stored_in_eight_bits(tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    folder = saved_model(tmp_path / "model", hidden_size=16, num_attention_heads=2, head_dim=None, value_head_dim=None)
    assert main(["export", str(folder), str(tmp_path / "a"), "--format", "ctranslate2", "--quantization", "int8"]) == 0
    export_ctranslate2(folder, tmp_path / "b")
    size = {name: (tmp_path / name / "model.bin").stat().st_size for name in "ab"}
    assert size["a"] < size["b"]
    assert ctranslate2.Translator(str(tmp_path / "a")).translate_batch([["haus", "</s>"]])[0].hypotheses
    tokens = json.loads((tmp_path / "a" / "source_vocabulary.json").read_text())
    assert tokens[:4] == ["<pad>", "<unk>", "<s>", "</s>"] and tokens[-1].startswith("<unused-")


def test_what_has_no_counterpart_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = get_architecture("transformer2017")
    tiny = row.tiny_config().to_dict()
    with pytest.raises(ValueError, match="do not make up hidden_size"):
        check_exportable(row.config_class(**{**tiny, "head_dim": 8, "value_head_dim": 4}))
    with pytest.raises(ValueError, match="hidden_act='tanh'"):
        check_exportable(row.config_class(**{**tiny, "hidden_act": "tanh"}))
    with pytest.raises(ValueError, match="this is a rnnsearch"):
        check_exportable(get_architecture("rnnsearch").tiny_config())
    with pytest.raises(ValueError, match="they do not fit"):
        vocabulary({"a": 5}, 4)
    assert main(["export", str(tmp_path), str(tmp_path / "x"), "--quantization", "int8"]) == 2
    assert "--quantization goes with --format ctranslate2" in capsys.readouterr().err
    assert main(["export", str(tmp_path), str(tmp_path / "x"), "--format", "onnx", "--with-code"]) == 2
    assert "--with-code copies" in capsys.readouterr().err
    pytest.importorskip("ctranslate2")
    folder = saved_model(tmp_path / "model")
    assert main(["export", str(folder), str(tmp_path / "x"), "--format", "ctranslate2", "--quantization", "int2"]) == 2
    assert "one of float32" in capsys.readouterr().err
    assert main(["export", str(folder), str(folder), "--format", "ctranslate2"]) == 2
    assert "not an empty folder" in capsys.readouterr().err
