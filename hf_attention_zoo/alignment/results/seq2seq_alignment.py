"""Alignments of sequence-to-sequence models: translate, read the translation once more, keep the attention.

The second reading is teacher-forced: the weights are those of the returned sequence itself, also where beams crossed
on the way. Row t is the one that tells what target token t stands for. Mostly that is the row from which the token was
predicted; a model may say that it comes later (`alignment_shift`): Luong's content-based scores are computed from a
state that has read the word before, and point at the source of that word.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment, check_heads, head_numbers
from hf_attention_zoo.seq2seq.forced_attention import (
    HEAD_MEAN,
    attention_layers,
    chosen_weights,
    evaluation_mode,
    numbered,
)
from hf_attention_zoo.seq2seq.source_text import (
    SourceSentence,
    checked_texts,
    encode_sources,
    pad_sources,
    readable_target_tokens,
    readable_tokens,
    source_words,
    target_words,
)
from hf_attention_zoo.seq2seq.translating import batches_by_length, check_generate_kwargs, with_length_limit
from hf_attention_zoo.tokenization.read_ids import text_of


@torch.no_grad()
def align_seq2seq(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Sequence[str],
    *,
    targets: str | Sequence[str] | None = None,
    num_beams: int = 1,
    batch_size: int = 16,
    kind: str = "cross",
    layer: int | str = -1,
    head: int | str | Sequence[int] = HEAD_MEAN,
    shift: int | None = None,
    truncation: bool = False,
    **generate_kwargs: Any,
) -> list[Alignment] | list[HeadAlignment]:
    """Translate texts and return each with its alignment matrix.

    The end-of-sentence mark is kept on both axes (on the target axis if the search reached it), padding is cut off on
    whichever side it was. Each row sums to 1, or less with Luong's local-p, whose Gaussian is not normalised again.
    The model is put in evaluation mode for the call and then back.

    Args:
        texts: one text or several.
        targets: translations to align instead of the model's own, one per text.
        num_beams: width of the search.
        batch_size: texts at a time.
        kind: "cross": target tokens (rows) attend to source tokens (columns). Models with self-attention also have
            "encoder": source tokens to source tokens; and "decoder": each target token (row) to the tokens that had
            been written before it, the start symbol first (columns).
        layer: layer, counted from 0, negative from the last, or "mean" over the layers. The default is the last
            layer. A recurrent model has exactly one.
        head: attention head of that layer, or "mean" over its heads, the default. A recurrent model has exactly one.
            "all", or a list of heads, gives a `HeadAlignment` in place of each `Alignment`: the weights of these
            heads apart, drawn as two columns of tokens joined by lines.
        shift: steps from the prediction of a target token to its row of "cross", 0 or 1; None for the model's own
            (`alignment_shift`, 0 where it says nothing). 0 gives the rows from which the tokens were predicted. The
            end mark, which no step reads, always has that row.
        truncation: cut texts at the tokenizer's `model_max_length`, or where the model's positions end.
        generate_kwargs: for `generate`; without a length anywhere, at most 256 tokens are written.

    Returns:
        One `Alignment` per text, in order; an empty list for an empty list.

    Raises:
        ValueError: texts or targets that are no strings or differ in number, generation keywords beside `targets`,
            more than one return sequence, a layer or head that is not there, a model without cross-attention.
    """
    sources = checked_texts(texts)
    check_heads(head)
    check_generate_kwargs(generate_kwargs)
    wanted = None if targets is None else checked_texts(targets, "targets")
    if wanted is not None:
        if len(wanted) != len(sources):
            raise ValueError(f"{len(sources)} texts, but {len(wanted)} targets; give one target for each text")
        if generate_kwargs or num_beams != 1:
            extra = ", ".join([*(["num_beams"] if num_beams != 1 else []), *generate_kwargs])
            raise ValueError(f"targets are given, so nothing is searched; leave out {extra}")
    shift = _checked_shift(model, shift, kind)
    sentences = encode_sources(model, tokenizer, sources, truncation=truncation)
    options = with_length_limit(model, {"num_beams": num_beams, **generate_kwargs})
    alignments: list[Any] = [None] * len(sentences)
    generate: Any = model.generate  # of the models that have it, whose common class does not
    with evaluation_mode(model):
        for indices in batches_by_length(sentences, batch_size):
            batch = [sentences[index] for index in indices]
            inputs = pad_sources(tokenizer, batch, model.device)
            if wanted is None:
                sequences = generate(**inputs, **options)
                rows = [up_to_end(model, row) for row in sequences[:, 1:].tolist()]
            else:
                rows = _target_ids(tokenizer, [wanted[index] for index in indices])
                sequences = _with_start_token(model, tokenizer, rows)
            read = sequences[:, : sequences.shape[1] - 1 + shift]
            layers = attention_layers(model, inputs, read, kind)
            weights = chosen_weights(layers, layer, head).cpu()
            real = inputs["attention_mask"].bool().cpu()
            for place, index in enumerate(indices):
                attending = real[place] if kind == "encoder" else _steps(model, rows[place], shift)
                attended = torch.arange(len(rows[place])) if kind == "decoder" else real[place]
                matrix = weights[place][..., attending, :][..., attended]
                target_text = None if wanted is None else wanted[index]
                start = int(sequences[place, 0])
                made = _alignment(tokenizer, batch[place], rows[place], matrix, target_text, kind, start)
                if matrix.ndim == 3:
                    count = layers[0].shape[1]
                    numbers = tuple(one % count for one in head_numbers(head))
                    number = numbered(layer, len(layers))
                    alignments[index] = HeadAlignment(**made, heads=numbers, kind=kind, layer=number)
                else:
                    alignments[index] = Alignment(**made)
    return [alignment for alignment in alignments if alignment is not None]


def _alignment(
    tokenizer: PreTrainedTokenizerBase,
    sentence: SourceSentence,
    target_ids: list[int],
    weights: torch.Tensor,
    target_text: str | None,
    kind: str,
    start: int,
) -> dict[str, Any]:
    """Fields of an `Alignment`: weights with the tokens of the rows and columns of its kind."""
    if target_text is None:
        target_text = text_of(tokenizer, target_ids, skip_special_tokens=True)
    read = tuple(readable_tokens(tokenizer, sentence))
    written = tuple(readable_target_tokens(tokenizer, target_ids))
    before = (*readable_target_tokens(tokenizer, [start]), *written[:-1])  # what had been written before each token
    rows, columns = {"cross": (written, read), "encoder": (read, read), "decoder": (written, before)}[kind]
    read_words, written_words = source_words(tokenizer, sentence), target_words(tokenizer, target_ids)
    before_words = target_words(tokenizer, [start, *target_ids[:-1]])
    words = {"cross": (written_words, read_words), "encoder": (read_words, read_words)}
    row_words, column_words = words.get(kind, (written_words, before_words))
    return {
        "source_tokens": columns,
        "target_tokens": rows,
        "source_words": column_words,
        "target_words": row_words,
        "weights": weights.numpy(),
        "source_text": sentence.text,
        "target_text": target_text,
    }


def _steps(model: PreTrainedModel, ids: list[int], shift: int) -> torch.Tensor:
    """The step whose weights belong to each target token, (T)."""
    steps = torch.arange(len(ids)) + shift
    if ids and ids[-1] in _end_marks(model):
        steps[-1] -= shift
    return steps


def _checked_shift(model: PreTrainedModel, shift: int | None, kind: str) -> int:
    if kind != "cross":
        if shift:
            raise ValueError(f"shift={shift!r} moves the rows of kind='cross'; leave it out with kind={kind!r}")
        return 0
    if shift is None:
        return getattr(model, "alignment_shift", 0)
    if isinstance(shift, bool) or not isinstance(shift, int) or shift not in (0, 1):
        raise ValueError(f"shift={shift!r}; give 0, 1, or None for the model's own")
    return shift


def _end_marks(model: PreTrainedModel) -> set[int | None]:
    end = model.generation_config.eos_token_id
    return set(end) if isinstance(end, (list, tuple)) else {end}


def up_to_end(model: PreTrainedModel, ids: list[int]) -> list[int]:
    """The generated ids up to and with the first end-of-sentence mark; what follows is padding."""
    ends = _end_marks(model)
    for index, token in enumerate(ids):
        if token in ends:
            return ids[: index + 1]
    return ids


def _target_ids(tokenizer: PreTrainedTokenizerBase, targets: list[str]) -> list[list[int]]:
    rows = [list(ids) for ids in tokenizer(text_target=targets)["input_ids"]]
    for text, ids in zip(targets, rows, strict=True):
        if not ids:
            raise ValueError(f"target {text!r:.60} gives no token at all, so there is nothing to align")
    return rows


def _with_start_token(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: list[list[int]]
) -> torch.Tensor:
    """Start token and targets, (B, 1 + T), padded on the right: what `generate` would have returned for them."""
    start = model.generation_config.decoder_start_token_id
    if start is None:
        start = model.config.decoder_start_token_id
    if start is None:
        raise ValueError("the model names no decoder_start_token_id; set it in model.generation_config")
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else start
    length = max(map(len, rows))
    padded = [[start, *row, *[padding] * (length - len(row))] for row in rows]
    return torch.tensor(padded, device=model.device)
