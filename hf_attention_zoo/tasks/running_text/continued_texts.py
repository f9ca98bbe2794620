"""`pipeline("text-generation", ...)` that knows which tokenizer puts no space before a new word."""

from __future__ import annotations

from typing import Any

from transformers.pipelines.text_generation import ReturnType, TextGenerationPipeline

from hf_attention_zoo.tokenization.gpt2018_tokenizer import GPT2018Tokenizer


class ContinuedTextPipeline(TextGenerationPipeline):
    """transformers' pipeline, with a space between a prompt and the words that GPT's tokenizer puts behind it.

    transformers decodes the new ids alone. GPT's pieces mark where a word ends and not where one begins, so the space
    behind the prompt's last word, which is always whole, is in none of them. The prompt stays as it was given.
    """

    def postprocess(
        self, model_outputs: dict[str, Any], return_type: ReturnType = ReturnType.FULL_TEXT, **settings: Any
    ) -> list[dict[str, Any]]:
        """The records of one prompt: each with `generated_text`, or `generated_token_ids`."""
        records = super().postprocess(model_outputs, return_type=return_type, **settings)
        prompt = model_outputs["prompt_text"]
        if return_type == ReturnType.TENSORS or not self._lacks_space(prompt):
            return records
        before = len(prompt) if return_type == ReturnType.FULL_TEXT else 0
        for record in records:
            text = record["generated_text"]
            if len(text) > before:
                record["generated_text"] = f"{text[:before]} {text[before:]}"
        return records

    def _lacks_space(self, prompt: Any) -> bool:
        """Whether what is written behind a prompt begins with a word that a space must part from it."""
        if not isinstance(self.tokenizer, GPT2018Tokenizer) or not isinstance(prompt, str):
            return False
        return bool(prompt) and not prompt[-1].isspace()
