"""The bidirectional language model of ELMo: what both directions make of a batch of texts (Peters et al. 2018, 3.1).

Shapes: B texts, T words, L character ids of a word, N tokens of all texts with their boundaries, P projection size,
H = 2P, U different words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.loops.graphs import refuse_graph
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig
from hf_attention_zoo.models.elmo.layers_elmo import CharacterEncoder, boundary_words, distinct_rows
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.recurrent.packed_reading import PackedRows, pack_rows
from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTMPair, ProjectedState


@dataclass
class Reading:
    """What the biLM made of a batch; tokens stand text after text, boundaries included where there are any.

    Attributes:
        layers: x_k twice, then each LSTM layer, (N, H).
        top: both directions' outputs of the top layer with dropout, (N, P) each.
        words: (N) true at words, false at boundaries.
        firsts, lasts: (N) true at the first and at the last token of each text.
        real: (B, T) true at words.
        lengths: (B) tokens of each text.
    """

    layers: list[Tensor]
    top: tuple[Tensor, Tensor]
    words: Tensor
    firsts: Tensor
    lasts: Tensor
    real: Tensor
    lengths: Tensor


class BidirectionalLM(nn.Module):
    """Words from their characters, then LSTM layers in both directions, with a residual from the second one on.

    Attributes:
        carried: where the last call left each layer, for a `stateful` config and for streams in training.
    """

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__()
        self.config = config
        self.characters = CharacterEncoder(config)
        size = config.projection_size
        self.layers = nn.ModuleList(
            ProjectedLSTMPair(size, config.cell_size, size, config.cell_clip, config.projection_clip)
            for _ in range(config.num_layers)
        )
        self.carried: list[ProjectedState] | None = None

    def forward(
        self,
        character_ids: Tensor | None,
        attention_mask: Tensor | None = None,
        boundaries: bool = True,
        dropout: bool = False,
        backward_character_ids: Tensor | None = None,
    ) -> Reading:
        """Read a batch.

        Args:
            character_ids: (B, T, L). attention_mask: (B, T). boundaries: put `<S>` and `</S>` around each text.
            dropout: on the input of each layer and on what the top one gives.
            backward_character_ids: other texts of the same lengths for the backward direction, without boundaries:
                streams, whose states are carried from call to call in training.
        """
        real = self.real_words(character_ids, attention_mask)  # (B, T)
        refuse_graph("each distinct word is read once, and how many there are is seen only when they are read")
        words_in = real.sum(1)
        lengths = words_in + 2 if boundaries else words_in
        given = needed(character_ids, "character_ids", "give what the tokenizer gives")[real]  # (N, L)
        if backward_character_ids is not None:
            given = torch.cat([given, backward_character_ids[real]])
        least = max(3, self.characters.widest)
        if given.shape[1] < least:
            raise ValueError(
                f"words have {given.shape[1]} character ids; their marks and the widest filter need {least} at least "
                "(the tokenizer gives 50)"
            )
        if boundaries:
            given = torch.cat([boundary_words(given.shape[1], given.device), given])
        self._check_characters(given)
        found, which = distinct_rows(given)
        firsts, lasts = _ends(lengths)
        words = ~(firsts | lasts) if boundaries else torch.ones_like(firsts)
        if boundaries:
            token = torch.empty(len(words), dtype=torch.long, device=which.device)
            token[firsts], token[lasts], token[words] = which[0], which[1], which[2:]
            token = token.expand(2, -1)
        else:
            token = which.view(2, -1) if backward_character_ids is not None else which.expand(2, -1)  # (2, N)
        vectors = self.characters(found)  # x of each different word, (U, P)
        full = lengths > 0
        rows = pack_rows(lengths[full])
        streams = backward_character_ids is not None
        carry = self.config.stateful or (streams and self.training)
        outputs = self._run_layers(vectors, token, rows, full if carry else None, dropout)
        layers = [torch.cat([functional.embedding(side, vectors) for side in token], dim=-1)]
        layers += [_in_order(output, rows) for output in outputs]
        top = functional.dropout(outputs[-1], self.config.dropout, dropout)
        ordered = tuple(side.index_select(0, back) for side, back in zip(top, rows.inverses, strict=True))
        return Reading(layers, ordered, words, firsts, lasts, real, lengths)

    def _run_layers(
        self, vectors: Tensor, token: Tensor, rows: PackedRows, carry: Tensor | None, dropout: bool
    ) -> list[Tensor]:
        """What each layer gives to the next, in reading order: (2, N, P) each.

        Args:
            carry: (B) which texts have a token, to go on from the states that the last call left; None for zero.
        """
        which = token.gather(1, rows.orders)  # the different word at each place
        share = self.config.dropout if dropout else 0.0
        carried = [None] * len(self.layers) if carry is None else self._carried_states(carry, vectors)
        outputs: list[Tensor] = []
        ends: list[ProjectedState] = []
        for layer, state in zip(self.layers, carried, strict=True):
            if outputs or share:
                below = outputs[-1] if outputs else functional.embedding(which, vectors)
                inputs = functional.dropout(below, share, dropout)
                made, end = layer(inputs, rows, state)
            else:
                made, end = layer(vectors, rows, state, which)
            outputs.append(made + inputs if outputs and self.config.skip_connections else made)
            ends.append(end)
        if carry is not None:
            self._carry(ends, carry)
        return outputs

    def _carried_states(self, full: Tensor, like: Tensor) -> list[ProjectedState]:
        """Where the last call left the rows that are read now; zero for rows that it did not have."""
        sizes = (self.config.projection_size, self.config.cell_size)
        had = 0 if self.carried is None else self.carried[0].hidden.shape[1]
        grown = max(had, len(full))
        states = []
        for number in range(len(self.layers)):
            parts = [like.new_zeros(2, grown, size) for size in sizes]
            if self.carried is not None:
                for part, old in zip(parts, self.carried[number], strict=True):
                    part[:, :had] = old.to(part)
            states.append(ProjectedState(*parts))
        self.carried = states
        index = full.nonzero()[:, 0]
        return [ProjectedState(state.hidden[:, index], state.cell[:, index]) for state in states]

    def _carry(self, ends: list[ProjectedState], full: Tensor) -> None:
        index = full.nonzero()[:, 0]
        for state, end in zip(self.carried or (), ends, strict=True):
            for part, new in zip(state, end, strict=True):
                part[:, index] = new.to(part.dtype)

    def carried_tensors(self) -> dict[str, Tensor]:
        """`carried` by names, for the checkpoints of a run: h (2, B, P) and c (2, B, C) of each layer."""
        return {
            f"layers.{number}.{name}": tensor
            for number, state in enumerate(self.carried or [])
            for name, tensor in state._asdict().items()
        }

    def carry_on(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `carried_tensors` gave."""
        names = ProjectedState._fields
        self.carried = [
            ProjectedState(*(tensors[f"layers.{number}.{name}"] for name in names))
            for number in range(len(self.layers))
        ]

    def real_words(self, character_ids: Tensor | None, attention_mask: Tensor | None) -> Tensor:
        if character_ids is None or character_ids.ndim != 3 or not len(character_ids):
            shape = None if character_ids is None else tuple(character_ids.shape)
            raise ValueError(
                f"character_ids have shape {shape}; ELMo reads (texts, words, characters) with at least one text: "
                "encode texts with WordCharacterTokenizer and hand over what it gives, model(**tokenizer(...))"
            )
        real = (character_ids > 0).any(-1)
        if attention_mask is None:
            return real
        if attention_mask.shape != real.shape:
            raise ValueError(
                f"attention_mask has shape {tuple(attention_mask.shape)}, the words {tuple(real.shape)}; give it 1 at "
                "words and 0 at pads"
            )
        return real & attention_mask.bool()

    def _check_characters(self, given: Tensor) -> None:
        most = self.config.num_characters
        if given.numel() and not (int(given.min()) >= 0 and int(given.max()) <= most):
            raise ValueError(
                f"character ids go from {int(given.min())} to {int(given.max())}, this model has 0 (a pad) to {most}; "
                "ids of the authors' files are 1 less than those that models read"
            )


def _ends(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """True at the first and at the last token of each text that has any, among all tokens, (N) each."""
    last = lengths.cumsum(0) - 1
    full = lengths > 0
    firsts = torch.zeros(int(lengths.sum()), dtype=torch.bool, device=lengths.device)
    lasts = firsts.clone()
    firsts[(last - lengths + 1)[full]] = True
    lasts[last[full]] = True
    return firsts, lasts


def _in_order(outputs: Tensor, rows: PackedRows) -> Tensor:
    """Both directions side by side, in the order of the tokens: (2, N, P) -> (N, 2P)."""
    sides = (side.index_select(0, back) for side, back in zip(outputs, rows.inverses, strict=True))
    return torch.cat(list(sides), dim=-1)
