"""`attention-zoo quickstart`: from random weights to a model in a folder, in minutes and on real data.

Trains on an embedded sample with the settings that the architecture's registry row names for it, scores the
untouched test split beside simple baselines, writes the folder with its model card, loads it again in a fresh process,
shows there what it makes of five held-out texts or pictures, and draws where it looked, or what it makes of a text.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.registry import Architecture, get_architecture, list_architectures
from hf_attention_zoo.training.recipes import recipe_for_sample

DEFAULT_SAMPLE = "translation_emoji_names"
DEFAULT_ARCHITECTURE = "rnnsearch"


def quick_recipe(row: Architecture, sample: str) -> str | None:
    """The name of the settings made for the quick start of an architecture on a sample; None if there are none."""
    return recipe_for_sample(row, sample) or recipe_for_sample(row, sample, row.pretraining_recipes)


def available() -> str:
    """What there is to start with: samples, and the architectures that have settings for each."""
    from hf_attention_zoo.data.samples import list_samples

    lines = []
    for sample in list_samples():
        able = [row.model_type for row in list_architectures() if quick_recipe(row, sample.name)]
        if able:
            marks = " (default)" if sample.name == DEFAULT_SAMPLE else ""
            lines.append(
                f"  --sample {sample.name}{marks}\n      {sample.title}; {sample.sizes['train']:,} {sample.rows_said} "
                f"in {', '.join(sample.languages)}; {sample.licence}\n      architectures: {', '.join(able)}"
            )
    return "\n".join(lines)


def default_sample(row: Architecture) -> str:
    """The sample that the quick start takes for an architecture where none is named."""
    from hf_attention_zoo.data.samples import list_samples

    able = [sample.name for sample in list_samples() if quick_recipe(row, sample.name)]
    return able[0] if able and DEFAULT_SAMPLE not in able else DEFAULT_SAMPLE


def choose_recipe(row: Architecture, sample: str) -> str:
    """The recipe of an architecture for a sample. Raises ValueError that says what there is instead."""
    from hf_attention_zoo.data.samples import TextSample, get_sample

    found = get_sample(sample)
    name = quick_recipe(row, sample)
    if name is None:
        command = "pretrain" if isinstance(found, TextSample) and row.pretraining_recipes else "train"
        raise ValueError(
            f"{row.model_type} has no quick settings for {sample}; `attention-zoo quickstart --list` shows what has, "
            f"or train it with `attention-zoo {command} {row.model_type} --dataset {sample} --output_dir ...`"
        )
    return name


def write_facts(folder: Path, sample: Any, example: dict[str, str], picture: str) -> None:
    """What the card cannot know from the run itself: where the data come from and what they are good for."""
    from hf_attention_zoo.folders.written_files import note_files
    from hf_attention_zoo.whole_files import write_json

    facts = {
        "summary": "Trained in minutes by `attention-zoo quickstart` to show every step from text to picture.",
        "data_licence": sample.licence,
        "data_source": sample.source,
        "limits": sample.dataset_card,
        **example,
    }
    write_json(folder / "facts.json", facts)
    note_files(folder, "facts.json", picture)


def train(row: Architecture, recipe: str, folder: Path, options: argparse.Namespace, command: str, task: Any) -> None:
    """Train into the folder, or go on where an earlier start stopped; nothing if it is finished."""
    from hf_attention_zoo.folders.written_files import FACTS_FILE
    from hf_attention_zoo.tasks.train import run_training
    from hf_attention_zoo.whole_files import json_if_any

    if (folder / FACTS_FILE).is_file() and not options.overwrite_output_dir:
        begun = json_if_any(folder / FACTS_FILE).get("command", "")
        if not begun.startswith("attention-zoo quickstart"):
            raise ValueError(
                f"{folder} holds a run of another command ({begun}); choose another --output_dir, or give "
                "--overwrite_output_dir to replace it"
            )
        print(f"{folder} holds the finished training of an earlier start; --overwrite_output_dir trains anew")
        return
    # The bar is wanted although the libraries are silenced, which would turn it off.
    argv = [row.model_type, "--recipe", recipe, "--output_dir", str(folder), "--disable_tqdm", "False"]
    for name in ("source_lang", "target_lang", "seed"):
        if getattr(options, name) is not None:
            argv += [f"--{name}", str(getattr(options, name))]
    if options.overwrite_output_dir:
        argv.append("--overwrite_output_dir")
    plan, own_task = task.plan([*argv, *options.training_flags], command)
    result = run_training(plan, quiet=True, task=own_task)
    print(f"trained {result.facts['steps']:,} steps in {result.facts['seconds']:.0f} s", end="")
    metric, name, factor = task.validation
    value = result.metrics.get(f"eval_{metric}")
    print("" if value is None else f", validation {name} {factor * value:.1f}")


def use_one_thread() -> None:
    """One thread, here and in the fresh process, unless OMP_NUM_THREADS says otherwise.

    The products of these small models are too short to share: two threads gain next to nothing on two idle cores, and
    where another program wants a core they wait for each other, up to ten times as long.
    """
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"
        torch.set_num_threads(1)


def build_parser() -> CommandParser:
    """The flags of `attention-zoo quickstart`."""
    parser = CommandParser(
        "quickstart",
        description="Train a model on real data in minutes, score it, save it, use it and draw where it looks.",
        epilog="Further flags are those of `attention-zoo train`, e.g. --num_train_epochs 5.",
    )
    parser.add_argument("--sample", help=f"embedded data (default: {DEFAULT_SAMPLE}, or what the architecture has)")
    parser.add_argument(
        "--architecture", default=DEFAULT_ARCHITECTURE, help="what is trained; --list shows all (default: %(default)s)"
    )
    parser.add_argument("--output_dir", "--output-dir", help="default: ./attention-zoo-ARCHITECTURE-SAMPLE")
    parser.add_argument("--source_lang", "--source-lang", help="translate from this language of the sample")
    parser.add_argument("--target_lang", "--target-lang", help="translate into this language of the sample")
    parser.add_argument("--seed", type=int, help="of the weights, the order of the rows and dropout")
    parser.add_argument(
        "--overwrite_output_dir",
        "--overwrite-output-dir",
        action="store_true",
        help="train anew where an earlier start has trained",
    )
    parser.add_argument("--list", action="store_true", help="show the samples and architectures, and end")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the quick start; returns the exit code."""
    options, training_flags = build_parser().parse_known_args(argv)
    options.training_flags = training_flags
    if options.list:
        print(available())
        return 0
    row = get_architecture(options.architecture)
    options.sample = options.sample or default_sample(row)
    recipe = choose_recipe(row, options.sample)
    folder = Path(
        options.output_dir or f"attention-zoo-{row.model_type}-{options.sample.removeprefix('translation_')}"
    )
    command = " ".join(["attention-zoo quickstart", *map(shlex.quote, argv)])
    started = time.monotonic()
    try:
        return _run(row, recipe, folder, options, command, started)
    except KeyboardInterrupt:
        print(f"\nstopped; `{command}` goes on from the last checkpoint", file=sys.stderr)
        return 130


