"""Puts the zoo's tasks into transformers' table of pipelines; called once, after `transformers.pipelines` is there."""

from hf_attention_zoo.tasks.table import TASKS


def register_pipelines() -> None:
    """Register the pipelines of every task. Calling it again changes nothing."""
    for task in TASKS:
        task.register_pipelines()
