"""Translators of the zoo under inseq: the words of both vocabularies, and attention where nothing attends to itself.

inseq asks one vocabulary for the tokens of both sides and one table for their vectors, and refuses `attention` on a
model whose encoder or decoder has no self-attention, as recurrent ones do not. Here targets are read by the target
vocabulary and its table, and a side without self-attention gets weights of zero: nothing of it was looked at.
"""

from __future__ import annotations

from typing import Any

import torch

from hf_attention_zoo.registry import get_architecture


def inseq_model(model: Any, tokenizer: Any, method: str = "attention") -> Any:
    """The model as inseq takes it: `inseq_model(model, tokenizer).attribute("Ein Satz.")`.

    Args:
        model: a translator that attends to its source. tokenizer: its own.
        method: one of inseq's attribution methods, such as "attention" or "saliency".

    Raises:
        ImportError: inseq is not installed.
        ValueError: the model attends to nothing, so that it has no attention to show.
    """
    try:
        from inseq.models.huggingface_model import HuggingfaceEncoderDecoderModel
    except ImportError as error:
        raise ImportError("attribution by inseq needs it: pip install 'hf_attention_zoo[tools]'") from error
    if method == "attention" and get_architecture(model.config.model_type).aligner is None:
        raise ValueError(f"{model.config.model_type} has no attention; take another method, such as saliency")

    class Translator(HuggingfaceEncoderDecoderModel):
        def encode(self, texts: Any, as_targets: bool = False, *args: Any, **kwargs: Any) -> Any:
            encoded = super().encode(texts, as_targets, *args, **kwargs)
            if as_targets:
                encoded.input_tokens = [self.tokenizer.convert_target_ids_to_tokens(row) for row in encoded.input_ids]
            return encoded

        def embed_ids(self, ids: Any, as_targets: bool = False) -> torch.Tensor:
            table = self.model.get_decoder_input_embeddings() if as_targets else self.model.get_input_embeddings()
            return table(ids)

        def convert_ids_to_tokens(self, ids: Any, *args: Any, **kwargs: Any) -> Any:
            """inseq asks it for targets alone."""
            with self.tokenizer._speaking(target=True):
                return super().convert_ids_to_tokens(ids, *args, **kwargs)

        @staticmethod
        def get_attentions_dict(output: Any) -> dict[str, torch.Tensor]:
            cross = torch.stack(output.cross_attentions, dim=1)  # (B, layers, heads, T, S)
            targets, sources = cross.shape[3:]
            sides = {"encoder": sources, "decoder": targets}
            found = {"cross_attentions": cross}
            for side, length in sides.items():
                own = getattr(output, f"{side}_attentions", None)
                nothing = cross.new_zeros(*cross.shape[:3], length, length)
                found[f"{side}_self_attentions"] = nothing if own is None else torch.stack(own, dim=1)
            return {name: weights.cpu() for name, weights in found.items()}

    return Translator(model, method, tokenizer)
