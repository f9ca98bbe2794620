"""Which splits of a data set are trained on and which choose the model."""

from typing import Any

from datasets import Dataset

from hf_attention_zoo.training.arguments import DataArguments, ZooTrainingArguments


def training_and_validation(
    splits: Any, data: DataArguments, args: ZooTrainingArguments
) -> tuple[Any, Dataset | None]:
    """Training and validation rows; no validation if nothing asks for it.

    Raises:
        ValueError: one that is needed is missing; the message has the splits that are there.
    """
    there = ", ".join(splits) or "none"
    if data.train_split not in splits:
        raise ValueError(f"the data set has no split {data.train_split!r} to train on; it has: {there}")
    train = splits[data.train_split]
    if data.max_train_samples is not None:
        train = train.take(data.max_train_samples)
    if args.eval_strategy == "no":
        return train, None
    if data.validation_split in splits:
        validation = splits[data.validation_split]
    elif data.validation_share > 0 and isinstance(train, Dataset):
        parts = train.train_test_split(test_size=data.validation_share, seed=args.seed)
        train, validation = parts["train"], parts["test"]
    else:
        raise ValueError(
            f"the data set has no split {data.validation_split!r} to validate on; it has: {there}. Name another with "
            "--validation_split, hold some rows out with --validation_share 0.02, or give --eval_strategy no"
        )
    if data.max_eval_samples is not None:
        validation = validation.take(data.max_eval_samples)
    if not isinstance(validation, Dataset):
        validation = Dataset.from_list(list(validation))
    return train, validation
