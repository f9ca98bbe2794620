"""Puts the zoo's tasks into transformers' table of pipelines; called once, after `transformers.pipelines` is there."""

import sys

from hf_attention_zoo.tasks.table import TASKS


def register_pipelines() -> None:
    """Register the pipelines of every task. Calling it again changes nothing."""
    base = sys.modules.get("hf_attention_zoo.tasks.task_pipeline")
    if base is not None and not hasattr(base, "TaskPipeline"):
        return  # it is being imported, and with it transformers' pipelines: it calls again at its end
    for task in TASKS:
        task.register_pipelines()
