"""The picture of a model card, and what is to be seen in it.

What an attention picture shows follows from the function that reads the attention, not from the task: the same
matrix of self-attention is drawn for a model that fills in words and for one that classifies.
"""

from __future__ import annotations

from collections.abc import Callable

from hf_attention_zoo.folders.card_text import one_line
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint
from hf_attention_zoo.registry import SEQ2SEQ_ALIGNER, TOKEN_ALIGNER

ALIGNMENT_FILE = "alignment.png"
SENTENCES_FILE = "sentences.png"
SENTENCES = (
    "Held-out sentences as points: the model keeps one vector of each, drawn in the plane of their first two "
    "principal components (`attention-zoo sentence-vectors`)."
)
WORDS_FILE = "words.png"
WORDS = (
    "Frequent words of held-out texts, joined by the distance of the mean states that the model has after them "
    "(`hf_attention_zoo.cluster_words`)."
)
SPACE_FILE = "plane.png"
SPACE = "Words in the plane of their vectors' first two principal components; nearest words by the cosine of all:"
NO_CAUSE = "Weight is not importance: dropping a word with a large weight need not change the answer."
MATRIX = "Attention weights of one held-out example"
COLOURED = "A held-out text with its attention weights"
RESULTS = "hf_attention_zoo.alignment.results"


def cross_attention(checkpoint: Checkpoint) -> str:
    """Output against input; of a Transformer the last layer, the mean of its heads."""
    shown = (
        "Each row is an output word, each column an input word; the lighter the cell, the larger the attention weight."
    )
    layers, heads = sizes(checkpoint)
    if heads < 2:
        return shown
    return f"{shown} It is the cross-attention of {last_of(layers, 'decoder layers')}, the mean of its {heads} heads."


def self_attention(checkpoint: Checkpoint) -> str:
    """A text against itself: the last layer, the mean of its heads."""
    layers, heads = sizes(checkpoint)
    merged = f", the mean of its {heads} heads" if heads > 1 else ""
    before = checkpoint.row.model_type == "gpt2018" or checkpoint.config.get("left_to_right", False)
    order = " A word sees itself and what stands before it, so the upper right half is black." if before else ""
    return (
        "Each row is a word of the text, or a symbol that the tokenizer puts round it, and each column one that it "
        "looks at; the lighter the cell, the larger the attention weight. It is the self-attention of "
        f"{last_of(layers, 'layers')}{merged}.{order}"
    )


def sentences_and_words(checkpoint: Checkpoint) -> str:
    """A document: its sentences red, their words blue."""
    return (
        "Each sentence begins on a line of its own. The red mark before it is its attention weight; the blue of a "
        "word is its weight in the sentence times the square root of the sentence's, so that words of sentences that "
        f"do not count stay pale. {NO_CAUSE}"
    )


def hops(checkpoint: Checkpoint) -> str:
    """A text coloured by all hops together, and a map of each."""
    number = checkpoint.config.get("num_hops")
    each = f"the {number} hops" if number else "the hops"
    return (
        f"The red of a word is its attention weight, the mean over all hops; below, the rows of the map are {each}, "
        f"its columns the words. {NO_CAUSE}"
    )


def glances(checkpoint: Checkpoint) -> str:
    """A picture under each word of its caption."""
    return (
        "The picture is bright where the attention of the word above it lies; the number behind the word is the gate, "
        "how much of what was seen went into the word."
    )


PICTURES: dict[str, tuple[str, Callable[[Checkpoint], str]]] = {
    SEQ2SEQ_ALIGNER: (MATRIX, cross_attention),
    TOKEN_ALIGNER: (MATRIX, self_attention),
    f"{RESULTS}.document_attention:align_documents": (
        COLOURED,
        sentences_and_words,
    ),
    f"{RESULTS}.hop_attention:align_hops": (COLOURED, hops),
    f"{RESULTS}.picture_attention:align_pictures": (
        "Where the model looked before each word of a held-out caption",
        glances,
    ),
}
"""A row's aligner -> the picture's name in other words, and what is to be seen in it as `align` draws it."""


def sizes(checkpoint: Checkpoint) -> tuple[int, int]:
    """How many layers and heads the attention has, 1 where the config names none."""
    config = checkpoint.config
    return int(config.get("num_hidden_layers") or 1), int(config.get("num_attention_heads") or 1)


def last_of(count: int, layers: str) -> str:
    """ "the last of 3 layers", or "the one layer" where there is one."""
    return f"the last of {count} {layers}" if count > 1 else f"the one {layers.removesuffix('s')}"


def picture(checkpoint: Checkpoint) -> str:
    """The picture that the folder holds: where the model attended, or what it makes of sentences or words if not."""
    if (checkpoint.folder / ALIGNMENT_FILE).is_file():
        title, shown = PICTURES.get(checkpoint.row.aligner or "", (MATRIX, None))
        answer = checkpoint.example[2] if checkpoint.example else None
        said = one_line(answer) if answer else ""
        given = f"The data say: {said}{'' if said.endswith(('.', '!', '?')) else '.'}" if said else ""
        words = f"{shown(checkpoint) if shown else ''} {given}".strip()
        parts = ["## What it attends to", f"![{title}]({ALIGNMENT_FILE})", words]
        return "\n\n".join(part for part in parts if part)
    if (checkpoint.folder / SENTENCES_FILE).is_file():
        return f"## What it makes of a sentence\n\n![Held-out sentences as points]({SENTENCES_FILE})\n\n{SENTENCES}"
    if (checkpoint.folder / WORDS_FILE).is_file():
        return f"## Which words it treats alike\n\n![A tree of words]({WORDS_FILE})\n\n{WORDS}"
    if (checkpoint.folder / SPACE_FILE).is_file():
        near = "\n".join(checkpoint.facts.get("nearest", []))
        shown_words = f"{SPACE}\n\n```text\n{near}\n```" if near else f"{SPACE.partition(';')[0]}."
        return f"## Words by their vectors\n\n![Words as points in a plane]({SPACE_FILE})\n\n{shown_words}"
    return ""
