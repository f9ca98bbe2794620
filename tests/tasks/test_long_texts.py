"""Texts longer than a model can read, and prompts without a word: what is said, and that what is advised works."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, Pipeline, pipeline
from transformers.utils import logging

import hf_attention_zoo
from hf_attention_zoo import list_architectures
from hf_attention_zoo.alignment.aligning import align
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.translation.phrase_scoring import score

CARDS = Path(__file__).parents[2] / "model_cards"
LIMITED = sorted(
    path.parent.name
    for path in CARDS.glob("*/config.json")
    if json.loads(path.read_text(encoding="utf-8")).get("max_position_embeddings")
)
LONG = "this package contains the files for the library " * 30
CAUSAL = [row for row in list_architectures() if "AutoModelForCausalLM" in row.models]
WRITERS = ["elman-austen", "gpt2018-small-debian", "lstm1997-austen", "nnlm-austen"]


@pytest.fixture(scope="module")
def loaded() -> dict[str, Any]:
    return {}


def piped(loaded: dict[str, Any], task: str, name: str) -> Pipeline:
    """The pipeline of a published folder, made once."""
    key = (task, name)
    if key not in loaded:
        make: Any = pipeline  # its types allow no name of a task that is a variable
        loaded[key] = make(task, model=str(CARDS / name))
    return loaded[key]


def advised(message: str, name: str) -> dict[str, Any]:
    """The dictionary that a message gives for an argument."""
    found = re.search(rf"\b{name}=(\{{'[^}}]*\}})", message)
    assert found is not None, message
    return ast.literal_eval(found[1])


def said_by(call: Any) -> str:
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value)


# --- pipelines and texts ---------------------------------------------------------------------------------------------


def test_there_are_folders_with_a_limit() -> None:
    assert LIMITED == ["bert2018-small-debian", "bert2018-tags-pud", "gpt2018-debian-section", "gpt2018-small-debian"]


def test_a_text_too_long_to_fill_in_is_cut_as_the_message_says(loaded: dict[str, Any]) -> None:
    fill = piped(loaded, "fill-mask", "bert2018-small-debian")
    message = said_by(lambda: fill(f"the [MASK] {LONG}"))
    cut = advised(message, "tokenizer_kwargs")
    assert cut == {"truncation": True, "max_length": 128}
    assert len(fill(f"the [MASK] {LONG}", tokenizer_kwargs=cut)) == 5
    with pytest.raises(Exception, match=r"\[MASK\] stands behind the tokens that are left .* leave out words before"):
        fill(f"{LONG} the [MASK]", tokenizer_kwargs=cut)
    assert len(fill("the library [MASK]", tokenizer_kwargs=cut)) == 5  # words before it left out
    with pytest.raises(Exception, match="No mask_token"):
        fill("nothing hidden")


@pytest.mark.parametrize("name", LIMITED)
def test_the_message_of_a_model_is_true_for_the_tokenizer_and_the_pipelines(name: str, loaded: dict[str, Any]) -> None:
    features = piped(loaded, "feature-extraction", name)
    message = said_by(lambda: features(LONG))
    cut = advised(message, "tokenizer_kwargs")
    assert len(features(LONG, tokenize_kwargs=dict(cut))[0]) == 128
    model, tokenizer = load_checkpoint(CARDS / name, "cpu")
    assert said_by(lambda: model(**tokenizer(LONG, return_tensors="pt"))) == message
    assert "truncation=True and max_length=128: as arguments where the tokenizer is called, of `align`" in message
    model(**tokenizer(LONG, return_tensors="pt", **cut))
    said_by(lambda: align(model, tokenizer, [LONG]))
    (found,) = align(model, tokenizer, [LONG], **cut)
    assert len(found.source_tokens) == 128
    if name == "gpt2018-debian-section":
        classify = piped(loaded, "text-classification", name)
        assert said_by(lambda: classify(LONG)) == message
        assert classify(LONG, **cut)[0]["label"]


def test_a_prompt_too_long_is_cut_as_the_message_says(loaded: dict[str, Any]) -> None:
    write = piped(loaded, "text-generation", "gpt2018-small-debian")
    messages = [said_by(lambda: write(LONG)), said_by(lambda: write(LONG, truncation=True))]
    for message in messages:
        cut = advised(message, "tokenizer_encode_kwargs")
        (written,) = write(LONG, tokenizer_encode_kwargs=cut, max_new_tokens=5, do_sample=False)
        assert len(written["generated_text"]) > 0
        prompt = write.tokenizer(LONG, return_tensors="pt", **cut)
        assert prompt["input_ids"].shape[1] == 64
        assert write.model.generate(**prompt, max_new_tokens=5, do_sample=False).shape[1] == 69
        assert "cut it to 127 tokens or fewer" in message
    whole = write.tokenizer(LONG, return_tensors="pt", truncation=True, max_length=127)
    assert write.model.generate(**whole).shape[1] == 128


@pytest.mark.parametrize("given", [LONG, LONG.split()], ids=["text", "words"])
def test_tags_that_a_long_text_does_not_get_are_not_left_out_in_silence(
    given: Any, loaded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = piped(loaded, "token-classification", "bert2018-tags-pud")
    split = {"is_split_into_words": True} if isinstance(given, list) else {}
    warned: list[str] = []
    kind = type(logging.get_logger("hf_attention_zoo.tasks.tags.pipeline"))
    monkeypatch.setattr(kind, "warning_once", lambda self, message: warned.append(message), raising=False)

    def ends(**options: Any) -> int:
        found = tag(given, **split, **options)
        return max(one["end"] for one in (found[0] if isinstance(found[0], list) else found))

    short = ends(aggregation_strategy="first")
    (message,) = warned
    (stride,) = map(int, re.findall(r"stride=(\d+)", message))
    assert "more than 128 tokens" in message and "aggregation_strategy='first'" in message
    assert ends(stride=stride, aggregation_strategy="first") == len(LONG.strip()) > short
    assert len(warned) == 1  # nothing was cut
    tag("The dog barks.")
    tag(["The dog barks."] * 2, batch_size=2)
    assert len(warned) == 1


def test_learned_positions_of_a_translator_end_where_the_cut_is() -> None:
    row = next(row for row in list_architectures() if row.model_type == "transformer2017")
    sources, targets = ["ein hund läuft"] * 4, ["a dog runs"] * 4
    tokenizer: Any = row.train_tokenizer(sources, targets, kind="word", vocab_size=40, shared=True)
    fields = {**row.tiny_config().to_diff_dict(), "position_encoding": "learned", "max_position_embeddings": 12}
    fields |= dict.fromkeys(("vocab_size", "decoder_vocab_size"), len(tokenizer))
    model: Any = row.model_classes["AutoModelForSeq2SeqLM"](row.config_class(**fields)).eval()
    assert tokenizer.model_max_length > 12
    long, short = "hund " * 30, "hund"
    calls = [
        lambda **cut: hf_attention_zoo.translate(model, tokenizer, [long], max_new_tokens=3, **cut),
        lambda **cut: align(model, tokenizer, [long], max_new_tokens=3, **cut),
        lambda **cut: score(model, tokenizer, [long], [short], **cut),
        lambda **cut: score(model, tokenizer, [short], ["dog " * 30], **cut),
    ]
    for call in calls:
        assert "pass truncation=True" in said_by(call)
        assert len(call(truncation=True)) == 1
    ids = tokenizer(long, return_tensors="pt")
    first = ids["input_ids"][:, :1]
    message = said_by(lambda: model(**ids, decoder_input_ids=first))
    assert "truncation=True and max_length=12 where the tokenizer is called" in message
    model(**tokenizer(long, return_tensors="pt", truncation=True, max_length=12), decoder_input_ids=first)


# --- prompts without a word ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CAUSAL, ids=lambda row: row.model_type)
def test_a_prompt_without_a_token_is_refused_in_our_words_or_begun_as_they_say(row: Architecture) -> None:
    model: Any = row.model_classes["AutoModelForCausalLM"](row.tiny_config()).eval()
    settings = {"max_new_tokens": 2, "do_sample": False, "eos_token_id": None}
    for prompt in ({}, {"input_ids": torch.zeros(1, 0, dtype=torch.long)}, {"inputs": torch.zeros(2, 0).long()}):
        message = said_by(lambda given=prompt: model.generate(**given, **settings))
        assert message.startswith(f"the prompt has no token, and {row.prefix}ForCausalLM goes on from one: give")
    assert "an empty one and bos_token_id=ID" in message
    assert model.generate(bos_token_id=3, **settings).shape == (1, 3)
    if row.model_type != "gpt2018":
        return  # transformers hands vectors on only to models that prepare for them
    vectors = model.get_input_embeddings()(torch.tensor([[5, 6]])).detach()
    assert model.generate(inputs_embeds=vectors, **settings).shape == (1, 2)


def test_every_causal_architecture_has_a_published_folder_here() -> None:
    kinds = {json.loads((CARDS / name / "config.json").read_text())["model_type"] for name in WRITERS}
    assert kinds == {row.model_type for row in CAUSAL}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("prompt", ["", "   "])
def test_an_empty_prompt_is_answered_or_refused_in_our_words(name: str, prompt: str, loaded: dict[str, Any]) -> None:
    write = piped(loaded, "text-generation", name)
    settings = {"max_new_tokens": 4, "do_sample": False}
    if AutoTokenizer.from_pretrained(CARDS / name)(prompt)["input_ids"]:
        assert write(prompt, **settings)[0]["generated_text"].startswith(prompt)
        return
    for given in (prompt, [prompt, "the library"]):
        message = said_by(lambda text=given: write(text, batch_size=2, **settings))
        assert message.startswith("the prompt has no token, and ")
    assert write("the", **settings)[0]["generated_text"].startswith("the")  # a prompt of at least one word
    settings["bos_token_id"] = 393
    (alone,) = write(prompt, **settings)
    assert alone["generated_text"].strip()
    assert write([prompt, "the library", prompt], batch_size=3, **settings) == [
        [alone],
        write("the library", **settings),
        [alone],
    ]
