"""Models for the properties that hold for every architecture in the registry.

Weights are spread: freshly initialised models are so uniform that a lost state or a leaking pad would not show.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from model_cases import ATTENDING_CASES, CASES, SEQ2SEQ_CASES, SUMMARY_CASES, Case, Maker


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """Each architecture, and each named option of it that changes what a decoder keeps."""
    return request.param


@pytest.fixture(params=SEQ2SEQ_CASES, ids=str)
def seq2seq(request: pytest.FixtureRequest) -> Maker:
    """A maker of spread sequence-to-sequence models and batches."""
    torch.manual_seed(0)
    return Maker(request.param)


@pytest.fixture(params=ATTENDING_CASES, ids=str)
def attending(request: pytest.FixtureRequest) -> Maker:
    """As `seq2seq`, of models that attend to their source."""
    torch.manual_seed(0)
    return Maker(request.param)


@pytest.fixture(params=SUMMARY_CASES, ids=str)
def summarising(request: pytest.FixtureRequest) -> Maker:
    """As `seq2seq`, of models to which only the encoder's last state is known."""
    torch.manual_seed(0)
    return Maker(request.param)
