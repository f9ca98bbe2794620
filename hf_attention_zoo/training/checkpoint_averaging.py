"""The mean of the weights of the last checkpoints of a run (Vaswani et al. 2017, section 6.1: 5 for the base model,
20 for the big one): as a Trainer callback, and as `attention-zoo average RUN OUT --last N`.

The mean is taken tensor by tensor in float64, so the memory needed is that of one tensor, not of N models. Tensors
that are no weights (integers) must be equal in all checkpoints.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from transformers import TrainerCallback
from transformers.utils import logging

from hf_attention_zoo.folders.privacy import PLACES, path_of_place, place_from
from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.near_names import did_you_mean_folder
from hf_attention_zoo.training.checkpoints import examined_checkpoints, whole_checkpoints
from hf_attention_zoo.whole_files import checksum, json_if_any, whole_folder, write_json

logger = logging.get_logger(__name__)

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
# Entries of training.json that speak of the weights before they were averaged.
_OF_THE_LAST_WEIGHTS = ("validation", "best_validation")


def last_checkpoints(run: str | Path, last: int) -> list[Path]:
    """The newest `last` whole checkpoints of a run, oldest first.

    Raises:
        ValueError: there are fewer, or none, or `last` is below 1.
    """
    return _chosen(Path(run), last)[0]


def _chosen(run: Path, last: int) -> tuple[list[Path], list[str]]:
    """As `last_checkpoints`, and what is wrong with each damaged checkpoint among them."""
    if last < 1:
        raise ValueError(f"last={last}; at least 1 checkpoint is averaged")
    if not run.is_dir():
        meant = did_you_mean_folder(run)
        raise ValueError(f"{run} is not a folder{meant}; give the output folder of a training run")
    found = examined_checkpoints(run)
    if not found:
        raise ValueError(
            f"{run} holds no checkpoint-STEP folder; give the output folder of a training run that saved checkpoints"
        )
    whole = [path for path, wrong in found.items() if wrong is None]
    damaged = {path: f"{path.name}: {wrong}" for path, wrong in found.items() if wrong is not None}
    if len(whole) < last:
        ways = [f"average at most {len(whole)}"] if whole else []
        if not damaged:
            ways.append(f"train with save_total_limit={last} or more, and for so long that {last} are saved")
        damages = f" ({'; '.join(damaged.values())})" if damaged else ""
        raise ValueError(
            f"{run} holds {len(whole)} complete checkpoints (checkpoint-STEP) of the {last} that were asked for"
            f"{damages}; {', or '.join(ways) or 'train again'}"
        )
    first = step_of(whole[-last])
    return whole[-last:], [said for path, said in damaged.items() if step_of(path) > first]


def average_weights(folders: Sequence[str | Path]) -> dict[str, Tensor]:
    """The mean of each tensor over the checkpoints, in the tensor's own precision.

    Raises:
        ValueError: no folders, a folder without readable safetensors weights, or checkpoints of different models.
    """
    if not folders:
        raise ValueError("no checkpoints to average; name at least one folder")
    with ExitStack() as stack:
        opened = [_Weights(Path(folder), stack) for folder in folders]
        for other in opened[1:]:
            if other.shapes != opened[0].shapes:
                different = sorted(set(other.shapes.items()) ^ set(opened[0].shapes.items()))
                raise ValueError(
                    f"{opened[0].folder} and {other.folder} are not of one model: they differ in "
                    f"{different[0][0]} {list(different[0][1])}; average checkpoints of one run"
                )
        return {name: _mean(name, [weights.tensor(name) for weights in opened]) for name in opened[0].shapes}


class _Weights:
    """The safetensors of one folder, whole or in parts, read one tensor at a time."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._part_of: dict[str, Any] = {}
        for file in _weight_files(folder):
            try:
                part = stack.enter_context(safe_open(file, framework="pt"))
            except SafetensorError as error:
                raise ValueError(f"{file} cannot be read ({error}); it was not written to its end") from error
            self._part_of.update(dict.fromkeys(part.keys(), part))
        self.shapes = {name: tuple(self._part_of[name].get_slice(name).get_shape()) for name in sorted(self._part_of)}

    def tensor(self, name: str) -> Tensor:
        return self._part_of[name].get_tensor(name)


def _weight_files(folder: Path) -> Iterator[Path]:
    if (folder / INDEX).is_file():
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        yield from (folder / name for name in sorted(set(content["weight_map"].values())))
    elif (folder / WEIGHTS).is_file():
        yield folder / WEIGHTS
    else:
        raise ValueError(f"{folder} has no {WEIGHTS}; only checkpoints with safetensors weights are averaged")


