"""What the pipelines of all tasks are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers.pipelines.base import Pipeline

from hf_attention_zoo.tasks.pipelines import register_pipelines


class TaskPipeline(Pipeline):
    """transformers' pipeline, which loads nothing that the task does not name.

    By transformers' types what it loads may be missing; a pipeline asks for it when it is made.
    """

    _load_processor: Any = False
    _load_image_processor: Any = False
    _load_feature_extractor: Any = False
    _load_tokenizer: Any = False

    if TYPE_CHECKING:
        model: Any
        tokenizer: Any
        processor: Any


register_pipelines()  # of a program that imports this before transformers' pipelines; see there
