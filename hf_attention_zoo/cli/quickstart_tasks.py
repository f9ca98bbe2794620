"""What the quick start shows of each kind of sample: held-out examples, right answers, where the model looks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hf_attention_zoo.data.samples import LabelledSample, Sample, TranslationSample

SHOWN = 5


@dataclass(frozen=True)
class Example:
    """A held-out row.

    Attributes:
        given: what a pipeline takes.
        said: how it is printed.
        reference: the right answer.
    """

    given: Any
    said: str
    reference: str


class QuickTask(ABC):
    """What one kind of sample adds to the quick start."""

    validation: ClassVar[tuple[str, str, float]]  # metric, its name, factor

    @abstractmethod
    def examples(self, metrics: dict[str, Any]) -> list[Example]:
        """Held-out examples, the first of them of a length that draws well."""

    @abstractmethod
    def facts(self, example: Example) -> dict[str, str]:
        """Entries of facts.json for the example."""

    @abstractmethod
    def draw(self, model: Any, tokenizer: Any, example: Example, path: Path) -> str:
        """Draw where the model looks; returns what the picture shows, in words."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample


class QuickTranslation(QuickTask):
    """Sentences and their translations."""

    validation = ("bleu", "BLEU", 1.0)

    def examples(self, metrics: dict[str, Any]) -> list[Example]:
        from hf_attention_zoo.tasks.translation.rows import load_data

        data = metrics["dataset"]
        test = load_data(
            self.sample.name,
            source_lang=data["source_lang"],
            target_lang=data["target_lang"],
            max_words=data.get("max_words"),
            splits=["test"],
        )["test"]
        sources, references = list(test["source"]), list(test["target"])
        return [Example(sources[i], sources[i], references[i]) for i in pick_examples(sources)]

    def facts(self, example: Example) -> dict[str, str]:
        return {"example": example.given}

    def draw(self, model: Any, tokenizer: Any, example: Example, path: Path) -> str:
        from hf_attention_zoo.alignment.aligning import align

        (alignment,) = align(model, tokenizer, [example.given], num_beams=model.generation_config.num_beams or 1)
        alignment.plot(path)
        return f"which source words each word of {alignment.target_text!r} looked at"


class QuickLabels(QuickTask):
    """Texts and their classes."""

    validation = ("accuracy", "accuracy", 100.0)

    def examples(self, metrics: dict[str, Any]) -> list[Example]:
        from hf_attention_zoo.data.text_encoding import joined
        from hf_attention_zoo.tasks.labels.rows import load_labelled

        splits, info = load_labelled(self.sample.name, splits=["test"])
        test = splits["test"]
        texts = [joined(text) for text in test["text"]]
        found = []
        for i in pick_examples(texts, words=24):
            given, said = texts[i], texts[i]
            if "text_pair" in test.column_names:
                second = joined(test[i]["text_pair"])
                given, said = {"text": texts[i], "text_pair": second}, f"{texts[i]} | {second}"
            found.append(Example(given, shortened(said), info.names[test[i]["label"]]))
        return found

    def facts(self, example: Example) -> dict[str, str]:
        if isinstance(example.given, dict):
            return {"example": example.given["text"], "example_pair": example.given["text_pair"]}
        return {"example": example.given}

    def draw(self, model: Any, tokenizer: Any, example: Example, path: Path) -> str:
        from hf_attention_zoo.alignment.aligning import align

        (drawn,) = align(model, tokenizer, [example.given])
        drawn.plot(path)
        return "which parts of a held-out text went into the prediction"


TASKS: dict[type[Sample], type[QuickTask]] = {TranslationSample: QuickTranslation, LabelledSample: QuickLabels}


def quick_task(sample: Sample) -> QuickTask:
    """The quick start's part for a sample."""
    return TASKS[type(sample)](sample)


def pick_examples(texts: Sequence[str], count: int = SHOWN, words: int = 6) -> list[int]:
    """Indices of texts spread over the split, the first of them of about so many words."""
    step = max(1, len(texts) // count)
    chosen = list(range(step // 2, len(texts), step))[:count]
    return sorted(chosen, key=lambda index: abs(len(texts[index].split()) - words))


def shortened(text: str, limit: int = 160) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 4].rsplit(" ", 1)[0] + " ..."
