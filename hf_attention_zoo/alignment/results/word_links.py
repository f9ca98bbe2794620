"""Links between the words of sentence pairs, from the attention of a forced decoding.

Words are what stands between white space, as files of links count them: every target word is linked to the source word
that its tokens attend to most (Luong et al. 2015, Section 5.4).
"""

import re
from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.seq2seq_alignment import align_seq2seq
from hf_attention_zoo.metrics.alignment_error_rate import Link, strongest_links
from hf_attention_zoo.seq2seq.source_text import encode_sources


def word_links(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: Sequence[str],
    targets: Sequence[str],
    **options: Any,
) -> list[set[Link]]:
    """The most attended source word of every target word, pair by pair.

    Args:
        sources, targets: sentences and their translations, as many of one as of the other.
        options: `batch_size`, `layer`, `head` (one, or "mean"), `shift` and `truncation`, as `align_seq2seq` has them.

    Returns:
        For each pair a set of (source word, target word), both counted from 0. A pair of which one side has no word
        has no link.

    Raises:
        ValueError: what `align_seq2seq` raises; several heads; a tokenizer that does not tell which characters its
            tokens cover.
    """
    if options.get("head", "mean") == "all" or isinstance(options.get("head"), (list, tuple)):
        raise ValueError(f"head={options['head']!r} gives several matrices a pair; choose one head, or 'mean'")
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"{type(tokenizer).__name__} does not tell which characters its tokens cover; links need a fast tokenizer"
        )
    sources, targets = list(sources), list(targets)
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources, but {len(targets)} targets; give one target for each source")
    links: list[set[Link]] = [set() for _ in sources]
    whole = [k for k in range(len(sources)) if sources[k].strip() and targets[k].strip()]
    if not whole:
        return links
    sources, targets = [sources[k] for k in whole], [targets[k] for k in whole]
    aligned: list[Any] = align_seq2seq(model, tokenizer, sources, targets=targets, **options)
    read = encode_sources(model, tokenizer, sources, truncation=options.get("truncation", False))
    written = tokenizer(text_target=targets, return_offsets_mapping=True)["offset_mapping"]
    for k, alignment, sentence, target, spans in zip(whole, aligned, read, targets, written, strict=True):
        links[k] = strongest_links(
            alignment.weights,
            [word_at(span, sentence.text) for span in sentence.spans or ()],
            [word_at(span, target) for span in spans],
        )
    return links


def word_at(span: Sequence[int], text: str) -> int | None:
    """Number of the word, among those between white space, in which a token's characters begin; None for no word."""
    covered = text[span[0] : span[1]]
    if not covered.strip():
        return None
    start = span[0] + len(covered) - len(covered.lstrip())
    return len(re.findall(r"\S+", text[: start + 1])) - 1
