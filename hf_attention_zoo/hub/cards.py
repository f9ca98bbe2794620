"""The model card of a checkpoint folder, generated from what the folder itself records.

Read are `config.json`, the weight file's header, `metrics.json` (written by the evaluation), `training.json` (written
by the training), `judged.json` (held-out rows that the model gets right and wrong), `example.json` (what the example
printed), `facts.json` (by hand: what no program can know) and the architecture's registry row. A section whose facts
are missing is left out; nothing is filled in. Numbers of the paper stand apart from the checkpoint's and say so.

`facts.json`, every key optional:

    title          heading of the card
    summary        one sentence more about the checkpoint
    task           pipeline tag, where the model class does not settle it
    languages      list of language codes
    licence        licence of the weights, as the Hub writes it ("apache-2.0", "mpl-2.0", ...)
    data_licence   licence of the training data
    data_source    where the training data come from
    datasets       list of ids of Hub data sets for the metadata; default: the data set of the evaluation, if it is
                   one; an empty list where that only looks like an id
    base_model     the model that this one was fine-tuned from, a Hub id or the name of a folder beside this one;
                   default: what the training went on from (--model)
    example        an input text for the usage lines, where no held-out row is right (`judged.json`)
    example_pair   the second text of the example, for models that read pairs
    example_answer what the data give as the example's label, caption or translation; stands under the picture of it
    intended_use   a text or a list of texts
    limits         a text or a list of texts
    nearest        words with their nearest ones, a line each; stand under the picture of vectors of words
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard

from hf_attention_zoo.folders.card_text import (
    listed,
    number,
    one_line,
    quoted,
    settings,
    size_in_bytes,
    table,
)
from hf_attention_zoo.folders.checkpoint_folder import require_folder
from hf_attention_zoo.folders.written_files import note_files
from hf_attention_zoo.hub.card_example import EXAMPLE_FILE, recorded_example, run_example, widget_output
from hf_attention_zoo.hub.card_pictures import ALIGNMENT_FILE, picture
from hf_attention_zoo.hub.card_results import limits, results
from hf_attention_zoo.hub.card_training import training
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint, dataset_name
from hf_attention_zoo.hub.judged_examples import JUDGED_FILE, right_and_wrong
from hf_attention_zoo.hub.language_codes import language_name
from hf_attention_zoo.whole_files import whole_file

EXAMPLES = {
    "de": "Klicken Sie auf die Schaltfläche.",
    "en": "Click the button.",
    "fr": "Cliquez sur le bouton.",
    "ko": "단추를 누르십시오.",
}
"""An input for the usage lines when the facts name none."""


def build_card(folder: str | os.PathLike[str], *, name: str | None = None) -> str:
    """The whole README.md as text.

    `name` is what a user passes to `from_pretrained`: a Hub id, or by default the folder's own name. Raises ValueError
    for a folder that is no checkpoint of a known architecture, and for facts or metrics that are wrong.
    """
    checkpoint = Checkpoint(require_folder(folder), name)
    with records_as_written(checkpoint.folder / "training.json"):
        trained = training(checkpoint)
    with records_as_written(checkpoint.folder / JUDGED_FILE):
        judged = right_and_wrong(checkpoint.judged, checkpoint.card.right)
    with records_as_written(checkpoint.folder / "metrics.json"):
        parts = [
            f"# {checkpoint.title}",
            describe(checkpoint),
            usage(checkpoint),
            results(checkpoint),
            *(section(checkpoint.metrics, checkpoint.card) for section in checkpoint.card.sections),
            picture(checkpoint),
            judged,
            trained,
            paper(checkpoint),
            listed("Intended use", checkpoint.facts.get("intended_use")),
            limits(checkpoint),
            licence(checkpoint),
        ]
        metadata = checkpoint.metadata(widget(checkpoint))
    text = f"---\n{metadata.to_yaml()}\n---\n\n" + "\n\n".join(part for part in parts if part) + "\n"
    read_back = ModelCard(text).data  # what the Hub will read must be what was meant
    if read_back.to_dict() != metadata.to_dict():
        raise ValueError(f"{checkpoint.folder}: the card's metadata do not survive YAML: {metadata.to_dict()}")
    return text


@contextmanager
def records_as_written(path: Path) -> Iterator[None]:
    """Raise a ValueError that names a record whose entries are not what training or evaluation write."""
    try:
        yield
    except (TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        said = str(error) or type(error).__name__
        raise ValueError(
            f"{path} holds an entry of another kind than is written there ({said}); write it again or delete it"
        ) from error


def write_card(folder: str | os.PathLike[str], *, name: str | None = None, run: bool = False) -> Path:
    """Writes README.md into the folder, in place of any earlier one, and returns its path.

    Args:
        run: run the lines of the example, whose output the card then shows (`example.json`); without it the output of
            the last time is shown, if the lines are still the same.

    Raises:
        ValueError: as `build_card`, or the example does not run.
    """
    checkpoint = Checkpoint(require_folder(folder))
    if run and example_input(checkpoint) is not None:
        run_example(Path(folder), example_code(checkpoint, checkpoint.name))
        note_files(Path(folder), EXAMPLE_FILE)
    text = build_card(folder, name=name)
    path = Path(folder) / "README.md"
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    note_files(path.parent, path.name)
    return path


def generated_name(folder: str | os.PathLike[str]) -> str | None:
    """The `name` that the folder's README.md was generated with; None if there is none or a person has changed it."""
    path = Path(folder) / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = re.search(r'from_pretrained\("([^"]+)"', text)
    return found[1] if found and build_card(folder, name=found[1]) == text else None


