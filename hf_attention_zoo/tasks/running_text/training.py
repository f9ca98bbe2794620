"""Pre-training on raw text as a training run: the same folder, the same resuming, the same files as any other."""

from __future__ import annotations

import dataclasses
import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from transformers.trainer_utils import get_last_checkpoint

from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.registry import Architecture
from hf_attention_zoo.tasks.running_text.carried_states import load_carried, save_carried
from hf_attention_zoo.tasks.running_text.examples import ExampleStream
from hf_attention_zoo.tasks.running_text.objectives import Objective, objective_class
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.training.fine_tuning import cut_at_positions
from hf_attention_zoo.training.held_out_trainer import HeldOutTrainer
from hf_attention_zoo.training.output_folder import CACHE_FOLDER
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask
from hf_attention_zoo.whole_files import json_if_any


class PretrainingTask(TrainingTask):
    """Raw text, the objective of the architecture, perplexities of held-out text."""

    rows_said = "documents"

    def __init__(self, plan: Any, row: Architecture) -> None:
        super().__init__(plan, row)
        self.objective: Objective = objective_class(row)(row, **plan.objective)
        self.auto_class = self.objective.auto_class
        self.shown = self.objective.shown
        self.documents: DocumentSource | None = None  # that are trained on
        self._counted: dict[str, Any] | None = None

    def load(self) -> tuple[DocumentSource, DocumentSource | None]:
        args, data = self.plan.training, self.plan.data
        if args.max_steps <= 0 and data.second_length is not None:
            raise ValueError("two lengths share the steps of a run: say how many with --max_steps")
        if args.max_tokens_per_batch is not None or args.pool_batches is not None:
            raise ValueError("pre-training has batches of --per_device_train_batch_size; leave out sorted batches")
        if args.auto_find_batch_size:
            raise ValueError(
                "examples of pre-training are laid out for one batch size; leave out --auto_find_batch_size, and give "
                "a smaller --per_device_train_batch_size with --gradient_accumulation_steps"
            )
        train = data.source("train")
        validation = None if args.eval_strategy == "no" else data.source("validation")
        whole = data.parts() if validation is None and args.eval_strategy != "no" else None
        if whole is not None:
            self.plan.parted = dict(whole.held_out().sizes)
            train = dataclasses.replace(train, part="train")
            validation = dataclasses.replace(whole, part="validation", limit=data.max_eval_documents)
        if validation is None and args.eval_strategy != "no":
            raise ValueError(
                "there is no held-out text: name it with --validation_file or --validation_split, hold out the first "
                "documents with --held_out_documents 500, or give --eval_strategy no"
            )
        train.check_column(*(() if validation is None else (validation,)))
        if next(iter(train), None) is None:  # a wrong path or column shows here, too, before the tokenizer is trained
            if train.skip:
                raise ValueError(
                    f"--held_out_documents {train.skip} holds out all documents, and nothing is left to train on; "
                    "hold out fewer, or name held-out text with --validation_file"
                )
            raise ValueError("there is no document to train on; check the path, the split and the column")
        self.documents = train
        return train, validation

    def measures(self, validation: DocumentSource) -> tuple[str, ...]:
        return self.objective.measures()

    def train_tokenizer(self, rows: DocumentSource) -> Any:
        most = min(rows.limit or self.plan.data.tokenizer_documents, self.plan.data.tokenizer_documents)
        return self.objective.train_tokenizer(dataclasses.replace(rows, limit=most), **self.plan.tokenizer)

    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        if self._counted is None:  # once: it reads the whole text
            text = needed(self.documents, "documents", "load them before the fields of the config are made")
            self._counted = self.objective.text_fields(tokenizer, text)
        return {**self.objective.config_fields(tokenizer, self.plan.data.longest()), **self._counted}

    def prepare_model(self, model: Any, tokenizer: Any, rows: Any) -> None:
        positions = getattr(model.config, "max_position_embeddings", None)
        if positions is not None and positions < self.plan.data.longest():
            more = "more --config.max_position_embeddings" if self.plan.model.model is None else "another --model"
            raise ValueError(
                f"examples have up to {self.plan.data.longest()} tokens, the model has {positions} positions; give a "
                f"smaller --length or --second_length, or {more}"
            )
        self.objective.check_model(model.config)
        # Nothing is cut here; who reads the finished folder cuts there.
        cut_at_positions(tokenizer, model.config, self.plan)

    def encode(self, train: DocumentSource, validation: DocumentSource | None, tokenizer: Any) -> EncodedData:
        args, data = self.plan.training, self.plan.data
        if validation is not None:
            self.objective.check_held_out(tokenizer, validation, data.longest())
        stream = self.objective.dataset(
            train,
            tokenizer,
            seed=args.data_seed if args.data_seed is not None else args.seed,
            batch_size=args.train_batch_size * args.world_size,  # processes share the batches of one
            phases=data.phases(args.max_steps, global_batch(args)),
            cache_dir=data.cache_dir or self.plan.folder / CACHE_FOLDER,
        )
        if args.max_steps <= 0:
            args.max_steps = self._steps(stream)
        return EncodedData(stream, validation, kept={"tokens": getattr(stream, "store", None)})

    def _steps(self, stream: Any) -> int:
        """Updates of the wanted number of passes."""
        args = self.plan.training
        if not isinstance(stream, ExampleStream):
            raise ValueError("say how long to train with --max_steps")
        examples = sum(1 for _ in stream.descriptions(0, self.plan.data.length))
        return max(1, math.ceil(args.num_train_epochs * examples / global_batch(args)))

    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> PretrainingTrainer:
        return PretrainingTrainer(
            model=model,
            args=self.plan.training,
            train_dataset=data.train,
            data_collator=self.objective.collator(tokenizer),
            processing_class=tokenizer,
            callbacks=callbacks,
            held_out=None if data.validation is None else partial(self._evaluate, documents=data.validation),
        )

    def _evaluate(self, model: Any, tokenizer: Any, batch_size: int, documents: DocumentSource) -> dict[str, float]:
        return self.objective.evaluate(
            model, tokenizer, documents, length=self.plan.data.longest(), batch_size=batch_size
        )

    def finished(self) -> None:
        if self.plan.data.cache_dir is None:
            shutil.rmtree(self.plan.folder / CACHE_FOLDER, ignore_errors=True)

    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        store = data.kept.get("tokens")
        return {
            "objective": {"name": type(self.objective).__name__, **self.objective.chosen},
            "training_documents": getattr(store, "num_documents", None),
            "training_tokens": getattr(store, "num_tokens", None),
            "examples_seen": self.plan.training.max_steps * global_batch(self.plan.training),
            "epochs": None,
        }


