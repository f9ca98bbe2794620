"""Settings that hold for every test (no network, one thread), and small models that several folders use."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest
import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

pytest_plugins = ["served_data", "training_fixtures"]

PAIRS = [
    ("das haus ist gross", "the house is big"),
    ("die katze schläft nicht", "the cat does not sleep"),
    ("ein kleines haus", "a small house"),
    ("der hund und die katze und das haus und der kleine hund", "the dog and the cat and the house and the small dog"),
    ("haus", "house"),
]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tiny tensors: one thread is faster than two, and parallel runs do not fight for cores."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    """Each test starts from the same random state."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def load_script() -> Iterator[Callable[[str], ModuleType]]:
    """Name of a program in scripts/ -> its module, which finds its neighbours.

    The folder comes last on the path: scripts/evaluate.py has the name of an installed package.
    """
    folder = str(Path(__file__).parents[1] / "scripts")
    sys.path.append(folder)
    yield importlib.import_module
    sys.path.remove(folder)


TINY_SIZES = {
    "rnnsearch": {"embedding_size": 8, "hidden_size": 12, "attention_size": 10, "maxout_size": 8},
    "rnn_encoder_decoder": {"embedding_size": 8, "hidden_size": 12, "maxout_size": 8},
    "seq2seq_lstm": {"embedding_size": 8, "hidden_size": 12, "num_hidden_layers": 2},
    "luong": {"embedding_size": 8, "hidden_size": 12, "num_hidden_layers": 2},
    "transformer2017": {
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 16,
    },
}


@pytest.fixture(scope="session")
def tiny_sizes() -> Callable[[str], list[str]]:
    """Name of a translator -> flags of the training command for a few units."""
    return lambda architecture: [f"--config.{name}={size}" for name, size in TINY_SIZES[architecture].items()]


@pytest.fixture
def ends_in_turn() -> Callable[[int, int], Any]:
    """(K, end symbol) -> processors after which source s may hardly go on after s + 2 words, K rows a source."""
    from transformers import LogitsProcessorList

    def made(beams: int, end: int) -> LogitsProcessorList:
        def process(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            source = torch.arange(input_ids.shape[0]) // beams
            scores = scores.clone()
            scores[source + 2 < input_ids.shape[1], end] += 30.0
            return scores

        return LogitsProcessorList([process])

    return made


@pytest.fixture(params=("word", "subword"))
def tiny_translator(request: pytest.FixtureRequest) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """A random RNNsearch whose attention is not flat, in evaluation mode, with a German-English tokenizer."""
    from hf_attention_zoo import TranslationTokenizer, get_architecture

    german = ["das haus ist gross", "die katze schläft nicht", "ein kleines haus", "der hund , die katze !"] * 3
    english = ["the house is big", "the cat does not sleep", "a small house", "the dog , the cat !"] * 3
    tokenizer = TranslationTokenizer.train(german, english, kind=request.param, vocab_size=48, target_vocab_size=40)
    row = get_architecture("rnnsearch")
    config = row.tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    model = row.model_classes["AutoModelForSeq2SeqLM"](config).eval()
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
        model.lm_head.bias[[tokenizer.pad_token_id, tokenizer.bos_token_id]] -= 1e3  # what no trained model writes
    return model, tokenizer


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


@pytest.fixture(scope="session")
def tiny_han() -> Callable[..., tuple["PreTrainedModel", "PreTrainedTokenizerBase"]]:
    """Makes a random HAN whose attention is not flat, in evaluation mode, and the tokenizer of some texts."""
    from hf_attention_zoo import HANConfig, HANForSequenceClassification, HierarchicalTokenizer

    def make(texts: list[str], seed: int, **changes: Any) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
        tokenizer = HierarchicalTokenizer.train(texts, vocab_size=60)
        torch.manual_seed(seed)
        sizes = {"vocab_size": len(tokenizer), "embedding_size": 8, "hidden_size": 6, "attention_size": 8}
        config = HANConfig(**sizes, initializer_range=1.0, **changes)
        return HANForSequenceClassification(config).eval(), tokenizer

    return make