def describe(checkpoint: Checkpoint) -> str:
    """What the checkpoint is, in two sentences."""
    source, target = checkpoint.direction
    purpose = checkpoint.wording.purpose
    if source and target:
        purpose += f" {language_name(source)} into {language_name(target)}"
    first = f"{checkpoint.architecture} ({checkpoint.citation}) as a transformers model that {purpose}"
    if checkpoint.training.get("dataset"):
        first += f", trained on {dataset_name(str(checkpoint.training['dataset']))}"
    sentences = [f"{first}."]
    details = []
    if checkpoint.weights:
        parameters, size, types = checkpoint.weights
        details.append(f"{parameters:,} parameters ({size_in_bytes(size)} of {types} weights)")
    source_size, target_size = checkpoint.config.get("vocab_size"), checkpoint.config.get("decoder_vocab_size")
    if source_size and target_size:
        details.append(f"vocabularies of {source_size:,} source and {target_size:,} target entries")
    elif source_size:
        details.append(f"a vocabulary of {source_size:,} entries")
    if details:
        sentences.append(f"It has {' and '.join(details)}.")
    if checkpoint.facts.get("summary"):
        sentences.append(one_line(checkpoint.facts["summary"]))
    return " ".join(sentences)


def usage(checkpoint: Checkpoint) -> str:
    """Installation and the lines of Python that use the checkpoint."""
    name, wording = quoted(checkpoint.name), checkpoint.wording
    reader = wording.reader.removeprefix("Auto").lower()
    text = example_input(checkpoint) or 'input("text: ")'
    lines = [
        "## How to use it",
        "",
        "With `hf_attention_zoo` installed (in a copy of its source: `pip install .`):",
        "",
        "```python",
        example_code(checkpoint, checkpoint.name),
        "```",
        "",
    ]
    printed = recorded_example(checkpoint.folder, example_code(checkpoint, checkpoint.folder.resolve().name))
    if printed is not None:
        lines += ["It prints, with numbers cut to four digits:", "", "```text", printed, "```", ""]
    longest = longest_text(checkpoint)
    lines += [longest, ""] if longest else []
    if "/" not in checkpoint.name:
        lines += [f"Here {name} is this folder, seen from the one above it.", ""]
    lines += [
        "The same through the Auto classes"
        + (", with the attention as a picture:" if has_alignment(checkpoint) else ":"),
        "",
        "```python",
        f"model = {checkpoint.auto_class}.from_pretrained({name})",
        f"{reader} = {wording.reader}.from_pretrained({name})",
    ]
    if has_alignment(checkpoint):
        decoding = {"num_beams": 5, **((checkpoint.metrics or {}).get("decoding") or {})}
        options = wording.align_options.format(**decoding)
        lines.append(f"(alignment,) = hf_attention_zoo.align(model, {reader}, [{text}]{options})")
        lines.append(f'alignment.plot("{ALIGNMENT_FILE}")')
    lines.append("```")
    targets = ", ".join(f'"{name}"' for name in checkpoint.row.adapter_targets)
    lines += ["", f"Adapters (LoRA of PEFT) go on these layers: `LoraConfig(target_modules=[{targets}])`."]
    if "auto_map" in checkpoint.config:
        lines += [
            "",
            "This copy carries its code. Where `hf_attention_zoo` is not installed, pass `trust_remote_code=True` to "
            "each `from_pretrained`; that runs the Python files of this repository, so look at them first.",
        ]
    return "\n".join(lines)


