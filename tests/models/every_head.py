"""A tiny model and padded batches with labels for every head of every architecture in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from model_cases import spread
from torch import Tensor

from hf_attention_zoo import get_architecture, list_architectures

WIDTHS = ((5, 3), (8, 2))  # of the rows of two batches


@dataclass(frozen=True)
class RegisteredHead:
    """A head of an architecture, named by its Auto class."""

    model_type: str
    auto: str

    def __str__(self) -> str:
        return f"{self.model_type}-{self.auto.removeprefix('AutoModelFor')}"

    @property
    def model_class(self) -> type[Any]:
        return get_architecture(self.model_type).model_classes[self.auto]

    def model(self, seed: int = 0, **changes: Any) -> Any:
        """A tiny spread model in evaluation mode."""
        row = get_architecture(self.model_type)
        fields = {**row.tiny_config().to_diff_dict(), "id2label": {0: "no", 1: "yes"}, **changes}
        fields.pop("label2id", None)
        model = spread(self.model_class(row.config_class(**fields)), std=0.4, seed=seed)
        model.tie_weights()
        return model

    def batch(self, lengths: tuple[int, ...] = WIDTHS[0], seed: int = 0) -> dict[str, Tensor]:
        """Rows of these lengths, padded on the right, with the labels that this head learns from."""
        drawn = torch.Generator().manual_seed(seed)

        def numbers(low: int, high: int, *shape: int) -> Tensor:
            return torch.randint(low, high, shape, generator=drawn)

        rows, width = len(lengths), max(lengths)
        config = get_architecture(self.model_type).tiny_config()
        mask = (torch.arange(width) < torch.tensor(lengths)[:, None]).long()
        of_rows = torch.arange(rows) % 2
        pad = getattr(config, "pad_token_id", None) or 0
        ids = numbers(4, config.vocab_size, rows, width)
        if self.model_type == "show_attend_tell":
            side = config.grid_height, config.grid_width
            regions = torch.randn(rows, side[0] * side[1], config.annotation_size, generator=drawn)
            return {"annotations": regions, "labels": ids.where(mask.bool(), -100)}
        if self.model_type == "elmo":
            characters = numbers(98, 120, rows, width, 6) * mask[..., None]
            given = {"character_ids": characters, "attention_mask": mask}
            if self.auto == "AutoModelForPreTraining":
                ends = torch.cat([ids.where(mask.bool(), -100), torch.full((rows, 1), -100)], 1)
                ends[torch.arange(rows), torch.tensor(lengths)] = config.eos_token_id
                return {**given, "labels": ends}
        else:
            given = {"input_ids": ids.where(mask.bool(), pad), "attention_mask": mask}
        if self.auto == "AutoModelForSeq2SeqLM":
            words = numbers(4, config.decoder_vocab_size, rows, width)
            return {**given, "labels": words.where(mask.bool(), -100)}
        if self.model_type == "han":  # two sentences a document
            given = {name: torch.stack([tensor, tensor.flip(0)], 1) for name, tensor in given.items()}
        if self.auto == "AutoModelForMultipleChoice":
            given = {name: torch.stack([tensor, tensor.flip(0)], 1) for name, tensor in given.items()}
        if self.auto in ("AutoModelForMaskedLM", "AutoModelForPreTraining", "AutoModelForCausalLM"):
            words = {"labels": ids.where(mask.bool(), -100)}
            following = {"next_sentence_label": of_rows} if self.auto == "AutoModelForPreTraining" else {}
            return {**given, **words, **following}
        if self.auto == "AutoModelForTokenClassification":
            return {**given, "labels": (ids % 2).where(mask.bool(), -100)}
        if self.auto == "AutoModelForQuestionAnswering":
            return {**given, "start_positions": of_rows, "end_positions": of_rows + 1}
        return {**given, "labels": of_rows}


EVERY_HEAD = [
    RegisteredHead(row.model_type, auto) for row in list_architectures() for auto in row.models if auto != "AutoModel"
]
