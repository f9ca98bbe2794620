"""Puts the zoo's tasks into transformers' table of pipelines; called once, after `transformers.pipelines` is there."""

import re
from typing import Any

LANGUAGE_PAIR = re.compile(r"translation_\w+_to_\w+")


class TaskAliases(dict):
    """Other names of tasks, in which every `translation_xx_to_yy` stands for `translation`."""

    def __contains__(self, task: object) -> bool:
        return super().__contains__(task) or (isinstance(task, str) and LANGUAGE_PAIR.fullmatch(task) is not None)

    def __missing__(self, task: Any) -> str:
        if task in self:
            return "translation"
        raise KeyError(task)


def register_pipelines() -> None:
    """Register the tasks that transformers lacks, and let all pipelines pad documents.

    They are "translation" (with `translation_xx_to_yy`), "zoo-translation" and "image-captioning".

    Calling it again changes nothing.

    transformers blocks the name "translation" before it asks its table, so the block is lifted for that name alone.
    Should it vanish or move, "zoo-translation" still works.
    """
    import transformers.pipelines as tasks
    from transformers import AutoModelForImageTextToText, AutoModelForSeq2SeqLM

    from hf_attention_zoo.pipelines.caption_pipeline import CaptionPipeline
    from hf_attention_zoo.pipelines.ragged_documents import pad_documents
    from hf_attention_zoo.pipelines.translation_pipeline import TranslationPipeline

    pad_documents()
    registry = tasks.PIPELINE_REGISTRY
    getattr(tasks, "REMOVED_TASKS", {}).pop("translation", None)
    for task in ("translation", "zoo-translation"):
        if task not in registry.supported_tasks:
            registry.register_pipeline(task, TranslationPipeline, pt_model=AutoModelForSeq2SeqLM, type="text")
    if "image-captioning" not in registry.supported_tasks:
        registry.register_pipeline(
            "image-captioning", CaptionPipeline, pt_model=AutoModelForImageTextToText, type="multimodal"
        )
    if not isinstance(registry.task_aliases, TaskAliases):
        registry.task_aliases = TaskAliases(registry.task_aliases)
