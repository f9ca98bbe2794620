"""The rows of the registry in transformers' Auto classes, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hf_attention_zoo.registry import ARCHITECTURES, CAUSAL, Architecture, load_object


class _Deferred:
    """A class that is imported when it is first looked up."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return load_object, (self.path,)


class _DeferredMapping(dict[Any, Any]):
    """The registered part of an Auto class's table, whose values may be deferred."""

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, _Deferred):
            value = self[key] = load_object(value.path)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 (dict.get would hand out the deferred value)

    def values(self) -> Any:  # a view, as dict's own, whose class has no public name
        return {key: self[key] for key in self.keys()}.values()

    def items(self) -> Any:
        return {key: self[key] for key in self.keys()}.items()


def register_architectures(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    """Make the rows known to transformers' Auto classes. Doing it twice changes nothing."""
    for register in REGISTERING.values():
        register(rows)


def _register_configs(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, AutoConfig

    for row in rows:
        if row.model_type not in CONFIG_MAPPING:
            AutoConfig.register(row.model_type, row.config_class)


def _register_models(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    from transformers.models.auto import modeling_auto

    for row in rows:
        if CAUSAL in row.models:  # Trainer's label smoothing shifts the labels of the classes that this table names
            modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.setdefault(row.model_type, row.models[CAUSAL])
        for auto_name, model_name in row.models.items():
            auto_class = getattr(modeling_auto, auto_name)
            table = auto_class._model_mapping
            if not isinstance(table._extra_content, _DeferredMapping):
                table._extra_content = _DeferredMapping(table._extra_content)
            if row.config_class not in table._extra_content:
                table.register(row.config_class, _Deferred(f"{row._module('modeling')}:{model_name}"))


def _register_tokenizers(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    for row in rows:
        if row.tokenizer is not None:
            AutoTokenizer.register(row.config_class, tokenizer_class=row.tokenizer_class)


def _register_image_processors(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    from transformers.models.auto.image_processing_auto import AutoImageProcessor

    for row in rows:
        found = row.image_processor_class
        if found is not None:
            AutoImageProcessor.register(row.config_class, image_processor_classes={"pil": found})


def _register_processors(rows: Iterable[Architecture] = ARCHITECTURES) -> None:
    from transformers.models.auto.processing_auto import AutoProcessor

    for row in rows:
        if row.processor is not None:
            AutoProcessor.register(row.config_class, row.processor_class)


# module of transformers -> what it has to know of the rows
REGISTERING: dict[str, Callable[..., None]] = {
    "transformers.models.auto.configuration_auto": _register_configs,
    "transformers.models.auto.modeling_auto": _register_models,
    "transformers.models.auto.tokenization_auto": _register_tokenizers,
    "transformers.models.auto.image_processing_auto": _register_image_processors,
    "transformers.models.auto.processing_auto": _register_processors,
}
