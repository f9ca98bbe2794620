"""What the quick start does differently for each kind of sample: training, held-out examples, pictures, usage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hf_attention_zoo.data.samples import CaptionSample, LabelledSample, Sample, TextSample, TranslationSample
from hf_attention_zoo.registry import Architecture, load_object

SHOWN = 5
PICTURE = "alignment.png"


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
    """What one kind of sample adds to the quick start.

    Attributes:
        validation: a metric of the training's validation, its name, the factor that it is shown with.
        answering: how the fresh process answers, see `fresh_process.ANSWERING`.
        chosen: how the held-out examples are chosen, in words.
    """

    validation: ClassVar[tuple[str, str, float]]
    answering: ClassVar[str]
    chosen: ClassVar[str] = "held-out texts, taken at even distances from the test split"

    def __init__(self, sample: Sample, row: Architecture) -> None:
        self.sample, self.row = sample, row

    def plan(self, argv: Sequence[str], command: str) -> tuple[Any, Any]:
        """The plan of a training's arguments, and the task if it is not that of the architecture."""
        from hf_attention_zoo.training.run_plan import parse_run

        return parse_run(argv, command=command), None

    def evaluate(self, folder: Path, command: str) -> tuple[dict[str, Any], str]:
        """Score the test split: the metrics, which are written to the folder, and what is said of them."""
        from hf_attention_zoo.tasks.table import task_for

        kind = task_for(folder)
        metrics = kind.evaluate(folder, split="test", command=command)
        return metrics, kind.summary(metrics)

    @abstractmethod
    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        """Held-out examples, the first of them of a length that draws well."""

    def facts(self, example: Example) -> dict[str, str]:
        """Entries of facts.json for the example."""
        return {"example": example.given}

    @abstractmethod
    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        """Draw where the model looks, or what it makes of a text: name of the picture, and what it shows in words."""

    def usage(self, folder: Path, example: Example) -> list[str]:
        """Lines of Python that do with the folder what the quick start has shown."""
        return [
            "import hf_attention_zoo",
            "from transformers import pipeline",
            f"print(pipeline({self.answering!r}, model={str(folder)!r})({example.given!r}))",
        ]


class QuickTranslation(QuickTask):
    """Sentences and their translations."""

    validation = ("bleu", "BLEU", 1.0)
    answering = "translation"

    def test_rows(self, metrics: dict[str, Any]) -> Any:
        """The test split in the direction and of the lengths that were scored."""
        from hf_attention_zoo.tasks.translation.rows import load_data

        data = metrics["dataset"]
        return load_data(
            self.sample.name,
            source_lang=data["source_lang"],
            target_lang=data["target_lang"],
            max_words=data.get("max_words"),
            splits=["test"],
        )["test"]

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        test = self.test_rows(metrics)
        self.sources, references = list(test["source"]), list(test["target"])
        return [Example(self.sources[i], self.sources[i], references[i]) for i in pick_examples(self.sources)]

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        from hf_attention_zoo.alignment.aligning import align
        from hf_attention_zoo.folders.saved_model import load_checkpoint

        model, tokenizer = load_checkpoint(folder)
        if self.row.aligner is None:
            return draw_vectors(model, tokenizer, self.sources, folder)
        beams = model.generation_config.num_beams or 1
        (alignment,) = align(model, tokenizer, [examples[0].given], num_beams=beams)
        alignment.plot(folder / PICTURE)
        return PICTURE, f"which source words each word of {alignment.target_text!r} looked at"


class QuickLabels(QuickTask):
    """Texts and their classes."""

    validation = ("accuracy", "accuracy", 100.0)
    answering = "text-classification"

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        from hf_attention_zoo.tasks.labels.rows import joined, load_labelled

        splits, info = load_labelled(self.sample.name, splits=["test"])
        test = splits["test"]
        self.texts = texts = [joined(text) for text in test["text"]]
        found = []
        for i in pick_examples(texts, words=24):
            given: str | dict[str, str] = texts[i]
            said = texts[i]
            if "text_pair" in test.column_names:
                second = joined(test[i]["text_pair"])
                given, said = {"text": texts[i], "text_pair": second}, f"{texts[i]} | {second}"
            found.append(Example(given, shortened(said), info.names[test[i]["label"]]))
        return found

    def facts(self, example: Example) -> dict[str, str]:
        if isinstance(example.given, dict):
            return {"example": example.given["text"], "example_pair": example.given["text_pair"]}
        return {"example": example.given}

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        from hf_attention_zoo.alignment.aligning import align
        from hf_attention_zoo.folders.saved_model import load_checkpoint

        model, tokenizer = load_checkpoint(folder)
        if self.row.aligner is None:
            short = sorted(self.texts, key=len)[:50]  # longer ones would hide each other
            return draw_vectors(model, tokenizer, short, folder)
        (drawn,) = align(model, tokenizer, [examples[0].given])
        drawn.plot(folder / PICTURE)
        return PICTURE, "which parts of a held-out text went into the prediction"


