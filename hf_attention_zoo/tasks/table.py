"""The tasks, a row each. The commands, the pipelines, the evaluation and the cards follow from the rows.

A row names classes and functions of modules that have the same names in every task's folder, so that adding a task is
one folder and one row.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.registry import Architecture, load_object

if TYPE_CHECKING:
    from hf_attention_zoo.evaluation.judged_rows import HeldOut
    from hf_attention_zoo.flags import FlagParser
    from hf_attention_zoo.folders.task_card import TaskCard
    from hf_attention_zoo.training.task_contract import TrainingTask


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        folder: under `tasks/`.
        name: of the task, as pipelines call it.
        auto_classes: of the models that do it, each with the Hub's tag for what it does.
        training: class in `training.py`; None where `attention-zoo train` does not train it.
        evaluation: function in `evaluation.py`, folder and keywords -> metrics.
        pipelines: whether there is a `pipeline.py`, which registers its pipelines when it is imported.
        judged: whether answers are right or wrong, and a `held_out.py` tells which, for the examples of cards.
    """

    folder: str
    name: str
    auto_classes: dict[str, str] = field(hash=False)
    training: str | None = None
    evaluation: str = ""
    pipelines: bool = False
    judged: bool = False

    def load(self, module: str, name: str) -> Any:
        """Something of one of the task's modules."""
        return load_object(f"hf_attention_zoo.tasks.{self.folder}.{module}:{name}")

    def evaluate(self, folder: str | Path, **settings: Any) -> dict[str, Any]:
        """Score a saved model; returns the metrics, which are written to metrics.json."""
        return self.load("evaluation", self.evaluation)(folder, **settings)

    def held_out(self, folder: str | Path, *, split: str, dataset: str | None = None) -> HeldOut | None:
        """The rows of a split that the examples of a card are drawn from; None where no answer is right or wrong."""
        if not self.judged:
            return None
        return self.load("held_out", "held_out_rows")(folder, split=split, dataset=dataset)

    def summary(self, metrics: dict[str, Any]) -> str:
        """The metrics as a person reads them."""
        return self.load("evaluation", "summary")(metrics)

    def evaluation_parser(self, program: str) -> FlagParser:
        """The flags of that command; nothing heavy is imported for them."""
        return self.load("evaluation_flags", "build_parser")(program)

    def evaluation_command(self, argv: Sequence[str], program: str) -> int:
        """The command line that scores this kind of model."""
        return self.load("evaluation", "main")(argv, program)

    @property
    def card(self) -> TaskCard:
        """The part of a model card that is the task's own."""
        return self.load("card", "CARD")

    def register_pipelines(self) -> None:
        """Make transformers' `pipeline` do the task with these models, which importing `pipeline.py` does.

        A program that imports a task's pipeline first comes here before that module is whole; it registers at its end.
        """
        if self.pipelines:
            importlib.import_module(f"hf_attention_zoo.tasks.{self.folder}.pipeline")


# `attention-zoo train` trains the first one that an architecture has, or the one that is named.
TASKS: tuple[Task, ...] = (
    Task(
        "translation",
        "translation",
        {"AutoModelForSeq2SeqLM": "translation"},
        training="TranslationTask",
        evaluation="evaluate_checkpoint",
        pipelines=True,
        judged=True,
    ),
    Task(
        "labels",
        "text-classification",
        {"AutoModelForSequenceClassification": "text-classification"},
        training="LabelTask",
        evaluation="evaluate_classifier",
        pipelines=True,
        judged=True,
    ),
    Task(
        "tags",
        "token-classification",
        {"AutoModelForTokenClassification": "token-classification"},
        training="TagTask",
        evaluation="evaluate_tagger",
        pipelines=True,
        judged=True,
    ),
    Task(
        "questions",
        "question-answering",
        {"AutoModelForQuestionAnswering": "question-answering"},
        training="QuestionTask",
        evaluation="evaluate_answerer",
        pipelines=True,
    ),
    Task(
        "choices",
        "multiple-choice",
        {"AutoModelForMultipleChoice": "multiple-choice"},
        training="ChoiceTask",
        evaluation="evaluate_chooser",
    ),
    Task(
        "captions",
        "image-captioning",
        {"AutoModelForImageTextToText": "image-text-to-text"},
        training="CaptionTask",
        evaluation="evaluate_captioner",
        pipelines=True,
        judged=True,
    ),
    Task(
        "running_text",
        "pre-training",
        {
            "AutoModelForCausalLM": "text-generation",
            "AutoModelForMaskedLM": "fill-mask",
            "AutoModelForPreTraining": "fill-mask",
        },
        training=None,
        evaluation="evaluate_language",
        pipelines=True,
    ),
)


def trained_tasks() -> list[Task]:
    """Those that `attention-zoo train` trains."""
    return [task for task in TASKS if task.training is not None]


def task_with(auto_class: str) -> Task | None:
    """The task of models of an Auto class."""
    return next((task for task in TASKS if auto_class in task.auto_classes), None)


def task_for(folder: str | Path) -> Task:
    """The task of a saved model.

    Raises:
        ValueError: no such folder, or a kind of model that has no task.
    """
    from hf_attention_zoo.folders.saved_model import saved_auto_class

    auto_class = saved_auto_class(folder)
    task = task_with(auto_class)
    if task is not None:
        return task
    scored = [name for task in TASKS for name in task.auto_classes]
    raise ValueError(f"{folder} holds a model for {auto_class}; scored are those for {' and '.join(scored)}")


def task_class(row: Architecture, name: str | None = None) -> type[TrainingTask]:
    """How an architecture is trained: for the task named, or for the first that it has.

    Raises:
        ValueError: there is no such task, or the architecture does not do it.
    """
    trained = trained_tasks()
    names = [task.name for task in trained]
    if name is not None and name not in names:
        raise ValueError(f"task={name!r}{did_you_mean(name, names)}; it is one of {', '.join(names)}")
    able = [task for task in trained if any(auto_class in row.models for auto_class in task.auto_classes)]
    for task in able:
        if name in (None, task.name):
            return task.load("training", str(task.training))
    if able:
        raise ValueError(f"{row.model_type} is trained for {' or '.join(task.name for task in able)}, not for {name}")
    raise ValueError(
        f"{row.model_type} does {', '.join(row.tasks)}; this command trains architectures for {' or '.join(names)}"
    )
