"""Greedy search with few operations a step: what `generate` runs where `SearchRules` knows all settings.

It takes the likeliest word at each step, as transformers' does; sources that have ended leave the batch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation import GenerateEncoderDecoderOutput

from hf_attention_zoo.seq2seq.decoding_steps import DecodingSteps
from hf_attention_zoo.seq2seq.search_rules import SearchRules


def greedy_search(
    steps: DecodingSteps, rules: SearchRules, config: GenerationConfig, input_ids: Tensor
) -> GenerateEncoderDecoderOutput | Tensor:
    """Prompts (B, T) -> sequences (B, T + T'), or with scores and outputs as transformers gives them.

    Args:
        steps: the model, its prompt read.
        rules: where hypotheses end, and which words are forbidden.
        config: the settings of `generate`.
        input_ids: the prompts.
    """
    number, length, keeps = input_ids.shape[0], rules.prompt, bool(config.return_dict_in_generate)
    pad: Any = config._pad_token_tensor  # made by `generate`
    still_open = torch.ones(number, dtype=torch.bool, device=input_ids.device)
    columns, all_scores, all_logits = [input_ids], [], []
    output = steps.first
    while True:
        logits = steps.logits(output)  # (C, V)
        scores = rules.forbid(logits, length)
        words = scores.argmax(-1)
        if rules.ends is not None:
            words = torch.where(still_open, words, pad)
        length += 1
        if steps.sources is None:
            columns.append(words[:, None])
        else:
            columns.append(words.new_full((number, 1), pad).index_copy(0, steps.sources, words[:, None]))
        if keeps and config.output_scores:
            all_scores.append(scores)
        if keeps and config.output_logits:
            all_logits.append(logits)
        still_open = still_open & ~rules.ended(words[:, None], length, steps.sources)[:, 0]
        left = int(still_open.sum())
        if left == 0:
            break
        if left < len(still_open) and not keeps:
            staying = still_open.nonzero()[:, 0]
            steps.keep_sources(staying)
            still_open, words = still_open[staying], words[staying]
        output = steps.next(words)
    sequences = torch.cat(columns, 1)
    if not keeps:
        return sequences
    made: dict[str, Any] = {**steps.given_out(), "sequences": sequences}
    made["scores"] = tuple(all_scores) if config.output_scores else None
    made["logits"] = tuple(all_logits) if config.output_logits else None
    return GenerateEncoderDecoderOutput(**made)
