"""The translation task: for our models and for everybody else's, from a folder, in every form of input."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers.pipelines
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
    pipeline,
)

import hf_attention_zoo
from hf_attention_zoo.tasks.pipelines import register_pipelines
from hf_attention_zoo.tasks.translation.pipeline import TranslationPipeline

TEXTS = ["das haus ist gross", "", "katze", "ein kleines haus , die katze !", "haus " * 80]
LIMIT = {"max_new_tokens": 6}


@pytest.fixture
def folder(tiny_translator, tmp_path: Path) -> Path:
    model, tokenizer = tiny_translator
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def expected(folder: Path, texts: list[str], **options: object) -> list[dict[str, str]]:
    """What `generate` itself says, one text after the other."""
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    results = []
    for text in texts:
        ids = model.generate(**tokenizer(text, return_tensors="pt"), **options)[0]
        results.append({"translation_text": tokenizer.decode(ids, skip_special_tokens=True)})
    return results


@pytest.mark.parametrize("task", ["translation", "zoo-translation", "translation_de_to_en"])
def test_every_name_of_the_task_translates_from_a_saved_folder(folder: Path, task: str) -> None:
    translator = pipeline(task, model=str(folder))
    assert isinstance(translator, TranslationPipeline)
    assert translator("das haus", **LIMIT) == expected(folder, ["das haus"], **LIMIT)


def test_strings_lists_tuples_and_generators_give_the_results_of_generate(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder))
    options = {"num_beams": 3, **LIMIT}
    results = expected(folder, TEXTS, **options)
    assert translator(TEXTS[0], **options) == results[:1]
    for batch_size in (1, 2, 4, 8):
        assert translator(TEXTS, batch_size=batch_size, **options) == results
    assert translator(tuple(TEXTS), **options) == results
    assert [result[0] for result in translator((text for text in TEXTS), **options)] == results
    assert translator([]) == []


def test_keywords_of_the_constructor_hold_for_every_call_and_a_call_may_change_them(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder), num_beams=2, max_new_tokens=3, batch_size=2)
    assert translator(TEXTS) == expected(folder, TEXTS, num_beams=2, max_new_tokens=3)
    assert translator(TEXTS, max_new_tokens=7) == expected(folder, TEXTS, num_beams=2, max_new_tokens=7)


def test_several_translations_of_a_text_come_as_a_list(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder))
    options = {"num_beams": 3, "num_return_sequences": 2, **LIMIT}
    one = translator(TEXTS[0], **options)
    assert len(one) == 2 and one[0] != one[1]
    for batch_size in (1, 3):
        several = translator(TEXTS, batch_size=batch_size, **options)
        assert [len(result) for result in several] == [2] * len(TEXTS) and several[0] == one


def test_token_ids_on_request(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder))
    ((ids,),) = ([result["translation_token_ids"]] for result in translator("das haus", return_tensors=True, **LIMIT))
    model, tokenizer = translator.model, translator.tokenizer
    torch.testing.assert_close(ids, model.generate(**tokenizer("das haus", return_tensors="pt"), **LIMIT)[0])


@pytest.mark.parametrize("num_beams", [1, 3])
def test_unknown_words_are_replaced_as_in_translate(folder: Path, num_beams: int) -> None:
    translator = pipeline("translation", model=str(folder), num_beams=num_beams, **LIMIT)
    with torch.no_grad():
        translator.model.lm_head.bias[translator.tokenizer.unk_token_id] += 1e3
    texts = ["Müller haus", "", "Żywiec"]
    wanted = hf_attention_zoo.translate(
        translator.model, translator.tokenizer, texts, replace_unknown=True, num_beams=num_beams, **LIMIT
    )
    assert wanted[2].split(" ")[0].startswith("Żywiec") and wanted[1] == ""
    for batch_size in (1, 2, 3):
        results = translator(texts, replace_unknown=True, batch_size=batch_size)
        assert [result["translation_text"] for result in results] == wanted
    assert translator(texts) == [{"translation_text": ""}] * 3
    words = {"Żywiec": "Saybusch"}
    (result,) = translator("Żywiec", replace_unknown=True, dictionary=words)
    assert "Saybusch" in result["translation_text"] and "Żywiec" not in result["translation_text"]
    if num_beams > 1:
        both = translator(texts, replace_unknown=True, batch_size=2, num_return_sequences=2)
        assert all(result["translation_text"] for result in both[0])


def test_a_dictionary_without_its_option_is_refused(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder), dictionary={"a": "b"})
    with pytest.raises(ValueError, match="replace_unknown=True"):
        translator("haus", **LIMIT)
    assert translator("haus", replace_unknown=True, **LIMIT)


@pytest.mark.parametrize(
    "inputs", [None, 3, 2.5, b"haus", {"text": "haus"}, torch.ones(2), ["haus", None], [["haus"]]]
)
def test_other_inputs_than_text_are_refused(folder: Path, inputs: object) -> None:
    translator = pipeline("translation", model=str(folder))
    with pytest.raises(ValueError, match="translation takes a string or a list of strings"):
        translator(inputs, **LIMIT)


def test_without_a_limit_at_most_256_tokens_are_written(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder))
    with torch.no_grad():
        translator.model.lm_head.bias[translator.tokenizer.eos_token_id] -= 1e3
    (result,) = translator("haus", return_tensors=True)
    assert len(result["translation_token_ids"]) == 1 + 256


def test_saving_the_pipeline_needs_no_trust_afterwards(folder: Path, tmp_path: Path) -> None:
    translator = pipeline("translation", model=str(folder), **LIMIT)
    translator.save_pretrained(tmp_path / "again")
    assert not list((tmp_path / "again").glob("*.py"))
    assert pipeline("translation", model=str(tmp_path / "again"), **LIMIT)(TEXTS) == translator(TEXTS)


@pytest.fixture
def marian(tiny_translator) -> tuple[MarianMTModel, object]:
    _, tokenizer = tiny_translator
    sizes = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ids = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 2, "forced_eos_token_id": 3}
    config = MarianConfig(
        vocab_size=tokenizer.target_vocab_size + 40, max_position_embeddings=30, **sizes, **heads, **ids
    )
    return MarianMTModel(config), tokenizer


def test_models_of_transformers_translate_too(marian, tmp_path: Path) -> None:
    model, tokenizer = marian
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    options = {"suppress_tokens": list(range(tokenizer.target_vocab_size, model.config.vocab_size)), **LIMIT}
    translator = pipeline("translation", model=str(tmp_path), tokenizer=tokenizer)
    assert translator(TEXTS[:4], batch_size=2, **options) == [
        {"translation_text": text} for text in hf_attention_zoo.translate(model, tokenizer, TEXTS[:4], **options)
    ]


def test_input_beyond_a_models_positions_is_refused_or_cut_on_request(marian) -> None:
    model, tokenizer = marian
    translator = pipeline("translation", model=model, tokenizer=tokenizer)
    with pytest.raises(ValueError, match=r"text 1 .* the positions of MarianMTModel end at 30; split"):
        translator(["haus", "haus " * 80])
    with torch.no_grad():
        model.final_logits_bias[0, 3] = -1e3  # no end: the search must stop at the last position by itself
    assert translator("haus", return_tensors=True, forced_eos_token_id=None)[0]["translation_token_ids"].shape == (31,)
    assert len(translator("haus " * 80, truncation=True, **LIMIT)) == 1


def test_a_prefix_of_an_old_checkpoint_is_put_before_the_text(tiny_translator) -> None:
    _, tokenizer = tiny_translator
    config = T5Config(
        vocab_size=60, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, decoder_start_token_id=2, eos_token_id=3
    )
    config.task_specific_params = {"translation_en_to_de": {"prefix": "ein ", "num_beams": 2, "max_length": 5}}
    model = T5ForConditionalGeneration(config)
    translator = pipeline("translation_en_to_de", model=model, tokenizer=tokenizer)
    encoded = translator.preprocess("haus")
    assert encoded["input_ids"].tolist() == [tokenizer("ein haus")["input_ids"]]
    assert translator("haus", return_tensors=True)[0]["translation_token_ids"].shape[0] <= 5
    assert translator._prepare_generate_kwargs({})["num_beams"] == 2
    other = pipeline("translation", model=model, tokenizer=tokenizer)
    assert other.preprocess("haus")["input_ids"].tolist() == [tokenizer("haus")["input_ids"]]


def test_languages_are_refused_where_the_tokenizer_knows_none(folder: Path) -> None:
    translator = pipeline("translation", model=str(folder))
    with pytest.raises(ValueError, match="knows no language codes"):
        translator("haus", src_lang="de_DE", **LIMIT)
    with pytest.raises(ValueError, match="knows no language codes"):
        translator("haus", tgt_lang="en_XX", **LIMIT)


def test_a_model_that_is_no_translator_is_refused(tiny_translator) -> None:
    _, tokenizer = tiny_translator
    model = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=8, n_layer=1, n_head=2))
    with pytest.raises(ValueError, match="GPT2LMHeadModel does not turn one sequence into another"):
        pipeline("translation", model=model, tokenizer=tokenizer)


def test_registering_again_changes_nothing_and_other_removed_tasks_stay_removed(tiny_translator) -> None:
    before = dict(transformers.pipelines.PIPELINE_REGISTRY.supported_tasks)
    aliases = transformers.pipelines.PIPELINE_REGISTRY.task_aliases
    register_pipelines()
    assert transformers.pipelines.PIPELINE_REGISTRY.supported_tasks == before
    assert transformers.pipelines.PIPELINE_REGISTRY.task_aliases is aliases
    assert "sentiment-analysis" in aliases and "translation_to" not in aliases
    assert "summarization" in transformers.pipelines.REMOVED_TASKS
    with pytest.raises(KeyError, match="removed"):
        pipeline("summarization", model=tiny_translator[0], tokenizer=tiny_translator[1])
    with pytest.raises(KeyError, match="Unknown task"):
        pipeline("translation_", model=tiny_translator[0], tokenizer=tiny_translator[1])


def test_the_package_alone_imports_no_pipelines_and_restores_the_task_when_they_come() -> None:
    script = (
        "import sys\n"
        "import hf_attention_zoo\n"
        "assert 'transformers.pipelines' not in sys.modules\n"
        "import transformers.pipelines as tasks\n"
        "assert 'translation' in tasks.PIPELINE_REGISTRY.supported_tasks\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
