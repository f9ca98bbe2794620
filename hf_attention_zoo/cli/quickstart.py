"""`attention-zoo quickstart`: from random weights to a model in a folder, in minutes and on real data.

Trains on an embedded sample with the settings that the architecture's registry row names for it, scores the
untouched test split beside copying the source, writes the folder with its model card, loads it again in a fresh
process, has five held-out sentences translated there and, of models with attention, draws the alignment of one.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.registry import Architecture, get_architecture, list_architectures
from hf_attention_zoo.training.recipes import recipe_for_sample

DEFAULT_SAMPLE = "translation_emoji_names"
DEFAULT_ARCHITECTURE = "rnnsearch"
PICTURE = "alignment.png"
SHOWN = 5


def available() -> str:
    """What there is to start with: samples, and the architectures that have settings for each."""
    from hf_attention_zoo.data.samples import list_samples

    lines = []
    for sample in list_samples():
        able = [row.model_type for row in list_architectures() if recipe_for_sample(row, sample.name)]
        if able:
            marks = " (default)" if sample.name == DEFAULT_SAMPLE else ""
            lines.append(
                f"  --sample {sample.name}{marks}\n      {sample.title}; {sample.sizes['train']:,} {sample.rows_said} in "
                f"{', '.join(sample.languages)}; {sample.licence}\n      architectures: {', '.join(able)}"
            )
    return "\n".join(lines)


def choose_recipe(row: Architecture, sample: str) -> str:
    """The recipe of an architecture for a sample. Raises ValueError that says what there is instead."""
    from hf_attention_zoo.data.samples import get_sample

    get_sample(sample)
    name = recipe_for_sample(row, sample)
    if name is None:
        raise ValueError(
            f"{row.model_type} has no quick settings for {sample}; `attention-zoo quickstart --list` shows what has, "
            f"or train it with `attention-zoo train {row.model_type} --dataset {sample} --output_dir ...`"
        )
    return name


def pick_examples(sources: Sequence[str], count: int = SHOWN) -> list[int]:
    """Indices of sentences spread over the split, the first of them of a length that draws well."""
    step = max(1, len(sources) // count)
    chosen = list(range(step // 2, len(sources), step))[:count]
    return sorted(chosen, key=lambda index: abs(len(sources[index].split()) - 6))


def write_facts(folder: Path, sample: Any, example: str) -> None:
    """What the card cannot know from the run itself: where the data come from and what they are good for."""
    from hf_attention_zoo.training.output_folder import write_json

    facts = {
        "summary": "Trained in minutes by `attention-zoo quickstart` to show every step from text to picture.",
        "data_licence": sample.licence,
        "data_source": sample.source,
        "limits": sample.dataset_card,
        "example": example,
    }
    write_json(folder / "facts.json", facts)


def draw_alignment(row: Architecture, folder: Path, text: str) -> str:
    """Draw the alignment of one sentence; returns the line that says so, or nothing for models without attention."""
    if row.aligner is None:
        return ""
    from hf_attention_zoo.alignment.aligning import align
    from hf_attention_zoo.evaluation.checkpoint_evaluation import load_checkpoint

    model, tokenizer = load_checkpoint(folder)
    (alignment,) = align(model, tokenizer, [text], num_beams=model.generation_config.num_beams or 1)
    alignment.plot(folder / PICTURE)
    return f"  {PICTURE}: which source words each word of {alignment.target_text!r} looked at\n"


def train(row: Architecture, recipe: str, folder: Path, options: argparse.Namespace, command: str) -> None:
    """Train into the folder, or go on where an earlier start stopped; nothing if it is finished."""
    from hf_attention_zoo.training.entry_point import run_training
    from hf_attention_zoo.training.output_folder import FACTS_FILE
    from hf_attention_zoo.training.run_plan import parse_run

    if (folder / FACTS_FILE).is_file() and not options.overwrite_output_dir:
        print(f"{folder} holds the finished training of an earlier start; --overwrite_output_dir trains anew")
        return
    # The bar is wanted although the libraries are silenced, which would turn it off.
    argv = [row.model_type, "--recipe", recipe, "--output_dir", str(folder), "--disable_tqdm", "False"]
    for name in ("source_lang", "target_lang", "seed"):
        if getattr(options, name) is not None:
            argv += [f"--{name}", str(getattr(options, name))]
    if options.overwrite_output_dir:
        argv.append("--overwrite_output_dir")
    plan = parse_run([*argv, *options.training_flags], command=command)
    result = run_training(plan, quiet=True)
    print(f"trained {result.facts['steps']:,} steps in {result.facts['seconds']:.0f} s", end="")
    print(f", validation BLEU {result.metrics['eval_bleu']:.1f}" if "eval_bleu" in result.metrics else "")


def use_one_thread() -> None:
    """One thread, here and in the fresh process, unless OMP_NUM_THREADS says otherwise.

    The products of these small models are too short to share: two threads gain next to nothing on two idle cores, and
    where another program wants a core they wait for each other, up to ten times as long.
    """
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"
        torch.set_num_threads(1)


def build_parser() -> argparse.ArgumentParser:
    """The flags of `attention-zoo quickstart`."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo quickstart",
        description="Train a translator on real data in minutes, score it, save it, use it and draw where it looks.",
        epilog="Further flags are those of `attention-zoo train`, e.g. --num_train_epochs 5.",
    )
    parser.add_argument("--sample", default=DEFAULT_SAMPLE, help="embedded data (default: %(default)s)")
    parser.add_argument("--architecture", default=DEFAULT_ARCHITECTURE, help="default: %(default)s")
    parser.add_argument("--output_dir", "--output-dir", help="default: ./attention-zoo-ARCHITECTURE-SAMPLE")
    parser.add_argument("--source_lang", "--source-lang", help="translate from this language of the sample")
    parser.add_argument("--target_lang", "--target-lang", help="translate into this language of the sample")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--overwrite_output_dir", "--overwrite-output-dir", action="store_true")
    parser.add_argument("--list", action="store_true", help="show the samples and architectures, and end")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the quick start; returns the exit code."""
    options, options.training_flags = build_parser().parse_known_args(argv)
    if options.list:
        print(available())
        return 0
    row = get_architecture(options.architecture)
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
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.data.samples import get_sample
    from hf_attention_zoo.training.output_folder import TrainingStopped, checkpoints

    silence_libraries()
    use_one_thread()
    sample = get_sample(options.sample)
    print(
        f"{row.config_class.__name__.removesuffix('Config')} ({row.authors[0]} et al., {row.year}) on {sample.title}"
    )
    try:
        train(row, recipe, folder, options, command)
    except TrainingStopped as stopped:
        print(f"stopped at step {stopped.step}; `{command}` goes on from there")
        return 130

    import shutil

    from hf_attention_zoo.cli.fresh_process import translate_in_fresh_process
    from hf_attention_zoo.data.loading import load_data
    from hf_attention_zoo.evaluation.checkpoint_evaluation import evaluate_checkpoint, summary
    from hf_attention_zoo.hub.cards import write_card

    for checkpoint in checkpoints(folder):
        shutil.rmtree(checkpoint)
    metrics = evaluate_checkpoint(folder, split="test", command=command)
    print(summary(metrics))

    data = metrics["dataset"]
    test = load_data(
        options.sample,
        source_lang=data["source_lang"],
        target_lang=data["target_lang"],
        max_words=data.get("max_words"),
        splits=["test"],
    )["test"]
    sources, references = list(test["source"]), list(test["target"])
    examples = pick_examples(sources)

    drawn = draw_alignment(row, folder, sources[examples[0]])
    write_facts(folder, sample, sources[examples[0]])
    card = write_card(folder)

    translations = translate_in_fresh_process(folder, [sources[index] for index in examples])
    print(
        "\nreloaded in a fresh process through AutoModelForSeq2SeqLM, AutoTokenizer and pipeline; held-out sentences:"
    )
    for index, text in zip(examples, translations, strict=True):
        print(f"  {sources[index]}\n    -> {text}\n       (reference: {references[index]})")

    size = (folder / "model.safetensors").stat().st_size / 1e6
    print(
        f"\nmade in {time.monotonic() - started:.0f} s, in {folder}/\n"
        f"  model.safetensors ({size:.1f} MB), tokenizer.json, generation_config.json, metrics.json\n"
        f"  {card.name}: the model card\n"
        f"{drawn}\n"
        "use it in Python:\n"
        "  import hf_attention_zoo\n"
        "  from transformers import pipeline\n"
        f"  print(pipeline('translation', model={str(folder)!r})({sources[examples[0]]!r}))"
    )
    return 0
