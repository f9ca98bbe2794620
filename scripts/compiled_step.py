"""A step of RNNsearch's search as it runs, and its formula compiled by torch, for `benchmark_scale.py`.

A step is decoder and output layer for one word of every hypothesis of one sentence, from tensors of fixed shapes to
tensors: what torch can compile of a search without its loop. As it runs it is the decoder's `search_step` and weights
that are laid out; what is compiled calls the modules. Seconds are the processor's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hf_attention_zoo.loops.packed_products import packed_output
from hf_attention_zoo.seq2seq.decoding_state import DecodingState

BEAMS, LENGTH, ROUNDS, STEPS = 5, 25, 15, 20
Hypotheses = dict[str, Tensor]


def step_time(step: Callable[[Hypotheses], tuple[Tensor, Hypotheses]], begun: Hypotheses) -> tuple[float, Tensor]:
    """Milliseconds of one, the middle of some rounds of several, and the last logits."""

    def several() -> Tensor:
        hypotheses = begun
        for _ in range(STEPS):
            logits, hypotheses = step(hypotheses)
        return logits

    several()
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        logits = several()
        seconds.append((time.process_time() - start) / STEPS)
    return round(1e3 * statistics.median(seconds), 3), logits


@torch.no_grad()
def compared(model: Any) -> dict[str, Any]:
    """Both times, seconds of compiling, and how far the logits are apart."""
    body = model.eval().model
    source, words = torch.randint(4, model.config.vocab_size, (1, LENGTH)), torch.full((BEAMS, 1), 5)
    mask = torch.ones_like(source)
    begun, states = DecodingState(), body.encoder(source, mask)
    body.decoder(words, *body.source_arguments(states, mask), cache=begun, use_cache=True, hypotheses_per_source=BEAMS)
    kept = dict(begun.source)

    def step(hypotheses: Hypotheses) -> tuple[Tensor, Hypotheses]:
        cache = DecodingState()
        cache.source, cache.hypothesis, cache.seen_tokens = dict(kept), dict(hypotheses), 1
        made = body.decoder(words, cache=cache, use_cache=True)
        return model.lm_head(made.last_hidden_state), cache.hypothesis

    states_of = body.decoder.search_step(BEAMS)
    output = packed_output(model.lm_head, BEAMS) or model.lm_head

    def step_as_it_runs(hypotheses: Hypotheses) -> tuple[Tensor, Hypotheses]:
        cache = DecodingState()
        cache.source, cache.hypothesis, cache.seen_tokens = kept, dict(hypotheses), 1
        return output(states_of(words[:, 0], cache))[:, None], cache.hypothesis

    plain, wanted = step_time(step_as_it_runs, begun.hypothesis)
    start = time.monotonic()
    compiled = torch.compile(step, dynamic=False)
    compiled(begun.hypothesis)
    compiling = time.monotonic() - start
    fast, found = step_time(compiled, begun.hypothesis)
    return {
        "step_ms": plain,
        "compiled_step_ms": fast,
        "compiling_seconds": round(compiling),
        "logits_apart": float((wanted - found).abs().max()),
    }
