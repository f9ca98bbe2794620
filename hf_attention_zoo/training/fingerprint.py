"""What a training's result depends on: settings and data, as one JSON object that two starts of a run share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from hf_attention_zoo.folders.run_facts import plain
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.whole_files import file_digest

# Training arguments that change nothing in what is learnt: where things lie, what is printed, how the work is shared
# out. All others count, those of later releases, too.
WITHOUT_EFFECT = frozenset(
    {"output_dir", "overwrite_output_dir", "auto_resume", "resume_from_checkpoint", "resume_changed", "do_train"}
    | {"do_eval", "do_predict", "logging_strategy", "logging_steps", "logging_first_step", "log_on_each_node"}
    | {"logging_nan_inf_filter", "log_level", "log_level_replica", "logging_dir", "disable_tqdm", "report_to"}
    | {"run_name", "project", "trackio_space_id", "trackio_bucket_id", "trackio_static_space_id", "debug"}
    | {"include_num_input_tokens_seen", "skip_memory_metrics", "push_to_hub", "hub_token", "hub_private_repo"}
    | {"hub_model_id", "hub_strategy", "hub_always_push", "hub_revision", "save_only_model", "save_on_each_node"}
    | {"save_total_limit", "enable_jit_checkpoint", "ignore_data_skip", "restore_callback_states_from_checkpoint"}
    | {"per_device_eval_batch_size", "eval_accumulation_steps", "eval_use_gather_object", "include_for_metrics"}
    | {"eval_do_concat_batches", "batch_eval_metrics", "use_cpu", "local_rank", "dataloader_num_workers"}
    | {"dataloader_pin_memory", "dataloader_persistent_workers", "dataloader_prefetch_factor", "dataloader_in_order"}
    | {"dataloader_multiprocessing_context", "ddp_find_unused_parameters", "ddp_bucket_cap_mb", "ddp_backend"}
    | {"ddp_broadcast_buffers", "ddp_static_graph", "ddp_timeout", "fsdp", "fsdp_config", "deepspeed"}
    | {"parallelism_config", "torch_empty_cache_steps", "gradient_checkpointing", "gradient_checkpointing_kwargs"}
    | {"activation_checkpointing", "activation_checkpointing_kwargs", "auto_find_batch_size", "full_determinism"}
    | {"remove_unused_columns", "accelerator_config", "use_cache"}
)
# The batch counts as a whole, of all processes and parts.
IN_THE_BATCH = frozenset({"per_device_train_batch_size", "gradient_accumulation_steps"})
# What counts where a validation chooses the weights or the end of training, or the last checkpoints are averaged.
OF_THE_CHOICE = frozenset(
    {"metric_for_best_model", "greater_is_better", "save_strategy", "save_steps", "early_stopping_threshold"}
    | {"predict_with_generate", "generation_max_length", "generation_num_beams", "generation_config"}
    | {"prediction_loss_only", "load_best_model_at_end", "early_stopping_patience", "average_last_checkpoints"}
)
# Arguments that say where data lie; what counts is what is in them.
PLACES = ("dataset", "train_file", "validation_file", "test_file")
# Entries of a fingerprint that stood in it before the others did.
EARLY = ("seed", "max_tokens_per_batch", "pool_batches", "pool_order", "learning_rate", "optimizer", "optim")
# Entries that cannot be changed in the middle of a run, on purpose or not: the weights or the optimiser's state would
# not fit.
FIXED = ("architecture", "task", "model", "tokenizer", "tokenizer_settings", "word_vectors", "optimizer")


def chooses(training: ZooTrainingArguments) -> bool:
    """Whether a validation chooses the final weights or the end of training."""
    return bool(
        training.load_best_model_at_end
        or training.early_stopping_patience is not None
        or str(plain(training.lr_scheduler_type)) == "reduce_lr_on_plateau"
        or str(plain(training.save_strategy)) == "best"
    )


def training_settings(training: ZooTrainingArguments) -> dict[str, Any]:
    """The training arguments that change the result, with their values as JSON has them."""
    left_out = WITHOUT_EFFECT | IN_THE_BATCH | set(EARLY)
    if not chooses(training) and training.average_last_checkpoints is None:
        left_out |= OF_THE_CHOICE
    names = [item.name for item in fields(training) if item.name not in left_out]
    return {name: json.loads(json.dumps(plain(getattr(training, name)), default=str)) for name in names}


def data_contents(train: Any, validation: Any | None, training: ZooTrainingArguments, places: dict[str, Any]) -> Any:
    """What is learnt from, by content; the validation rows, too, where they choose.

    Args:
        train, validation: rows as a task loads them: of `datasets`, or with `content()`, their parts as bytes.
        places: the arguments that name files, by which a stream is known.
    """
    found = {"training": content_of(train, places)}
    if validation is not None and chooses(training):
        found["validation"] = content_of(validation, places)
    return found


def content_of(rows: Any, places: dict[str, Any]) -> str:
    """How many rows, and a digest of what is in them; of a stream, what is in its files."""
    if isinstance(rows, Dataset):
        return f"{len(rows):,} rows, digest {_digest(_table_parts(rows))}"
    if hasattr(rows, "content"):
        return f"digest {_digest(rows.content())}"
    return f"a stream, digest {_digest(_file_parts(places))}"


def _table_parts(rows: Dataset) -> Iterable[bytes]:
    """The columns and rows of a table, however it is cut into pieces and whatever it was selected from."""
    yield json.dumps(sorted(rows.column_names)).encode()
    for batch in rows.select_columns(sorted(rows.column_names)).with_format(None).iter(batch_size=1000):
        yield json.dumps(batch, ensure_ascii=False, default=_as_text).encode("utf-8", errors="surrogatepass")


def _as_text(value: Any) -> str:
    """What JSON has no form for: pictures by their bytes, arrays by their numbers."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.tobytes()).hexdigest()
    return str(value)


def _file_parts(places: dict[str, Any]) -> Iterable[bytes]:
    for name, place in sorted(places.items()):
        path = Path(str(place)).expanduser()
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield name.encode()
        if not path.exists():
            yield str(place).encode()  # a sample's or a Hub data set's name
        for file in files:
            if file.is_file():
                yield from (file.name.encode(), file_digest(file).encode())


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:16]


# Section of a fingerprint -> what the names of its arguments begin with.
_ASKED_FOR_AS = {"training": "", "data": "", "tokenizer_settings": "tokenizer."}


def differences(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Readable list of the entries in which two fingerprints differ, by the names of the arguments that set them."""
    found = []
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            section = f"{prefix}{name}."
            found += differences(old, new, section if prefix else _ASKED_FOR_AS.get(name, section))
        elif old != new:
            found.append(f"{prefix}{name}: {old!r} then, {new!r} now")
    return found


def filled(before: dict[str, Any], unsaid: dict[str, Any]) -> dict[str, Any]:
    """A fingerprint with the values of what was not yet noted when it was written."""
    return {
        name: filled(before.get(name) or {}, value) if isinstance(value, dict) else before.get(name, value)
        for name, value in {**before, **unsaid}.items()
    }
