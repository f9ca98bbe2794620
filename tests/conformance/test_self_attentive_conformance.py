"""transformers' own model tests, run on the self-attentive model of single texts and on that of pairs.

One of their tests is overridden; those that skip themselves say why (run with `-s` to see the list):

- `test_hidden_states_output`: theirs wants every state to be `hidden_size` wide; those of a bidirectional encoder are
  twice as wide, and embeddings have a width of their own.
- `has_attentions = False`: theirs means attention of every position to every other. That of the hops is tested in
  `tests/models/self_attentive`.
"""

from __future__ import annotations

import copy
import re
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto import modeling_auto

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_mixins import Unavailable, make_importable

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
    for path in make_importable().rglob("*.py"):  # their markers are not declared here
        for name in set(re.findall(r"\bmark\.(\w+)", path.read_text(encoding="utf-8"))):
            config.addinivalue_line("markers", f"{name}: of transformers")
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    body, head = ROW.model_classes["AutoModel"], ROW.model_classes["AutoModelForSequenceClassification"]
    # The mixins tell bodies from heads by class names in these static tables, and skip silently what they do not know.
    modeling_auto.MODEL_MAPPING_NAMES[ROW.model_type] = body.__name__
    modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES[ROW.model_type] = head.__name__

    class ModelTest(ModelTesterMixin, unittest.TestCase):
        all_model_classes = (body, head)
        has_attentions = False
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = TinyTexts(pairs)
            self.config_tester = ConfigTester(
                self,
                config_class=ROW.config_class,
                common_properties=["hidden_size", "num_attention_heads"],
                hidden_size=6,
            )

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, ROW.config_class)

        def _prepare_for_class(
            self, inputs: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = copy.deepcopy(inputs)
            if return_labels and model_class is head:
                inputs["labels"] = torch.zeros(BATCH, dtype=torch.long)
            return inputs

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
    try:
        case = build_case(pairs, request.config)
    except Unavailable as reason:
        pytest.skip(str(reason))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(f"{result.testsRun} run, {len(result.skipped)} of them skipped themselves")
    wrong = [f"{test}\n{trace}" for test, trace in [*result.failures, *result.errors]]
    assert not wrong, "\n\n".join(wrong)
    assert result.testsRun - len(result.skipped) >= 50
