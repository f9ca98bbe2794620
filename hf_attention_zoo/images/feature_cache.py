"""Regions of pictures computed once, in a safetensors file: (N, L, D) and the names of the N pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

TENSOR = "annotations"


class FeatureCache:
    """Reads the regions of single pictures without loading the rest.

    ```python
    write_features("train.safetensors", names, annotations, encoder="efficientnet_lite0")
    cache = FeatureCache("train.safetensors")
    cache["koala.jpg"]      # (L, D)
    cache.stack(names)      # (N, L, D)
    ```

    Raises:
        ValueError: no such file, or one of another kind.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise ValueError(f"there is no feature cache {str(path)!r}; write one with write_features")
        try:
            facts = self._open().metadata() or {}
            self.names: list[str] = json.loads(facts["names"])
        except (SafetensorError, KeyError, ValueError) as error:
            raise ValueError(
                f"{self.path} is no feature cache ({error}); it needs a tensor {TENSOR!r} (pictures, regions, size) "
                "and the metadata 'names': write one with write_features"
            ) from error
        self.encoder: str = facts.get("encoder", "")
        self._places = {name: place for place, name in enumerate(self.names)}

    def _open(self) -> Any:
        self._file = safe_open(self.path, framework="pt")
        self._slice = self._file.get_slice(TENSOR)
        return self._file

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_file", "_slice")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()  # an open file cannot go to another process

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, L, D)."""
        return tuple(self._slice.get_shape())

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._places:
            raise ValueError(f"{self.path} has no picture {name!r}; it has {len(self):,}, the first {self.names[:1]}")
        place = self._places[name]
        return self._slice[place : place + 1][0]

    def stack(self, names: Sequence[str]) -> Tensor:
        """Regions of several pictures, (n, L, D)."""
        return torch.stack([self[name] for name in names])


@dataclass(frozen=True)
class RegionsOfRows:
    """Regions by the number of a row: row k has those of `names[k]` in `cache`."""

    cache: FeatureCache
    names: list[str]

    def __getitem__(self, index: int) -> Tensor:
        """(L, D)."""
        return self.cache[self.names[index]]

    def stack(self, indices: Iterable[int]) -> Tensor:
        """Regions of several rows, (n, L, D)."""
        return self.cache.stack([self.names[index] for index in indices])


def write_features(path: str | PathLike[str], names: Sequence[str], annotations: Tensor, encoder: str = "") -> None:
    """Write regions (N, L, D) of N pictures; the file is there as a whole or not at all.

    Raises:
        ValueError: names and rows differ in number, or a name comes twice.
    """
    if annotations.ndim != 3 or len(names) != annotations.shape[0]:
        raise ValueError(f"{len(names)} names for regions of shape {tuple(annotations.shape)}; one row each is wanted")
    if len(set(names)) != len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"the name {twice!r} comes twice; give every picture a name of its own")
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.tmp")  # others may be writing the same
    facts = {"names": json.dumps(list(names), ensure_ascii=False), "encoder": encoder}
    save_file({TENSOR: annotations.contiguous()}, unfinished, metadata=facts)
    unfinished.replace(file)


@torch.no_grad()
def encode_pictures(
    model: Any, image_processor: Any, pictures: Iterable[Any], batch_size: int = 32, dtype: torch.dtype = torch.float16
) -> Tensor:
    """Regions (N, L, D) of pictures, by a captioner's own encoder in evaluation mode; the pictures may be a stream."""
    encoder, made, waiting = model.get_encoder(), [], []
    before = encoder.training
    encoder.eval()

    def run() -> None:
        pixels = image_processor(waiting, return_tensors="pt")["pixel_values"].to(encoder.device)
        made.append(encoder(pixel_values=pixels).last_hidden_state.to(dtype).cpu())
        waiting.clear()

    try:
        for picture in pictures:
            waiting.append(picture)
            if len(waiting) == batch_size:
                run()
        if waiting:
            run()
    finally:
        encoder.train(before)
    if not made:
        raise ValueError("there are no pictures to encode")
    return torch.cat(made)
