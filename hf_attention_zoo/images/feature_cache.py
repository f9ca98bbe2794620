"""Regions of pictures computed once, in a safetensors file: (N, L, D) and the names of the N pictures."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from hf_attention_zoo.whole_files import whole_file

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
    write_feature_batches(path, names, [annotations], encoder)


def write_feature_batches(
    path: str | PathLike[str], names: Sequence[str], batches: Iterable[Tensor], encoder: str = ""
) -> None:
    """As `write_features`, from regions (n, L, D) of some pictures after the other, of which one is held at a time.

    The file is laid out as safetensors has it: the length of a JSON header, the header, the numbers of the tensor.

    Raises:
        ValueError: a name comes twice, batches of several kinds, or more or fewer pictures than names.
    """
    if len(set(names)) != len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"the name {twice!r} comes twice; give every picture a name of its own")
    kind, made = None, 0
    with whole_file(path) as unfinished:  # others may be writing the same
        with unfinished.open("wb") as out:
            for batch in batches:
                if kind is None:
                    kind = (batch.dtype, *batch.shape[1:])
                    out.write(_header(names, batch, encoder))
                if batch.ndim != 3 or (batch.dtype, *batch.shape[1:]) != kind:
                    raise ValueError(
                        f"regions of {batch.dtype} and shape {tuple(batch.shape)} after {kind}; one kind is wanted"
                    )
                made += len(batch)
                out.write(batch.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        if kind is None or made != len(names):
            raise ValueError(f"{len(names)} names for regions of {made} pictures; one row each is wanted")


def _header(names: Sequence[str], batch: Tensor, encoder: str) -> bytes:
    """What stands before the numbers of (N, L, D), of which the batch has the first."""
    kinds = {torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64"}
    if batch.dtype not in kinds:
        raise ValueError(f"regions are of {batch.dtype}; give one of {', '.join(map(str, kinds))}")
    shape = [len(names), *batch.shape[1:]]
    size = math.prod(shape) * batch.element_size()
    facts = {"names": json.dumps(list(names), ensure_ascii=False), "encoder": encoder}
    entry = {"dtype": kinds[batch.dtype], "shape": shape, "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": facts, TENSOR: entry}, ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)  # the numbers are aligned
    return len(header).to_bytes(8, "little") + header


def encode_pictures(
    model: Any, image_processor: Any, pictures: Iterable[Any], batch_size: int = 32, dtype: torch.dtype = torch.float16
) -> Iterator[Tensor]:
    """Regions (n, L, D) of some pictures after the other, by a captioner's own encoder in evaluation mode.

    Args:
        pictures: may be a stream; `batch_size` of them are held at a time.

    Raises:
        ValueError: there are none.
    """
    encoder, pictures, empty = model.get_encoder(), iter(pictures), True
    while batch := list(itertools.islice(pictures, batch_size)):
        empty, before = False, encoder.training
        encoder.eval()
        try:
            with torch.no_grad():
                pixels = image_processor(batch, return_tensors="pt")["pixel_values"].to(encoder.device)
                regions = encoder(pixel_values=pixels).last_hidden_state.to(dtype).cpu()
        finally:
            encoder.train(before)
        yield regions
    if empty:
        raise ValueError("there are no pictures to encode")
