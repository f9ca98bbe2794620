"""Texts in, translations out: batching, search and unknown words in one call, for scripts and the command line."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.seq2seq.forced_attention import cross_attention, evaluation_mode
from hf_attention_zoo.seq2seq.source_text import (
    SourceSentence,
    checked_texts,
    encode_sources,
    pad_sources,
    position_limit,
)
from hf_attention_zoo.seq2seq.unknown_words import (
    Dictionary,
    check_can_replace,
    checked_dictionary,
    decode_replacing_unknown,
)

# when neither the call nor the checkpoint's generation config says where to stop
DEFAULT_NEW_TOKENS = 256


@torch.no_grad()
def translate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Sequence[str],
    *,
    batch_size: int = 32,
    replace_unknown: bool = False,
    dictionary: Dictionary = None,
    truncation: bool = False,
    **generate_kwargs: Any,
) -> list[str]:
    """Translate texts with any sequence-to-sequence model.

    Texts of similar length share a batch; the result is in the order of the input. The model is put in evaluation
    mode for the call and then back.

    Args:
        texts: one text or several; an empty text is translated as the end-of-sentence mark alone.
        batch_size: texts at a time.
        replace_unknown: replace each generated unknown token by the source word that it is aligned with, as spelled
            in the source; see `hf_attention_zoo.seq2seq.unknown_words`. Works after any search.
        dictionary: with `replace_unknown`, source word -> target word: a mapping, or a TSV file of two columns.
        truncation: cut texts at the tokenizer's `model_max_length`, or where the model's positions end.
        generate_kwargs: for `generate` (num_beams, max_new_tokens, length_penalty, gnmt_length_penalty, ...). Without
            a length anywhere, at most 256 tokens are written.

    Returns:
        One string per text.

    Raises:
        ValueError: a text that is no string, more than one return sequence, an input beyond the model's positions, or
            an unknown-word option that this tokenizer or model cannot serve.
    """
    sources = checked_texts(texts)
    check_generate_kwargs(generate_kwargs)
    entries = checked_dictionary(replace_unknown, dictionary)
    if replace_unknown:
        check_can_replace(model, tokenizer)
    sentences = encode_sources(model, tokenizer, sources, truncation=truncation)
    generate_kwargs = with_length_limit(model, generate_kwargs)
    translations = [""] * len(sentences)
    generate: Any = model.generate  # of the models that have it, whose common class does not
    with evaluation_mode(model):
        for indices in batches_by_length(sentences, batch_size):
            batch = [sentences[index] for index in indices]
            inputs = pad_sources(tokenizer, batch, model.device)
            sequences = generate(**inputs, **generate_kwargs)
            texts_of_batch = decode_sequences(model, tokenizer, inputs, sequences, batch, entries, replace_unknown)
            for index, text in zip(indices, texts_of_batch, strict=True):
                translations[index] = text
    return translations


def decode_sequences(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    inputs: dict[str, torch.Tensor],
    sequences: torch.Tensor,
    sentences: Sequence[SourceSentence],
    dictionary: dict[str, str],
    replace_unknown: bool,
) -> list[str]:
    """Text of generated sequences (N, 1 + T), start token included, for N sources (B = N rows of `inputs`)."""
    texts = tokenizer.batch_decode(sequences[:, 1:], skip_special_tokens=True)
    if not replace_unknown:
        return texts
    rows = (sequences[:, 1:] == tokenizer.unk_token_id).any(1).nonzero().flatten()
    if rows.numel() == 0:
        return texts
    chosen = {name: tensor[rows] for name, tensor in inputs.items()}
    # In some models the row that explains a word is the one of the step after its prediction: one step more is run.
    shift = getattr(model, "alignment_shift", 0)
    inputs_read = sequences[rows, : sequences.shape[1] - 1 + shift]
    weights = cross_attention(model, chosen, inputs_read)[:, shift:].cpu()
    real = chosen["attention_mask"].bool().cpu()
    for place, row in enumerate(rows.tolist()):
        texts[row] = decode_replacing_unknown(
            tokenizer, sequences[row, 1:].tolist(), weights[place][:, real[place]], sentences[row], dictionary
        )
    return texts


def batches_by_length(sentences: Sequence[SourceSentence], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of similar length, the longest first, so that memory runs out at once or never."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}")
    order = sorted(range(len(sentences)), key=lambda index: -len(sentences[index].input_ids))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def check_generate_kwargs(generate_kwargs: dict[str, Any]) -> None:
    """Refuse the keywords that would change the form of the result."""
    if generate_kwargs.get("num_return_sequences") not in (None, 1):
        raise ValueError(
            f"num_return_sequences={generate_kwargs['num_return_sequences']}: one result per text is returned here; "
            f"use model.generate or the translation pipeline for several"
        )
    for name in ("return_dict_in_generate", "output_attentions", "output_scores", "streamer"):
        if generate_kwargs.get(name):
            raise ValueError(f"{name} changes what generate returns; call model.generate itself to use it")


def default_new_tokens(model: PreTrainedModel) -> int:
    """256, or as many as the model has positions."""
    positions = position_limit(model)
    return DEFAULT_NEW_TOKENS if positions is None else min(DEFAULT_NEW_TOKENS, positions)


def with_length_limit(model: PreTrainedModel, generate_kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keywords for `generate`, with a length limit if neither they nor the checkpoint set one."""
    own_config = generate_kwargs.get("generation_config")
    given = {
        **model.generation_config.to_diff_dict(),
        **(own_config.to_diff_dict() if own_config is not None else {}),
        **generate_kwargs,
    }
    if any(given.get(name) is not None for name in ("max_length", "max_new_tokens", "max_time", "stopping_criteria")):
        return generate_kwargs
    if own_config is None:
        return {**generate_kwargs, "max_new_tokens": default_new_tokens(model)}
    limited = copy.deepcopy(own_config)
    limited.max_new_tokens = default_new_tokens(model)
    return {**generate_kwargs, "generation_config": limited}
