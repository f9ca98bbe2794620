"""`Trainer` and `Seq2SeqTrainer` with the batches, the loss scale and the honest evaluation that these models need.

What differs from the classes they extend:

* training batches may be cut from pools sorted by length, by a budget of tokens or a number of pairs;
* the gradient may be that of the sum over the batch's target tokens, or of that sum divided by the sentences, which
  is what the historical clipping thresholds refer to; the norm may leave out the embeddings; the logged loss stays
  the mean per token, so that curves can be compared;
* `eval_loss` is the exact negative log likelihood per target token of the whole split, without label smoothing, and
  the same on one or many processes (not a mean of batch means); `eval_perplexity` is its exponential;
* in distributed evaluation every sentence is scored exactly once.
"""

import contextlib
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import datasets
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler, SequentialSampler
from transformers import Seq2SeqTrainer
from transformers.trainer_utils import EvalLoopOutput, TrainOutput, has_length

from hf_attention_zoo.data.token_budget import TokenBudgetBatchSampler, pair_lengths
from hf_attention_zoo.metrics.likelihood import sentence_nll
from hf_attention_zoo.parts.model_inputs import up_to_last_label
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.training.arguments import ZooTrainingArguments
from hf_attention_zoo.training.callbacks import EpochOfBatches, ShrinkOnBadGradient, Stopwatch
from hf_attention_zoo.training.checkpoint_averaging import AverageLastCheckpoints
from hf_attention_zoo.training.choosing_metric import bare_name, refusal
from hf_attention_zoo.training.epoch_order import LikeLengths, WholeStream
from hf_attention_zoo.training.halving_schedule import halving_factor
from hf_attention_zoo.training.inverse_time_schedule import inverse_time_factor
from hf_attention_zoo.training.kept_memory import freed_memory_kept
from hf_attention_zoo.training.label_smoothing import OtherClassesSmoother, UniformSmoother
from hf_attention_zoo.training.noam_schedule import model_width, noam_rate
from hf_attention_zoo.training.optimizers import optimizer_class
from hf_attention_zoo.training.release_schedules import release_factor
from hf_attention_zoo.training.resumable_trainer import ResumableTrainer
from hf_attention_zoo.training.run_arguments import OTHER_CLASSES
from hf_attention_zoo.training.sparse_gradients import check_sparse_optimizer, clip_by_norm, has_sparse_gradients


