"""Running text and tags of the Hub, the download replaced: columns, splits, class names, a whole pre-training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.tags.rows import load_tagged
from hf_attention_zoo.tasks.train import run_training

TEXTS = ["One dog sees. One cat came.", "The horse likes the dog. It went.", "A cat came here. The dog went."]
Served = Callable[[DatasetDict], list[tuple[Any, ...]]]


def test_documents_are_streamed_from_a_split_and_a_column(served: Served) -> None:
    train, dev = Dataset.from_dict({"id": [0, 1, 2], "story": TEXTS}), Dataset.from_dict({"story": TEXTS[:1]})
    calls = served(DatasetDict({"train": train, "dev": dev}))
    options = {"column": "story", "dataset_config": "en"}
    assert list(DocumentSource("owner/texts", skip=1, limit=1, **options)) == [
        ["The horse likes the dog.", "It went."]
    ]
    assert calls == [("owner/texts", "en", True)]
    held_out = DocumentSource("owner/texts", split="validation", **options)
    assert held_out.has_split() and list(held_out) == [["One dog sees.", "One cat came."]]
    with pytest.raises(ValueError, match="has no split 'test'; it has train, validation"):
        list(DocumentSource("owner/texts", split="test", **options))
    with pytest.raises(ValueError, match=r"row 1 of owner/texts has the columns \['id', 'story'\].*--text_column"):
        list(DocumentSource("owner/texts"))


def test_a_body_is_pretrained_on_text_of_the_hub(served: Served, tmp_path: Path) -> None:
    train, held_out = Dataset.from_dict({"text": TEXTS * 4}), Dataset.from_dict({"text": TEXTS})
    served(DatasetDict({"train": train, "validation": held_out}))
    flags = ["gpt2018", "--recipe", "none", "--dataset", "owner/texts", "--output_dir", str(tmp_path / "run")]
    flags += ["--config.hidden_size", "8", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "1"]
    flags += ["--config.intermediate_size", "8", "--config.max_position_embeddings", "16", "--length", "16"]
    flags += ["--tokenizer.vocab_size", "60", "--max_steps", "2", "--eval_steps", "2", "--eval_strategy", "steps"]
    plan, task = pretraining_plan([*flags, "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none"])
    facts = run_training(plan, task=task, say=lambda text: None).facts
    assert (
        facts["training_documents"] == 12 and facts["dataset"] == "owner/texts" and facts["validation"]["tokens"] > 0
    )


def test_numbered_tags_get_the_names_that_the_data_set_gives_them(served: Served) -> None:
    features = Features(
        {"tokens": datasets.List(Value("string")), "ner_tags": datasets.List(ClassLabel(names=["O", "B-PER"]))}
    )
    rows = Dataset.from_dict({"tokens": [["Anna", "came"], ["she", "went"]], "ner_tags": [[1, 0], [0, 0]]}, features)
    calls = served(DatasetDict({"train": rows, "dev": rows}))
    found, tags = load_tagged("owner/tags", words="tokens", tags="ner_tags")
    assert calls == [("owner/tags", None, False)] and set(found) == {"train", "validation"}
    assert list(tags.names) == ["O", "B-PER"] and list(found["train"]["tags"]) == [[1, 0], [0, 0]]
