"""`pipeline("translation", ...)`, which transformers 5 dropped, for every sequence-to-sequence model."""

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import torch
from transformers import AutoModelForSeq2SeqLM, GenerationConfig
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.utils import logging

from hf_attention_zoo.seq2seq.source_text import SourceSentence, encode_sources, position_limit
from hf_attention_zoo.seq2seq.translating import DEFAULT_NEW_TOKENS, decode_sequences, default_new_tokens
from hf_attention_zoo.seq2seq.unknown_words import (
    Dictionary,
    check_can_replace,
    checked_dictionary,
    load_dictionary,
)
from hf_attention_zoo.tasks.pipeline_table import restore
from hf_attention_zoo.tasks.task_pipeline import TaskPipeline

logger = logging.get_logger(__name__)


LANGUAGE_PAIR = re.compile(r"translation_\w+_to_\w+")


class TranslationPipeline(TaskPipeline):
    """Text in one language to text in another.

    ```python
    import hf_attention_zoo
    from transformers import pipeline

    translator = pipeline("translation", model="folder")
    translator("Guten Tag")                                   # [{"translation_text": "..."}]
    translator(["eins", "zwei"], batch_size=2, num_beams=5)   # [{"translation_text": ...}, {"translation_text": ...}]
    ```

    Keywords of the constructor or of a call:
        replace_unknown: replace generated unknown tokens by the source words that they are aligned with.
        dictionary: with `replace_unknown`, source word -> target word, a mapping or a TSV file of two columns.
        truncation: cut texts at the tokenizer's `model_max_length`, or where the model's positions end.
        src_lang, tgt_lang: language codes, for tokenizers of many languages (mBART, NLLB, M2M100).
        return_tensors: give `translation_token_ids` (a tensor) instead of `translation_text`.
        Everything else goes to `generate`: num_beams, max_new_tokens, num_return_sequences, gnmt_length_penalty, ...

    One dictionary comes back per text (a list of one for a single string), or a list of `num_return_sequences`
    dictionaries per text. A text that is no string, or longer than the model's positions, is a `ValueError`.
    """

    _load_tokenizer = True
    _pipeline_calls_generate = True
    _default_generation_config = GenerationConfig(max_new_tokens=DEFAULT_NEW_TOKENS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not (getattr(self.model.config, "is_encoder_decoder", False) and self.model.can_generate()):
            raise ValueError(
                f"{type(self.model).__name__} does not turn one sequence into another; translation needs a model of "
                f"AutoModelForSeq2SeqLM"
            )
        if self.tokenizer is None:
            raise ValueError("translation needs a tokenizer; pass tokenizer=, or save one in the model's folder")
        if "max_new_tokens" in self._generation_defaults:
            self._generation_defaults["max_new_tokens"] = default_new_tokens(self.model)
        # settings that old checkpoints keep for a language pair, such as T5's prefix
        by_task = getattr(self.model.config, "task_specific_params", None) or {}
        for_pair = dict(by_task.get(self.task) or {})
        self.source_prefix = for_pair.pop("prefix", None) or getattr(self, "prefix", None) or ""
        known = vars(GenerationConfig())
        self._generation_defaults.update({name: value for name, value in for_pair.items() if name in known})
        if "max_length" in for_pair:
            self._generation_defaults.pop("max_new_tokens", None)

    def _sanitize_parameters(
        self,
        replace_unknown: bool | None = None,
        dictionary: Dictionary = None,
        truncation: bool | None = None,
        src_lang: str | None = None,
        tgt_lang: str | None = None,
        return_tensors: bool | None = None,
        clean_up_tokenization_spaces: bool | None = None,
        **generate_kwargs: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        encoding = {"truncation": truncation, "src_lang": src_lang}
        search: dict[str, Any] = {"replace_unknown": replace_unknown, "tgt_lang": tgt_lang}
        if dictionary is not None:
            search["dictionary"] = load_dictionary(dictionary)
        if generate_kwargs:
            search["generate_kwargs"] = generate_kwargs
        output = {
            "return_tensors": return_tensors,
            "clean_up_tokenization_spaces": clean_up_tokenization_spaces,
        }
        if replace_unknown:
            check_can_replace(self.model, self.tokenizer)
        return _given(encoding), _given(search), _given(output)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Translate a string, a list of strings, or a generator or data set of strings (which is streamed)."""
        if isinstance(inputs, (list, tuple)):
            for index, text in enumerate(inputs):
                _check_is_text(text, f"text {index}")
            if not inputs:
                return []
            if position_limit(self.model) is not None:  # refuse a text that is too long before the first is translated
                truncation = bool(kwargs.get("truncation", self._preprocess_params.get("truncation", False)))
                texts = [self.source_prefix + text for text in inputs]
                encode_sources(self.model, self.tokenizer, texts, truncation=truncation)
            results = super().__call__(list(inputs), *args, **kwargs)
            return [result[0] for result in results] if all(len(result) == 1 for result in results) else results
        if inputs is None or isinstance(inputs, (bytes, int, float, dict, torch.Tensor)):
            _check_is_text(inputs, "the input")
        return super().__call__(inputs, *args, **kwargs)

    # The steps of a pipeline have arguments of their own; transformers' types ask for any keyword.

    def preprocess(  # type: ignore[override]
        self, inputs: str, truncation: bool = False, src_lang: str | None = None
    ) -> dict[str, Any]:
        _check_is_text(inputs, "the input")
        if src_lang is not None:
            self._check_language(src_lang, "src_lang")
            self.tokenizer.src_lang = src_lang
        text = self.source_prefix + inputs
        (sentence,) = encode_sources(self.model, self.tokenizer, [text], truncation=truncation)
        ids = torch.tensor([sentence.input_ids])
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "sentence": sentence}

    def _forward(  # type: ignore[override]
        self,
        model_inputs: dict[str, Any],
        replace_unknown: bool = False,
        dictionary: dict[str, str] | None = None,
        tgt_lang: str | None = None,
        generate_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        entries = checked_dictionary(replace_unknown, dictionary)
        sentences: SourceSentence | Sequence[SourceSentence] = model_inputs["sentence"]
        sentences = [sentences] if isinstance(sentences, SourceSentence) else list(sentences)
        inputs = {name: model_inputs[name] for name in ("input_ids", "attention_mask")}
        options = dict(generate_kwargs or {})
        if tgt_lang is not None:
            self._check_language(tgt_lang, "tgt_lang")
            options["forced_bos_token_id"] = self.tokenizer.convert_tokens_to_ids(tgt_lang)
        options = self._prepare_generate_kwargs(options, return_dict_in_generate=False)
        sequences = self.model.generate(**inputs, **options)
        each = sequences.shape[0] // len(sentences)
        replaced: list[list[str]] | list[None] = [None] * len(sentences)
        if replace_unknown:
            repeated = {name: tensor.repeat_interleave(each, dim=0) for name, tensor in inputs.items()}
            owners = [sentence for sentence in sentences for _ in range(each)]
            texts = decode_sequences(self.model, self.tokenizer, repeated, sequences, owners, entries, True)
            replaced = [texts[start : start + each] for start in range(0, len(texts), each)]
        return {"output_ids": sequences.reshape(len(sentences), each, -1), "replaced": replaced}

    def postprocess(  # type: ignore[override]
        self,
        model_outputs: dict[str, Any],
        return_tensors: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
    ) -> list[dict[str, Any]]:
        ids = model_outputs["output_ids"][0]
        if return_tensors:
            return [{"translation_token_ids": row} for row in ids]
        texts = _first_list(model_outputs["replaced"])
        if texts is None:
            texts = [
                self.tokenizer.decode(
                    row[1:],
                    skip_special_tokens=True,
                    clean_up_tokenization_spaces=clean_up_tokenization_spaces,
                )
                for row in ids
            ]
        return [{"translation_text": text} for text in texts]

    def save_pretrained(self, save_directory: str | PathLike[str], **kwargs: Any) -> None:
        """Save model and tokenizer, which is all that `pipeline("translation", model=folder)` needs.

        The inherited method would copy this module into the folder and mark it as one with code of its own, which
        everybody would then have to trust before loading.
        """
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory)

    def _check_language(self, code: str, name: str) -> None:
        if not hasattr(self.tokenizer, "src_lang"):
            raise ValueError(
                f"{name}={code!r}: {type(self.tokenizer).__name__} knows no language codes; leave {name} out"
            )
        if self.tokenizer.convert_tokens_to_ids(code) in (None, self.tokenizer.unk_token_id):
            raise ValueError(f"{name}={code!r} is not in the vocabulary of {type(self.tokenizer).__name__}")


def _given(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _check_is_text(text: Any, name: str) -> None:
    if not isinstance(text, str):
        raise ValueError(f"{name} is of type {type(text).__name__}; translation takes a string or a list of strings")


def _first_list(replaced: Any) -> list[str] | None:
    """The texts of one sentence, whether or not the pipeline has taken the batch apart already."""
    if replaced and isinstance(replaced[0], list):
        return replaced[0]
    return replaced if replaced and isinstance(replaced[0], str) else None


class TaskAliases(dict):
    """Other names of tasks, in which every `translation_xx_to_yy` stands for `translation`."""

    def __contains__(self, task: object) -> bool:
        return super().__contains__(task) or (isinstance(task, str) and LANGUAGE_PAIR.fullmatch(task) is not None)

    def __missing__(self, task: Any) -> str:
        if task in self:
            return "translation"
        raise KeyError(task)


# "translation" and `translation_xx_to_yy`, which transformers 5 dropped.
restore("translation", TranslationPipeline, AutoModelForSeq2SeqLM)
PIPELINE_REGISTRY.task_aliases = TaskAliases(PIPELINE_REGISTRY.task_aliases)
