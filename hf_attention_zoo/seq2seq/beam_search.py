"""Beam search with few operations a step: what `generate` runs where `SearchRules` knows all settings.

It finds what transformers' search finds, with its rules for the end (`early_stopping`, `length_penalty`):

- Forbidden words are struck out of the log-probabilities in place; the likeliest are looked for among the blocks of
  words that have the largest numbers.
- Hypotheses are not copied when beams change places. Each step notes its words and the beams that they continue, and
  the returned hypotheses are read backwards in the end.
- Sources whose result cannot change any more leave the batch.
- One number is read back from the device at each step: how many sources are open.

Shapes: B sources, C of them open, K beams, N = C K rows, W candidates of a source, V words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig
from transformers.generation import GenerateBeamEncoderDecoderOutput

from hf_attention_zoo.seq2seq.decoding_steps import DecodingSteps
from hf_attention_zoo.seq2seq.search_rules import SearchRules

NOTHING = -1e9  # the score of a beam that is none
BLOCK = 64  # words
LARGE = 500_000  # numbers in a table that is searched by blocks


@dataclass
class Trace:
    """The words of every step and the beams that they continue, to be read backwards.

    Attributes:
        running: per step (words, parents), each (B, K): the beams that go on.
        ended: per step (words, parents), each (B, K): the best candidates, of which some have ended.
    """

    number: int
    running: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    ended: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def note(self, running: tuple[Tensor, Tensor], ended: tuple[Tensor, Tensor], sources: Tensor | None) -> None:
        """A step's tables (C, K) of the sources (C,), all if None."""
        self.running.append((self._of_all(running[0], sources), self._of_all(running[1], sources)))
        self.ended.append((self._of_all(ended[0], sources), self._of_all(ended[1], sources)))

    def _of_all(self, table: Tensor, sources: Tensor | None) -> Tensor:
        return table if sources is None else table.new_zeros(self.number, table.shape[1]).index_copy(0, sources, table)

    def read(self, codes: Tensor) -> tuple[list[list[int]], list[list[int]]]:
        """Hypotheses (B, R) by their codes -> words and rows of each, B R lists.

        A code is step * K + place among the ended; -1 is a place that stayed empty, without any words.
        """
        beams = self.ended[0][0].shape[1]
        (words, parents), (last_words, last_parents) = (
            [torch.stack([tables[part] for tables in steps]).tolist() for part in (0, 1)]
            for steps in (self.running, self.ended)
        )
        all_words: list[list[int]] = []
        all_rows: list[list[int]] = []
        for source, hypotheses in enumerate(codes.tolist()):
            for code in hypotheses:
                if code < 0:
                    all_words.append([])
                    all_rows.append([])
                    continue
                step, place = divmod(code, beams)
                backwards, rows = [last_words[step][source][place]], [last_parents[step][source][place]]
                while step > 0:
                    step -= 1
                    backwards.append(words[step][source][rows[-1]])
                    rows.append(parents[step][source][rows[-1]])
                all_words.append(backwards[::-1])
                all_rows.append([source * beams + row for row in reversed(rows)])
        return all_words, all_rows


