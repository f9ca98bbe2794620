"""Programs that take models of transformers and know nothing of these: Sentence Transformers, inseq, TRL."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).parent))

from every_head import EVERY_HEAD

from hf_attention_zoo import align, get_architecture, list_architectures

CARDS = Path(__file__).parents[2] / "model_cards"
TEXTS = ["A good film.", "A very bad film, sadly. Really. It is long, and nobody should watch it.", "fine"]
# A published folder for each architecture that reads one text.
READERS = ["self-attentive-vader", "han-debian-section", "bert2018-small-debian", "gpt2018-small-debian"]
READERS += ["elmo-small-debian"]
SINGLE_VECTOR = ("han", "self_attentive")
TRANSLATORS = ["rnnsearch-de-en", "luong-de-en", "transformer2017-de-en"]
SUMMARISING = ["seq2seq-lstm-de-en", "rnn-encoder-decoder-de-en"]
LANGUAGE_MODELS = ["gpt2018-small-debian", "elman-austen", "lstm1997-austen", "nnlm-austen"]


@pytest.mark.parametrize("model_type", SINGLE_VECTOR)
def test_a_saved_folder_says_which_output_is_the_vector_of_a_text(model_type: str, tmp_path: Path) -> None:
    (head,) = [head for head in EVERY_HEAD if head.model_type == model_type]
    head.model().save_pretrained(tmp_path)
    (module,) = json.loads((tmp_path / "modules.json").read_text())
    assert module["type"].startswith("sentence_transformers.")
    settings = json.loads((tmp_path / "sentence_bert_config.json").read_text())
    assert settings["module_output_name"] == "sentence_embedding"
    name = settings["modality_config"]["text"]["method_output_name"]
    body, given = AutoModel.from_pretrained(tmp_path), head.batch()
    given.pop("labels")
    with torch.no_grad():
        together = body(**given)[name]
        last = {key: tensor[1:, ..., :3] for key, tensor in given.items()}  # the shorter row without its pads
        alone = body(**last)[name]
    assert together.ndim == 2
    if model_type == "self_attentive":
        torch.testing.assert_close(together[1:], alone)


@pytest.mark.parametrize("name", [name for name in READERS if name.startswith(("self", "han"))] + ["han-nsmc-ko"])
def test_published_folders_have_what_saving_writes(name: str, tmp_path: Path) -> None:
    AutoModel.from_pretrained(CARDS / name).save_pretrained(tmp_path)
    for file in ("modules.json", "sentence_bert_config.json"):
        assert (CARDS / name / file).read_text() == (tmp_path / file).read_text()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.slow
def test_vectors_of_sentence_transformers_do_not_depend_on_the_batch(name: str) -> None:
    tool = pytest.importorskip("sentence_transformers")
    model = tool.SentenceTransformer(str(CARDS / name))
    together = model.encode(TEXTS)
    assert together.shape[0] == len(TEXTS) and together.ndim == 2
    for row, text in zip(together, TEXTS, strict=True):
        np.testing.assert_allclose(model.encode([text])[0], row, atol=1e-5)


def test_a_vocabulary_for_each_side_gives_the_tokens_of_each_side() -> None:
    """What tools ask for is what the tokenizer has a name for: ids of sources, or of targets."""
    tokenizer = AutoTokenizer.from_pretrained(CARDS / "rnnsearch-de-en")
    sources, targets = tokenizer("Das ist ein Haus.")["input_ids"], tokenizer(text_target="This is")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(sources)[:2] == ["▁Das", "▁ist"]
    assert tokenizer.convert_target_ids_to_tokens(targets)[:2] == ["▁This", "▁is"]


@pytest.mark.parametrize("name", TRANSLATORS)
@pytest.mark.slow
def test_inseq_shows_the_attention_that_align_shows(name: str) -> None:
    pytest.importorskip("inseq")
    from hf_attention_zoo.alignment.inseq_model import inseq_model

    model = AutoModelForSeq2SeqLM.from_pretrained(CARDS / name, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(CARDS / name)
    text = "Das ist ein Haus."
    found = inseq_model(model, tokenizer).attribute(text, generation_args={"max_new_tokens": 8}, show_progress=False)
    (shown,) = found.sequence_attributions
    target = [token.token for token in shown.target]
    assert target == tokenizer.convert_target_ids_to_tokens([token.id for token in shown.target])
    ids = torch.tensor([[token.id for token in shown.target]])
    with torch.no_grad():
        made = model(**tokenizer(text, return_tensors="pt"), decoder_input_ids=ids[:, :-1], output_attentions=True)
    for layer, weights in enumerate(made.cross_attentions):  # (1, heads, T, S)
        wanted = weights[0].permute(2, 1, 0)[:, -shown.source_attributions.shape[1] :]
        torch.testing.assert_close(shown.source_attributions[:, :, layer], wanted, rtol=0, atol=1e-5)
    assert not shown.sequence_scores or all(len(scores) for scores in shown.sequence_scores.values())
    assert align(model, tokenizer, [text])


@pytest.mark.parametrize("name", [*TRANSLATORS, *SUMMARISING, *LANGUAGE_MODELS])
@pytest.mark.slow
def test_inseq_loads_a_folder_as_what_it_is(name: str) -> None:
    """Its own function, with tokens of the right vocabulary, and the probabilities that the model gives them."""
    inseq = pytest.importorskip("inseq")
    loaded = inseq.load_model(str(CARDS / name), "saliency")
    texts = ["Das ist ein Haus.", "Ja."] if loaded.is_encoder_decoder else ["this package contains", "the man"]
    settings = {"generation_args": {"max_new_tokens": 4, "num_beams": 1}, "show_progress": False}
    together = loaded.attribute(texts, step_scores=["probability"], **settings).sequence_attributions
    for text, shown in zip(texts, together, strict=True):
        ids, tokenizer = [token.id for token in shown.target], loaded.tokenizer
        given, name_of = {"input_ids": torch.tensor([ids[:-1]])}, tokenizer.convert_ids_to_tokens
        if loaded.is_encoder_decoder:
            given = {**tokenizer(text, return_tensors="pt"), "decoder_input_ids": given["input_ids"]}
            name_of = tokenizer.convert_target_ids_to_tokens
        assert [token.token for token in shown.target] == name_of(ids)
        with torch.no_grad():
            probabilities = loaded.model(**given).logits[0].softmax(-1)
        wanted = probabilities.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        found = shown.step_scores["probability"]
        torch.testing.assert_close(found[~found.isnan()], wanted[-int((~found.isnan()).sum()) :], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_inseq_is_told_what_a_language_model_cannot_do() -> None:
    inseq = pytest.importorskip("inseq")
    with pytest.raises(ValueError, match="elman has no attention; take another method, such as saliency"):
        inseq.load_model(str(CARDS / "elman-austen"), "attention")
    loaded = inseq.load_model(str(CARDS / "gpt2018-small-debian"), "attention")
    with pytest.raises(ValueError, match="give a text that is not empty"):
        loaded.attribute("", show_progress=False)
    assert loaded.attribute("this package", generation_args={"max_new_tokens": 2}, show_progress=False)


@pytest.mark.slow
def test_a_model_without_attention_has_none_for_inseq() -> None:
    pytest.importorskip("inseq")
    from hf_attention_zoo.alignment.inseq_model import inseq_model

    folder = CARDS / "seq2seq-lstm-de-en"
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with pytest.raises(ValueError, match="seq2seq_lstm has no attention; take another method, such as saliency"):
        inseq_model(model, tokenizer)
    settings = {"generation_args": {"max_new_tokens": 4}, "show_progress": False}
    assert inseq_model(model, tokenizer, "saliency").attribute("Das ist ein Haus.", **settings)


@pytest.fixture
def chatting_gpt(tmp_path: Path) -> tuple[Path, Any]:
    """A published GPT that is given an end symbol, as TRL wants one."""
    folder = CARDS / "gpt2018-small-debian"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.eos_token = "_classify_"
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model", tokenizer


@pytest.mark.slow
@pytest.mark.parametrize("adapted", [False, True], ids=["whole", "adapters"])
def test_trl_tunes_gpt_to_instructions_and_preferences(
    chatting_gpt: tuple[Path, Any], tmp_path: Path, adapted: bool
) -> None:
    trl = pytest.importorskip("trl")
    folder, tokenizer = chatting_gpt
    adapters = {}
    if adapted:
        peft = pytest.importorskip("peft")
        adapters["peft_config"] = peft.LoraConfig(target_modules=[*get_architecture("gpt2018").adapter_targets])
    settings = {"output_dir": str(tmp_path), "max_steps": 3, "per_device_train_batch_size": 2, "report_to": []}
    settings |= {"use_cpu": True, "bf16": False, "logging_steps": 1, "save_strategy": "no", "disable_tqdm": True}
    texts = ["this package contains the header files", "a small library", "a program that plays music"] * 2
    pairs = {"prompt": texts, "chosen": [" for the library"] * 6, "rejected": [" of of of"] * 6}
    for kind, config, data in (
        (trl.SFTTrainer, trl.SFTConfig, {"text": texts}),
        (trl.DPOTrainer, trl.DPOConfig, pairs),
    ):
        trainer = kind(
            model=str(folder),
            args=config(max_length=32, **settings),
            train_dataset=Dataset.from_dict(data),
            processing_class=tokenizer,
            **adapters,
        )
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        assert len(losses) == 3 and all(np.isfinite(losses))


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_a_configuration_answers_what_tools_ask_of_code_on_the_hub(name: str) -> None:
    """TRL looks into `auto_map` for a class that transformers itself does not have."""
    assert AutoConfig.from_pretrained(CARDS / name).auto_map == {}


def test_the_language_models_of_every_architecture_are_tried() -> None:
    writers = {row.model_type for row in list_architectures() if "AutoModelForCausalLM" in row.models}
    assert {AutoConfig.from_pretrained(CARDS / name).model_type for name in LANGUAGE_MODELS} == writers
