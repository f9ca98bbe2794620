"""A saved folder with an untrained model, and pairs to score it on."""

import json
from pathlib import Path

import pytest
import torch

PAIRS = [
    ("das haus ist gross", "the house is big"),
    ("die katze schläft nicht", "the cat does not sleep"),
    ("ein kleines haus", "a small house"),
    ("der hund und die katze und das haus und der kleine hund", "the dog and the cat and the house and the small dog"),
    ("haus", "house"),
]


@pytest.fixture(scope="session")
def saved_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny translator saved with `save_pretrained`, languages in its tokenizer."""
    from hf_attention_zoo import TranslationTokenizer, get_architecture

    folder = tmp_path_factory.mktemp("saved") / "model"
    sources, targets = zip(*PAIRS, strict=True)
    tokenizer = TranslationTokenizer.train(
        list(sources) * 3, list(targets) * 3, kind="word", vocab_size=40, source_lang="de", target_lang="en"
    )
    row = get_architecture("rnnsearch")
    config = row.tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    torch.manual_seed(5)
    model = row.model_classes["AutoModelForSeq2SeqLM"](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    model.generation_config.max_length = 12
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def pair_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one test file of five pairs."""
    folder = tmp_path_factory.mktemp("scored")
    lines = [json.dumps({"source": source, "target": target}) for source, target in PAIRS]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