def _mean(name: str, tensors: list[Tensor]) -> Tensor:
    first = tensors[0]
    if not first.is_floating_point():
        if not all(torch.equal(first, other) for other in tensors[1:]):
            raise ValueError(
                f"{name} holds {first.dtype} numbers that differ between the checkpoints: no mean of them"
            )
        return first
    total = torch.zeros_like(first, dtype=torch.float64)
    for tensor in tensors:
        total += tensor
    return (total / len(tensors)).to(first.dtype)


def load_average(model: nn.Module, folders: Sequence[str | Path]) -> None:
    """Put the mean of the checkpoints into a model of the same sizes.

    Raises:
        ValueError: see `average_weights`; or the checkpoints do not fit the model.
    """
    missing, unexpected = model.load_state_dict(average_weights(folders), strict=False)
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    lost = sorted({*unexpected, *(set(missing) - tied)})
    if lost:
        raise ValueError(f"the checkpoints do not fit the model: {', '.join(lost[:5])} stand in one of them only")


class AverageLastCheckpoints(TrainerCallback):
    """At the end of training, puts the mean of the last N checkpoints of the run into the model.

    With fewer checkpoints, all of them count and a warning says so. `steps` then lists those that went in.
    """

    def __init__(self, last: int) -> None:
        if last < 1:
            raise ValueError(f"last={last}; at least 1 checkpoint is averaged")
        self.last = last
        self.steps: list[int] = []

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        whole = whole_checkpoints(args.output_dir)
        if not whole:
            raise ValueError(f"{args.output_dir} holds no complete checkpoint to average; check save_strategy")
        if len(whole) < self.last:
            logger.warning(f"averaging {len(whole)} checkpoints, not {self.last}: the run saved no more")
        chosen = whole[-self.last :]
        load_average(kwargs["model"], chosen)
        self.steps = [step_of(path) for path in chosen]


def step_of(checkpoint: Path) -> int:
    """The step that a checkpoint was written after."""
    return int(checkpoint.name.rpartition("-")[2])


def write_average(run: str | Path, out: str | Path, last: int) -> Path:
    """Write a model folder with the mean of the last checkpoints of a run; returns it.

    Config, generation settings and tokenizer are those of the newest checkpoint. training.json of a finished run comes
    along without the validation scores, which were those of other weights (`attention-zoo evaluate` makes new ones);
    its command goes on with the averaging.

    Raises:
        ValueError: too few checkpoints, or `out` is not an empty or new folder, or one of a run's checkpoints.
    """
    from safetensors.torch import save_file

    from hf_attention_zoo.folders.checkpoint_folder import copy_files, new_folder, published_files

    (chosen, damaged), target = _chosen(Path(run), last), new_folder(out)
    if target.name.startswith("checkpoint-") or any(path.resolve() in target.resolve().parents for path in chosen):
        raise ValueError(f"{out} is where a run has its checkpoints; choose another name")
    for said in damaged:
        logger.warning(f"passed over {said}")
    weights = average_weights(chosen)
    others = (name for name in published_files(chosen[-1]) if name.suffix != ".safetensors" and name.name != INDEX)
    with whole_folder(target) as folder:
        copy_files(chosen[-1], folder, others)
        save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
        facts = averaged_facts(Path(run), target, chosen)
        if facts:
            facts["files"] = {path.name: checksum(path) for path in sorted(folder.iterdir()) if path.is_file()}
            write_json(folder / FACTS_FILE, facts)
        else:
            logger.warning(
                f"{run} has no {FACTS_FILE}, which a run writes when it ends: {out} does not say either what it was "
                "trained on, so name the data set where it is evaluated"
            )
    return target


def averaged_facts(run: Path, target: Path, chosen: list[Path]) -> dict[str, Any]:
    """What training.json of a run says that is true of the mean of its checkpoints, too; empty if it has none."""
    facts = json_if_any(run / FACTS_FILE)
    if not facts:
        return {}
    kept = {name: value for name, value in facts.items() if name not in _OF_THE_LAST_WEIGHTS}
    ways = {name: place_from(target, path_of_place(run, way)) for name, way in kept.pop(PLACES, {}).items()}
    kept[PLACES] = {name: way for name, way in ways.items() if way is not None}
    if kept.get("command"):
        names = (path.resolve().name for path in (run, target))
        kept["command"] += f" && {shlex.join(['attention-zoo', 'average', *names, '--last', str(len(chosen))])}"
    kept["averaged_checkpoints"] = [step_of(path) for path in chosen]
    return kept
