"""Translators of JoeyNMT, OpenNMT-py, transformers' Marian and of the zoo, trained from ids of one tokenizer.

What `scripts/compare_toolkits.py` trains: each system is built, initialised, given its loss and searched by its own
program. The tokenizer's four special ids are numbered as the program numbers them.
"""

from __future__ import annotations

import warnings
from collections import deque
from pathlib import Path
from typing import Any

import torch
from peer_programs import BEGIN, END, OPENNMT_SPECIAL, PAD, UNKNOWN, joeynmt_of
from seconds_budget import Course, Ids, Pairs, Training
from toolkit_settings import Sizes
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

# Special ids of the tokenizer (0 pad, 1 unknown, 2 begin, 3 end) as JoeyNMT and OpenNMT-py have them, and back.
THEIRS = {0: PAD, 1: UNKNOWN, 2: BEGIN, 3: END}
OURS = {theirs: ours for ours, theirs in THEIRS.items()}
IGNORED = -100
JOEYNMT, OPENNMT, MARIAN, HERE = "joeynmt", "opennmt", "marian", "here"
PACKAGES = {JOEYNMT: "joeynmt", OPENNMT: "OpenNMT-py", MARIAN: "transformers", HERE: "hf_attention_zoo"}


def theirs(ids: Ids) -> Ids:
    return [THEIRS.get(token, token) for token in ids]


def ours(ids: Ids) -> Ids:
    """Ids of a translation up to its end, numbered by the tokenizer."""
    return [OURS.get(token, token) for token in (ids[: ids.index(END)] if END in ids else ids)]


