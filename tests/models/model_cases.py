"""Tiny spread models and batches of the registered architectures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hf_attention_zoo import get_architecture, list_architectures

SEQ2SEQ = "AutoModelForSeq2SeqLM"

# Options that change the decoder's state or its parameters; an architecture without any needs no entry.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "rnnsearch": {
        "groundhog": {"decoder_timing": "groundhog", "biases": "groundhog", "output_rank": 6},
        "appendix": {"decoder_timing": "appendix", "biases": "none"},
    },
    "luong": {"global": {"attention_score": "concat", "attention_window": "global", "input_feeding": False}},
    "rnn_encoder_decoder": {"groundhog": {"form": "groundhog", "output_rank": None}},
    "transformer2017": {
        "learned": {
            "position_encoding": "learned",
            "max_position_embeddings": 600,
            "attention_bias": True,
            "output_bias": True,
        }
    },
}


@dataclass(frozen=True)
class Case:
    """One architecture with one set of options."""

    model_type: str
    option: str = "default"
    changes: dict[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.model_type}-{self.option}"

    def config(self, **changes: Any) -> Any:
        row = get_architecture(self.model_type)
        return row.config_class(**{**row.tiny_config().to_diff_dict(), **self.changes, **changes})


CASES = [
    Case(row.model_type, option, changes)
    for row in list_architectures()
    for option, changes in {"default": {}, **OPTIONS.get(row.model_type, {})}.items()
]
SEQ2SEQ_CASES = [case for case in CASES if SEQ2SEQ in get_architecture(case.model_type).models]
# Models that attend to their source, and those to which only the encoder's last state is known.
ATTENDING_CASES = [case for case in SEQ2SEQ_CASES if get_architecture(case.model_type).aligner is not None]
SUMMARY_CASES = [case for case in SEQ2SEQ_CASES if case not in ATTENDING_CASES]


def spread(model: nn.Module, std: float = 0.5, seed: int = 0) -> nn.Module:
    """Random weights of a size that makes every input matter; norms keep theirs.

    Embeddings are wide and biases narrow, so that the words decide and not the same bias at every step.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in model.modules():
            if "Norm" in type(module).__name__:
                continue
            for name, parameter in module.named_parameters(recurse=False):
                factor = 3.0 if isinstance(module, nn.Embedding) else 0.3 if "bias" in name else 1.0
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * std * factor)
    return model.eval()


@dataclass
class Maker:
    """Builds models and inputs of one case."""

    case: Case

    @property
    def model_class(self) -> type[Any]:
        return get_architecture(self.case.model_type).model_classes[SEQ2SEQ]

    @property
    def config_class(self) -> type[Any]:
        return get_architecture(self.case.model_type).config_class

    @property
    def heads(self) -> int:
        """Alignments of each layer."""
        return getattr(self.case.config(), "num_attention_heads", 1)

    @property
    def sums_to_one(self) -> bool:
        """Whether the weights of a target word sum to 1; a Gaussian that is not normalised again makes them less."""
        return getattr(self.case.config(), "attention_window", None) != "local-p"

    def check_sums(self, weights: Tensor, tolerance: float) -> None:
        """Weights (..., S) sum to 1, or to less where the model says so."""
        sums = weights.float().sum(-1)
        if self.sums_to_one:
            torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=tolerance)
        else:
            assert (sums > 0).all() and (sums <= 1 + tolerance).all() and sums.min() < 0.99

    def new(self, **changes: Any) -> Any:
        """A freshly initialised model in evaluation mode."""
        return self.model_class(self.case.config(**changes)).eval()

    def model(self, dtype: torch.dtype = torch.float32, seed: int = 0, std: float = 0.5, **changes: Any) -> Any:
        """A spread model."""
        return spread(self.new(**changes).to(dtype), std=std, seed=seed)

    def ids(self, *shape: int, target: bool = False, seed: int = 0) -> Tensor:
        """Random words, none of them a special symbol."""
        config = self.case.config()
        size = config.decoder_vocab_size if target else config.vocab_size
        return torch.randint(4, size, shape, generator=torch.Generator().manual_seed(seed))

    def batch(
        self, lengths: list[int], *, side: str = "right", extra: int = 0, target_length: int = 5, seed: int = 0
    ) -> dict[str, Tensor]:
        """Sources of the given lengths, each ending with the end symbol, padded on one side, and full targets.

        A row has the same words whatever the other rows, the side and the padding are.
        """
        config = self.case.config()
        width = max([1, *lengths]) + extra
        ids = torch.full((len(lengths), width), config.pad_token_id)
        mask = torch.zeros(len(lengths), width, dtype=torch.long)
        for row, length in enumerate(lengths):
            if not length:
                continue
            words = self.ids(length, seed=1000 * seed + row)
            words[-1] = config.eos_token_id
            where = slice(0, length) if side == "right" else slice(width - length, width)
            ids[row, where], mask[row, where] = words, 1
        decoder_ids = self.ids(len(lengths), target_length, target=True, seed=seed)
        decoder_ids[:, 0] = config.decoder_start_token_id
        return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder_ids}

    def sources(self, lengths: list[int], **options: Any) -> dict[str, Tensor]:
        """A batch without targets, for `generate`."""
        batch = self.batch(lengths, **options)
        return {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}


def row_of(batch: dict[str, Tensor], row: int) -> dict[str, Tensor]:
    """One row of a batch, without its pads."""
    keep = batch["attention_mask"][row].bool()
    one = {name: tensor[row : row + 1] for name, tensor in batch.items()}
    return {**one, "input_ids": one["input_ids"][:, keep], "attention_mask": one["attention_mask"][:, keep]}


def real_columns(weights: Tensor, mask: Tensor, row: int) -> Tensor:
    """Attention (h, T, S) of one row over its real source positions."""
    return weights[row][..., mask[row].bool()]
