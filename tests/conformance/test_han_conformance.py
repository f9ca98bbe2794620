"""transformers' own model tests, run on the hierarchical attention network.

Two of their tests are overridden; those that skip themselves say why (run with `-s` to see the list):

- `test_hidden_states_output`: theirs wants all states to be of tokens and `hidden_size` wide; here they are those of
  words and of sentences, and twice as wide.
- `test_load_with_mismatched_shapes`: theirs feeds one row of ids per text; documents are rows of sentences.
- `has_attentions = False`: theirs means attention of every position to every other. That of words and sentences is
  tested in `tests/models/han`.
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import classifier_case, run_case

ROW = get_architecture("han")
BATCH, SENTENCES, WORDS = 3, 4, 5


class TinyDocuments:
    """What the mixins ask for a config and inputs."""

    def __init__(self) -> None:
        self.is_training = True
        self.batch_size, self.seq_length = BATCH, SENTENCES
        self.hidden_size, self.num_hidden_layers, self.num_attention_heads = 6, 1, 1

    def get_config(self) -> Any:
        return ROW.tiny_config()

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        config = self.get_config()
        ids = torch.randint(2, config.vocab_size, (BATCH, SENTENCES, WORDS))
        mask = torch.ones_like(ids)
        mask[:, -1], mask[:, 0, -2:] = 0, 0
        return config, {"input_ids": ids * mask, "attention_mask": mask}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins."""
    shared = classifier_case(ROW, config, TinyDocuments, ["hidden_size"])
    body, head = shared.all_model_classes

    class ModelTest(shared):
        def test_hidden_states_output(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            width = 2 * config.hidden_size
            for model_class in (body, head):
                with torch.no_grad():
                    states = model_class(config).eval()(**inputs, output_hidden_states=True).hidden_states
                self.assertEqual(
                    [tuple(state.shape) for state in states],
                    [
                        (BATCH, SENTENCES, WORDS, config.embedding_size),
                        (BATCH, SENTENCES, WORDS, width),
                        (BATCH, SENTENCES, width),
                    ],
                )

        def test_load_with_mismatched_shapes(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            with tempfile.TemporaryDirectory() as folder:
                model = head(config)
                model.save_pretrained(folder)
                with self.assertRaises(RuntimeError):
                    head.from_pretrained(folder, num_labels=7)
                again = head.from_pretrained(folder, num_labels=7, ignore_mismatched_sizes=True).eval()
            with torch.no_grad():
                self.assertEqual(tuple(again(**inputs).logits.shape), (BATCH, 7))
            wanted = model.model.state_dict()
            self.assertTrue(all(torch.equal(t, wanted[name]) for name, t in again.model.state_dict().items()))

    return ModelTest


@pytest.mark.slow
def test_the_hierarchical_attention_network_passes_transformers_own_tests(request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 50
