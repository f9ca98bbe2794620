"""Named training settings. They live with the architecture, as plain data in its registry row; this module finds them
and says in which order flags, files and recipes win.

A recipe is a dict of sections, and so is a YAML run file:

    description: one sentence
    model:       fields of ModelArguments, such as word_vectors
    config:      fields of the model's configuration
    tokenizer:   keywords of the tokenizer's `train`
    generation:  fields of the saved generation_config.json
    objective:   settings of what is learnt from raw text (pre-training alone)
    data:        fields of DataArguments
    training:    fields of ZooTrainingArguments
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from hf_attention_zoo.near_names import did_you_mean, near_names

SECTIONS = ("config", "tokenizer", "generation", "objective", "data", "training")
MODEL_SECTION = "model"
RUN_FILE_SUFFIXES = (".yaml", ".yml", ".json")
NO_RECIPE = "none"

Settings = dict[str, dict[str, Any]]


def empty_settings() -> Settings:
    """One empty dict per section."""
    return {section: {} for section in SECTIONS}


def find_recipe(row: Any, name: str, recipes: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """The sections of recipe `name` of a registry row, copied; every section is there, perhaps empty.

    Args:
        recipes: in place of those of the row.

    Raises ValueError for an unknown name, with the known ones and what they are for.
    """
    settings = empty_settings()
    if name == NO_RECIPE:
        return settings
    recipes = row.recipes if recipes is None else recipes
    if name not in recipes:
        known = "; ".join(f"{key}: {recipe.get('description', '')}" for key, recipe in sorted(recipes.items()))
        meant = did_you_mean(name, [*recipes, NO_RECIPE])
        raise ValueError(f"{row.model_type} has no recipe {name!r}{meant}. Known: {known}; {NO_RECIPE}: bare defaults")
    for section in SECTIONS:
        settings[section].update(recipes[name].get(section, {}))
    return settings


def model_fields(row: Any, name: str, recipes: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """What recipe `name` says of ModelArguments, such as the word vectors that it starts from; see `find_recipe`."""
    return dict((row.recipes if recipes is None else recipes).get(name, {}).get(MODEL_SECTION, {}))


def recipe_for_sample(row: Any, sample: str, recipes: Mapping[str, Mapping[str, Any]] | None = None) -> str | None:
    """The name of the recipe made for the quick start on `sample`; None if the architecture has none.

    Args:
        recipes: in place of those of the row.
    """
    for name, recipe in (row.recipes if recipes is None else recipes).items():
        if name.startswith("quickstart") and recipe.get("data", {}).get("dataset") == sample:
            return name
    return None


def read_run_file(path: str | Path) -> dict[str, Any]:
    """A YAML (or JSON) run file as a dict. Raises ValueError if it is missing, broken or not a mapping."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"no such run file: {path}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}); save it as UTF-8") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold names and values, e.g. `dataset: translation_de_en`")
    return content


def merge_run_file(
    content: Mapping[str, Any], model_fields: Iterable[str], data_fields: Iterable[str], training_fields: Iterable[str]
) -> tuple[dict[str, Any], Settings]:
    """Sort the entries of a run file: (fields of ModelArguments, settings by section).

    Entries may stand in their section or, for the three argument classes, at the top level. Raises ValueError for a
    name that exists nowhere, with the nearest that does.
    """
    fields = {"model": set(model_fields), "data": set(data_fields), "training": set(training_fields)}
    model: dict[str, Any] = {}
    settings = empty_settings()
    places: dict[str, dict[str, Any]] = {"model": model, **settings}
    for name, value in content.items():
        if name in SECTIONS and isinstance(value, Mapping):
            for key in value:
                if name in fields and key not in fields[name]:
                    raise ValueError(_unknown(f"{name}.{key}", key, fields[name]))
            settings[name].update(value)
            continue
        if name == "description":
            continue
        owners = [owner for owner, names in fields.items() if name in names]
        if not owners:
            raise ValueError(_unknown(str(name), str(name), set().union(*fields.values(), SECTIONS)))
        places[owners[0]][name] = value
    return model, settings


def _unknown(label: str, name: str, known: set[str]) -> str:
    near = near_names(name, sorted(known), most=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see `attention-zoo train --help`"
    return f"the run file names {label!r}, which does not exist{hint}"