def _run(
    row: Architecture, recipe: str, folder: Path, options: argparse.Namespace, command: str, started: float
) -> int:
    from hf_attention_zoo.cli.quickstart_tasks import quick_task
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.data.samples import get_sample
    from hf_attention_zoo.training.checkpoints import checkpoints, remove_checkpoint
    from hf_attention_zoo.training.output_folder import TrainingStopped

    silence_libraries()
    use_one_thread()
    sample = get_sample(options.sample)
    task = quick_task(sample, row)
    print(f"{row.config_class.__name__.removesuffix('Config')} ({row.lead}, {row.year}) on {sample.title}")
    try:
        train(row, recipe, folder, options, command, task)
    except TrainingStopped as stopped:
        print(f"stopped at step {stopped.step}; `{command}` goes on from there")
        return 130

    from hf_attention_zoo.cli.fresh_process import answer_in_fresh_process
    from hf_attention_zoo.folders.saved_model import saved_auto_class
    from hf_attention_zoo.hub.cards import write_card

    for checkpoint in checkpoints(folder):
        remove_checkpoint(checkpoint)
    metrics, said = task.evaluate(folder, command)
    print(said)

    examples = task.examples(folder, metrics)
    picture, shown = task.draw(folder, examples)
    write_facts(folder, sample, task.facts(examples[0]), picture)
    card = write_card(folder, run=True)

    answers = answer_in_fresh_process(folder, [example.given for example in examples], task.answering)
    print(f"\nreloaded in a fresh process through {saved_auto_class(folder)}; {task.chosen}:")
    for example, answer in zip(examples, answers, strict=True):
        print(f"  {example.said}\n    -> {answer}\n       (reference: {example.reference})")

    size = (folder / "model.safetensors").stat().st_size / 1e6
    usage = "\n".join(f"  {line}" for line in task.usage(folder, examples[0]))
    print(
        f"\nmade in {time.monotonic() - started:.0f} s, in {folder}/\n"
        f"  model.safetensors ({size:.1f} MB), config, tokenizer, metrics.json\n"
        f"  {card.name}: the model card\n"
        f"  {picture}: {shown}\n\n"
        f"the score in its place: {sample.dataset_card}\n\n"
        f"use it in Python:\n{usage}"
    )
    return 0
