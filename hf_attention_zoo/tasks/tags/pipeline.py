"""`pipeline("token-classification", ...)` that says so when it leaves the end of a text without tags."""

from __future__ import annotations

from typing import Any

from transformers.pipelines.token_classification import TokenClassificationPipeline
from transformers.utils import logging

from hf_attention_zoo.data.text_encoding import row_limit
from hf_attention_zoo.tasks.pipeline_table import replace
from hf_attention_zoo.tokenization.own_backend import OwnBackend

logger = logging.get_logger(__name__)


class TaggedTextPipeline(TokenClassificationPipeline):
    """transformers' pipeline, which cuts texts at the tokenizer's limit without a word; here with a warning, once.

    With `stride` it reads long texts in parts that overlap, and nothing is cut.
    """

    def preprocess(self, *given: Any, **settings: Any) -> Any:
        """The inputs of one text, or of each of its parts, one after the other."""
        limit = row_limit(self.tokenizer) if isinstance(self.tokenizer, OwnBackend) else None
        in_parts = settings.get("tokenizer_params", {}).get("return_overflowing_tokens", False)
        for inputs in super().preprocess(*given, **settings):
            if limit is not None and not in_parts and inputs["input_ids"].shape[-1] >= limit:
                self._warn_if_cut(given[0] if given else settings["sentence"], limit)
            yield inputs

    def _warn_if_cut(self, sentence: Any, limit: int) -> None:
        tokenizer: Any = self.tokenizer
        whole = tokenizer(sentence, is_split_into_words=isinstance(sentence, list), verbose=False)
        if len(whole["input_ids"]) > limit:
            logger.warning_once(
                f"a text has more than {limit} tokens, which is what the tokenizer allows (model_max_length), and "
                f"what is behind them gets no tags: give stride={limit // 4} and aggregation_strategy='first' to the "
                "pipeline, which then reads long texts in parts that overlap, or split the texts"
            )


replace("token-classification", TaggedTextPipeline)
