"""One training run from a plan to a finished folder.

The folder holds model.safetensors, config, generation settings and tokenizer, ready for `from_pretrained`, and
training.json with what was done. A run that is killed goes on from its last checkpoint when it is started again, and
computes the losses it would have computed.
"""

import inspect
import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoTokenizer, set_seed
from transformers.trainer_callback import PrinterCallback, ProgressCallback, TrainerCallback

from hf_attention_zoo.data.long_rows import said_of_long_rows
from hf_attention_zoo.folders.privacy import PLACES, public_command, public_facts
from hf_attention_zoo.folders.run_facts import changed_fields, describe_hardware, versions
from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.callbacks import PatienceOverParts, QuietProgress, StopOnRequest
from hf_attention_zoo.training.checkpoints import ARGUMENTS
from hf_attention_zoo.training.choosing_metric import settle_metric
from hf_attention_zoo.training.given_model import check_plan, check_tokenizer, check_vocabulary, load_given
from hf_attention_zoo.training.output_folder import (
    FINAL_FOLDER,
    STARTING_FOLDER,
    RunInFolder,
    TrainingStopped,
    places_of,
)
from hf_attention_zoo.training.resuming import check_weights_fit, own_folder, start_of, write_errors_said
from hf_attention_zoo.training.run_plan import RunPlan
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask
from hf_attention_zoo.training.trackers import check_trackers
from hf_attention_zoo.training.zoo_trainer import ZooTrainer


@dataclass
class TrainingResult:
    """What a run produced: the folder, the validation numbers and the facts written to training.json."""

    output_dir: Path
    metrics: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    log_history: list[dict[str, Any]] = field(default_factory=list)


def run_task(
    plan: RunPlan,
    task: TrainingTask,
    *,
    quiet: bool = False,
    say: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
) -> TrainingResult:
    """Train what the plan says and fill its output folder.

    Args:
        plan: see `parse_run`.
        task: what is trained.
        quiet: a progress bar with the newest numbers beside it instead of a line per log.
        say: where one-line messages go (main process only).
        callbacks: more callbacks for the Trainer.

    Raises:
        ValueError: wrong arguments or data, before any work is lost.
        TrainingStopped: Ctrl-C or SIGTERM came; a checkpoint was saved.
    """
    args, row = plan.training, get_architecture(plan.architecture)
    tell = say if args.process_index == 0 else lambda text: None
    if args.push_to_hub:
        raise ValueError(
            "--push_to_hub would send the folder while it is written, with what only this machine should know; leave "
            f"it out and send the finished folder with `attention-zoo publish {args.output_dir} OWNER/NAME`, which "
            "searches it first"
        )
    check_trackers([args.report_to] if isinstance(args.report_to, str) else args.report_to or ())
    check_plan(plan, row)
    folder = plan.folder
    with write_errors_said(folder), own_folder(plan) as contents:
        # Everything that can be wrong with arguments and data shows before anything in the folder is touched.
        train_rows, validation_rows = task.load()
        for name, rows in (("training", train_rows), ("validation", validation_rows)):
            said = said_of_long_rows(rows, name)
            if said is not None:
                tell(said)
        if plan.parted is not None:
            parts = ", ".join(f"{rows:,} for {split}" for split, rows in plan.parted.items())
            tell(f"the data have no splits, so they are parted by a fixed rule: {parts}")
        if validation_rows is not None:
            settle_metric(args, task.measures(validation_rows), named="metric_for_best_model" in plan.named)
        start = start_of(plan, train_rows, validation_rows)
        for text in start.said:
            tell(text)
        with args.main_process_first(desc="tokenizer"):
            tokenizer = get_tokenizer(task, train_rows, folder / STARTING_FOLDER, resume=start.checkpoint)
        check_tokenizer(plan, tokenizer)
        set_seed(args.seed)
        model = get_model(task, tokenizer)
        task.prepare_model(model, tokenizer, train_rows)
        check_vocabulary(task, model, tokenizer)
        if start.changed_now and start.checkpoint is not None:
            check_weights_fit(model, start.checkpoint)
        with args.main_process_first(desc="encoding the texts"):
            data = task.encode(train_rows, validation_rows, tokenizer)
        stop = StopOnRequest()
        extra = [stop, *callbacks]
        if args.early_stopping_patience is not None:
            extra.append(PatienceOverParts(args.early_stopping_patience, args.early_stopping_threshold))
        trainer = task.trainer(model, data, tokenizer, extra)
        if data.dropped:  # of captions it is known now
            tell(f"left out {data.dropped:,} {task.rows_said} with too many tokens")
        if quiet:
            trainer.remove_callback(PrinterCallback)
            trainer.remove_callback(ProgressCallback)
            if not args.disable_tqdm:
                trainer.add_callback(QuietProgress())
        trainer.record = {"fingerprint": start.fingerprint, "changes": start.changes}
        trainer.changed_settings, trainer.keeps_beaten = start.changed_now, True

        run = RunInFolder(folder, {**trainer.record, "command": public_command(plan.command)})
        if args.process_index == 0:
            shutil.rmtree(folder / STARTING_FOLDER, ignore_errors=True)
            run.begin(contents, start.checkpoint)
        if start.checkpoint is not None:
            tell(f"going on from {start.checkpoint}")
        try:
            with _stops_gracefully(stop, tell, enabled=args.world_size == 1):
                trainer.train(resume_from_checkpoint=None if start.checkpoint is None else str(start.checkpoint))
            if stop.stopped_at is not None:
                raise TrainingStopped(stop.stopped_at, str(folder))
            metrics = trainer.evaluate() if data.validation is not None else {}
            _save(trainer, run)
        except BaseException:
            if args.process_index == 0 and not run.has_something(start.checkpoint):
                run.give_back()
            raise
        facts = _facts(task, data, trainer, metrics)
        if start.changes:
            facts["changes"] = start.changes
        if args.process_index == 0:
            known = {name: value for name, value in facts.items() if value is not None}
            run.finish({**public_facts(known), PLACES: places_of(plan.data, folder)})
            trainer.delete_beaten()
            task.finished()
    return TrainingResult(folder, metrics, facts, trainer.state.log_history)