def largest(scores: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """The largest numbers of each row and their columns, the largest first, as `topk` gives them.

    They stand in the blocks of columns with the largest maxima, so that in a large table only those are searched.

    Args:
        scores: (N, V).
        number: W, at most V.
    """
    rows, columns = scores.shape
    blocks = columns // BLOCK
    if blocks <= 2 * number or scores.numel() < LARGE or scores.device.type != "cpu":
        return scores.topk(number)
    inside, rest = scores.split([blocks * BLOCK, columns - blocks * BLOCK], 1)
    inside = inside.unflatten(1, (blocks, BLOCK))
    best = inside.amax(-1).topk(number)[1]  # (N, W) blocks
    some = inside.gather(1, best[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    found, places = torch.cat([some, rest], 1).topk(number)
    block = places // BLOCK
    blocks_of = torch.cat([best, best.new_full((rows, rest.shape[1] // BLOCK + 1), blocks)], 1).gather(1, block)
    return found, blocks_of * BLOCK + places % BLOCK


class BeamSearch:
    """One search.

    Args:
        steps: the model, its prompt read.
        rules: where hypotheses end, and which words are forbidden.
        config: the settings of `generate`.
    """

    def __init__(self, steps: DecodingSteps, rules: SearchRules, config: GenerationConfig) -> None:
        self.steps, self.rules, self.config = steps, rules, config
        self.beams = config.num_beams
        ends = 0 if config._eos_token_tensor is None else len(config._eos_token_tensor)
        self.width = max(2, 1 + ends) * self.beams  # so many that K go on, whichever end
        self.length = rules.prompt
        self.keeps = bool(config.return_dict_in_generate)  # rows that are given out must stay
        self.all_scores: list[Tensor] = []
        self.all_logits: list[Tensor] = []

    def run(self, input_ids: Tensor) -> GenerateBeamEncoderDecoderOutput | Tensor:
        """Prompts (B K, T) -> sequences (B R, T + T'), or with scores and outputs as transformers gives them."""
        steps, number, beams = self.steps, self.steps.number, self.beams
        device = input_ids.device
        scores = torch.full((number, beams), NOTHING, device=device)  # log P of the running beams
        scores[:, 0] = 0  # all are the prompt: one of them counts
        best = torch.full((number, beams), NOTHING, device=device)  # scores of the ended ones, the best first
        codes = torch.full((number, beams), -1, dtype=torch.long, device=device)
        best_of_all, codes_of_all = best, codes
        still_open = torch.ones(number, dtype=torch.bool, device=device)
        places = torch.arange(self.width, device=device)  # of the candidates, (W,)
        first = places < beams
        trace, output = Trace(number), steps.first
        while True:
            top, words, parents = self.candidates(steps.logits(output), scores)  # (C, W) each, the best first
            self.length += 1
            ended = self.rules.ended(words, self.length, steps.sources)
            # The best of those that go on.
            scores, chosen = top.add(ended, alpha=NOTHING).topk(beams)
            running = words.gather(1, chosen), parents.gather(1, chosen)  # (C, K)
            # Ended ones among the K best join the best of the ended; the others stand there with next to nothing.
            joins = ended & first & still_open[:, None]
            entered = (top / self.divisor(self.length)).add(~joins, alpha=NOTHING)
            best, order = torch.cat([best, entered], 1).topk(beams)
            codes = torch.cat([codes, torch.where(joins, places + len(trace.running) * beams, -1)], 1).gather(1, order)
            trace.note(running, (words[:, :beams], parents[:, :beams]), steps.sources)

            still_open = still_open & self.can_change(scores, best, codes)
            left = int(still_open.sum())
            if left == 0 or self.length >= self.rules.max_length:
                break
            new_words, new_parents = running
            rows = torch.arange(len(scores), device=device)[:, None] * beams + new_parents
            steps.cache.move_hypotheses(rows.flatten())
            if left < len(scores) and not self.keeps:
                best_of_all, codes_of_all = self.of_all(best, codes, best_of_all, codes_of_all)
                staying = still_open.nonzero()[:, 0]
                steps.keep_sources(staying)
                scores, best, codes, still_open, new_words = (
                    part[staying] for part in (scores, best, codes, still_open, new_words)
                )
            output = steps.next(new_words.flatten())
        best, codes = self.of_all(best, codes, best_of_all, codes_of_all)
        return self.result(input_ids, trace, best, codes)

    def candidates(self, logits: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits (N, V), log P of the beams (C, K) -> log P, word and beam of the W best continuations, (C, W)."""
        rows, size = logits.shape[0], min(self.width, logits.shape[1])
        if self.keeps and self.config.output_logits:
            self.all_logits.append(logits)
        allowed = self.rules.forbid(logits.log_softmax(-1), self.length, in_place=True)
        if self.keeps and self.config.output_scores:
            self.all_scores.append(allowed)
        each, words = largest(allowed, size)  # (N, W)
        sums = (each.view(-1, self.beams, size) + scores[:, :, None]).view(rows // self.beams, -1)  # (C, K W)
        top, places = sums.topk(self.width)
        return top, words.view(sums.shape).gather(1, places), places // size

    def divisor(self, length: int) -> float:
        """What log P of a hypothesis of so many tokens, prompt included, is divided by."""
        return float((length - self.rules.prompt) ** self.config.length_penalty)

    def can_change(self, scores: Tensor, best: Tensor, codes: Tensor) -> Tensor:
        """Whether a running hypothesis of each source may still become one of its best, (C,) bool."""
        longest = self.config.early_stopping == "never" and self.config.length_penalty > 0.0
        hoped = scores[:, 0] / self.divisor(self.config.max_length if longest else self.length)
        improves = hoped > best[:, -1]
        return improves & (codes < 0).any(1) if self.config.early_stopping is True else improves  # a place is empty

    def of_all(self, best: Tensor, codes: Tensor, best_of_all: Tensor, codes_of_all: Tensor) -> tuple[Tensor, Tensor]:
        """Write the rows of the sources that are here, (C, K), into those of all, (B, K)."""
        here = self.steps.sources
        if here is None:
            return best, codes
        return best_of_all.index_copy(0, here, best), codes_of_all.index_copy(0, here, codes)

    def result(
        self, input_ids: Tensor, trace: Trace, best: Tensor, codes: Tensor
    ) -> GenerateBeamEncoderDecoderOutput | Tensor:
        """Scores and codes (B, K) of the ended hypotheses, the best first -> what `generate` returns."""
        config = self.config
        returned = config.num_return_sequences
        words, rows = trace.read(codes[:, :returned])
        longest = max(len(each) for each in words)
        pad, ends = config._pad_token_tensor, config._eos_token_tensor
        fill = -1 if ends is None else pad or ends[0]
        prompts = input_ids[:: self.beams].repeat_interleave(returned, 0)
        written = torch.full((len(words), longest), int(fill), dtype=torch.long)
        beam_rows = torch.full((len(words), longest), -1, dtype=torch.int32)
        for index, (some_words, some_rows) in enumerate(zip(words, rows, strict=True)):
            written[index, : len(some_words)] = torch.tensor(some_words, dtype=torch.long)
            beam_rows[index, : len(some_rows)] = torch.tensor(some_rows, dtype=torch.int32)
        sequences = torch.cat([prompts, written.to(input_ids.device)], 1)
        if not config.return_dict_in_generate:
            return sequences
        made: dict[str, Any] = {**self.steps.given_out(), "sequences": sequences}
        made["sequences_scores"] = best[:, :returned].flatten() if config.output_scores else None
        made["scores"] = tuple(self.all_scores) if config.output_scores else None
        made["logits"] = tuple(self.all_logits) if config.output_logits else None
        made["beam_indices"] = beam_rows.to(input_ids.device)
        return GenerateBeamEncoderDecoderOutput(**made)
