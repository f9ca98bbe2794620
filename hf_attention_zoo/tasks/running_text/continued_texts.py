"""`pipeline("text-generation", ...)` that knows which token begins a new word."""

from __future__ import annotations

from typing import Any

import torch
from transformers.pipelines.text_generation import ReturnType, TextGenerationPipeline

from hf_attention_zoo.parts.prompts import PromptNeeded, no_prompt
from hf_attention_zoo.tasks.pipeline_table import replace


class ContinuedTextPipeline(TextGenerationPipeline):
    """transformers' pipeline, with a space between a prompt and a new word behind it.

    transformers decodes the new ids alone, and what begins a text has no space before it. The tokenizers of this
    package say by `begins_word` whether a token does when it stands behind others. The prompt stays as it was given.
    """

    def preprocess(self, *given: Any, **settings: Any) -> Any:
        """The ids of one prompt; of one without a token, `bos_token_id`, so that it may stand in a batch.

        Raises:
            ValueError: it gives no token and the model is one of this package, which begins no text by itself.
        """
        inputs = super().preprocess(*given, **settings)
        model: Any = self.model
        if isinstance(self.model, PromptNeeded) and inputs["input_ids"].shape[-1] == 0:
            usual = settings.get("generation_config") or model.generation_config
            begin = settings.get("bos_token_id", usual.bos_token_id)
            if begin is None:
                raise no_prompt(model)
            tokenizer: Any = self.tokenizer
            inputs["input_ids"] = torch.tensor([[begin]])
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            inputs["prompt_text"] = tokenizer.decode([begin], skip_special_tokens=True)
        return inputs

    def postprocess(
        self, model_outputs: Any, return_type: Any = ReturnType.FULL_TEXT, *args: Any, **settings: Any
    ) -> list[dict[str, Any]]:
        """The records of one prompt: each with `generated_text`, or `generated_token_ids`."""
        records = super().postprocess(model_outputs, return_type, *args, **settings)
        prompt, given = model_outputs["prompt_text"], model_outputs["input_ids"]
        if return_type == ReturnType.TENSORS or not self._may_lack_space(prompt):
            return records
        tokenizer: Any = self.tokenizer  # one that says where words begin
        before = len(prompt) if return_type == ReturnType.FULL_TEXT else 0
        for record, ids in zip(records, model_outputs["generated_sequence"][0].tolist(), strict=True):
            text, new = record["generated_text"], ids[given.shape[-1] :]
            if len(text) > before and tokenizer.begins_word(new[0]):
                record["generated_text"] = f"{text[:before]} {text[before:]}"
        return records

    def _may_lack_space(self, prompt: Any) -> bool:
        """Whether a space must part a new word from this prompt."""
        if not hasattr(self.tokenizer, "begins_word") or not isinstance(prompt, str):
            return False
        return bool(prompt) and not prompt[-1].isspace()


replace("text-generation", ContinuedTextPipeline)
