"""The registry: every row is complete, true, and known to transformers."""

import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest
import torch
import transformers
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING

import hf_attention_zoo
from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.auto_classes import register_architectures
from hf_attention_zoo.registry import ARCHITECTURES, Architecture

MODELS = Path(hf_attention_zoo.__file__).parent / "models"
ROWS = list_architectures()
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.model_type)


def test_every_folder_of_a_model_has_a_row_and_every_row_a_folder() -> None:
    folders = {path.parent.name for path in MODELS.glob("*/modeling_*.py")}
    assert folders == {row.model_type for row in ROWS}
    assert len({row.prefix for row in ROWS}) == len(ROWS)


def test_architectures_are_listed_by_year_and_found_by_name() -> None:
    assert [row.year for row in ROWS] == sorted(row.year for row in ARCHITECTURES)
    assert all(get_architecture(row.model_type) is row for row in ROWS)
    assert len(ROWS) == len(ARCHITECTURES)


@pytest.mark.parametrize("name", ["rnnserch", "RNNsearch ", "", None])
def test_an_unknown_name_is_answered_with_those_that_there_are(name: object) -> None:
    with pytest.raises(ValueError, match=f"no architecture is called {name!r}.*there are: .*rnnsearch"):
        get_architecture(name)


def test_a_near_miss_is_answered_with_the_likely_name() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'rnnsearch'\?"):
        get_architecture("rnn_search")


@each_row
def test_a_row_states_its_paper(row: Architecture) -> None:
    assert 1990 <= row.year <= 2018 and row.title and row.authors and row.tasks
    assert re.fullmatch(r"\d{4}\.\d{4,5}|[A-Z]\d\d-\d{4}|[a-z0-9.-]+|https://\S+", row.paper)
    assert row.paper_url.startswith("https://") and row.paper_url.endswith(row.paper)
    assert row.bibtex.startswith("@") and row.bibtex.count("{") == row.bibtex.count("}")
    assert row.title.lower() in re.sub(r"[{}]", "", row.bibtex).replace("--", "-").lower()
    for author in row.authors:
        assert author.split()[-1].lower() in row.bibtex.lower()


@each_row
def test_class_names_follow_the_prefix(row: Architecture) -> None:
    assert row.config_class.__name__ == f"{row.prefix}Config" and row.config_class.model_type == row.model_type
    assert "AutoModel" in row.models
    for auto_name, model_class in row.model_classes.items():
        assert issubclass(model_class, PreTrainedModel) and model_class.__name__.startswith(row.prefix)
        assert model_class.config_class is row.config_class
        assert hasattr(transformers, auto_name)
    assert issubclass(row.config_class, PreTrainedConfig)
    assert inspect.getdoc(row.config_class) and all(inspect.getdoc(c) for c in row.model_classes.values())


@each_row
def test_no_name_of_ours_is_one_of_transformers(row: Architecture) -> None:
    """transformers looks classes up by name: a second one of a name silently takes the other's place."""
    theirs = set(dir(transformers))
    assert row.model_type not in CONFIG_MAPPING_NAMES
    classes = [row.config_class, *row.model_classes.values(), row.tokenizer_class, row.processor_class]
    for name in {cls.__name__ for cls in classes if cls is not None}:
        assert name not in theirs, f"transformers has a {name}, too"


def test_public_names_are_none_of_transformers() -> None:
    theirs = set(dir(transformers))
    classes = [n for n in hf_attention_zoo.__all__ if inspect.isclass(getattr(hf_attention_zoo, n))]
    assert classes and not theirs & set(classes)