class ZooTrainer(ResumableTrainer):
    """What the trainers of all tasks share: batches of like lengths, optimisers, schedules, the scale of the loss.

    `args` must be `ZooTrainingArguments`.
    """

    args: ZooTrainingArguments

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.optimizer is not None:
            self.optimizer_cls_and_kwargs = optimizer_class(self.args.optimizer, self.args)
        self.add_callback(Stopwatch())
        if self.label_smoother is not None:
            others = self.args.label_smoothing_distribution == OTHER_CLASSES
            smoother: Any = OtherClassesSmoother if others else UniformSmoother
            self.label_smoother = smoother(self.args.label_smoothing_factor)
        self.averaging: AverageLastCheckpoints | None = None
        if self.args.average_last_checkpoints is not None:
            self.averaging = AverageLastCheckpoints(self.args.average_last_checkpoints)
            self.add_callback(self.averaging)
        if self.args.shrink_on_bad_gradient:
            self.add_callback(ShrinkOnBadGradient())
        if self.args.sorts_batches and self.train_dataset is not None and not has_length(self.train_dataset):
            raise ValueError(
                "sorted batches need training data with a known length, not a stream; "
                "leave out --streaming, or leave out --max_tokens_per_batch and --pool_batches"
            )
        self._check_metric()

    def measures(self) -> tuple[str, ...] | None:
        """The numbers of an evaluation by which the best checkpoint can be chosen; None where they are not known."""
        return None

    def _check_metric(self) -> None:
        wanted, made = self.args.metric_for_best_model, self.measures()
        if wanted is None or made is None or self.args.eval_strategy == "no" or isinstance(self.eval_dataset, dict):
            return
        if bare_name(wanted) not in made:
            raise ValueError(refusal("metric_for_best_model", wanted, made))

    @property
    def training_seconds(self) -> float:
        """Seconds spent in `train`, earlier parts of a continued run included."""
        return sum(cb.total() for cb in self.callback_handler.callbacks if isinstance(cb, Stopwatch))

    def train(self, *args: Any, **kwargs: Any) -> TrainOutput:
        """As `Trainer.train`; what one update frees stays with the process until training ends."""
        with freed_memory_kept():
            return super().train(*args, **kwargs)

    # Batches

    def lengths(self, dataset: Any) -> Any:
        """Tokens of each example on two sides, (N, 2), by which batches are sorted and limited."""
        return pair_lengths(dataset)

    def batch_sampler(self, dataset: Dataset) -> TokenBudgetBatchSampler:
        """The plan of training batches for all processes; accelerate deals them out one by one."""
        replicas = max(1, self.args.world_size)
        pool = self.args.pool_batches or 20
        seed = self.args.data_seed if self.args.data_seed is not None else self.args.seed
        size = self._train_batch_size  # what auto_find_batch_size has come down to
        if self.args.max_tokens_per_batch is not None:
            return TokenBudgetBatchSampler(
                self.lengths(dataset),
                max(1, self.args.max_tokens_per_batch * size // self.args.train_batch_size),
                pool_batches=pool,
                num_replicas=replicas,
                seed=seed,
            )
        # A pool counts the batches of all processes, so that N processes see what one with N-fold batches sees.
        return TokenBudgetBatchSampler(
            self.lengths(dataset),
            batch_size=size,
            pool_batches=pool * replicas,
            num_replicas=replicas,
            seed=seed,
            order="shuffled" if self.args.pool_order == "shuffled" else "shortest_first",
            reshuffle_each_epoch=self.args.pool_order == "shuffled",
        )

    def _get_dataloader(
        self,
        dataset: Dataset,
        description: str,
        batch_size: int,
        sampler_fn: Callable[[Dataset], Any] | None = None,
        is_training: bool = False,
        dataloader_key: str | None = None,
    ) -> DataLoader:
        if is_training and self.args.world_size > 1 and isinstance(dataset, datasets.IterableDataset):
            dataset = WholeStream(dataset)
        if not (is_training and self.args.sorts_batches):
            return super()._get_dataloader(dataset, description, batch_size, sampler_fn, is_training, dataloader_key)
        sampler = self.batch_sampler(dataset)
        self._tell_of_epochs(sampler.set_epoch)
        loader = DataLoader(
            self._remove_unused_columns(dataset, description=description),
            batch_sampler=sampler,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory,
            persistent_workers=self.args.dataloader_persistent_workers,
            prefetch_factor=self.args.dataloader_prefetch_factor,
        )
        # Batches of varying size cannot be evened out, and need not be: the plan is a multiple of the processes.
        evened = self.accelerator.even_batches
        self.accelerator.even_batches = False
        try:
            return self.accelerator.prepare(loader)
        finally:
            self.accelerator.even_batches = evened

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler | None:
        dataset: Any = self.train_dataset  # the one handed over has lost the columns that forward does not take
        if self.args.train_sampling_strategy != "group_by_length" or not has_length(dataset):
            return super()._get_train_sampler(train_dataset)
        seed = self.args.data_seed if self.args.data_seed is not None else self.args.seed
        together = self._train_batch_size * self.args.gradient_accumulation_steps
        sampler = LikeLengths(self.lengths(dataset).max(axis=1), together, seed)
        self._tell_of_epochs(lambda epoch: setattr(sampler, "epoch", epoch))
        return sampler

    def _get_eval_sampler(self, eval_dataset: Dataset) -> Sampler | None:
        if self.args.train_sampling_strategy != "group_by_length" or not has_length(eval_dataset):
            return super()._get_eval_sampler(eval_dataset)
        # Validation rows come longest first; another order would part translations from their references.
        return SequentialSampler(eval_dataset) if self.args.world_size <= 1 else None

    def _tell_of_epochs(self, tell: Callable[[int], None]) -> None:
        """Let callbacks tell one sampler, and no earlier one, which epoch begins."""
        self.callback_handler.callbacks = [
            cb for cb in self.callback_handler.callbacks if not isinstance(cb, EpochOfBatches)
        ]
        self.add_callback(EpochOfBatches(tell))

    # Optimiser and schedule

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """The optimiser of the arguments. Raises ValueError if it cannot take the gradients of the model's tables."""
        optimizer = super().create_optimizer(model)
        check_sparse_optimizer(needed(self.model, "model", "a Trainer has one"), optimizer)
        return optimizer

    def create_scheduler(self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None) -> Any:
        """The scheduler of the arguments; a halving one counts epochs as shares of the steps of the whole run."""
        factor = None if self.lr_scheduler is not None else self._rate_factor(num_training_steps)
        if factor is None:
            return super().create_scheduler(num_training_steps, optimizer)
        chosen = needed(self.optimizer if optimizer is None else optimizer, "optimizer", "make it before its schedule")
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(chosen, factor)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def _rate_factor(self, num_training_steps: int) -> Callable[[int], float] | None:
        """Updates done -> factor on the learning rate of the next one; None for transformers' own schedules."""
        if self.args.noam_schedule:
            model: Any = self.model
            width, warmup = model_width(model.config), int(self.args.warmup_steps)
            return lambda done: noam_rate(done + 1, width, warmup)
        if self.args.release_schedule is not None:
            warmup = self.args.get_warmup_steps(num_training_steps)
            return release_factor(self.args.release_schedule, warmup, num_training_steps)
        decay = self.args.learning_rate_decay
        if decay is not None:
            return lambda done: inverse_time_factor(done, decay)
        first = self.args.halve_learning_rate_from
        if first is None:
            return None
        epochs_per_step = self.args.num_train_epochs / num_training_steps
        every = self.args.halve_learning_rate_every
        return lambda done: halving_factor(done * epochs_per_step, first, every)

    # Loss

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        if self.label_smoother is not None and "labels" in inputs and "decoder_input_ids" in inputs:
            # the smoother keeps the labels from the model, which learns here which of its inputs are not needed
            inputs = {"decoder_attention_mask": up_to_last_label(inputs["labels"]), **inputs}
        result: Any = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self.args.loss_scale == "token_mean" or not model.training:
            return result
        loss, *rest = result if return_outputs else (result,)
        loss = loss * self._tokens_per_part(num_items_in_batch)
        return (loss, *rest) if return_outputs else loss

    def training_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor:
        loss = super().training_step(model, inputs, num_items_in_batch)
        return loss if self.args.loss_scale == "token_mean" else loss / self._tokens_per_part(num_items_in_batch)

    def _tokens_per_part(self, tokens: torch.Tensor | int | None) -> torch.Tensor | int | float:
        """Target tokens of an update by what its summed loss is divided by: one batch, or its sentences."""
        if tokens is None:
            raise ValueError(
                f"loss_scale={self.args.loss_scale} needs a model whose forward takes num_items_in_batch (**kwargs)"
            )
        return tokens if self.args.loss_scale == "batch_sum" else tokens / self._sentences

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: torch.device) -> tuple[list[Any], Any]:
        """The batches of one update and their target tokens; the number of their sentences is kept beside."""
        batches, tokens = super().get_batch_samples(epoch_iterator, num_batches, device)
        if self.args.loss_scale == "sentence_mean":
            labels = [batch["labels"] for batch in batches]
            count = sum((rows.reshape(len(rows), -1) != -100).any(1).sum() for rows in labels)
            count = torch.as_tensor(count, device=device)
            self._sentences = max(1, int(self.accelerator.gather(count).sum()))
        return batches, tokens

    @cached_property
    def _sparse_gradients(self) -> bool:
        """Whether tables of the model get gradients of rows, of which torch has no norm."""
        return has_sparse_gradients(needed(self.model, "model", "a Trainer has one"))

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        if grad_norm is None and self._sparse_gradients:
            grad_norm = clip_by_norm(model.parameters())
        return super()._get_grad_norm(model, grad_norm)

    def _clip_grad_norm(self, model: nn.Module) -> torch.Tensor:
        without_tables = self.args.clip_norm_without_embeddings
        if not (without_tables or self._sparse_gradients):
            return super()._clip_grad_norm(model)
        if without_tables and (self.is_fsdp_enabled or self.is_deepspeed_enabled):
            raise ValueError(
                "clip_norm_without_embeddings takes the norm of whole gradients, and FSDP and DeepSpeed cut them into "
                "parts; leave it out, or train without them"
            )
        self.accelerator.unscale_gradients()
        left_out = {
            id(table)
            for part in model.modules()
            if without_tables and isinstance(part, nn.Embedding)
            for table in part.parameters()
        }
        counted = (parameter for parameter in model.parameters() if id(parameter) not in left_out)
        return clip_by_norm(model.parameters(), self.args.max_grad_norm, counted)


