"""What a model card says differently for each task: what the model does, how it is called, what the picture shows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wording:
    """Words and lines of a card that depend on the task.

    Attributes:
        purpose: continues "a transformers model that".
        aligned: whether `hf_attention_zoo.align` explains this task's predictions.
        align_options: the keywords of that call that the card shows, filled with the values of the evaluation.
        picture: the picture's name in other words, and what it shows.
        reading: what `seconds` of the metrics measures.
        pipeline: name of the pipeline, where it is not the Hub's tag.
        reader: Auto class of what makes the inputs.
    """

    purpose: str
    aligned: bool = False
    align_options: str = ""
    picture: tuple[str, str] = ("Attention weights of one held-out example", "")
    reading: str = "time"
    pipeline: str | None = None
    reader: str = "AutoTokenizer"


WORDING: dict[str, Wording] = {
    "translation": Wording(
        purpose="translates",
        aligned=True,
        align_options=", num_beams={num_beams}",
        picture=(
            "Attention weights of one held-out example",
            "Each row is an output token, each column an input token; the lighter the cell, the larger the attention "
            "weight.",
        ),
        reading="decoding time",
    ),
    "image-text-to-text": Wording(
        purpose="captions pictures",
        aligned=True,
        align_options=", num_beams={num_beams}",
        picture=(
            "Where the model looked before each word of a held-out caption",
            "The picture is bright where the attention of the word above it lies; the number behind the word is the "
            "gate, how much of what was seen went into the word.",
        ),
        reading="captioning time",
        pipeline="image-captioning",
        reader="AutoProcessor",
    ),
    "fill-mask": Wording(
        purpose="fills in hidden words, pre-trained for other tasks", reading="time to read the split"
    ),
    "text-generation": Wording(
        purpose="continues texts, pre-trained for other tasks", reading="time to read the split"
    ),
    "token-classification": Wording(purpose="gives each word a tag", reading="time to read the split"),
    "question-answering": Wording(purpose="answers a question by a part of a text", reading="time to read the split"),
    "multiple-choice": Wording(purpose="chooses one of several continuations", reading="time to read the split"),
    "text-classification": Wording(
        purpose="classifies texts",
        aligned=True,
        picture=(
            "A held-out text with its attention weights",
            "The stronger the colour, the more of that part of the text went into the prediction. Weight is not "
            "importance: dropping a word with a large weight need not change the answer.",
        ),
        reading="time to read the split",
    ),
}


def wording_of(task: str) -> Wording:
    """The wording of a task; general words for tasks that have none of their own."""
    return WORDING.get(task, Wording(purpose=f"does {task.replace('-', ' ')}"))