def grid(rows: list[Ids], pad: int) -> Tensor:
    """Ids padded on the right, (B, longest)."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)


class JoeyNMT:
    """As `TrainManager` makes a step, and `joeynmt.search.search`.

    Args:
        model: the part `model` of a configuration of JoeyNMT.
    """

    def __init__(self, model: dict[str, Any], training: Training, words: tuple[int, int]) -> None:
        self.model = joeynmt_of(model, *words)
        self.model.loss_function = ("crossentropy", training.label_smoothing)
        self.normalization = {"tokens": "tokens", "sentences": "batch"}[training.normalization]

    @staticmethod
    def like(sizes: Sizes) -> dict[str, Any]:
        """A configuration of the same sizes: a GRU with Bahdanau's attention, or a Transformer."""
        side: dict[str, Any] = {"num_layers": sizes.layers, "hidden_size": sizes.hidden, "dropout": sizes.dropout}
        embeddings = {"embedding_dim": sizes.embedding, "scale": sizes.heads is not None, "dropout": sizes.dropout}
        side["embeddings"] = embeddings
        if sizes.heads is not None:
            shape = {"num_heads": sizes.heads, "ff_size": sizes.feedforward, "layer_norm": "pre"}
            side |= {"type": "transformer", **shape}
            return {"tied_softmax": True, "encoder": side, "decoder": side}
        side |= {"type": "recurrent", "rnn_type": "gru"}
        attention = {"attention": "bahdanau", "input_feeding": True, "hidden_dropout": sizes.dropout}
        return {"encoder": {**side, "bidirectional": True}, "decoder": {**side, **attention, "init_hidden": "bridge"}}

    def batch(self, sources: list[Ids], targets: list[Ids] | None) -> Any:
        """A `Batch`; sources keep their end mark, as its own reader has it."""
        from joeynmt.batch import Batch

        return Batch(
            src=grid([theirs(ids) for ids in sources], PAD),
            src_length=torch.tensor([len(ids) for ids in sources]),
            src_prompt_mask=None,
            trg=None if targets is None else grid([[BEGIN, *theirs(ids)] for ids in targets], PAD),
            trg_prompt_mask=None,
            indices=torch.arange(len(sources)),
            device=torch.device("cpu"),
            pad_index=PAD,
            eos_index=END,
        )

    def loss(self, pairs: Pairs) -> Tensor:
        pairs = sorted(pairs, key=lambda pair: -len(pair[0]))  # as its recurrent encoder wants them
        batch = self.batch([source for source, _ in pairs], [target for _, target in pairs])
        loss, _, _, _ = self.model(return_type="loss", **vars(batch))
        normalized: Tensor = batch.normalize(loss, self.normalization)
        return normalized

    def search(self, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
        """Beams with the length penalty of its configurations, alpha 1."""
        from joeynmt.search import search

        made, _, _ = search(self.model, self.batch(sources, None), longest, beams, 1.0)
        return [ours(row) for row in made.tolist()]


class OpenNMT:
    """As `Trainer` makes a step, and `Translator.translate_batch`.

    Args:
        model: options of its command `onmt_train`.
    """

    def __init__(self, model: dict[str, Any], training: Training, words: tuple[int, int]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it decorates by functions of torch that have moved
            from onmt.model_builder import build_model
            from onmt.opts import train_opts
            from onmt.utils.loss import LossCompute
            from onmt.utils.parse import ArgumentParser
        import pyonmttok

        parser = ArgumentParser()
        train_opts(parser)
        told = {"data": "{}", "src_vocab": "-", "label_smoothing": training.label_smoothing, **model}
        options, _ = parser.parse_known_args([word for name, value in told.items() for word in flag(name, value)])
        ArgumentParser.update_model_opts(options)
        ArgumentParser.validate_model_opts(options)
        sides = [[*OPENNMT_SPECIAL, *(f"w{k}" for k in range(count - 4))] for count in words]
        source, target = (pyonmttok.build_vocab_from_tokens(tokens) for tokens in sides)
        self.vocabularies = {"src": source, "tgt": target, "data_task": "seq2seq", "decoder_start_token": "<s>"}
        self.model = build_model(options, options, self.vocabularies, None, -1)
        self.criterion = LossCompute.from_opts(options, self.model, target)
        self.by_tokens = training.normalization == "tokens"
        self.dropout = {part: part.dropout_p for part in self.model.modules() if hasattr(part, "dropout_p")}

    @staticmethod
    def like(sizes: Sizes) -> dict[str, Any]:
        """Options of the same sizes: an LSTM with input feeding and the general score, or a Transformer."""
        shape = {
            "word_vec_size": sizes.embedding,
            "hidden_size": sizes.hidden,
            "layers": sizes.layers,
            "dropout": sizes.dropout,
        }
        if sizes.heads is None:
            return shape
        return shape | {
            "encoder_type": "transformer",
            "decoder_type": "transformer",
            "heads": sizes.heads,
            "transformer_ff": sizes.feedforward,
            "attention_dropout": sizes.attention_dropout,
            "position_encoding": True,
            "param_init": 0.0,
            "param_init_glorot": True,
            "share_decoder_embeddings": True,
        }

    def sources(self, rows: list[Ids]) -> tuple[Tensor, Tensor]:
        """Ids (B, S, 1) without the end mark, as its own reader has them, and lengths (B)."""
        cut = [theirs(ids[:-1]) for ids in rows]
        return grid(cut, PAD)[..., None], torch.tensor([len(ids) for ids in cut])

    def loss(self, pairs: Pairs) -> Tensor:
        source, lengths = self.sources([source for source, _ in pairs])
        target = grid([[BEGIN, *theirs(ids)] for _, ids in pairs], PAD)[..., None]
        output, attentions = self.model(source, target, lengths)
        loss, _ = self.criterion({"src": source, "tgt": target, "srclen": lengths}, output, attentions)
        number = sum(len(ids) for _, ids in pairs) if self.by_tokens else len(pairs)
        divided: Tensor = loss / number
        return divided

    def search(self, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
        """Beams with its defaults: no length penalty."""
        from onmt.translate import GNMTGlobalScorer, Translator

        translator = Translator(
            self.model,
            self.vocabularies,
            max_length=longest,
            max_length_ratio=0,
            beam_size=beams,
            dump_beam="",
            global_scorer=GNMTGlobalScorer(0.0, 0.0, None, None),
        )
        ids, lengths = self.sources(sources)
        for part in self.dropout:  # its attention does not ask whether it is trained; its own loader does this
            part.dropout_p = 0.0
        made = translator.translate_batch({"src": ids, "srclen": lengths}, False)["predictions"]
        for part, share in self.dropout.items():
            part.dropout_p = share
        return [ours(row[0].tolist()) for row in made]


def flag(name: str, value: Any) -> list[str]:
    """An option as words of a command line; one that is true is named alone."""
    return [f"--{name}"] if value is True else [f"--{name}", str(value)]


def generated(model: Any, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
    """`generate` of a model of transformers or of the zoo, with its own length rule."""
    ids = grid(sources, model.config.pad_token_id)
    mask = (ids != model.config.pad_token_id).long()
    made = model.generate(ids, attention_mask=mask, num_beams=beams, do_sample=False, max_new_tokens=longest)
    rows: list[Ids] = made[:, 1:].tolist()
    return rows


class Marian:
    """Transformers' Marian as `Seq2SeqTrainer` makes a step, and `generate`.

    Args:
        model: fields of a `MarianConfig`.
    """

    def __init__(self, model: dict[str, Any], training: Training, words: tuple[int, int]) -> None:
        from transformers import MarianConfig, MarianMTModel
        from transformers.trainer_pt_utils import LabelSmoother

        special = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
        config = MarianConfig(
            vocab_size=words[0],
            decoder_vocab_size=words[1],
            share_encoder_decoder_embeddings=False,
            forced_eos_token_id=None,
            **special,
            **model,
        )
        self.model = MarianMTModel(config)
        self.smoother = LabelSmoother(training.label_smoothing) if training.label_smoothing else None

    @staticmethod
    def like(sizes: Sizes) -> dict[str, Any]:
        """Fields of the same sizes."""
        sides = ("encoder", "decoder")
        shape = {f"{side}_layers": sizes.layers for side in sides}
        shape |= {f"{side}_attention_heads": sizes.heads for side in sides}
        shape |= {f"{side}_ffn_dim": sizes.feedforward for side in sides}
        return {
            "d_model": sizes.hidden,
            "dropout": sizes.dropout,
            "attention_dropout": sizes.attention_dropout,
            "activation_function": "relu",
            "scale_embedding": True,  # by the square root of d_model
            **shape,
        }

    def loss(self, pairs: Pairs) -> Tensor:
        ids = grid([source for source, _ in pairs], 0)
        labels = grid([target for _, target in pairs], IGNORED)
        inputs = {"input_ids": ids, "attention_mask": (ids > 0).long()}
        if self.smoother is None:
            plain: Tensor = self.model(**inputs, labels=labels).loss
            return plain
        shifted = self.model.prepare_decoder_input_ids_from_labels(labels)
        smoothed: Tensor = self.smoother(self.model(**inputs, decoder_input_ids=shifted), labels)
        return smoothed

    def search(self, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
        return generated(self.model, sources, beams, longest)


class Zoo:
    """A model of the zoo; `train` is that of its own Trainer.

    Args:
        model: fields of its configuration, and its `model_type`.
    """

    def __init__(self, model: dict[str, Any], training: Training, words: tuple[int, int]) -> None:
        from transformers import AutoConfig, AutoModelForSeq2SeqLM

        import hf_attention_zoo  # noqa: F401  registers the classes

        config = AutoConfig.for_model(**model, vocab_size=words[0], decoder_vocab_size=words[1])
        self.model: nn.Module = AutoModelForSeq2SeqLM.from_config(config)
        self.training = training

    def arguments(self, seed: int, folder: Path) -> Any:
        """What the Trainer is told: as the plain loop of the others, but for the rate, which the course rules."""
        from hf_attention_zoo.training.arguments import ZooTrainingArguments

        told = self.training
        return ZooTrainingArguments(
            output_dir=str(folder),
            max_steps=10_000_000,
            learning_rate=told.learning_rate,
            label_smoothing_factor=told.label_smoothing,
            max_tokens_per_batch=told.tokens,
            max_grad_norm=told.max_grad_norm or 0.0,
            weight_decay=0.0,
            adam_beta1=told.betas[0],
            adam_beta2=told.betas[1],
            adam_epsilon=told.epsilon,
            seed=seed,
            use_cpu=True,
            logging_strategy="no",
            save_strategy="no",
            eval_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )

    def train(self, encoded: Any, tokenizer: Any, course: Course, seed: int, folder: Path) -> None:
        """Updates of `ZooSeq2SeqTrainer` until the budget is spent."""
        from transformers import DataCollatorForSeq2Seq, TrainerCallback

        from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer

        class OnCourse(TrainerCallback):
            def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                course.begin()

            def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                course.after_update(counter.tokens.popleft())
                control.should_training_stop = course.over

        counter = TokenCounter(DataCollatorForSeq2Seq(tokenizer, model=self.model))
        trainer = ZooSeq2SeqTrainer(
            model=self.model,
            args=self.arguments(seed, folder),
            train_dataset=encoded,
            data_collator=counter,
            processing_class=tokenizer,
            callbacks=[OnCourse()],
        )
        trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(trainer.create_optimizer(), course.rate_factor)
        trainer.train()

    def loss(self, pairs: Pairs) -> Tensor:
        raise NotImplementedError("its own Trainer computes it")

    def search(self, sources: list[Ids], beams: int, longest: int) -> list[Ids]:
        return generated(self.model, sources, beams, longest)


class TokenCounter:
    """A collator that knows how many target tokens its batches had; a loader may fetch one ahead of the update."""

    def __init__(self, collate: Any) -> None:
        self.collate = collate
        self.tokens: deque[int] = deque()

    def __call__(self, rows: list[dict[str, Any]]) -> Any:
        self.tokens.append(sum(len(row["labels"]) for row in rows))
        return self.collate(rows)


PROGRAMS: dict[str, Any] = {JOEYNMT: JoeyNMT, OPENNMT: OpenNMT, MARIAN: Marian, HERE: Zoo}