@each_row
def test_auto_classes_build_the_models_of_a_row(row: Architecture) -> None:
    config = row.tiny_config()
    assert type(AutoConfig.for_model(row.model_type)) is row.config_class
    for auto_name, model_class in row.model_classes.items():
        auto = getattr(transformers, auto_name)
        assert type(auto.from_config(config)) is model_class
        assert auto._model_mapping[row.config_class] is model_class
        assert row.config_class in auto._model_mapping
        ours = auto._model_mapping._extra_content
        assert model_class in ours.values() and (row.config_class, model_class) in ours.items()
        assert ours.get(row.config_class) is model_class and ours.get(dict, "none") == "none"


@each_row
def test_the_tokenizer_of_a_row_is_registered_for_its_config(row: Architecture) -> None:
    if row.tokenizer_class is None:
        assert row.config_class not in TOKENIZER_MAPPING
    else:
        assert TOKENIZER_MAPPING[row.config_class] is row.tokenizer_class


def test_built_in_models_are_still_built() -> None:
    config = transformers.T5Config(d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, vocab_size=20)
    assert type(AutoModelForSeq2SeqLM.from_config(config)).__name__ == "T5ForConditionalGeneration"
    with pytest.raises(ValueError, match="Unrecognized configuration class"):
        AutoModelForSeq2SeqLM.from_config(transformers.BertConfig())


def test_registering_again_changes_nothing() -> None:
    before = {name: dict(getattr(modeling_auto, name)._model_mapping._extra_content) for name in ("AutoModel",)}
    register_architectures()
    after = {name: dict(getattr(modeling_auto, name)._model_mapping._extra_content) for name in ("AutoModel",)}
    assert before == after


def test_a_table_with_classes_not_yet_imported_can_be_copied_and_pickled() -> None:
    table = modeling_auto.AutoModel._model_mapping._extra_content
    for again in (copy.copy(table), pickle.loads(pickle.dumps(table))):
        for row in ROWS:
            assert again[row.config_class] is row.model_classes["AutoModel"]


@each_row
def test_the_papers_sizes_give_the_stated_number_of_parameters(row: Architecture) -> None:
    largest = list(row.model_classes.values())[-1]
    with torch.device("meta"):
        model = largest(row.paper_config())
    assert sum(parameter.numel() for parameter in model.parameters()) == row.paper_parameters


@each_row
def test_the_tiny_config_is_tiny(row: Architecture) -> None:
    config = row.tiny_config()
    for name in row.config_class.__annotations__:
        value = getattr(config, name)
        if name == "type_vocab_size":
            assert value == 2
        elif name.endswith("vocab_size"):
            assert 4 < value <= 64
        elif name.endswith("_size") and isinstance(value, int):
            assert 3 <= value <= 16, name
    assert sum(p.numel() for p in row.model_classes["AutoModel"](config).parameters()) < 50_000


@each_row
def test_configs_of_a_row_are_new_objects_each_time(row: Architecture) -> None:
    assert row.tiny_config() is not row.tiny_config() and row.paper_config() is not row.paper_config()


@each_row
def test_reported_results_say_where_they_stand(row: Architecture) -> None:
    assert row.reported_results
    for result in row.reported_results:
        assert {"dataset", "metric", "value", "system", "source"} <= result.keys()
        assert isinstance(result["value"], float | int)
        assert re.search(r"Table|Section|Figure|Appendix|Abstract", result["source"])


@each_row
def test_recipes_name_only_what_there_is(row: Architecture) -> None:
    assert "paper" in row.recipes
    fields = {name for cls in row.config_class.__mro__ for name in getattr(cls, "__annotations__", {})}
    for name, recipe in row.recipes.items():
        assert recipe.keys() <= {"description", "model", "config", "tokenizer", "data", "training", "generation"}, name
        assert recipe["description"]
        assert recipe["config"].keys() <= fields, name
        assert not recipe["config"].keys() & {"vocab_size", "decoder_vocab_size"}, "the tokenizer decides those"
        row.config_class(**recipe["config"])


@each_row
def test_the_function_that_aligns_is_there(row: Architecture) -> None:
    if row.aligner is not None:
        module, _, name = row.aligner.partition(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))
