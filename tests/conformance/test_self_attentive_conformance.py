"""transformers' own model tests, run on the self-attentive model of single texts and on that of pairs.

One of their tests is overridden; those that skip themselves say why (run with `-s` to see the list):

- `test_hidden_states_output`: theirs wants every state to be `hidden_size` wide; those of a bidirectional encoder are
  twice as wide, and embeddings have a width of their own.
- `has_attentions = False`: theirs means attention of every position to every other. That of the hops is tested in
  `tests/models/self_attentive`.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import classifier_case, run_case

ROW = get_architecture("self_attentive")
BATCH, LENGTH = 3, 7


class TinyTexts:
    """What the mixins ask for a config and inputs."""

    def __init__(self, pairs: bool) -> None:
        self.pairs, self.is_training = pairs, True
        self.batch_size, self.seq_length = BATCH, LENGTH
        self.hidden_size, self.num_hidden_layers, self.num_attention_heads = 6, 1, 4

    def get_config(self) -> Any:
        return ROW.config_class(**{**ROW.tiny_config().to_diff_dict(), "sentence_pairs": self.pairs})

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        config = self.get_config()
        ids = torch.randint(2, config.vocab_size, (BATCH, LENGTH))
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self.pairs:
            inputs["token_type_ids"] = (torch.arange(LENGTH) > 3).long().expand(BATCH, -1).clone()
        return config, inputs

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(pairs: bool, config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins."""
    shared = classifier_case(ROW, config, lambda: TinyTexts(pairs), ["hidden_size", "num_attention_heads"])
    body, head = shared.all_model_classes

    class ModelTest(shared):
        def test_hidden_states_output(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            for model_class in (body, head):
                with torch.no_grad():
                    states = model_class(config).eval()(**inputs, output_hidden_states=True).hidden_states
                self.assertEqual(
                    [tuple(state.shape) for state in states],
                    [(BATCH, LENGTH, config.embedding_size), (BATCH, LENGTH, 2 * config.hidden_size)],
                )

    return ModelTest


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
def test_the_self_attentive_model_passes_transformers_own_tests(pairs: bool, request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(pairs, request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 50