class QuickCaptions(QuickTask):
    """Pictures and their captions; the examples' pictures are copied into the folder."""

    validation = ("exact", "captions exact to the letter, in percent,", 1.0)
    answering = "image-captioning"
    chosen = "held-out pictures, taken at even distances from the test split"

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        from hf_attention_zoo.tasks.captions.rows import load_captions

        test = load_captions(self.sample.name, language=metrics["dataset"].get("language"), splits=["test"])["test"]
        (folder / "examples").mkdir(exist_ok=True)
        found = []
        for i in pick_examples([captions[0] for captions in test.captions]):
            path = folder / "examples" / Path(test.sources[i]).name
            test.picture(i).save(path)
            found.append(Example(path.as_posix(), path.relative_to(folder).as_posix(), test.captions[i][0]))
        return found

    def facts(self, example: Example) -> dict[str, str]:
        return {"example": example.given, "example_answer": example.reference}

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        from hf_attention_zoo.alignment.aligning import align
        from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader

        model, _ = load_checkpoint(folder)
        (seen,) = align(
            model, load_reader(folder), [examples[0].given], num_beams=model.generation_config.num_beams or 1
        )
        seen.plot(folder / PICTURE)
        return PICTURE, "where it looked in the first of these pictures before each word"


# What is done with running text depends on what an architecture learns from it, and so on the first task it names.
RUNNING_TEXT = {
    "fill-mask": "hf_attention_zoo.cli.quickstart_texts:QuickHiddenWords",
    "text-generation": "hf_attention_zoo.cli.quickstart_texts:QuickContinuations",
    "feature-extraction": "hf_attention_zoo.cli.quickstart_texts:QuickNeighbours",
}
# Where a word has one vector, whatever stands around it.
WITHOUT_CONTEXT = {"word2vec": "hf_attention_zoo.cli.quickstart_texts:QuickWords"}
TASKS: dict[type[Sample], type[QuickTask]] = {
    TranslationSample: QuickTranslation,
    LabelledSample: QuickLabels,
    CaptionSample: QuickCaptions,
}


def quick_task(sample: Sample, row: Architecture) -> QuickTask:
    """The quick start's part for a sample and an architecture."""
    if isinstance(sample, TextSample):
        return load_object(WITHOUT_CONTEXT.get(row.model_type) or RUNNING_TEXT[row.tasks[0]])(sample, row)
    return TASKS[type(sample)](sample, row)


def draw_vectors(model: Any, tokenizer: Any, texts: Sequence[str], folder: Path, count: int = 12) -> tuple[str, str]:
    """Held-out texts as points, for models that squeeze a text into one vector."""
    from hf_attention_zoo.alignment.results.sentence_projection import project_sentences
    from hf_attention_zoo.hub.card_pictures import SENTENCES_FILE

    chosen = list(dict.fromkeys(texts[i] for i in pick_examples(texts, count)))
    project_sentences(model, tokenizer, chosen).plot(folder / SENTENCES_FILE)
    return SENTENCES_FILE, f"{len(chosen)} held-out texts as points: their vectors in the plane where they differ most"


def pick_examples(texts: Sequence[str], count: int = SHOWN, words: int = 6) -> list[int]:
    """Indices of texts at even distances in the split, the first of them of about so many words."""
    step = max(1, len(texts) // count)
    chosen = list(range(step // 2, len(texts), step))[:count]
    return sorted(chosen, key=lambda index: abs(len(texts[index].split()) - words))


def shortened(text: str, limit: int = 160) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 4].rsplit(" ", 1)[0] + " ..."
