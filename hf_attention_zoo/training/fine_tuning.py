"""What the tasks of pre-trained models have in common: the formats of their inputs, the limit of their positions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.tokenization.special_tokens import TASK_TOKENS

if TYPE_CHECKING:
    from hf_attention_zoo.training.run_plan import RunPlan

# Ids that a config may name, and the tokenizer's names for them.
SPECIAL_IDS = ("pad_token_id", "delimiter_token_id")


def write_as_task(tokenizer: Any) -> None:
    """Let a tokenizer that also continues texts write them as tasks (GPT); symbols that a release lacks are added."""
    if hasattr(tokenizer, "use_task_format"):
        tokenizer.add_task_symbols().use_task_format()


def add_symbol_rows(model: Any, tokenizer: Any) -> None:
    """Rows for the symbols of tasks in a model that knows all of the tokenizer but them (a converted GPT)."""
    if not hasattr(tokenizer, "add_task_symbols"):
        return
    new = range(model.get_input_embeddings().num_embeddings, len(tokenizer))
    symbols = {tokenizer.pad_token, *TASK_TOKENS.values()}
    if new and symbols.issuperset(tokenizer.convert_ids_to_tokens(list(new))):
        tokenizer.add_task_symbols(model)


def special_ids(tokenizer: Any, config_class: type[Any]) -> dict[str, Any]:
    """`vocab_size` and the ids that a config of this class names and the tokenizer knows."""
    fields = {field.name for field in dataclasses.fields(config_class)}
    found = {name: getattr(tokenizer, name, None) for name in SPECIAL_IDS if name in fields}
    return {"vocab_size": len(tokenizer), **{name: value for name, value in found.items() if value is not None}}


def cut_at_positions(tokenizer: Any, config: Any, plan: RunPlan) -> None:
    """Let the tokenizer cut texts where the model has no more positions.

    A lower limit stays, unless a new model gets a tokenizer that was named: then it may be that of another model.
    """
    positions = getattr(config, "max_position_embeddings", None)
    if positions is None:
        return
    from_elsewhere = plan.model.model is None and plan.model.tokenizer is not None
    if tokenizer.model_max_length > positions or (from_elsewhere and tokenizer.model_max_length < positions):
        tokenizer.model_max_length = positions
