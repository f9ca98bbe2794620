"""Which splits of a data set are trained on and which choose the model."""

from typing import Any

from datasets import Dataset, IterableDataset

from hf_attention_zoo.data.parting import parted
from hf_attention_zoo.near_names import did_you_mean
from hf_attention_zoo.training.arguments import DataArguments, ZooTrainingArguments
from hf_attention_zoo.training.run_plan import RunPlan


def needed_splits(data: DataArguments, args: ZooTrainingArguments) -> list[str]:
    """The splits that must have answers: the training split, and the validation split unless there is another way."""
    if args.eval_strategy == "no" or data.validation_share > 0:
        return [data.train_split]
    return [data.train_split, data.validation_split]


def training_and_validation(splits: Any, plan: RunPlan, said: str = "rows") -> tuple[Any, Any]:
    """Training and validation rows; no validation if nothing asks for it. A stream is read for validation.

    A data set with training rows alone is parted by the rule of `data.parting`, and the plan notes the parts; with
    --validation_share the share of the rows that it says is held out, and nothing for a test.

    Args:
        splits: names and rows: of `datasets`, or others with `take`, `select` and `train_test_split`.
        said: what rows are called in messages.

    Raises:
        ValueError: one that is needed is missing; the message has the splits that are there.
    """
    data, args = plan.data, plan.training
    there = ", ".join(splits) or "none"
    if data.train_split not in splits:
        meant = did_you_mean(data.train_split, splits)
        raise ValueError(f"the data set has no split {data.train_split!r} to train on{meant}; it has: {there}")
    asked = args.eval_strategy != "no" and data.validation_share == 0
    if asked and list(splits) == ["train"] and not isinstance(splits["train"], IterableDataset):
        splits = parted(splits["train"], data.dataset or data.train_file or "the data set")
        plan.parted = {split: len(rows) for split, rows in splits.items()}
    train = splits[data.train_split]
    if data.max_train_samples is not None:
        train = train.take(data.max_train_samples)
    if args.eval_strategy == "no":
        return train, None
    if data.validation_split in splits:
        validation = splits[data.validation_split]
    elif data.validation_share > 0 and not isinstance(train, IterableDataset):
        parts = train.train_test_split(test_size=data.validation_share, seed=args.seed)
        train, validation = parts["train"], parts["test"]
    else:
        stream = isinstance(train, IterableDataset)
        share = "leave out --streaming" if stream else f"hold some {said} out with --validation_share 0.02"
        raise ValueError(
            f"the data set has no split {data.validation_split!r} to validate on"
            f"{did_you_mean(data.validation_split, splits)}; it has: {there}. Name another with "
            f"--validation_split, {share}, or give --eval_strategy no"
        )
    if data.max_eval_samples is not None:
        validation = validation.take(data.max_eval_samples)
    if isinstance(validation, IterableDataset):
        validation = Dataset.from_list(list(validation))
    return train, validation
