"""Which module scores which kind of model, by Auto class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.saved_model import saved_auto_class
from hf_attention_zoo.registry import load_object


@dataclass(frozen=True)
class Evaluator:
    """How models of an Auto class are scored: functions of one module.

    Attributes:
        module: holds them.
        evaluate: folder and keywords -> metrics, written to metrics.json.
        command: the command line.
    """

    module: str
    evaluate: str
    command: str = "main"

    def _named(self, name: str) -> Callable[..., Any]:
        return load_object(f"{self.module}:{name}")

    def run(self, folder: str | Path, **settings: Any) -> dict[str, Any]:
        """Score a folder; returns the metrics."""
        return self._named(self.evaluate)(folder, **settings)

    def summary(self, metrics: dict[str, Any]) -> str:
        """The metrics as a person reads them."""
        return self._named("summary")(metrics)

    def main(self, argv: Sequence[str], program: str) -> int:
        """The command line of this kind of model."""
        return self._named(self.command)(argv, program)


EVALUATORS: dict[str, Evaluator] = {
    "AutoModelForSeq2SeqLM": Evaluator(
        "hf_attention_zoo.tasks.translation.evaluation", "evaluate_checkpoint", "translation_main"
    ),
    "AutoModelForTokenClassification": Evaluator("hf_attention_zoo.tasks.tags.evaluation", "evaluate_tagger"),
    "AutoModelForQuestionAnswering": Evaluator("hf_attention_zoo.tasks.questions.evaluation", "evaluate_answerer"),
    "AutoModelForMultipleChoice": Evaluator("hf_attention_zoo.tasks.choices.evaluation", "evaluate_chooser"),
    "AutoModelForPreTraining": Evaluator("hf_attention_zoo.tasks.running_text.evaluation", "evaluate_language"),
    "AutoModelForMaskedLM": Evaluator("hf_attention_zoo.tasks.running_text.evaluation", "evaluate_language"),
    "AutoModelForCausalLM": Evaluator("hf_attention_zoo.tasks.running_text.evaluation", "evaluate_language"),
    "AutoModelForSequenceClassification": Evaluator("hf_attention_zoo.tasks.labels.evaluation", "evaluate_classifier"),
    "AutoModelForImageTextToText": Evaluator("hf_attention_zoo.tasks.captions.evaluation", "evaluate_captioner"),
}


def evaluator_for(folder: str | Path) -> Evaluator:
    """The evaluator of a saved model.

    Raises:
        ValueError: no such folder, or a kind of model that no evaluator is there for.
    """
    auto_class = saved_auto_class(folder)
    if auto_class not in EVALUATORS:
        raise ValueError(f"{folder} holds a model for {auto_class}; scored are those for {' and '.join(EVALUATORS)}")
    return EVALUATORS[auto_class]
