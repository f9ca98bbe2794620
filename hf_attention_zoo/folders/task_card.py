"""What a model card says differently for each task: what the model does, its numbers, its own sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hf_attention_zoo.folders.card_text import Metric


@dataclass(frozen=True)
class Wording:
    """Words and lines of a card that depend on what the Hub calls the task.

    Attributes:
        purpose: continues "a transformers model that".
        aligned: whether `hf_attention_zoo.align` explains this task's predictions.
        align_options: the keywords of that call that the card shows, filled with the values of the evaluation.
        reading: what `seconds` of the metrics measures.
        pipeline: name of the pipeline, where it is not the Hub's tag.
        pipeline_options: further arguments of the pipeline's call in the example, as `, name=value`.
        shown: what the example prints of the pipeline's answer, with `{}` where that stands.
        reader: Auto class of what makes the inputs.
        longer: of a model with a limit, what becomes of a longer text and what to do, with `{limit}`, the tokens that
            it reads, and `{part}`, a quarter of them.
    """

    purpose: str
    aligned: bool = False
    align_options: str = ""
    reading: str = "time"
    pipeline: str | None = None
    pipeline_options: str = ""
    shown: str = "{}"
    reader: str = "AutoTokenizer"
    longer: str = "A longer one is refused; `truncation=True, max_length={limit}` in the tokenizer's call cuts it."


@dataclass(frozen=True)
class TaskCard:
    """The part of a card that a task writes.

    Attributes:
        wording: the Hub's tag -> words; general words for a tag that has none.
        metrics: entry of `metrics.json` -> how it is shown, in the order of the table.
        baselines: entry of `baselines` in `metrics.json` -> what it is called.
        example_words: the fewest and the most words of an example that is drawn from held-out rows.
        right: what makes an answer right, in words.
        sections: metrics -> Markdown behind the table of results; nothing where the metrics have nothing to show.
    """

    wording: Mapping[str, Wording] = field(default_factory=dict)
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    baselines: Mapping[str, str] = field(default_factory=dict)
    example_words: tuple[int, int] = (4, 16)
    right: str = "the answer is what the data say"
    sections: tuple[Callable[[Mapping[str, Any], TaskCard], str], ...] = ()

    def words_for(self, tag: str) -> Wording:
        """The wording for one of the Hub's tags."""
        return self.wording.get(tag, Wording(purpose=f"does {tag.replace('-', ' ')}"))
