"""BERT, GPT and recurrent networks through transformers' own pipelines, from saved folders: texts, lists, batches."""

from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import spread
from transformers import pipeline

from hf_attention_zoo import BERT2018Tokenizer, GPT2018Tokenizer, TextTokenizer, get_architecture

TEXTS = ["the white dog barks loudly", "흰 개가 짖는다", "a cat sleeps on the white bed"] * 3


def saved(folder: Path, name: str, auto: str, **changes: object) -> Path:
    if name == "bert2018":
        tokenizer = BERT2018Tokenizer.train(TEXTS, vocab_size=120)
    else:
        task = auto != "AutoModelForCausalLM"
        tokenizer = GPT2018Tokenizer.train(TEXTS, vocab_size=120, text_packages=False, task_format=task)
        changes["delimiter_token_id"] = tokenizer.delimiter_token_id
    row = get_architecture(name)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    model = spread(row.model_classes[auto](row.config_class(**{**fields, **changes})), std=0.3)
    model.tie_weights()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_hidden_words_are_filled_in(tmp_path: Path) -> None:
    folder = saved(tmp_path, "bert2018", "AutoModelForMaskedLM")
    fill = pipeline("fill-mask", model=str(folder))
    texts = ["the [MASK] barks", "흰 [MASK] 짖는다 loudly on"]
    single = [fill(text) for text in texts]
    batched = fill(texts, batch_size=2)
    for one, other in zip(single, batched, strict=True):
        assert len(one) == 5 and abs(sum(found["score"] for found in one)) <= 1.001
        assert [found["token"] for found in one] == [found["token"] for found in other]
    assert "[MASK]" not in single[0][0]["sequence"]


def test_several_masks_are_shown_without_the_tokens_around_a_text(tmp_path: Path) -> None:
    fill = pipeline("fill-mask", model=str(saved(tmp_path, "bert2018", "AutoModelForMaskedLM")))
    texts = ["the [MASK] dog [MASK]", "a cat sleeps on the [MASK] bed [MASK] cat"]
    whole = {"targets": ["white", "cat", "sleeps"]}
    single = [fill(text, **whole) for text in texts]
    for text, one, other in zip(texts, single, fill(texts, batch_size=2, **whole), strict=True):
        before, between, behind = text.split("[MASK]")
        words = [[found["token_str"] for found in place] for place in one]
        assert [[found["sequence"] for found in place] for place in one] == [
            [f"{before}{word}{between}[MASK]{behind}" for word in words[0]],
            [f"{before}[MASK]{between}{word}{behind}" for word in words[1]],
        ]
        assert [[found["token"] for found in place] for place in one] == [
            [found["token"] for found in place] for place in other
        ]


def test_a_model_of_next_words_fills_in_no_hidden_ones(tmp_path: Path) -> None:
    folder = saved(tmp_path, "bert2018", "AutoModelForMaskedLM", left_to_right=True)
    with pytest.raises(ValueError, match="reads from left to right"):
        pipeline("fill-mask", model=str(folder))


@pytest.mark.parametrize(("name", "changes"), [("bert2018", {}), ("gpt2018", {}), ("gpt2018", {"similarity": True})])
def test_texts_and_pairs_are_classified(name: str, changes: dict[str, object], tmp_path: Path) -> None:
    folder = saved(tmp_path, name, "AutoModelForSequenceClassification", num_labels=3, **changes)
    classify = pipeline("text-classification", model=str(folder), top_k=None)
    pair = {"text": "the white dog", "text_pair": "a cat sleeps on the bed"}
    given = [pair, {"text": "dog", "text_pair": "cat"}] if changes else ["the white dog barks", "cat"]
    single = [classify(one) for one in given]
    batched = classify(given, batch_size=2)
    for one, other in zip(single, batched, strict=True):
        one = one[0] if isinstance(one[0], list) else one
        scores = {found["label"]: found["score"] for found in one}
        assert abs(sum(scores.values()) - 1) < 1e-5
        assert all(abs(scores[found["label"]] - found["score"]) < 1e-5 for found in other)
    if changes:
        swapped = classify({"text": pair["text_pair"], "text_pair": pair["text"]})
        for one, other in zip(single[0], swapped, strict=True):
            assert one["label"] == other["label"] and abs(one["score"] - other["score"]) < 1e-5