class ZooSeq2SeqTrainer(ZooTrainer, Seq2SeqTrainer):
    """Trainer for the encoder-decoders of the zoo; takes what `Seq2SeqTrainer` takes.

    The data sets hold `input_ids`, `attention_mask` and `labels`, the collator must have been given the model (it
    makes the decoder's input from the labels).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._nll: list[torch.Tensor] = []

    def measures(self) -> tuple[str, ...] | None:
        scored = () if self.compute_metrics is None else getattr(self.compute_metrics, "measures", None)
        return None if scored is None else (*scored, "loss", "perplexity")

    def prediction_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
        **gen_kwargs: Any,
    ) -> tuple[Any, torch.Tensor | None, torch.Tensor | None]:
        """One batch: its mean loss, the translations, or the logits without generation, and the labels."""
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = model(**inputs).logits
        nll, tokens = sentence_nll(logits, inputs["labels"])
        self._nll.append(self.accelerator.gather_for_metrics(torch.stack([nll, tokens.to(nll.dtype)], dim=1)).cpu())
        loss = nll.sum() / tokens.sum()
        if prediction_loss_only:
            return loss, None, None
        if not self.args.predict_with_generate:
            return loss, logits, inputs["labels"]
        del logits

        gen_kwargs = {**getattr(self, "_gen_kwargs", {}), **gen_kwargs}
        gen_kwargs = {name: value for name, value in gen_kwargs.items() if value is not None}
        gen_kwargs.setdefault("synced_gpus", self.is_fsdp_enabled)
        if gen_kwargs.get("num_beams") == 1:
            gen_kwargs.update(length_penalty=1.0, early_stopping=False)
        made_from_labels = ("labels", "decoder_input_ids", "decoder_attention_mask")
        source = {name: value for name, value in inputs.items() if name not in made_from_labels}
        whole: Any = self.model
        with self._whole_parameters():
            generated = whole.generate(**source, **gen_kwargs)
        return loss, generated, inputs["labels"]

    def _whole_parameters(self) -> contextlib.AbstractContextManager:
        if self.is_fsdp_enabled:
            from torch.distributed.fsdp import FullyShardedDataParallel

            if isinstance(self.model, FullyShardedDataParallel):
                return FullyShardedDataParallel.summon_full_params(self.model)
        return contextlib.nullcontext()

    def evaluation_loop(
        self,
        dataloader: DataLoader,
        description: str,
        prediction_loss_only: bool | None = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> EvalLoopOutput:
        # Seq2SeqTrainer gathers without cutting off what filled up the last distributed batch.
        self.gather_function = self.accelerator.gather_for_metrics
        self._nll = []
        output = super().evaluation_loop(dataloader, description, prediction_loss_only, ignore_keys, metric_key_prefix)
        if self._nll:
            nll, tokens = torch.cat(self._nll).double().sum(dim=0).tolist()
            self._nll = []
            mean = nll / max(tokens, 1.0)
            found = {"loss": mean, "perplexity": math.exp(min(mean, 700.0)), "sentences": output.num_samples}
            added = {f"{metric_key_prefix}_{name}": value for name, value in found.items()}
            return output._replace(metrics={**(output.metrics or {}), **added})
        return output
