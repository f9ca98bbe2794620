"""LoRA of PEFT on every architecture: adapters act, learn, are merged and saved, and come back to the same loss."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from every_head import EVERY_HEAD, RegisteredHead

from hf_attention_zoo import get_architecture, list_architectures

peft = pytest.importorskip("peft")

# What makes the output layer as wide as the words that it is tied to.
TIED = {
    "rnn_encoder_decoder": {"output_rank": 8},
    "seq2seq_lstm": {"embedding_size": 14},
    "rnnsearch": {"maxout_size": 8},
    "luong": {"embedding_size": 12},
    "show_attend_tell": {},
    "transformer2017": {},
}


def adapted(model: Any, targets: Any, parameters: Sequence[str] = ()) -> Any:
    """The model with adapters on layers, or on matrices by name, that change what it computes."""
    torch.manual_seed(1)
    options = {"target_parameters": [*parameters]} if parameters else {}
    return peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=targets, init_lora_weights=False, **options))


def loss_of(model: Any, head: RegisteredHead) -> float:
    with torch.no_grad():
        return model.eval()(**head.batch()).loss.item()


def check_whole_life(
    head: RegisteredHead, targets: Any, folder: Path, parameters: Sequence[str] = (), **changes: Any
) -> None:
    """Adapters change the loss, all of them learn, and after a step neither saving nor merging changes it again."""
    before = loss_of(head.model(**changes), head)
    model = adapted(head.model(**changes), targets, parameters)
    begun = loss_of(model, head)
    assert abs(begun - before) > 1e-4
    model(**head.batch()).loss.backward()
    learnt = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    assert not [name for name, weight in learnt.items() if weight.grad is None or not weight.grad.abs().sum() > 0]
    torch.optim.SGD(learnt.values(), lr=0.05).step()
    loss = loss_of(model, head)
    assert abs(loss - begun) > 1e-5
    model.save_pretrained(folder / "adapters")
    loaded = peft.PeftModel.from_pretrained(head.model(**changes), folder / "adapters")
    assert loss_of(loaded, head) == pytest.approx(loss, abs=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT takes the table of sources for the one that the output layer is tied to
        merged = model.merge_and_unload()
    assert loss_of(merged, head) == pytest.approx(loss, abs=1e-5)
    merged.save_pretrained(folder / "merged")
    again, report = head.model_class.from_pretrained(folder / "merged", output_loading_info=True)
    assert not any(report.values()), report
    assert loss_of(again, head) == pytest.approx(loss, abs=1e-5)


@pytest.mark.parametrize("head", EVERY_HEAD, ids=str)
def test_the_recommended_layers_are_adapted(head: RegisteredHead, tmp_path: Path) -> None:
    check_whole_life(head, [*get_architecture(head.model_type).adapter_targets], tmp_path)


FIRST_HEADS = {head.model_type: head for head in reversed(EVERY_HEAD)}  # its first one for each architecture


LINEAR_HEADS = [head for name, head in FIRST_HEADS.items() if name not in ("seq2seq_lstm", "word2vec")]


@pytest.mark.parametrize("head", LINEAR_HEADS, ids=str)
def test_all_linear_layers_are_adapted(head: RegisteredHead, tmp_path: Path) -> None:
    check_whole_life(head, "all-linear", tmp_path)


def test_a_model_of_matrices_alone_has_no_linear_layer_to_adapt() -> None:
    """Its row recommends tables and the output layer; where it gets a linear layer, the row should name it."""
    with pytest.raises(ValueError):
        adapted(RegisteredHead("seq2seq_lstm", "AutoModelForSeq2SeqLM").model(), "all-linear")


@pytest.mark.parametrize("model_type", [name for name in TIED if name != "seq2seq_lstm"])
def test_a_tied_output_layer_is_still_there_after_merging_and_saving(model_type: str, tmp_path: Path) -> None:
    (head,) = [one for one in EVERY_HEAD if one.model_type == model_type]
    changes = {"tie_word_embeddings": True, **TIED[model_type]}
    check_whole_life(head, "all-linear", tmp_path, **changes)
    again = head.model_class.from_pretrained(tmp_path / "merged")
    assert again.lm_head.weight is again.model.decoder.embed_tokens.weight


def tied_to(model: Any) -> dict[str, Tensor]:
    """Weights that are the same under another name."""
    first = dict(model.named_parameters())
    return {name: one for name, one in model.named_parameters(remove_duplicate=False) if name not in first}


MAY_TIE = {**TIED, "gpt2018": {}, "bert2018": {}}
WORDS = ("AutoModelForSeq2SeqLM", "AutoModelForImageTextToText", "AutoModelForCausalLM", "AutoModelForMaskedLM")
WRITERS = {head.model_type: head for head in EVERY_HEAD if head.auto in WORDS}


def test_every_architecture_that_may_tie_words_is_known() -> None:
    found = set()
    for name, head in WRITERS.items():
        try:
            model = head.model(tie_word_embeddings=True, **MAY_TIE.get(name, {}))
        except ValueError as error:
            assert "leave it False" in str(error)
        else:
            found |= {name} if tied_to(model) else set()
    assert found == {*MAY_TIE}


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("model_type", MAY_TIE)
def test_recommended_layers_are_merged_rightly_whether_words_are_tied(
    model_type: str, tied: bool, tmp_path: Path
) -> None:
    """A table and the output layer that is tied to it would each get what the other learnt: no row names both."""
    head, changes = WRITERS[model_type], {"tie_word_embeddings": tied, **MAY_TIE[model_type]}
    assert bool(tied_to(head.model(**changes))) == tied
    check_whole_life(head, [*get_architecture(model_type).adapter_targets], tmp_path, **changes)


def test_an_untied_output_layer_and_its_table_are_adapted_as_the_page_says(tmp_path: Path) -> None:
    head = RegisteredHead("seq2seq_lstm", "AutoModelForSeq2SeqLM")
    check_whole_life(head, ["embed_tokens", "lm_head"], tmp_path, tie_word_embeddings=False)


def cell_matrices(model: Any) -> dict[str, list[str]]:
    """Class -> its weights of two or three dimensions, without linear layers and tables: those of recurrent cells.

    Those of one class at a time: what PEFT puts in the place of a layer does not answer for the layers inside.
    """
    found: dict[str, list[str]] = {}
    for place, layer in model.named_modules():
        if not isinstance(layer, (nn.Linear, nn.Embedding)):
            names = [name for name, weight in layer.named_parameters(recurse=False) if weight.ndim in (2, 3)]
            found.setdefault(type(layer).__name__, []).extend(f"{place}.{name}" for name in names)
    return {cell: names for cell, names in found.items() if names}


CELLS = [(head, cell) for head in FIRST_HEADS.values() for cell in cell_matrices(head.model())]


@pytest.mark.parametrize(("head", "cell"), CELLS, ids=str)
def test_matrices_of_recurrent_cells_are_adapted_by_name(head: RegisteredHead, cell: str, tmp_path: Path) -> None:
    check_whole_life(head, [], tmp_path, cell_matrices(head.model())[cell])


@pytest.mark.parametrize("model_type", [name for name in TIED if name != "show_attend_tell"])
def test_a_config_that_unties_after_the_fact_loses_nothing(model_type: str, tmp_path: Path) -> None:
    (head,) = [one for one in EVERY_HEAD if one.model_type == model_type]
    model = head.model(tie_word_embeddings=True, **TIED[model_type])
    loss = loss_of(model, head)
    model.config.tie_word_embeddings = False
    model.save_pretrained(tmp_path)
    assert loss_of(head.model_class.from_pretrained(tmp_path), head) == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_recommended_layers_exist(row: Any) -> None:
    models = [head.model() for head in EVERY_HEAD if head.model_type == row.model_type]
    names = {name for model in models for name, _ in model.named_modules()}
    for target in row.adapter_targets:
        assert any(name == target or name.endswith(f".{target}") for name in names), target


def test_the_adapters_of_a_frozen_language_model_learn(tmp_path: Path) -> None:
    head = RegisteredHead("elmo", "AutoModelForSequenceClassification")
    model = adapted(head.model(freeze_bilm=True), ["carry"])
    model(**head.batch()).loss.backward()
    learnt = [weight.grad for weight in model.parameters() if weight.requires_grad]
    assert learnt and all(gradient is not None and gradient.abs().sum() > 0 for gradient in learnt)
