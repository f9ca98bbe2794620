"""Models of the zoo under inseq: the words of both vocabularies, and attention where nothing attends to itself.

inseq asks one vocabulary for the tokens of both sides and one table for their vectors, refuses `attention` on a
model whose encoder or decoder has no self-attention, as recurrent ones do not, and wants a symbol before the first
word. Here targets are read by the target vocabulary and its table, a side without self-attention gets weights of
zero (nothing of it was looked at), and a language model may begin with its first word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from hf_attention_zoo.registry import get_architecture, list_architectures


class Classes(NamedTuple):
    """inseq's classes of models, for those of the zoo."""

    translator: type[Any]
    language_model: type[Any]


def inseq_model(model: Any, tokenizer: Any, method: str | None = "attention", **kwargs: Any) -> Any:
    """The model as inseq takes it: `inseq_model(model, tokenizer).attribute("Ein Satz.")`.

    `inseq.load_model` gives the same, once this package is imported.

    Args:
        model: a translator or a language model, or the name of its folder. tokenizer: its own, or None with a name.
        method: one of inseq's attribution methods, such as "attention" or "saliency".
        kwargs: what else `inseq.load_model` takes.

    Raises:
        ImportError: inseq is not installed.
        ValueError: the model attends to nothing, so that it has no attention to show.
    """
    classes = classes_of_inseq()
    config = config_of(model, kwargs.get("model_kwargs"))
    if method == "attention":
        check_attends(config.model_type)
    made = classes.translator if config.is_encoder_decoder else classes.language_model
    return made(model, method, tokenizer, **kwargs)


def config_of(model: Any, model_kwargs: dict[str, Any] | None = None) -> Any:
    """The configuration of a model, or of what lies in a folder."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(model, **(model_kwargs or {})) if isinstance(model, str) else model.config


def check_attends(model_type: str) -> None:
    """Raises ValueError for an architecture without attention."""
    if get_architecture(model_type).aligner is None:
        raise ValueError(f"{model_type} has no attention; take another method, such as saliency")


def classes_of_inseq() -> Classes:
    """The classes, made of inseq's own. Raises ImportError where it is not installed."""
    try:
        from inseq.models.huggingface_model import HuggingfaceDecoderOnlyModel, HuggingfaceEncoderDecoderModel
    except ImportError as error:
        raise ImportError("attribution by inseq needs it: pip install 'hf_attention_zoo[tools]'") from error

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

        def convert_string_to_tokens(
            self, text: Any, skip_special_tokens: bool = True, as_targets: bool = False
        ) -> Any:
            if not as_targets or not isinstance(text, str):
                return super().convert_string_to_tokens(text, skip_special_tokens, as_targets)
            ids = self.tokenizer(text_target=text, add_special_tokens=not skip_special_tokens)["input_ids"]
            return self.tokenizer.convert_target_ids_to_tokens(ids, skip_special_tokens)

        def get_attentions_dict(self, output: Any) -> dict[str, torch.Tensor]:
            check_attends(self.model.config.model_type)
            cross = torch.stack(output.cross_attentions, dim=1)  # (B, layers, heads, T, S)
            targets, sources = cross.shape[3:]
            sides = {"encoder": sources, "decoder": targets}
            found = {"cross_attentions": cross}
            for side, length in sides.items():
                own = getattr(output, f"{side}_attentions", None)
                nothing = cross.new_zeros(*cross.shape[:3], length, length)
                found[f"{side}_self_attentions"] = nothing if own is None else torch.stack(own, dim=1)
            return {name: weights.cpu() for name, weights in found.items()}

    class LanguageModel(HuggingfaceDecoderOnlyModel):
        def _convert_ids_to_tokens(self, ids: Any, *args: Any, **kwargs: Any) -> Any:
            """inseq asks for the symbol before the first word, which there may not be."""
            return None if ids is None else super()._convert_ids_to_tokens(ids, *args, **kwargs)

        def attribute(self, input_texts: Any, *args: Any, **kwargs: Any) -> Any:
            texts = [input_texts] if isinstance(input_texts, str) else input_texts
            if self.bos_token is None and not all(texts):
                raise ValueError(
                    f"{self.model.config.model_type} has no symbol before the first word, so that it begins with "
                    "words; give a text that is not empty"
                )
            return super().attribute(input_texts, *args, **kwargs)

        def get_attentions_dict(self, output: Any) -> dict[str, torch.Tensor]:
            check_attends(self.model.config.model_type)
            return super().get_attentions_dict(output)

    return Classes(Translator, LanguageModel)


def register_with_inseq() -> None:
    """Make `inseq.load_model` give models of the zoo as `inseq_model` does: its table names the class that loads."""
    from inseq.models import FRAMEWORKS_MAP, HuggingfaceModel

    known = {row.model_type for row in list_architectures()}

    class Models(HuggingfaceModel):
        @staticmethod
        def load(model: Any, attribution_method: str | None = None, tokenizer: Any = None, **kwargs: Any) -> Any:
            if config_of(model, kwargs.get("model_kwargs")).model_type in known:
                return inseq_model(model, tokenizer, attribution_method, **kwargs)
            return HuggingfaceModel.load(model, attribution_method, tokenizer, **kwargs)

    FRAMEWORKS_MAP["hf_transformers"] = Models
