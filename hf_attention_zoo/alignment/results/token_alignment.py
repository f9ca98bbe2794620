"""Self-attention of models that read one sequence of tokens a row: who looks at whom, in any layer and head.

Padding is left out; the symbols that the tokenizer puts around texts stay, since heads look at them. Shapes: h heads,
T tokens of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.given_texts import Pair, as_pair, given_texts
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment, check_heads, head_numbers
from hf_attention_zoo.alignment.results.label_scores import best_label, label_scores
from hf_attention_zoo.seq2seq.forced_attention import (
    HEAD_MEAN,
    chosen_weights,
    evaluation_mode,
    numbered,
)
from hf_attention_zoo.tokenization.word_groups import decoded_spans, word_groups

WORD_END = "</w>"


@torch.no_grad()
def align_tokens(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Pair | Sequence[str | Pair],
    *,
    layer: int | str = -1,
    head: int | str | Sequence[int] = HEAD_MEAN,
    batch_size: int = 16,
    truncation: bool = False,
    max_length: int | None = None,
) -> list[Alignment] | list[HeadAlignment]:
    """Read texts, or pairs of texts, and return the weights between their tokens.

    Rows attend to columns. The `target_text` of a result says what the model made of the text: the text with its masks
    filled by the likeliest words, or the likeliest label; the text itself for other heads.

    ```python
    (heads,) = align(model, tokenizer, ["The dog [MASK] loudly."], layer=2, head="all")
    heads.target_text                        # with the word that was hidden
    heads.plot("masked.png", token="[MASK]") # where it looked
    ```

    Args:
        texts: one text or several; a pair is a tuple of two texts, or `{"text": ..., "text_pair": ...}`.
        layer: counted from 0, negative from the last, or "mean" over the layers. The default is the last.
        head: of that layer, or "mean" over its heads, the default; "all", or a list of heads, gives a `HeadAlignment`
            in place of each `Alignment`.
        batch_size: texts at a time.
        truncation, max_length: as the tokenizer takes them.

    Returns:
        One value per text or pair, in order.

    Raises:
        ValueError: something that is neither a text nor a pair, a text without any token, or a layer or head that is
            not there.
    """
    check_heads(head)
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}; give 1 or more")
    alone = isinstance(texts, str | Mapping | tuple)
    given = [as_pair(one) for one in ([texts] if alone else texts)]
    limits = {"truncation": truncation, "max_length": max_length}
    found: list[Any] = []
    with evaluation_mode(model):
        for begin in range(0, len(given), batch_size):
            batch = given[begin : begin + batch_size]
            rows = [tokenizer(*given_texts(pair), **limits) for pair in batch]
            for pair, row in zip(batch, rows, strict=True):
                if not row["input_ids"]:
                    raise ValueError(f"{pair[0]!r:.60} gives no token, so there is nothing to look at")
            inputs = tokenizer.pad(rows, return_tensors="pt").to(model.device)
            read = model.base_model(**inputs, output_attentions=True, return_dict=True)
            weights = chosen_weights(read.attentions, layer, head).cpu()  # (B, T, T) or (B, h, T, T)
            real = inputs["attention_mask"].bool().cpu()
            said = _said(model, tokenizer, inputs, [" ".join(given_texts(pair)) for pair in batch])
            for place, pair in enumerate(batch):
                kept = real[place]
                tokens = tuple(readable_piece(t) for t in tokenizer.convert_ids_to_tokens(rows[place]["input_ids"]))
                words = word_groups(*decoded_spans(tokenizer, rows[place]["input_ids"]), tokens)
                fields: dict[str, Any] = {
                    "source_tokens": tokens,
                    "target_tokens": tokens,
                    "weights": weights[place][..., kept, :][..., kept].numpy(),
                    "source_text": " ".join(given_texts(pair)),
                    "target_text": said[place],
                    "source_words": words,
                    "target_words": words,
                }
                if weights.ndim == 3:
                    found.append(Alignment(**fields))
                else:
                    count = read.attentions[0].shape[1]
                    numbers = tuple(one % count for one in head_numbers(head))
                    kind = "decoder" if model.can_generate() else "encoder"
                    found.append(
                        HeadAlignment(**fields, heads=numbers, kind=kind, layer=numbered(layer, len(read.attentions)))
                    )
    return found


def readable_piece(token: str) -> str:
    """A piece as it is read: without the mark of a word's end."""
    return token.removesuffix(WORD_END) or token


def _said(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, inputs: Any, texts: list[str]) -> list[str]:
    """What the model made of each text."""
    name, mask = type(model).__name__, tokenizer.mask_token_id
    if name.endswith("ForSequenceClassification"):
        scores = label_scores(model, model(**inputs).logits)
        return [best_label(row) for row in scores]
    hidden = None if mask is None else inputs["input_ids"] == mask
    if not name.endswith(("ForMaskedLM", "ForPreTraining")) or hidden is None or not bool(hidden.any()):
        return texts
    read = model(**inputs)
    logits = read.logits if "logits" in read else read.prediction_logits
    filled = inputs["input_ids"].where(~hidden, logits.argmax(-1))
    return tokenizer.batch_decode(filled, skip_special_tokens=True)
