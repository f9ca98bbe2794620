"""The parts of ELMo: words from their characters, and the weighted sum of the layers (Peters et al. 2018).

Shapes: U distinct words, L characters, G filters in all, P projection size, B rows, T words a row, H = 2P.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig

# Ids of characters as the tokenizer gives them: the authors' own, and 1 more, so that 0 is a pad.
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, CHARACTER_PAD = (number + 1 for number in range(256, 261))
WORDS_AT_ONCE = 2048  # whose windows are in memory at the same time


def boundary_words(length: int, device: torch.device | None = None) -> Tensor:
    """The words `<S>` and `</S>`, (2, L)."""
    rows = torch.full((2, max(length, 3)), CHARACTER_PAD, device=device)
    rows[:, 0], rows[:, 2] = BEGIN_WORD, END_WORD
    rows[0, 1], rows[1, 1] = BEGIN_SENTENCE, END_SENTENCE
    return rows


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows of integers (N, L), (U, L), and which of them each row is, (N)."""
    width = rows.shape[1]
    powers = torch.arange(1, width + 1, device=rows.device) * 0x1E3779B97F4A7C15 | 1
    keys = (rows * powers).sum(1)  # wraps around
    different, which = torch.unique(keys, return_inverse=True)
    first = torch.full((len(different),), len(rows), device=rows.device).scatter_reduce_(
        0, which, torch.arange(len(rows), device=rows.device), reduce="amin"
    )
    found = rows[first]
    if not torch.equal(found[which], rows):  # two words with one key
        return torch.unique(rows, dim=0, return_inverse=True)
    return found, which


class CarryGate(nn.Linear):
    """W_c g + b_c of a highway; b_c begins at -2, so that little is transformed at first."""


class Highway(nn.Module):
    """c = sigmoid(W_c g + b_c);  g <- c relu(W_t g + b_t) + (1 - c) g.  c lets the transformed part through."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.carry = CarryGate(size, size)  # W_c, b_c; the authors' code calls it so
        self.transform = nn.Linear(size, size)  # W_t, b_t

    def forward(self, words: Tensor) -> Tensor:
        gate = torch.sigmoid(self.carry(words))
        return torch.lerp(words, torch.relu(self.transform(words)), gate)


class CharacterEncoder(nn.Module):
    """x_k from the characters of a word alone: convolutions, highways, projection.

    g^(w) = relu(max_p (F^(w) * E[c])_p + b^(w)) over all windows of each width w, those of padding too.
    """

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__()
        size, filters = config.character_embedding_size, config.filters or ()  # the config fills in the paper's
        self.embedding = nn.Embedding(config.num_characters, size)  # E; row c - 1 is character id c
        self.convolutions = nn.ModuleList(nn.Conv1d(size, number, width) for width, number in filters)
        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[config.activation]
        total = sum(number for _, number in filters)
        self.highways = nn.ModuleList(Highway(total) for _ in range(config.num_highway_layers))
        self.projection = nn.Linear(total, config.projection_size)  # W_p, b_p
        self.widest = max(width for width, _ in filters)

    def forward(self, characters: Tensor) -> Tensor:
        """Character ids (U, L), 0 at what is no character -> x (U, P)."""
        characters = self._trimmed(characters)
        parts = [self._convolve(part) for part in characters.split(WORDS_AT_ONCE)]
        words = torch.cat(parts)
        for highway in self.highways:
            words = highway(words)
        return self.projection(words)

    def _trimmed(self, characters: Tensor) -> Tensor:
        """Without padding that adds no window of another content."""
        used = ((characters != CHARACTER_PAD) & (characters != 0)).any(0).nonzero()
        longest = int(used[-1]) + 1 if len(used) else 0
        return characters[:, : longest + self.widest]

    def _convolve(self, characters: Tensor) -> Tensor:
        embedded = self.embedding((characters - 1).clamp(min=0))  # (U, L, size)
        if bool((characters == 0).any()):
            embedded = embedded * (characters != 0)[..., None]
        embedded = embedded.mT
        return torch.cat([self.activation(convolve(embedded).amax(-1)) for convolve in self.convolutions], dim=-1)


class ScalarMix(nn.Module):
    """ELMo_k = gamma sum_j s_j h_{k,j}, s = softmax(w) (Eq. 1)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.scalars = nn.Parameter(torch.zeros(layers))  # w
        self.gamma = nn.Parameter(torch.ones(1))

    @property
    def layer_weights(self) -> Tensor:
        """s, (layers); they sum to 1."""
        return torch.softmax(self.scalars, 0)

    def forward(self, layers: list[Tensor] | None) -> Tensor:
        """Layers (..., H), all of one shape -> (..., H); of None the squared length of w, which a loss may add."""
        if layers is None:
            return self.scalars.square().sum()
        weights = self.layer_weights.to(layers[0].dtype)
        mixed = layers[0] * weights[0]
        for layer, weight in zip(layers[1:], weights[1:], strict=True):
            mixed = mixed + layer * weight
        return self.gamma.to(mixed.dtype) * mixed


def normalised(layer: Tensor, epsilon: float) -> Tensor:
    """(h - mean) / sqrt(variance + epsilon), one mean and one variance over all tokens and units: (N, H)."""
    if not len(layer):
        return layer
    centred = layer - layer.mean()
    return centred / torch.sqrt(centred.square().mean() + epsilon)


def pooled(vectors: Tensor, real: Tensor) -> Tensor:
    """Mean and maximum over the words of each row, side by side, 0 for a row without any: (B, T, H) -> (B, 2H)."""
    counts = real.sum(1, keepdim=True).clamp(min=1).to(vectors.dtype)  # (B, 1)
    mean = vectors.sum(1) / counts
    if not vectors.shape[1]:
        return torch.cat([mean, mean], dim=-1)
    lowest = vectors.masked_fill(~real[..., None], torch.finfo(vectors.dtype).min).amax(1)
    return torch.cat([mean, lowest.masked_fill(~real.any(1)[:, None], 0.0)], dim=-1)


def scattered(values: Tensor, real: Tensor) -> Tensor:
    """Values (N, ...) at the true positions of `real`, 0 elsewhere: (*real.shape, ...)."""
    flat = values.new_zeros(real.numel(), *values.shape[1:])
    places = real.flatten().nonzero()[:, 0]
    return flat.index_copy(0, places, values).unflatten(0, real.shape)


def with_end(real: Tensor) -> Tensor:
    """Where labels stand: at the words (B, T) and one place behind the last of them; (B, T + 1)."""
    longer = functional.pad(real, (0, 1))
    steps = torch.arange(1, longer.shape[1] + 1, device=real.device)
    last = (longer * steps).amax(1)  # behind the last word; 0 in a text without any
    return longer.scatter(1, last[:, None], True)
