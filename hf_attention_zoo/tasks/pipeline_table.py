"""How a task enters transformers' table of pipelines."""

from typing import Any


def restore(name: str, pipeline_class: type[Any], auto_class: type[Any]) -> None:
    """Register a task whose name transformers has removed, under that name and under "zoo-" and the name.

    transformers blocks the names of removed tasks before it asks its table, so the block is lifted for this one alone.
    Should it vanish or move, the name with "zoo-" still works. Calling it again changes nothing.
    """
    import transformers.pipelines as tasks

    getattr(tasks, "REMOVED_TASKS", {}).pop(name, None)
    for task in (name, f"zoo-{name}"):
        add(task, pipeline_class, auto_class, "text")


def add(name: str, pipeline_class: type[Any], auto_class: type[Any], kind: str) -> None:
    """Register a task that transformers does not have; nothing if it is there."""
    from transformers.pipelines import PIPELINE_REGISTRY

    if name not in PIPELINE_REGISTRY.supported_tasks:
        PIPELINE_REGISTRY.register_pipeline(name, pipeline_class, pt_model=auto_class, type=kind)


def replace(name: str, pipeline_class: type[Any]) -> None:
    """Take another class for a task that transformers has."""
    from transformers.pipelines import PIPELINE_REGISTRY

    PIPELINE_REGISTRY.supported_tasks[name]["impl"] = pipeline_class
