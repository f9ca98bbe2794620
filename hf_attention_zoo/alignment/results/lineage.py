"""One sentence through several translators, oldest paper first: what each wrote, and what it had to look at.

A model without attention wrote every word from one vector, which is shown; of the others there are the weights of
every layer and head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment
from hf_attention_zoo.alignment.results.joined_words import labels
from hf_attention_zoo.alignment.results.records import written
from hf_attention_zoo.alignment.results.sentence_projection import sentence_vectors
from hf_attention_zoo.alignment.results.seq2seq_alignment import align_seq2seq, up_to_end
from hf_attention_zoo.folders.saved_model import load_checkpoint, saved_auto_class
from hf_attention_zoo.registry import Architecture, get_architecture
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.seq2seq.source_text import (
    checked_texts,
    encode_sources,
    pad_sources,
    readable_target_tokens,
    readable_tokens,
    source_words,
    target_words,
)
from hf_attention_zoo.seq2seq.translating import with_length_limit

KINDS = ("cross", "encoder", "decoder")
MOST_TOKENS = 200  # of a sentence: the weights of every head are in the page, and more of them stop a browser


@dataclass(frozen=True)
class LineageStop:
    """What one model made of the sentence.

    Attributes:
        row: its architecture.
        source_tokens, target_tokens: S words read and T words written, the end symbol included; the tokens
            themselves where pieces were asked for.
        translation: the text written.
        vector: (D) all that the decoder knew of the source, for models without attention.
        layers: the heads of each kind and layer, for models with attention.
    """

    row: Architecture
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    translation: str
    vector: np.ndarray | None = None
    layers: tuple[HeadAlignment, ...] = ()


@dataclass(frozen=True)
class Lineage:
    """A sentence and the models that it passed, oldest first."""

    text: str
    stops: tuple[LineageStop, ...]

    def to_html(self, path: str | PathLike[str] | None = None, *, language: str | None = None) -> str:
        """A self-contained page: all models side by side, word by word in the order in which they were written.

        Args:
            path: file to write.
            language: "en" or "ko" at the start; the reader's own if not given.
        """
        return written(drawing("lineage_page")(self, language=language), path)

    def _repr_html_(self) -> str:
        return drawing("lineage_fragment")(self)


def follow(text: str, folders: Iterable[str | PathLike[str]], *, pieces: bool = False) -> Lineage:
    """One sentence through the translators in some folders.

    Args:
        text: the sentence.
        folders: of saved translators with their tokenizers; they are read in the order of their papers.
        pieces: show tokens as they are, in place of the words that they are pieces of.

    Raises:
        ValueError: a folder that holds no translator, no text, or one of more than `MOST_TOKENS` tokens.
    """
    (text,) = checked_texts([text])
    if not text.strip():
        raise ValueError("there is no text; give a sentence")
    named = [str(folder) for folder in folders]
    if not named:
        raise ValueError("no folder is given; name the folders of one translator or more")
    for folder in named:
        auto_class = saved_auto_class(folder)
        if auto_class != "AutoModelForSeq2SeqLM":
            raise ValueError(f"{folder} holds a model for {auto_class}; the sentence passes translators alone")
    stops = []
    for folder in named:
        model, tokenizer = load_checkpoint(folder)
        row = get_architecture(model.config.model_type)
        length = len(encode_sources(model, tokenizer, [text])[0].input_ids)
        if length > MOST_TOKENS:
            raise ValueError(
                f"the text has {length:,} tokens for {folder}; give one sentence of at most {MOST_TOKENS} tokens"
            )
        made = (_from_one_vector if row.aligner is None else _attending)(model, tokenizer, text, pieces)
        stops.append(LineageStop(row, **made))
    return Lineage(text, tuple(sorted(stops, key=lambda stop: _place(stop.row))))


def published_folders(text: str, root: str | PathLike[str] = "model_cards") -> list[Path]:
    """The translators of `root` for a text's language: Korean where there is Hangul, otherwise German.

    Raises:
        ValueError: there are none.
    """
    pair = "ko-en" if any("가" <= character <= "힣" for character in text) else "de-en"
    found = [
        path.parent for path in sorted(Path(root).glob(f"*-{pair}/config.json")) if "emoji" not in path.parent.name
    ]
    if not found:
        raise ValueError(
            f"there are no folders {root}/*-{pair} here; run it in the root of the repository, or name the folders of "
            "translators"
        )
    return found


def _place(row: Architecture) -> int:
    from hf_attention_zoo.registry import list_architectures

    return [other.model_type for other in list_architectures()].index(row.model_type)


@torch.no_grad()
def _from_one_vector(model: Any, tokenizer: Any, text: str, pieces: bool) -> dict[str, Any]:
    sentences = encode_sources(model, tokenizer, [text])
    with evaluation_mode(model):
        inputs = pad_sources(tokenizer, sentences, model.device)
        sequence = model.generate(**inputs, **with_length_limit(model, {}))[0]
    ids = up_to_end(model, sequence[1:].tolist())
    read, wrote = labels(source_words(tokenizer, sentences[0])), labels(target_words(tokenizer, ids))
    if pieces:
        read, wrote = tuple(readable_tokens(tokenizer, sentences[0])), tuple(readable_target_tokens(tokenizer, ids))
    return {
        "source_tokens": read,
        "target_tokens": wrote,
        "translation": tokenizer.decode(ids, skip_special_tokens=True),
        "vector": sentence_vectors(model, tokenizer, [text])[0].numpy(),
    }


def _attending(model: Any, tokenizer: Any, text: str, pieces: bool) -> dict[str, Any]:
    beams = model.generation_config.num_beams or 1
    heads = getattr(model.config, "num_attention_heads", 1)

    def look(**where: Any) -> Any:
        (found,) = align_seq2seq(model, tokenizer, [text], num_beams=beams, **where)
        return found if pieces else found.words()

    if heads == 1:
        alignment = look()
        layers: Sequence[HeadAlignment] = [_one_head(alignment)]
    else:
        depth = range(model.config.num_hidden_layers)
        layers = [look(kind=kind, layer=layer, head="all") for kind in KINDS for layer in depth]
        alignment = layers[0].mean()
    return {
        "source_tokens": alignment.source_tokens,
        "target_tokens": alignment.target_tokens,
        "translation": alignment.target_text,
        "layers": tuple(layers),
    }


def _one_head(alignment: Alignment) -> HeadAlignment:
    return HeadAlignment(
        alignment.source_tokens, alignment.target_tokens, alignment.weights[None], layer=0,
        source_text=alignment.source_text, target_text=alignment.target_text,
    )  # fmt: skip
