"""The words before, side by side: what a model of n-grams reads at each step (Bengio et al. 2003).

    x = [C(w_{t-1}); C(w_{t-2}); ...; C(w_{t-n+1})]

The nearest word comes first. Words are read from a stream: of a text that has just begun, places before its first word
hold 0, and a stream that goes on begins with the words that were read last. Pads, wherever they stand, are no words.
Shapes: N rows, T steps, m features of a word, n - 1 words.
"""

from __future__ import annotations

import torch
from torch import Tensor


def word_windows(words: Tensor, before: Tensor, real: Tensor | None = None) -> Tensor:
    """x after each word, from which the next one is predicted.

    Args:
        words: (N, T, m), their features C.
        before: (N, (n - 1) m), x before the first of them: 0 at the beginning of a text.
        real: (N, T) bool, false at pads; None if there are none.

    Returns:
        (N, T, (n - 1) m), at a pad x of the word before it, or `before`.
    """
    rows, steps, features = words.shape
    width = before.shape[1] // features
    if real is not None:  # words move together; pads go to a place behind all, which is not read
        place = torch.where(real, real.cumsum(1) - 1, steps)
        together = words.new_zeros(rows, steps + 1, features)
        words = together.scatter(1, place[..., None].expand(-1, -1, features), words)[:, :steps]
    stream = torch.cat([before.view(rows, width, features).flip(1), words], dim=1)
    windows = torch.cat([stream[:, width - 1 - k : width + steps - k] for k in range(width)], dim=2)
    if real is None:
        return windows[:, 1:]
    read = real.cumsum(1)  # words of a row so far; none: `before`
    return windows.gather(1, read[..., None].expand(-1, -1, windows.shape[2]))
