"""Pairs and sizes for training tests: a toy language that is copied and reversed, and a model of a few units."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

# What tiny runs of some translators need beside their sizes.
FORMS = {
    "luong": ["--config.window_half_width=2"],
    "transformer2017": ["--config.share_encoder_decoder_embeddings=False"],
}
TINY = [
    *("--tokenizer.kind", "word", "--tokenizer.vocab_size", "40"),
    *("--use_cpu", "True", "--disable_tqdm", "True", "--logging_steps", "1"),
]


def write_pairs(path: Path, count: int, seed: int) -> None:
    """Sentences of 1 to 9 words; the translation is the same words in capitals, in reverse order."""
    rng = random.Random(seed)
    words = [a + b for a in "bdgk" for b in "aeio"]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            source = [rng.choice(words) for _ in range(rng.randint(1, 9))]
            pair = {"source": " ".join(source), "target": " ".join(word.upper() for word in reversed(source))}
            file.write(json.dumps(pair) + "\n")


@pytest.fixture(scope="session")
def pair_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train, validation and test files."""
    folder = tmp_path_factory.mktemp("pairs")
    for seed, (split, count) in enumerate({"train": 60, "validation": 13, "test": 11}.items()):
        write_pairs(folder / f"{split}.jsonl", count, seed)
    return folder


@pytest.fixture
def tiny_run(pair_folder: Path, tmp_path: Path, tiny_sizes: Callable[[str], list[str]]) -> Callable[..., list[str]]:
    """Arguments of a tiny training run; more flags come behind, `folder` names the output folder."""

    def arguments(
        *flags: str, folder: str = "run", recipe: str = "none", architecture: str = "rnnsearch"
    ) -> list[str]:
        return [
            architecture,
            *("--recipe", recipe, "--dataset", str(pair_folder), "--output_dir", str(tmp_path / folder)),
            *tiny_sizes(architecture),
            *FORMS.get(architecture, []),
            *TINY,
            *flags,
        ]

    return arguments
