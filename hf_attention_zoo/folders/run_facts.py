"""What a run was done with, in words for files and cards: hardware, versions, settings that are not defaults."""

import dataclasses
import os
import platform
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("hf_attention_zoo", "transformers", "torch", "datasets", "tokenizers", "sacrebleu")
# Fields that say where something lies or who runs it, not what is computed.
PRIVATE_FIELDS = frozenset(
    {"output_dir", "logging_dir", "run_name", "hub_token", "push_to_hub_token", "hub_model_id", "overwrite_output_dir"}
    | {"resume_from_checkpoint", "disable_tqdm", "report_to", "log_level", "local_rank", "auto_resume", "do_train"}
    | {"do_eval", "do_predict", "train_file", "validation_file", "test_file", "push_to_hub"}
)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """The processor's own name where the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_hardware() -> str:
    """One line: accelerators if there are any, otherwise the processor and how much of it was used."""
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
    threads = torch.get_num_threads()
    return f"{processor_name()}, {usable_cores()} cores, {threads} thread{'s' if threads != 1 else ''}, no GPU"


def versions(*more: str) -> dict[str, str]:
    """Versions of Python and of the packages that the numbers depend on, `more` of them where they are installed."""
    found = {"python": platform.python_version()}
    for package in (*PACKAGES, *more):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool, dict, type(None))) else str(value)


def changed_fields(arguments: Any, defaults: Any) -> dict[str, Any]:
    """The fields of a dataclass instance that differ from those of `defaults`, without the private ones."""
    return {
        item.name: plain(getattr(arguments, item.name))
        for item in dataclasses.fields(arguments)
        if item.name not in PRIVATE_FIELDS
        and getattr(arguments, item.name) != getattr(defaults, item.name)
        and isinstance(plain(getattr(arguments, item.name)), (str, int, float, bool, list, dict))
    }
