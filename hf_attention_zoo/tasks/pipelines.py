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
    """Register the tasks that transformers lacks, let all pipelines pad documents, and make two of them know the zoo.

    They are "translation" (with `translation_xx_to_yy`) and "question-answering", both also under "zoo-" and their
    name, and "image-captioning". "fill-mask" looks at the model, "text-generation" at the tokenizer.

    Calling it again changes nothing.

    transformers blocks the names of removed tasks before it asks its table, so the block is lifted for these two
    alone. Should it vanish or move, "zoo-translation" and "zoo-question-answering" still work.
    """
    import transformers.pipelines as tasks
    from transformers import AutoModelForImageTextToText, AutoModelForQuestionAnswering, AutoModelForSeq2SeqLM

    from hf_attention_zoo.tasks.captions.pipeline import CaptionPipeline
    from hf_attention_zoo.tasks.labels.pipeline import pad_documents
    from hf_attention_zoo.tasks.questions.pipeline import QuestionAnsweringPipeline
    from hf_attention_zoo.tasks.running_text.continued_texts import ContinuedTextPipeline
    from hf_attention_zoo.tasks.running_text.hidden_words import HiddenWordPipeline
    from hf_attention_zoo.tasks.translation.pipeline import TranslationPipeline

    pad_documents()
    registry = tasks.PIPELINE_REGISTRY
    restored = {
        "translation": (TranslationPipeline, AutoModelForSeq2SeqLM),
        "question-answering": (QuestionAnsweringPipeline, AutoModelForQuestionAnswering),
    }
    for name, (pipeline_class, auto_class) in restored.items():
        getattr(tasks, "REMOVED_TASKS", {}).pop(name, None)
        for task in (name, f"zoo-{name}"):
            if task not in registry.supported_tasks:
                registry.register_pipeline(task, pipeline_class, pt_model=auto_class, type="text")
    registry.supported_tasks["fill-mask"]["impl"] = HiddenWordPipeline
    registry.supported_tasks["text-generation"]["impl"] = ContinuedTextPipeline
    if "image-captioning" not in registry.supported_tasks:
        registry.register_pipeline(
            "image-captioning", CaptionPipeline, pt_model=AutoModelForImageTextToText, type="multimodal"
        )
    if not isinstance(registry.task_aliases, TaskAliases):
        registry.task_aliases = TaskAliases(registry.task_aliases)
