"""From a command line to a plan: which architecture, settings, data and training arguments a run has.

Order of precedence: flags, then the run file, then the recipe, then the defaults.
"""

import dataclasses
from argparse import ArgumentDefaultsHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from transformers import HfArgumentParser

from hf_attention_zoo.flags import FlagFormatter, FlagParser, refused
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.training.arguments import ModelArguments, ZooTrainingArguments
from hf_attention_zoo.training.choosing_metric import OF_VALIDATION
from hf_attention_zoo.training.dotted_flags import split_dotted
from hf_attention_zoo.training.fingerprint import PLACES, training_settings
from hf_attention_zoo.training.ranges import OutOfRange, check_ranges
from hf_attention_zoo.training.recipes import (
    RUN_FILE_SUFFIXES,
    find_recipe,
    merge_run_file,
    model_fields,
    read_run_file,
)
from hf_attention_zoo.training.run_help import ALL_FLAGS, TRAINING, RunKind, groups_of

# Fields of the data arguments that change nothing in the training.
EVALUATION_FIELDS = ("max_eval_samples", "max_eval_documents", "cache_dir")
DEFAULT_POOL_ORDER = ZooTrainingArguments.pool_order


class _WithDefaults(FlagFormatter, ArgumentDefaultsHelpFormatter):
    """Help that says the default of each flag."""


