"""Weights that a run goes on from (`--model`): whether they, and the tokenizer, fit what is to be trained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import transformers
from transformers import AutoTokenizer, GenerationConfig

from hf_attention_zoo.folders.saved_model import saved_auto_class, saved_config
from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.registry import Architecture, list_architectures
from hf_attention_zoo.seq2seq.zoo_generation import ZOO_SETTINGS
from hf_attention_zoo.training.task_contract import TrainingTask

if TYPE_CHECKING:
    from hf_attention_zoo.training.run_plan import RunPlan

SHOWN = 3  # so many names of tensors or tokens stand in a message
# What `from_pretrained` takes beside the fields of a configuration.
LOADING_FIELDS = ("attn_implementation", "num_labels", "output_attentions", "torch_dtype")


def check_plan(plan: RunPlan, row: Architecture) -> None:
    """What can be told before any data are read.

    Raises:
        ValueError: a setting that the configuration does not have, a model of another architecture, or attention
            heads that its weights were not trained with.
    """
    known = {name for cls in row.config_class.__mro__ for name in getattr(cls, "__annotations__", {})}
    if plan.model.model is not None:
        known.update(LOADING_FIELDS)
    unknown = sorted(set(plan.config) - known)
    if unknown:
        meant = did_you_mean(unknown[0], sorted(known))
        raise ValueError(f"{row.config_class.__name__} has no field {', '.join(unknown)}{meant}")
    settings = [name for name in vars(GenerationConfig()) if not name.startswith("_")] + [*ZOO_SETTINGS]
    unknown = [name for name in plan.generation if name not in settings]
    if unknown:
        meant = did_you_mean(unknown[0], settings)
        raise ValueError(f"generation settings that do not exist: {', '.join(unknown)}{meant}")
    if plan.model.model is None:
        return
    saved = saved_config(plan.model.model)
    found = saved.model_type
    if found != row.model_type:
        ours = found in {other.model_type for other in list_architectures()}
        raise ValueError(
            f"--model {plan.model.model} holds a model of {found}, not of {row.model_type}; give a folder of "
            f"{row.model_type}, or "
            + (
                f"name the architecture {found} in place of {row.model_type}"
                if ours
                else "take its weights over with `attention-zoo convert`"
            )
        )
    heads = getattr(saved, "num_attention_heads", None)
    if plan.config.get("num_attention_heads", heads) != heads:  # no shape tells
        raise ValueError(
            f"num_attention_heads is {heads} in {plan.model.model}, and its weights mean nothing with "
            f"{plan.config['num_attention_heads']}; leave out --config.num_attention_heads"
        )


def load_given(task: TrainingTask) -> Any:
    """The model named, as the class of the task. Only what the task itself brings may be new.

    Raises:
        ValueError: weights of the folder have no place in the model, or the model has some that the folder lacks.
    """
    plan = task.plan
    named = needed(plan.model.model, "model", "name the folder or the Hub id of a model")
    new_head = saved_auto_class(named) != task.auto_class
    fields = {**(task.head_fields() if new_head else {}), **plan.config}
    loader = getattr(transformers, task.auto_class)
    with loading(named):
        model, info = loader.from_pretrained(named, ignore_mismatched_sizes=True, output_loading_info=True, **fields)
    body = f"{model.base_model_prefix}."
    # Heads that one class has and another has not, the pooler among them. Unexpected ones do not come here.
    heads = tuple(model._keys_to_ignore_on_load_unexpected or ())
    # What may be missing may be left over, too: the mixes of ELMo's tasks.
    optional = tuple(model._keys_to_ignore_on_load_missing or ())
    wrong = [
        f"{name} is {tuple(there)} in the folder and {tuple(here)} in the model"
        for name, there, here in sorted(info["mismatched_keys"])
        if not new_head or name.startswith(body)
    ]
    wrong += [
        f"{name} is not in the folder"
        for name in sorted(info["missing_keys"])
        if not new_head or (name.startswith(body) and not any(re.search(pattern, name) for pattern in heads))
    ]
    wrong += [
        f"{name} has no place in the model"
        for name in sorted(info["unexpected_keys"])
        if not new_head or not any(re.search(pattern, name) for pattern in optional)
    ]
    if wrong:
        more = f", and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        given = [f"--config.{name}" for name in plan.config]
        raise ValueError(
            f"the weights of {plan.model.model} do not fit the model, and would begin at random or be lost: "
            f"{'; '.join(wrong[:SHOWN])}{more}; only layers of a new task may be new. "
            + (f"Leave out {', '.join(given)} if that changes a size, or give" if given else "Give")
            + " a whole checkpoint"
        )
    return model


def check_tokenizer(plan: RunPlan, tokenizer: Any) -> None:
    """Compare a tokenizer that was named beside a model with the model's own, if that is in its folder.

    Tokens may have been added on either side.

    Raises:
        ValueError: the two have other numbers for their tokens.
    """
    if plan.model.model is None or plan.model.tokenizer is None:
        return
    try:
        own = AutoTokenizer.from_pretrained(plan.model.model)
    except (OSError, ValueError):  # a model without a tokenizer: only their sizes can be compared
        return
    for vocabulary in ("get_vocab", "get_target_vocab"):
        if not hasattr(own, vocabulary) or not hasattr(tokenizer, vocabulary):
            continue
        mine, named = getattr(own, vocabulary)(), getattr(tokenizer, vocabulary)()
        if mine.items() <= named.items() or named.items() <= mine.items():
            continue
        other = sorted((token for token in mine if named.get(token) != mine[token]), key=mine.__getitem__)
        shown = ", ".join(
            f"{token!r} is {mine[token]} for the model and {named.get(token, 'no token')} for the tokenizer"
            for token in other[:SHOWN]
        )
        raise ValueError(
            f"--tokenizer {plan.model.tokenizer} has another vocabulary than the one of --model {plan.model.model} "
            f"({len(other):,} of its {len(mine):,} tokens differ: {shown}); leave out --tokenizer"
        )


def check_vocabulary(task: TrainingTask, model: Any, tokenizer: Any) -> None:
    """Compare the sizes of a tokenizer's vocabularies with the model's.

    Raises:
        ValueError: the tokenizer has more tokens than the model.
    """
    for name, tokens in task.config_fields(tokenizer).items():
        words = getattr(model.config, name, None)
        if name.endswith("vocab_size") and words is not None and tokens > words:
            side = "target " if name.startswith("decoder") else ""
            raise ValueError(
                f"the tokenizer has {tokens:,} {side}tokens, the model {words:,}; take the tokenizer that the model "
                "was trained with"
            )
