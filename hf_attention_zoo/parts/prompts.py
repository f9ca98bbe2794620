"""What stands before the first new token: a model that continues texts needs a token to go on from."""

from __future__ import annotations

from typing import Any

from torch import Tensor


class PromptNeeded:
    """Refuses a prompt without any token; stands before `GenerationMixin` among the base classes."""

    config: Any

    def _maybe_initialize_input_ids_for_generation(
        self, inputs: Tensor | None, bos_token_id: Tensor | None, model_kwargs: dict[str, Any]
    ) -> Any:
        """As for any model: the prompt, or `bos_token_id` where there is none.

        Raises:
            ValueError: there is neither, or the prompt has no token.
        """
        given = inputs is not None or model_kwargs.get("inputs_embeds") is not None
        empty = inputs is not None and inputs.shape[1] == 0
        if empty or not (given or bos_token_id is not None):
            raise no_prompt(self)
        above: Any = super()  # transformers says what `self` is by a protocol that no model fits
        return above._maybe_initialize_input_ids_for_generation(inputs, bos_token_id, model_kwargs)


def no_prompt(model: object) -> ValueError:
    """The error for a prompt without any token."""
    return ValueError(
        f"the prompt has no token, and {type(model).__name__} goes on from one: give a prompt of at least one word, "
        "or an empty one and bos_token_id=ID, the id of a token to begin with"
    )


def prompt_too_long(prompt: int, limit: int) -> ValueError:
    """The error for a prompt that leaves no position to write at."""
    kept = max(limit // 2, 1)
    return ValueError(
        f"the prompt has {prompt} tokens and the model {limit} positions: nothing can be written behind it; cut it to "
        f"{limit - 1} tokens or fewer, with truncation=True and max_length={kept} where the tokenizer is called, or "
        f"with tokenizer_encode_kwargs={{'truncation': True, 'max_length': {kept}}} in pipeline('text-generation')"
    )