def test_texts_are_continued_alone_and_in_batches(tmp_path: Path) -> None:
    folder = saved(tmp_path, "gpt2018", "AutoModelForCausalLM")
    write = pipeline("text-generation", model=str(folder))
    options = {"max_new_tokens": 6, "do_sample": False}
    texts = ["the white dog", "a"]
    single = [write(text, **options)[0]["generated_text"] for text in texts]
    assert single[0].startswith("the white dog")
    batched = [made[0]["generated_text"] for made in write(texts, batch_size=2, **options)]
    assert batched == single


def repeating(folder: Path, word: str) -> Any:
    """A text-generation pipeline whose model writes one word again and again, and knows a second best."""
    saved(folder, "gpt2018", "AutoModelForCausalLM")
    write = pipeline("text-generation", model=str(folder))
    (best,) = write.tokenizer(word)["input_ids"]
    (second,) = write.tokenizer("dog")["input_ids"]
    scores = torch.zeros(write.model.config.vocab_size)
    scores[best], scores[second] = 20.0, 19.0
    write.model.lm_head.register_forward_hook(lambda module, given, logits: scores.expand_as(logits))
    return write


def test_a_space_parts_a_prompt_from_its_continuation(tmp_path: Path) -> None:
    write, options = repeating(tmp_path, "white"), {"max_new_tokens": 2, "do_sample": False}

    def texts(prompts: Any, **changes: Any) -> Any:
        return [
            [one["generated_text"] for one in made] if isinstance(made, list) else made["generated_text"]
            for made in write(prompts, **options, **changes)
        ]

    assert texts("The  DOG") == ["The  DOG white white"]
    assert texts("The dog ") == ["The dog white white"]
    assert texts("The dog", return_full_text=False) == [" white white"]
    assert texts("The dog \n", return_full_text=False) == ["white white"]
    prompts = ["The dog", "a", "a cat sleeps"]
    assert texts(prompts) == [[f"{prompt} white white"] for prompt in prompts]
    assert texts(prompts, batch_size=3) == texts(prompts)
    two = texts("a", num_return_sequences=2, num_beams=2)
    assert two[0] == "a white white" and two[1] in ("a white dog", "a dog white")
    assert write("The dog", return_tensors=True, **options)[0]["generated_token_ids"]
    whole = write.tokenizer("the dog white white")["input_ids"]
    assert write.tokenizer.decode(whole) == texts("the dog")[0]


def test_vectors_of_tokens_are_given_out(tmp_path: Path) -> None:
    folder = saved(tmp_path, "bert2018", "AutoModel")
    read = pipeline("feature-extraction", model=str(folder))
    (vectors,) = torch.tensor(read("the dog"))
    assert vectors.shape[1] == 16 and vectors.isfinite().all()


@pytest.mark.parametrize("name", ["elman", "lstm1997", "nnlm"])
@pytest.mark.parametrize("kind", ["word", "subword", "character"])
def test_what_a_recurrent_network_writes_is_what_its_tokens_say(name: str, kind: str, tmp_path: Path) -> None:
    row, tokenizer = get_architecture(name), TextTokenizer.train(TEXTS, kind=kind, vocab_size=120)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer)}
    model = spread(row.model_classes["AutoModelForCausalLM"](row.config_class(**fields)), std=0.5)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    write = pipeline("text-generation", model=str(tmp_path))
    texts, options = ["the white dog", "a", "흰 개가"], {"max_new_tokens": 6, "do_sample": False}
    single = [write(text, **options)[0]["generated_text"] for text in texts]
    for text, found in zip(texts, single, strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        assert found == tokenizer.decode(model.generate(ids, **options)[0], skip_special_tokens=True)
    assert [made[0]["generated_text"] for made in write(texts, batch_size=3, **options)] == single
    assert len(write("", **options)[0]["generated_text"]) > 0