def _facts(task: TrainingTask, data: EncodedData, trainer: ZooTrainer, metrics: dict[str, float]) -> dict[str, Any]:
    """What training.json says."""
    plan, args, row = task.plan, task.plan.training, task.row
    return {
        "command": plan.command,
        "architecture": row.model_type,
        "task": plan.model.task,
        "recipe": plan.model.recipe,
        "base_model": named_model(plan.model.model),
        "dataset": plan.data.dataset or plan.data.train_file,
        "parted": plan.parted,
        "seed": args.seed,
        "epochs": round(trainer.state.epoch or 0.0, 3),
        "steps": trainer.state.global_step,
        **task.facts(data, trainer.state.epoch or 0.0),
        "parameters": trainer.accelerator.unwrap_model(trainer.model).num_parameters(),
        "seconds": round(trainer.training_seconds, 1),
        "hardware": describe_hardware(),
        "processes": args.world_size,
        "versions": versions(),
        "arguments": {
            **changed_fields(args, ZooTrainingArguments(output_dir=args.output_dir)),
            **changed_fields(plan.data, type(plan.data)()),
        },
        "config": plan.config,
        "tokenizer": plan.tokenizer,
        "validation": {name.removeprefix("eval_"): value for name, value in metrics.items()},
        "best_validation": trainer.state.best_metric,
        "averaged_checkpoints": trainer.averaging.steps if trainer.averaging is not None else None,
    }


def named_model(given: str | None) -> str | None:
    """The model that a run goes on from: a Hub id as it is, a folder by its name alone."""
    return Path(given).resolve().name if given is not None and Path(given).is_dir() else given