def longest_text(checkpoint: Checkpoint) -> str:
    """How many tokens a text may have, and what to do with a longer one; nothing where there is no limit."""
    config = checkpoint.config
    limit = config.get("max_position_embeddings")
    if isinstance(limit, int):
        longer = checkpoint.wording.longer.format(limit=limit, part=max(limit // 4, 1))
        return (
            f"A text may have {limit:,} tokens, those that the tokenizer adds among them: the model has no more "
            f"positions. {longer}"
        )
    if config.get("model_type") == "luong" and config.get("attention_score") == "location":
        return (
            f"The first {config['location_max_length']:,} tokens of a text are attended to: the score by location has "
            "no more rows. What stands behind them is read, but never looked at; translate a long text in parts."
        )
    return ""


def example_input(checkpoint: Checkpoint) -> str | None:
    """The example as Python: a text, or both texts of a pair; None if there is none."""
    example, pair, _ = checkpoint.example or (EXAMPLES.get(checkpoint.direction[0] or ""), None, None)
    if not example:
        return None
    return f'{{"text": {quoted(example)}, "text_pair": {quoted(pair)}}}' if pair else quoted(example)


def example_code(checkpoint: Checkpoint, name: str) -> str:
    """The first lines of Python: what the pipeline prints of the example.

    Args:
        name: what is passed to `model=`.
    """
    wording = checkpoint.wording
    named = ", ".join(sorted({checkpoint.auto_class, wording.reader, "pipeline"}))
    task, text = quoted(wording.pipeline or checkpoint.task), example_input(checkpoint) or 'input("text: ")'
    answer = f"pipeline({task}, model={quoted(name)})({text}{wording.pipeline_options})"
    shown = wording.shown.replace("{}", answer)
    return f"import hf_attention_zoo\nfrom transformers import {named}\n\nprint({shown})"


def widget(checkpoint: Checkpoint) -> list[dict[str, Any]] | None:
    """The example for the Hub's widget, with its answer where the widget can show it; pictures have addresses only."""
    if checkpoint.example is None or checkpoint.wording.reader == "AutoProcessor":
        return None
    example, pair, _ = checkpoint.example
    entry: dict[str, Any] = {"text": one_line(example)}
    if pair:
        entry["text_pair"] = one_line(pair)
    printed = recorded_example(checkpoint.folder, example_code(checkpoint, checkpoint.folder.resolve().name))
    output = widget_output(printed)
    return [{**entry, "output": output} if output else entry]


def has_alignment(checkpoint: Checkpoint) -> bool:
    """Whether `hf_attention_zoo.align` takes this model."""
    return checkpoint.row.aligner is not None and checkpoint.wording.aligned


def paper(checkpoint: Checkpoint) -> str:
    """The paper, which of its equations this checkpoint computes, and the numbers that the paper itself reports."""
    row = checkpoint.row
    lines = ["## The paper", "", f"[{one_line(row.title)}]({row.paper_url}), {checkpoint.citation}."]
    variants = equation_options(checkpoint)
    if variants:
        lines += ["", f"Forms of the equations in this checkpoint (see `{row.prefix}Config`): {settings(variants)}."]
    if row.reported_results:
        reported = [
            [result["system"], result["dataset"], result["metric"], number(result["value"]), result.get("source", "")]
            for result in row.reported_results
        ]
        lines += [
            "",
            "**Reported by the paper for its own systems, not measured with this checkpoint:**",
            "",
            table(["system of the paper", "data", "metric", "value", "where in the paper"], reported),
        ]
    if row.bibtex:
        lines += ["", "```bibtex", row.bibtex.strip(), "```"]
    return "\n".join(lines)


def equation_options(checkpoint: Checkpoint) -> dict[str, Any]:
    """The config's own options that are chosen by name or switched on: these tell forms of the equations apart."""
    from transformers import PreTrainedConfig

    general = {field.name for field in fields(PreTrainedConfig)} | {"use_cache", "is_encoder_decoder"}
    order = {
        name: place for place, name in enumerate(checkpoint.row.config_class.__annotations__)
    }  # inherited ones last
    named = [
        field.name
        for field in sorted(fields(checkpoint.row.config_class), key=lambda field: order.get(field.name, len(order)))
        if field.name not in general and isinstance(field.default, (str, bool))
    ]
    return {name: checkpoint.config[name] for name in named if isinstance(checkpoint.config.get(name), (str, bool))}


def licence(checkpoint: Checkpoint) -> str:
    """Terms of the weights and of the data."""
    lines = []
    if checkpoint.facts.get("licence"):
        lines.append(f"Weights: {checkpoint.facts['licence']}")
    data = checkpoint.facts.get("data_licence") or checkpoint.data.get("licence")
    if data:
        lines.append(f"Data: {one_line(data)}")
    return listed("Licence", lines)
