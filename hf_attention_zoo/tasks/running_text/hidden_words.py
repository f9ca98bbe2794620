"""`pipeline("fill-mask", ...)` that knows which models cannot fill in hidden words."""

from __future__ import annotations

from typing import Any

from transformers.pipelines.base import PipelineException
from transformers.pipelines.fill_mask import FillMaskPipeline

from hf_attention_zoo.tasks.pipeline_table import replace
from hf_attention_zoo.tokenization.own_backend import OwnBackend


class HiddenWordPipeline(FillMaskPipeline):
    """transformers' pipeline for all models but those that read from left to right.

    These predict the next word at each place: at [MASK] the word behind it, from [MASK] itself and what is before.
    With several masks transformers shows all special tokens in a `sequence`, so that the other masks are seen; for the
    zoo's tokenizers the masks alone are shown.

    Raises:
        ValueError: such a model.
    """

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        if getattr(model.config, "left_to_right", False):
            raise ValueError(
                f"this {type(model).__name__} reads from left to right (left_to_right=True) and predicts next words, "
                "not hidden ones; use a model with left_to_right=False, or take the logits of the model itself"
            )
        super().__init__(model, *args, **kwargs)

    def preprocess(self, *given: Any, **settings: Any) -> Any:
        """The ids of one text.

        Raises:
            PipelineException: there is no mask in it, or not in what is left where it was cut.
        """
        tokenizer: Any = self.tokenizer
        text = given[0] if given else settings.get("inputs")
        try:
            return super().preprocess(*given, **settings)
        except PipelineException as error:
            if not isinstance(text, str) or tokenizer.mask_token not in text:
                raise
            raise PipelineException(
                "fill-mask",
                self.model.base_model_prefix,
                f"{tokenizer.mask_token} stands behind the tokens that are left of the text after it was cut "
                "(tokenizer_kwargs); leave out words before it in place of that",
            ) from error

    def postprocess(self, model_outputs: dict[str, Any], *args: Any, **settings: Any) -> Any:
        """The words for the masks of one text: a list, or with several masks a list for each."""
        found = super().postprocess(model_outputs, *args, **settings)
        if not found or not isinstance(found[0], list) or not isinstance(self.tokenizer, OwnBackend):
            return found
        tokenizer, ids = self.tokenizer, model_outputs["input_ids"][0].tolist()
        around = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id}
        masks = [place for place, number in enumerate(ids) if number == tokenizer.mask_token_id]
        for mask, words in zip(masks, found, strict=True):
            for word in words:
                filled = [word["token"] if place == mask else number for place, number in enumerate(ids)]
                word["sequence"] = tokenizer.decode([number for number in filled if number not in around])
        return found


replace("fill-mask", HiddenWordPipeline)