def get_tokenizer(task: TrainingTask, rows: Any, place: Path, *, resume: Path | None) -> Any:
    """The tokenizer of the run: that of the checkpoint which it goes on from, the one named, or a new one.

    The main process saves it in `place`, where the others find it.
    """
    plan = task.plan
    if resume is not None:
        with loading(resume):
            return AutoTokenizer.from_pretrained(resume)
    if plan.training.process_index > 0:
        return AutoTokenizer.from_pretrained(place)
    named = plan.model.tokenizer or plan.model.model
    if named is not None:
        with loading(named):
            tokenizer = AutoTokenizer.from_pretrained(named)
    else:
        try:
            tokenizer = task.train_tokenizer(rows)
        except TypeError as error:
            wrong = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            taken = inspect.signature(getattr(task.row.tokenizer_class, "train", task.train_tokenizer)).parameters
            meant = did_you_mean(wrong[1], taken) if wrong else ""
            raise ValueError(f"tokenizer settings: {error}{meant}") from None
    task.prepare_tokenizer(tokenizer)
    # Read back what was saved: a continued run gets its tokenizer from there, too.
    shutil.rmtree(place, ignore_errors=True)
    tokenizer.save_pretrained(place)
    return AutoTokenizer.from_pretrained(place)


def get_model(task: TrainingTask, tokenizer: Any) -> Any:
    """A model with random weights in the sizes of the plan, tokenizer and data, or the one named."""
    plan, row = task.plan, task.row
    if plan.model.model is not None:
        return load_given(task)
    given = task.config_fields(tokenizer)
    for name in given.keys() & plan.config.keys():
        if type(plan.config[name]) is not type(given[name]):
            raise ValueError(
                f"--config.{name} is {plan.config[name]!r}, and the tokenizer or the data make it {given[name]!r}; "
                "leave it out"
            )
    model_class = row.model_classes[task.auto_class]
    try:
        config = row.config_class(**{**plan.config, **given})
        check_size(model_class, config)
    except (StrictDataclassError, TypeError, AttributeError) as error:
        if not plan.config:
            raise
        raise ValueError(f"--config: no model has these settings ({' '.join(str(error).split())})") from error
    return model_class(config)


def check_size(model_class: type[Any], config: Any) -> None:
    """Raise a ValueError if the weights alone of a model would not fit into this machine's memory."""
    try:
        with torch.device("meta"):
            weights = sum(
                parameter.numel() * parameter.element_size() for parameter in model_class(config).parameters()
            )
    except (RuntimeError, OverflowError) as error:
        if "overflow" not in str(error).lower():
            raise
        raise ValueError(f"no machine holds a model of these sizes ({error}); make --config.* smaller") from error
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None
    if there is not None and weights > there:
        raise ValueError(
            f"the weights of this model take {weights / 2**30:,.1f} GiB and the machine has {there / 2**30:,.1f} GiB; "
            "make --config.* smaller"
        )


@contextmanager
def _stops_gracefully(stop: StopOnRequest, tell: Callable[[str], None], enabled: bool) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into a request to save and stop; the second one ends at once."""
    if not enabled or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        tell("\nstopping after this step and saving (once more to stop at once) ...")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _save(trainer: ZooTrainer, run: RunInFolder) -> None:
    """The final model and tokenizer, without the pickled arguments (training.json has them).

    They are written beside their places and moved there when all are whole.
    """
    made = run.folder / FINAL_FOLDER
    if trainer.args.should_save:
        shutil.rmtree(made, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    if trainer.is_fsdp_enabled:
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(made), _internal_call=True)
    if trainer.args.should_save:
        (made / ARGUMENTS).unlink(missing_ok=True)
        run.place_final(made)


def run_and_report(plan: RunPlan, task: TrainingTask) -> int:
    """Train, print the validation numbers that the task shows and where the model is. Returns the exit code."""
    try:
        result = run_task(plan, task)
    except TrainingStopped as stopped:
        print(stopped)
        return 130
    if plan.training.process_index == 0:
        for name in task.shown:
            if f"eval_{name}" in result.metrics:
                print(f"validation {name}: {result.metrics[f'eval_{name}']:.4f}")
        print(f"saved in {result.output_dir}")
    return 0
