"""Makes the reference and the tiny models next to these tests importable, and gives their texts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from elmo_cases import TEXTS

from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer


@pytest.fixture(scope="session")
def tokenizer() -> WordCharacterTokenizer:
    return WordCharacterTokenizer.train([[word for text in TEXTS for word in text]] * 2, vocab_size=48)


@pytest.fixture
def batch(tokenizer: WordCharacterTokenizer) -> dict[str, Tensor]:
    """The texts, padded on the right."""
    return dict(tokenizer(TEXTS, is_split_into_words=True, padding=True, return_tensors="pt"))
