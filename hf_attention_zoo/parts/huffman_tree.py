"""Hierarchical softmax: a binary tree over classes, in which frequent ones stand high (Morin and Bengio 2005).

    p(c | x) = prod_j sigmoid(s_j(c) u_j . x)

over the inner nodes j on the way from the root to class c; s is +1 where the way turns to the first child and -1 where
it turns to the second. A tree of K classes has K - 1 inner nodes, and the probabilities of all classes sum to 1.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.parts.token_table import rows_of, token_table


def huffman_paths(counts: Sequence[int]) -> list[list[tuple[int, int]]]:
    """The way to each class from the root: (inner node, +1 or -1) at each turn. Node K - 2 is the root.

    The two rarest nodes are joined until one is left, so that the mean length of a way is as small as it can be; equal
    counts are joined in the order of their numbers, so that the same counts always give the same tree.

    Raises:
        ValueError: fewer than two classes.
    """
    if len(counts) < 2:
        raise ValueError(f"{len(counts)} classes; a tree needs at least 2")
    classes = len(counts)
    parents: dict[int, tuple[int, int]] = {}
    heap = [(count, number) for number, count in enumerate(counts)]
    heapq.heapify(heap)
    for inner in range(classes - 1):
        joined = 0
        for sign in (1, -1):
            count, node = heapq.heappop(heap)
            parents[node] = (inner, sign)
            joined += count
        heapq.heappush(heap, (joined, classes + inner))
    paths = []
    for number in range(classes):
        node, path = number, []
        while node in parents:
            inner, sign = parents[node]
            path.append((inner, sign))
            node = classes + inner
        paths.append(path[::-1])
    return paths


class HierarchicalSoftmax(nn.Module):
    """log p of classes over a Huffman tree.

    Args:
        size: of the vectors that come in.
        counts: how often each of the K classes occurs.
    """

    nodes_of: Tensor
    signs: Tensor

    def __init__(self, size: int, counts: Sequence[int]) -> None:
        super().__init__()
        self.counts = tuple(counts)
        self.nodes = token_table(len(self.counts) - 1, size, "inner nodes")  # u
        self.place_paths()

    def place_paths(self) -> None:
        """Fill the buffers, which follow from the counts and are not saved: (K, depth), sign 0 behind a way's end."""
        paths = huffman_paths(self.counts)
        depth = max(map(len, paths))
        filled = [path + [(0, 0)] * (depth - len(path)) for path in paths]
        device = self.nodes.weight.device
        turns = torch.tensor(filled, device=device if device.type != "meta" else None)  # (K, depth, 2)
        self.register_buffer("nodes_of", turns[..., 0].clone(), persistent=False)
        self.register_buffer("signs", turns[..., 1].clone(), persistent=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """log p of every class: (..., size) -> (..., K)."""
        scores = vectors @ rows_of(self.nodes).t()  # (..., K - 1)
        turned = scores[..., self.nodes_of] * self.signs  # (..., K, depth)
        return (functional.logsigmoid(turned) * self.signs.abs()).sum(-1)

    def of_classes(self, vectors: Tensor, classes: Tensor) -> Tensor:
        """log p of one class a vector, by the nodes on its way alone: (N, size), (N) -> (N)."""
        nodes, signs = self.nodes_of[classes], self.signs[classes]  # (N, depth)
        scores = (self.nodes(nodes) @ vectors[..., None])[..., 0]
        return (functional.logsigmoid(scores * signs) * signs.abs()).sum(-1)
