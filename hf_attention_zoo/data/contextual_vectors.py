"""Vectors of words in their texts, made once by a frozen model and kept in a safetensors file.

```python
vectors = ContextualVectors("elmo-small-debian", cache="vectors.safetensors")
layers = vectors.layers(["A text.", "Another one."])      # per text (layers, words, H)
mixed = vectors.mixed(["A text."], layer_weights=[0, 1, 0])  # per text (words, H)
```

A text is known in the cache by its words; the cache belongs to one model, and refuses another. Layers are kept in half
precision unless told otherwise. Any model of words with `hidden_states` and a tokenizer with one row a word will do.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from hf_attention_zoo.whole_files import whole_file

Text = str | Sequence[str]

DTYPES = {"float16": torch.float16, "float32": torch.float32}
# Fields of the config that change what a frozen model computes; the weights tell the rest.
COMPUTING = (
    "num_characters",
    "character_embedding_size",
    "filters",
    "activation",
    "num_highway_layers",
    "projection_size",
    "cell_size",
    "num_layers",
    "cell_clip",
    "projection_clip",
    "skip_connections",
    "layer_normalization",
    "stateful",
)


class ContextualVectors:
    """All layers of each word of a text.

    Args:
        model: a folder or Hub id, or the model itself with `tokenizer`; of a model with a head its body is read.
        tokenizer: of a model that is given as an object.
        cache: a file; it is read if it is there, and `save` writes it.
        dtype: "float16" or "float32", of what is kept, in the cache too.
        batch_size: texts that are read together; it changes nothing else.

    Raises:
        ValueError: the cache was made by another model or in another precision; a tokenizer without whole words; or a
            model whose vectors of a text depend on other texts.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        cache: str | os.PathLike[str] | None = None,
        dtype: str = "float16",
        batch_size: int = 32,
    ) -> None:
        if dtype not in DTYPES:
            raise ValueError(f"dtype={dtype!r}; choose one of {', '.join(DTYPES)}")
        if isinstance(model, str | os.PathLike):
            from transformers import AutoModel, AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(model) if tokenizer is None else tokenizer
            model = AutoModel.from_pretrained(model)
        if not hasattr(tokenizer, "characters_of"):
            raise ValueError(
                f"{type(tokenizer).__name__} gives no row for each word; contextual vectors are ELMo's, with its "
                "WordCharacterTokenizer"
            )
        self.model, self.tokenizer = getattr(model, "base_model", model).eval(), tokenizer
        check_alone(self.model.config)
        self.dtype, self.batch_size = DTYPES[dtype], batch_size
        self.cache = None if cache is None else Path(cache)
        self.kept: dict[str, Tensor] = {}
        self.fingerprint = {**fingerprint_of(self.model), "max_characters": tokenizer.max_characters}
        if self.cache is not None and self.cache.exists():
            self._load(self.cache)

    @property
    def size(self) -> int:
        """H, numbers of a vector."""
        return self.model.config.hidden_size

    @property
    def layer_weights(self) -> list[float]:
        """s of the model's own (first) mix: how much of each layer it takes; equal before a task trains it."""
        if not len(self.model.mixes):
            count = self.model.config.num_hidden_layers + 1
            return [1 / count] * count
        return self.model.mixes[0].layer_weights.tolist()

    def words_of(self, text: Text) -> list[str]:
        """The words of a text as the tokenizer parts them; given words are left as they are."""
        if not isinstance(text, str):
            return list(text)
        return self.tokenizer.words_of(self.tokenizer(text)["character_ids"])

    @torch.no_grad()
    def layers(self, texts: Sequence[Text]) -> list[Tensor]:
        """x twice, then each LSTM layer, for every text: (layers, words, H) in the kept precision.

        Args:
            texts: strings, or lists of words.
        """
        words = [self.words_of(text) for text in texts]
        keys = [key_of(one) for one in words]
        missing = {key: one for key, one in zip(keys, words, strict=True) if key not in self.kept}
        waiting = sorted(missing, key=lambda key: len(missing[key]))
        for first in range(0, len(waiting), self.batch_size):
            names = waiting[first : first + self.batch_size]
            batch = self.tokenizer(
                [missing[name] for name in names], is_split_into_words=True, padding=True, return_tensors="pt"
            ).to(self.model.device)
            states = self.model(**batch, output_hidden_states=True).hidden_states
            for row, name in enumerate(names):
                count = len(missing[name])
                self.kept[name] = torch.stack([state[row, :count] for state in states]).cpu().to(self.dtype)
        return [self.kept[key] for key in keys]

    def mixed(self, texts: Sequence[Text], layer_weights: Sequence[float] | None = None) -> list[Tensor]:
        """One vector a word, a weighted sum of its layers: (words, H) in float32 for every text.

        Args:
            layer_weights: of each layer, by default those of the model's own mix with its gamma.
        """
        gamma = 1.0
        if layer_weights is None:
            layer_weights = self.layer_weights
            gamma = self.model.mixes[0].gamma.item() if len(self.model.mixes) else 1.0
        weights = torch.tensor(layer_weights, dtype=torch.float32)
        found = self.layers(texts)
        if found and len(weights) != len(found[0]):
            raise ValueError(f"{len(weights)} layer_weights for {len(found[0])} layers; give one for each")
        return [gamma * torch.einsum("j,jnh->nh", weights, layers.float()) for layers in found]

    def save(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write what is known to a file, by default the cache's.

        Raises:
            ValueError: no file was named.
        """
        target = self.cache if path is None else Path(path)
        if target is None:
            raise ValueError("no file to save to: give path=, or cache= when the vectors are made")
        tensors = {key: tensor.contiguous() for key, tensor in self.kept.items()}
        with whole_file(target) as unfinished:
            save_file(tensors, unfinished, metadata={"model": json.dumps(self.fingerprint)})
        return target

    def _load(self, path: Path) -> None:
        try:
            with safe_open(path, "pt") as file:
                found = json.loads((file.metadata() or {}).get("model", "null"))
                kept = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (it is no mapping)
        except (SafetensorError, ValueError) as error:
            raise ValueError(f"{path} is no whole cache of vectors ({error}); delete it") from error
        if found != self.fingerprint:
            raise ValueError(f"{path} holds vectors of another model; name another cache, or delete it")
        self.kept = kept
        others = {str(tensor.dtype) for tensor in self.kept.values() if tensor.dtype != self.dtype}
        if others:
            raise ValueError(
                f"{path} holds vectors in {', '.join(sorted(others))}; open it with that dtype, name another cache, "
                "or delete it"
            )


class ContextualCollator:
    """Gives a model of another architecture ELMo's vectors as `inputs_embeds` in place of its own embeddings.

    The words are those of ELMo; columns other than the text, such as labels, go through `collate`.

    Args:
        vectors: made by a frozen model.
        column: the text, a string, or for models of documents a list of sentences.
        collate: of the other columns, from transformers for example; by default they become tensors as they are.
        layer_weights: as in `ContextualVectors.mixed`.
    """

    def __init__(
        self,
        vectors: ContextualVectors,
        *,
        column: str = "text",
        collate: Callable[[list[dict[str, Any]]], dict[str, Any]] | None = None,
        layer_weights: Sequence[float] | None = None,
    ) -> None:
        self.vectors, self.column, self.collate, self.layer_weights = vectors, column, collate, layer_weights

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Rows -> `inputs_embeds`, `attention_mask` and the other columns.

        (B, T, H) and (B, T) for texts; (B, S, T, H) and (B, S, T) for lists of sentences.
        """
        texts = [row[self.column] for row in rows]
        others = [{name: value for name, value in row.items() if name != self.column} for row in rows]
        if self.collate is not None:
            batch = self.collate(others)
        else:
            batch = {
                {"label": "labels"}.get(name, name): torch.tensor([row[name] for row in others]) for name in others[0]
            }
        return {**batch, **self.embed(texts)}

    def embed(self, texts: Sequence[Any]) -> dict[str, Tensor]:
        """Texts, or lists of sentences, as what a model reads."""
        if all(isinstance(text, str) for text in texts):
            return padded(self.vectors.mixed(texts, self.layer_weights), self.vectors.size)
        flat = [sentence for text in texts for sentence in text]
        found = iter(self.vectors.mixed(flat, self.layer_weights))
        grids = [padded([next(found) for _ in text], self.vectors.size) for text in texts]
        most = max([1, *(len(grid["attention_mask"]) for grid in grids)])
        longest = max(grid["attention_mask"].shape[1] for grid in grids)
        made = {
            "inputs_embeds": torch.zeros(len(texts), most, longest, self.vectors.size),
            "attention_mask": torch.zeros(len(texts), most, longest, dtype=torch.long),
        }
        for number, grid in enumerate(grids):
            for name, tensor in grid.items():
                made[name][number, : tensor.shape[0], : tensor.shape[1]] = tensor
        return made


def padded(vectors: Sequence[Tensor], size: int) -> dict[str, Tensor]:
    """Texts of vectors (words, H) as one tensor, at least one place wide, and where words are."""
    longest = max([1, *map(len, vectors)])
    embeds, mask = torch.zeros(len(vectors), longest, size), torch.zeros(len(vectors), longest, dtype=torch.long)
    for number, one in enumerate(vectors):
        embeds[number, : len(one)], mask[number, : len(one)] = one, 1
    return {"inputs_embeds": embeds, "attention_mask": mask}


def key_of(words: Sequence[str]) -> str:
    """What a text is called in the cache."""
    return hashlib.sha256("\0".join(words).encode("utf-8", errors="surrogatepass")).hexdigest()


def check_alone(config: Any) -> None:
    """A text's vectors depend on that text alone. Raises ValueError if they do not: they could not be kept."""
    form = getattr(config, "layer_normalization", "off")
    if form != "off":
        raise ValueError(
            f"with layer_normalization={form!r} the vectors of a text depend on the texts beside it, so they cannot "
            'be kept; load the model with from_pretrained(..., layer_normalization="off") and hand it over'
        )
    if getattr(config, "stateful", False):
        raise ValueError(
            "with stateful=True the vectors of a text depend on the texts before it, so they cannot be kept; load the "
            "model with from_pretrained(..., stateful=False) and hand it over"
        )


def fingerprint_of(model: Any) -> dict[str, Any]:
    """What tells one biLM from another: its kind, what it computes and a digest of all its weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(
        model.bilm.state_dict().items() if hasattr(model, "bilm") else model.state_dict().items()
    ):
        digest.update(name.encode())
        digest.update(tensor.detach().float().cpu().numpy().tobytes())
    computing = {name: getattr(model.config, name, None) for name in COMPUTING}
    return {"model_type": model.config.model_type, "weights": digest.hexdigest(), **computing}
