"""One step of a search: RNNsearch's decoder for the next word of every hypothesis, in as few calls as it has.

Fast twin of `modeling_rnnsearch.RNNsearchDecoder.forward` where a search asks for one word a hypothesis, no alignments
and no gradients. What reads the word is one product, what reads s_{i-1} another, and annotations are projected once,
for the gates and for the readout side by side. Shapes: B sources, K hypotheses of each, N = B K rows, S source
positions, n hidden units, A of the alignment model, l maxout units.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo.attention.additive import AdditiveAttention
from hf_attention_zoo.attention.attention_base import masked_softmax
from hf_attention_zoo.loops.additive_scores import inside, scores_in_parts
from hf_attention_zoo.loops.gated_backward import GatedForm
from hf_attention_zoo.loops.gated_loop import project_context
from hf_attention_zoo.loops.may_run import KNOWN, is_at_rest, twin_may_run
from hf_attention_zoo.loops.packed_products import product
from hf_attention_zoo.recurrent.gated_unit import GatedUnit
from hf_attention_zoo.recurrent.readout import MaxoutReadout, maxout
from hf_attention_zoo.seq2seq.decoding_state import DecodingState

PARTS = {*KNOWN, AdditiveAttention, GatedUnit, MaxoutReadout, nn.Dropout}
TIMINGS = ("paper", "appendix")
FORM = GatedForm(reset="before", update="new")
WIDE = (torch.float32, torch.float64)


def may_step(decoder: Any) -> bool:
    """Whether the twin computes what this decoder does."""
    attention, unit, readout = decoder.attention, decoder.unit, decoder.readout
    parts = (attention, *attention.children(), unit, readout, *readout.projections, decoder.dropout)
    if decoder.training or type(unit) is not GatedUnit or not is_at_rest(parts, PARTS, unit.input_weight.device):
        return False
    unread = (attention.query_projection.bias, readout.projections[1].bias, readout.projections[2].bias)
    as_written = unit.form == FORM and all(bias is None for bias in unread)
    return (
        twin_may_run() and as_written and decoder.config.decoder_timing in TIMINGS and unit.input_weight.dtype in WIDE
    )


class DecoderStep:
    """The next words (N,) and the state -> maxout units (N, l).

    Args:
        decoder: not to change while the search lasts.
        rows: N at first.
    """

    def __init__(self, decoder: Any, rows: int) -> None:
        unit, of_state, of_word = decoder.unit, decoder.readout.projections[0], decoder.readout.projections[1]
        self.decoder, self.size, self.asks = decoder, unit.hidden_size, decoder.attention.query_projection.out_features
        self.speaks_after = decoder.config.decoder_timing == "paper"
        bias = unit.stacked_bias()
        beside = [None, None] if bias is None else [bias, bias.new_zeros(of_word.out_features)]
        self.read = product([unit.input_weight, of_word.weight], beside, rows)  # W, V_o
        asking = [decoder.attention.query_projection.weight, unit.gate_weight]
        self.ask = product(asking, [None, None], rows)  # W_a, U_z, U_r
        self.propose = product([unit.candidate_weight], [None], rows)  # U
        self.speak = product([of_state.weight], [of_state.bias], rows)  # U_o

    def prepared(self, cache: DecodingState) -> dict[str, Tensor]:
        """The source: keys of the scores (B, S, A), C h_j beside C_o h_j (B, S, 3n + 2l), a mask if it hides any."""
        source = cache.source
        if "heard" not in source:
            values, gates, units = source["values"], source.pop("gates", None), source.pop("units", None)
            gates = project_context(self.decoder.unit, values) if gates is None else gates
            units = self.decoder.readout.project(2, values) if units is None else units
            source |= {"heard": torch.cat([gates, units], -1), "doubled_keys": inside(source["keys"])}
            if values.device.type != "cpu" or not source["mask"].all():
                source["hides"] = source["mask"]
        return source

    def __call__(self, words: Tensor, cache: DecodingState) -> Tensor:
        decoder, size = self.decoder, self.size
        source, previous = self.prepared(cache), cache.hypothesis["hidden"]  # s_{i-1}, (N, n)
        embedded = decoder.embed_tokens(words)  # e(y_{i-1}), (N, m)
        if decoder.embedding_bias is not None:
            embedded = embedded + decoder.embedding_bias
        query, gates = self.ask(previous).split([self.asks, 2 * size], 1)
        keys = source["doubled_keys"]
        query = inside(query).view(keys.shape[0], -1, self.asks)  # (B, K, A)
        scores = scores_in_parts(query, keys, decoder.attention.score_vector)  # e_ij, (B, K, S)
        hides = source.get("hides")
        alignment = scores.softmax(-1) if hides is None else masked_softmax(scores, hides[:, None])  # alpha_ij
        heard = torch.bmm(alignment, source["heard"]).view(len(words), -1)  # C c_i beside C_o c_i
        total = self.read(embedded) + heard  # (N, 3n + 2l)
        z, r = torch.sigmoid(total[:, : 2 * size] + gates).chunk(2, 1)
        proposed = torch.tanh(total[:, 2 * size : 3 * size] + self.propose(r * previous))
        hidden = torch.lerp(previous, proposed, z)  # s_i
        units = maxout(total[:, 3 * size :] + self.speak(hidden if self.speaks_after else previous))  # t_i, (N, l)
        cache.hypothesis, cache.seen_tokens = {"hidden": hidden}, cache.seen_tokens + 1
        return decoder.output_factor(units)