def global_batch(args: Any) -> int:
    """Examples of an update, of all processes."""
    return args.train_batch_size * args.gradient_accumulation_steps * args.world_size


class PretrainingTrainer(HeldOutTrainer):
    """Trainer on an endless stream.

    A run that goes on passes over the batches that it has seen, as the Trainer does, but they are not made again.
    What its rows carry from batch to batch is kept in the checkpoints.
    """

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **kwargs: Any) -> Any:
        """As the Trainer's: a checkpoint is named by its folder, and True is the newest of the output folder."""
        checkpoint = resume_from_checkpoint or None
        if checkpoint is True:
            checkpoint = get_last_checkpoint(str(self.args.output_dir))
            if checkpoint is None:
                raise ValueError(f"there is no checkpoint in {self.args.output_dir}; train from the beginning")
        if isinstance(self.train_dataset, ExampleStream):
            done = 0
            if checkpoint:
                done = json_if_any(Path(checkpoint) / "trainer_state.json").get("global_step", 0)
            seen = done * global_batch(self.args)
            if self.args.ignore_data_skip:
                self.train_dataset.start_at(seen)
            else:
                self.train_dataset.stand_in_before(seen)
        if checkpoint:
            model: Any = self.model
            load_carried(model, checkpoint, self.args.process_index, self.args.world_size)
        return super().train(checkpoint, *args, **kwargs)

    def _save_rng_state(self, output_dir: str) -> None:
        """Beside the random numbers of each process, what its rows carry: before a checkpoint counts as whole."""
        super()._save_rng_state(output_dir)
        model: Any = self.model
        save_carried(model, output_dir, self.args.process_index, self.args.world_size)