class RunParser(FlagParser, HfArgumentParser):
    """transformers' parser of dataclasses, whose errors are ValueErrors and whose help goes by group."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


@dataclass
class RunPlan:
    """Everything a training run is made of; `data` are those of the kind of run, `named` the flags and the training
    arguments of the run file: what the user chose, and no recipe."""

    model: ModelArguments
    data: Any
    training: ZooTrainingArguments
    config: dict[str, Any] = field(default_factory=dict)
    tokenizer: dict[str, Any] = field(default_factory=dict)
    generation: dict[str, Any] = field(default_factory=dict)
    objective: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    named: frozenset[str] = frozenset()
    parted: dict[str, int] | None = None  # rows of each split, where the task parts the training rows

    @property
    def architecture(self) -> str:
        """The model type that is trained.

        Raises:
            ValueError: the plan names none.
        """
        return needed(self.model.architecture, "architecture", "name one; `attention-zoo list` shows all")

    @property
    def folder(self) -> Path:
        """Where the run and its model go.

        Raises:
            ValueError: the plan names no folder.
        """
        return Path(needed(self.training.output_dir, "output_dir", "name the folder of the run"))

    def places(self) -> dict[str, str]:
        """The arguments that say where data lie, as far as they are given."""
        named = {name: getattr(self.data, name, None) for name in PLACES}
        return {name: str(place) for name, place in named.items() if place is not None}

    def fingerprint(self, contents: dict[str, Any] | None = None) -> dict[str, Any]:
        """What must be the same for a killed run to be continued: model, data, batches, optimiser, seed.

        Args:
            contents: what the data are, by content (`data_contents`); without it, where they lie.
        """
        training = self.training
        skipped = EVALUATION_FIELDS if contents is None else (*EVALUATION_FIELDS, *PLACES)
        return {
            "architecture": self.model.architecture,
            "task": self.model.task,
            "recipe": self.model.recipe,
            "model": self.model.model,
            "tokenizer": self.model.tokenizer,
            "word_vectors": self.model.word_vectors,
            "freeze_word_vectors": self.model.freeze_word_vectors or None,
            "contents": contents or {},
            "data": {k: v for k, v in dataclasses.asdict(self.data).items() if k not in skipped},
            "config": self.config,
            "tokenizer_settings": self.tokenizer,
            "objective": self.objective,
            "phases": self._phases(),
            "seed": training.seed,
            "max_tokens_per_batch": training.max_tokens_per_batch,
            "pool_batches": training.pool_batches,
            "pool_order": training.pool_order if training.pool_batches else DEFAULT_POOL_ORDER,
            "global_batch": self._batch(),
            "optimizer": training.optimizer or str(training.optim),
            "learning_rate": training.learning_rate,
            "training": training_settings(training),
        }

    def unsaid(self, contents: dict[str, Any] | None = None) -> dict[str, Any]:
        """What not every release wrote into a fingerprint, with its value before there was a setting for it."""
        data = {item.name: item.default for item in dataclasses.fields(self.data)}
        return {
            "data": {name: value for name, value in data.items() if name not in (*EVALUATION_FIELDS, *PLACES)},
            "contents": contents or {},
            "training": training_settings(self.training),
            "objective": {},
            "pool_order": DEFAULT_POOL_ORDER,
            "phases": self._phases(),  # what an earlier release had cannot be known
        }

    def _phases(self) -> list[list[int | None]] | None:
        """Tokens and examples of each part of a pre-training: other steps would move the bound between two."""
        if not hasattr(self.data, "phases"):
            return None
        return [[part.length, part.examples] for part in self.data.phases(self.training.max_steps, self._batch())]

    def _batch(self) -> int:
        """Examples of an update, of all processes."""
        training = self.training
        return training.train_batch_size * training.gradient_accumulation_steps * training.world_size


def _flags(words: Sequence[str]) -> set[str]:
    """The names of the flags among the words of a command line."""
    return {word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")}


def _names(cls: type) -> set[str]:
    return {item.name for item in dataclasses.fields(cls) if item.init}


def build_parser(kind: RunKind = TRAINING) -> RunParser:
    """The parser with every field of the three argument classes as a flag; its help shows them by group."""
    classes: Any = (ModelArguments, kind.data_class, ZooTrainingArguments)  # the parser's type wants them of one type
    parser = RunParser(
        classes,
        allow_abbrev=False,
        formatter_class=_WithDefaults,
        prog=kind.program,
        usage=kind.usage,
        add_help=False,
    )
    parser.flags_by_group(groups_of(kind), rest="flags of transformers' Seq2SeqTrainingArguments")
    return parser


def parse_run(argv: Sequence[str], command: str = "", kind: RunKind = TRAINING) -> RunPlan:
    """Read the arguments behind the command. Raises ValueError with one clear line for anything wrong."""
    from hf_attention_zoo.registry import get_architecture

    rest, dotted = split_dotted(argv, kind.sections)
    file_content: dict[str, Any] = {}
    positional: dict[str, str] = {}
    while rest and not rest[0].startswith("-"):
        word = rest.pop(0)
        if word.endswith(RUN_FILE_SUFFIXES):
            file_content.update(read_run_file(word))
        elif "architecture" in positional:
            raise ValueError(f"unexpected argument {word!r}: the architecture is already {positional['architecture']}")
        else:
            positional["architecture"] = word

    model_class: Any = ModelArguments
    first = RunParser(model_class, allow_abbrev=False, add_help=False)
    first.add_argument("--config", action="append", default=[])
    first.set_defaults(**dict.fromkeys(_names(ModelArguments)))
    known, rest = first.parse_known_args(rest)
    for path in known.config:
        file_content.update(read_run_file(path))
    file_model, file_settings = merge_run_file(
        file_content, _names(ModelArguments), _names(kind.data_class), _names(ZooTrainingArguments)
    )
    for section in ("generation", "objective"):
        if file_settings[section] and section not in kind.sections:
            raise ValueError(f"`{kind.program}` has no settings in a section {section}; leave it out of the run file")
    given = {name: getattr(known, name) for name in _names(ModelArguments) if getattr(known, name) is not None}
    model_args = ModelArguments(**{**file_model, **positional, **given})
    if model_args.architecture is None:
        raise ValueError(
            f"which architecture? e.g. `{kind.program} {kind.example} ...`; `attention-zoo list` shows all"
        )
    row = get_architecture(model_args.architecture)
    recipes = None if kind.recipes is None else kind.recipes(row)
    recipe = find_recipe(row, model_args.recipe, recipes)
    if model_args.model is not None:
        recipe["config"] = {}  # its sizes are those of a new model
    else:
        from_recipe = model_fields(row, model_args.recipe, recipes)
        model_args = ModelArguments(**{**from_recipe, **file_model, **positional, **given})
    parser = build_parser(kind)
    defaults: dict[str, Any] = {}
    for layer in (recipe, file_settings):
        for section in ("data", "training"):
            defaults.update(layer[section])
    parser.set_defaults(**{**dataclasses.asdict(model_args), **defaults})
    named = frozenset({*_flags(rest), *file_settings["training"]})
    if parser.parse_known_args(rest)[0].eval_strategy == "no":  # what a recipe says of validations says nothing then
        of_recipe = [name for name in OF_VALIDATION if name not in named]
        parser.set_defaults(**{name: getattr(ZooTrainingArguments, name) for name in of_recipe})
    try:
        _, data_args, training_args, unread = parser.parse_args_into_dataclasses(
            rest, return_remaining_strings=True, look_for_args_file=False
        )
        check_ranges(data_args)
    except OutOfRange as error:
        raise ValueError(error.as_flag) from error
    if unread:
        raise refused(unread[0], parser._option_string_actions, kind.program, ALL_FLAGS[0])
    if data_args.dataset is None and data_args.train_file is None:
        raise ValueError("which data? Give --dataset (a sample, a file, a folder or a Hub id) or --train_file")
    if data_args.dataset is not None and Path(data_args.dataset).is_file() and data_args.train_file:
        raise ValueError(f"--dataset {data_args.dataset} is a file; use --train_file for it when others are named")
    return RunPlan(
        model=model_args,
        data=data_args,
        training=training_args,
        **{
            section: {**recipe[section], **file_settings[section], **dotted.get(section, {})}
            for section in ("config", "tokenizer", "generation", "objective")
        },
        command=command,
        named=named,
    )
