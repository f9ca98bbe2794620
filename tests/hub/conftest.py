"""A saved checkpoint with tokenizer and records, and a Hub on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tokenization.translation_tokenizer import TranslationTokenizer

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode leaves test folders out

from loopback_hub import LoopbackHub

GERMAN = ["Der Hund läuft.", "Die Katze schläft.", "Der Hund schläft.", "Die Katze läuft."]
ENGLISH = ["The dog runs.", "The cat sleeps.", "The dog sleeps.", "The cat runs."]

METRICS = {
    "dataset": {
        "name": "translation_de_en",
        "split": "test",
        "source_lang": "de",
        "target_lang": "en",
        "rows": 1155,
        "licence": "MPL-2.0",
    },
    "model_type": "rnnsearch",
    "parameters": 5452,
    "decoding": {"num_beams": 4, "length_penalty": 1.0},
    "results": {
        "bleu": {"value": 30.1234567, "signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"},
        "chrf": {"value": 55.25, "signature": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"},
        "perplexity_per_token": 7.42,
        "brevity_penalty": 0.98,
        "seconds": 33.2,
    },
    "baselines": {"copy": {"bleu": 3.125, "chrf": 20.25}},
    "bleu_by_source_length": [
        {"words": "1-5", "sentences": 120, "bleu": 44.1},
        {"words": "6-10", "sentences": 220, "bleu": 33.1},
    ],
    "command": "attention-zoo evaluate rnnsearch-de-en --dataset translation_de_en --split test",
    "hardware": "2 CPU cores",
    "versions": {"torch": "2.13.0", "transformers": "5.24.0"},
}

TRAINING = {
    "command": "attention-zoo train rnnsearch --dataset translation_de_en --output_dir rnnsearch-de-en --seed 13",
    "recipe": "small",
    "dataset": "translation_de_en",
    "seed": 13,
    "epochs": 12.0,
    "steps": 5200,
    "target_tokens": 5_000_000,
    "seconds": 4000.0,
    "hardware": "2 CPU cores",
    "arguments": {"learning_rate": 0.003},
}

FACTS = {
    "licence": "mpl-2.0",
    "data_licence": "MPL-2.0, LibreOffice contributors",
    "limits": ["Learned from the help pages of an office suite."],
    "intended_use": "Teaching and comparison with other attention models.",
    "example": "Der Hund läuft.",
}

SEED = 0


@pytest.fixture(scope="session")
def saved_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model and tokenizer as `save_pretrained` writes them, nothing else. Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("saved") / "rnnsearch-de-en"
    row = get_architecture("rnnsearch")
    tokenizer = TranslationTokenizer.train(
        GERMAN, ENGLISH, kind="word", vocab_size=48, target_vocab_size=40, source_lang="de", target_lang="en"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)  # of a model whose translations end
        model = row.model_classes["AutoModelForSeq2SeqLM"](row.tiny_config())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def checkpoint(saved_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the saved checkpoint that a test may change."""
    folder = tmp_path / saved_checkpoint.name
    folder.mkdir()
    for path in saved_checkpoint.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.fixture
def recorded_checkpoint(checkpoint: Path) -> Path:
    """A checkpoint with metrics, training and facts files and a picture."""
    for name, content in (("metrics", METRICS), ("training", TRAINING), ("facts", FACTS)):
        (checkpoint / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (checkpoint / "alignment.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return checkpoint


@pytest.fixture
def loopback_hub() -> Iterator[LoopbackHub]:
    with LoopbackHub() as hub:
        yield hub


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch, loopback_hub: LoopbackHub, tmp_path: Path) -> LoopbackHub:
    """This process talks to the loopback Hub, and finds no token but the one a test gives it."""
    monkeypatch.setattr(constants, "ENDPOINT", loopback_hub.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no such token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return loopback_hub


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., str]:
    """Runs a script in a fresh process, offline by default, and returns its output; its failure fails the test."""

    def run(script: str, *arguments: object, env: dict[str, str] | None = None) -> str:
        offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf_home"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            env=env or offline,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
