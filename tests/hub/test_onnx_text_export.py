"""The ONNX graph of BERT and GPT computes what the model computes, whatever the head, the batch and the pads."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from hf_attention_zoo import get_architecture
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.hub.onnx_export import OnnxTranslator, export_onnx
from hf_attention_zoo.hub.onnx_text_export import INPUTS, MODEL_FILE
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer

HEADS = [(name, auto) for name in INPUTS for auto in get_architecture(name).models]
# One graph a head takes some seconds; these differ most.
QUICK = {
    ("bert2018", "AutoModelForPreTraining"),
    ("bert2018", "AutoModelForMultipleChoice"),
    ("gpt2018", "AutoModelForCausalLM"),
    ("gpt2018", "AutoModelForSequenceClassification"),
}


def save_tokenizer(folder: Path) -> None:
    """What a published folder has; the graph does not read it."""
    BERT2018Tokenizer.train(["a b c"] * 3, vocab_size=20).save_pretrained(folder)


def saved(name: str, auto: str, folder: Path, **fields: Any) -> Any:
    row = get_architecture(name)
    torch.manual_seed(1)
    model = row.model_classes[auto](row.config_class(**row.tiny_config().to_diff_dict() | {"num_labels": 3} | fields))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    model.tie_weights()
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return getattr(transformers, auto).from_pretrained(folder).eval()


def batch_of(name: str, auto: str, lengths: tuple[int, ...], side: str) -> dict[str, torch.Tensor]:
    width = max(lengths) + 1
    places = torch.arange(width) if side == "right" else torch.arange(width).flip(0)
    mask = (places < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 20, mask.shape, generator=torch.Generator().manual_seed(len(lengths))) * mask
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": (mask.cumsum(1) > 2).long() * mask}
    given = {key: given[key] for key in INPUTS[name]}
    if auto == "AutoModelForMultipleChoice":
        given = {key: torch.stack([tensor, tensor.flip(0)], 1) for key, tensor in given.items()}
    return given


@pytest.mark.parametrize(
    ("name", "auto"),
    [pytest.param(*head, marks=[] if head in QUICK else [pytest.mark.slow], id="-".join(head)) for head in HEADS],
)
def test_the_graph_gives_what_the_head_gives(name: str, auto: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = saved(name, auto, tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), str(tmp_path / "graph"), "--format", "onnx"]) == 0
    session = runtime.InferenceSession(str(tmp_path / "graph" / MODEL_FILE))
    outputs = [output.name for output in session.get_outputs()]
    for lengths in ((6,), (3, 8, 1), (2, 5, 5, 9)):
        for side in ("right", "left"):
            given = batch_of(name, auto, lengths, side)
            made = dict(zip(outputs, session.run(None, {k: v.numpy() for k, v in given.items()}), strict=True))
            with torch.no_grad():
                wanted = {k: v for k, v in model(**given).items() if isinstance(v, torch.Tensor)}
            assert set(made) == set(wanted)
            real = given["attention_mask"].bool()
            for key, tensor in wanted.items():
                found = torch.from_numpy(made[key])
                if tensor.shape[:2] == real.shape and real.ndim == 2 and tensor.ndim > 1:
                    found, tensor = found[real], tensor[real]
                torch.testing.assert_close(found, tensor, rtol=0, atol=2e-5)


def test_a_text_beyond_the_positions_is_an_error_of_the_runtime(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = saved("gpt2018", "AutoModelForCausalLM", tmp_path / "model")
    main(["export", str(tmp_path / "model"), str(tmp_path / "graph"), "--format", "onnx"])
    session = runtime.InferenceSession(str(tmp_path / "graph" / MODEL_FILE))
    longest = model.config.max_position_embeddings
    given = batch_of("gpt2018", "AutoModelForCausalLM", (longest + 1, 2), "right")
    with pytest.raises(Exception, match=r"indices|Invalid|broadcast"):
        session.run(None, {key: tensor.numpy() for key, tensor in given.items()})


def test_what_has_no_graph_is_refused_with_the_reason(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    row = get_architecture("han")
    row.model_classes["AutoModelForSequenceClassification"](row.tiny_config()).save_pretrained(tmp_path / "han")
    save_tokenizer(tmp_path / "han")
    with pytest.raises(
        ValueError, match=r"transformer2017, bert2018, gpt2018 are exported to ONNX, and this is a han;"
    ):
        export_onnx(tmp_path / "han", tmp_path / "graph")
    pairs = {"similarity": True, "delimiter_token_id": 3}
    saved("gpt2018", "AutoModelForSequenceClassification", tmp_path / "pairs", **pairs)
    with pytest.raises(ValueError, match="similarity=True reads each pair in both orders"):
        export_onnx(tmp_path / "pairs", tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_no_graph_has_weights_that_the_folder_has_not(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    model = saved("bert2018", "AutoModelForMaskedLM", tmp_path / "words")
    config = json.loads((tmp_path / "words" / "config.json").read_text())
    config["architectures"] = ["BERT2018ForSequenceClassification"]
    (tmp_path / "words" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"lacks weights that the model of its config\.json has: .*random numbers"):
        export_onnx(tmp_path / "words", tmp_path / "graph")
    del config["architectures"]
    (tmp_path / "words" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="does not say which head the model has"):
        export_onnx(tmp_path / "words", tmp_path / "graph")
    assert not (tmp_path / "graph").exists()

    model.model.save_pretrained(tmp_path / "body")  # no pooler, and none is made up
    save_tokenizer(tmp_path / "body")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(export_onnx(tmp_path / "body", tmp_path / "graph") / MODEL_FILE))
    assert [output.name for output in session.get_outputs()] == ["last_hidden_state"]
    assert all(given.shape == ["batch", "length"] for given in session.get_inputs())
    with pytest.raises(ValueError, match="has the graph of a model that does not translate"):
        OnnxTranslator(tmp_path / "graph")
