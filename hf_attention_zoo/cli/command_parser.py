"""How sub-commands read their flags and look at the folder that they are given.

A command that works on a model's folder is in `SERVED`, with the models that it is for. The folder's config.json tells
what it holds; another kind of model is refused in one line that names the commands that are for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hf_attention_zoo.flags import FlagParser

if TYPE_CHECKING:
    from hf_attention_zoo.folders.saved_model import SavedKind


@dataclass(frozen=True)
class Served:
    """What a command is for.

    Attributes:
        models: those models, in words.
        fits: whether a model is one of them, as far as its config tells.
        advised: whether the command is named where another one does not fit.
    """

    models: str
    fits: Callable[[SavedKind], bool]
    advised: bool = True


def _translates(kind: SavedKind) -> bool:
    return kind.auto_class == "AutoModelForSeq2SeqLM"


def _attends(kind: SavedKind) -> bool:
    return kind.row is not None and kind.row.aligner is not None


def _reads_with(name: str) -> Callable[[SavedKind], bool]:
    return lambda kind: kind.row is not None and (kind.row.tokenizer or "").endswith(f":{name}")


_averages = _reads_with("HashedNGramTokenizer")


# In the order in which they are advised.
SERVED: dict[str, Served] = {
    "align": Served("models that attend to what they read", _attends),
    "sentence-vectors": Served(
        "models that make one vector of a text",
        lambda kind: (_translates(kind) and kind.row is not None and not _attends(kind)) or _averages(kind),
    ),
    "word-weights": Served("hierarchical classifiers", _reads_with("HierarchicalTokenizer")),
    "neighbours": Served("models with a vector for each word in its context", _reads_with("WordCharacterTokenizer")),
    "translate": Served("translators", _translates),
    "score": Served("translators", _translates),
    "links": Served("translators that attend", lambda kind: _translates(kind) and (_attends(kind) or not kind.row)),
    "parse": Served("translators that write trees", _translates, advised=False),
    "evaluate": Served("models that do a task", lambda kind: kind.auto_class != "AutoModel"),
}


def check_served(command: str, folder: str) -> None:
    """Raise a ValueError if a command is not for the model of a folder or Hub id, or there is no model.

    The message names the commands that are.
    """
    from hf_attention_zoo.folders.saved_model import saved_kind

    kind = saved_kind(folder)
    served = SERVED[command]
    if served.fits(kind):
        return
    others = [name for name, other in SERVED.items() if other.advised and other.fits(kind)]
    advice = f"; for it there is attention-zoo {said(others)}" if others else ""
    held = f"{folder} holds {kind.model_type} for {_task_of(kind)}"
    raise ValueError(f"attention-zoo {command} is for {served.models}; {held}{advice}")


def _task_of(kind: SavedKind) -> str:
    from hf_attention_zoo.tasks.table import TASKS

    return next((task.name for task in TASKS if kind.auto_class in task.auto_classes), kind.auto_class)


def said(names: Sequence[str]) -> str:
    """Names with commas, and "or" before the last."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class CommandParser(FlagParser):
    """The parser of a sub-command, which looks at the folder that it is given.

    Args:
        command: name of the sub-command.
        options: for `argparse.ArgumentParser`.
    """

    def __init__(self, command: str, **options: Any) -> None:
        self.command = command
        super().__init__(prog=f"attention-zoo {command}", **options)

    # argparse has overloads, for namespaces of any class
    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The options. Raises ValueError for anything wrong, such as a folder that the command is not for."""
        options = super().parse_args(args, namespace)
        if self.command in SERVED:
            check_served(self.command, options.folder)
        return options
