"""Messages in the words of the command line: where one names an argument of Python, the flag for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

ARGUMENT = re.compile(r"(?<![\w.\-'\"/])([a-z][a-z0-9_]*)=(?=\S)")


def in_flags(message: str, argv: Sequence[str]) -> str:
    """A message with `--batch_size 0` where it has `batch_size=0`, and `--batch_size is` where it has `batch_size is`.

    Args:
        argv: the words of the command line, the command first. What stands among them has the flag as it was written;
            of the commands that train every flag is known, those of sections (`--config.hidden_size`) too.
    """
    flags = dict(_written(argv))
    for name, flag in flags.items():
        if "_" in name:  # nothing else is called so
            message = re.sub(rf"(?<![\w.\-'\"/]){name}(?![\w=])", flag, message)
    named = set(ARGUMENT.findall(message))
    if not named:
        return message
    if argv[:1] and argv[0] in ("train", "pretrain", "evaluate", "average") and not named <= flags.keys():
        flags = {**_of_runs(argv), **flags}
    return ARGUMENT.sub(lambda found: f"{flags[found[1]]} " if found[1] in flags else found[0], message)


def _written(argv: Iterable[str]) -> Mapping[str, str]:
    """Name of an argument -> its flag, of those that stand in a command line."""
    spelt = (word.partition("=")[0] for word in argv if word.startswith("--"))
    return {flag.removeprefix("--").rpartition(".")[2].replace("-", "_"): flag for flag in spelt}


def _of_runs(argv: Sequence[str]) -> dict[str, str]:
    """The same of all flags of the commands that train: the data, the model, and the sections of an architecture."""
    from hf_attention_zoo.registry import list_architectures
    from hf_attention_zoo.tasks.running_text.corpus_arguments import CorpusArguments
    from hf_attention_zoo.training.arguments import DataArguments, ModelArguments, ZooTrainingArguments

    row = next((row for row in list_architectures() if row.model_type in argv), None)
    found: dict[str, str] = {}
    if row is not None and argv[0] in ("train", "pretrain"):
        found |= {name: f"--config.{name}" for name in row.tiny_config().to_dict()}
        tokenizer: Any = row.tokenizer_class  # one of the package's own, which learn
        if tokenizer is not None:
            found |= {name: f"--tokenizer.{name}" for name in _options(tokenizer.train)}
    data = CorpusArguments if argv[0] == "pretrain" else DataArguments
    for part in (ModelArguments, data, ZooTrainingArguments):
        found |= {item.name: f"--{item.name}" for item in fields(part)}
    return found


def _options(train: Callable[..., object]) -> list[str]:
    import inspect

    options = inspect.signature(train).parameters.values()
    return [option.name for option in options if option.kind is option.KEYWORD_ONLY]
