"""Running transformers' own model tests, and what those of every classifier have in common."""

from __future__ import annotations

import copy
import re
import unittest
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers.models.auto import modeling_auto
from upstream_mixins import Unavailable, make_importable

from hf_attention_zoo.registry import Architecture


def declare_markers(config: pytest.Config) -> None:
    """Make the mixins importable, and their markers known, which are not declared here.

    Raises:
        Unavailable: see `make_importable`.
    """
    for path in make_importable().rglob("*.py"):
        for name in set(re.findall(r"\bmark\.(\w+)", path.read_text(encoding="utf-8"))):
            config.addinivalue_line("markers", f"{name}: of transformers")


def classifier_case(
    row: Architecture, config: pytest.Config, tester: Callable[[], Any], common_properties: list[str]
) -> type[unittest.TestCase]:
    """A case of the mixins for a model of texts and its classifier, with integer labels.

    Args:
        tester: what the mixins ask for a config and inputs; it has `batch_size` rows.
        common_properties: fields that the config tester sets.
    """
    declare_markers(config)
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    body, head = row.model_classes["AutoModel"], row.model_classes["AutoModelForSequenceClassification"]
    # The mixins tell bodies from heads by class names in these static tables, and skip silently what they do not know.
    modeling_auto.MODEL_MAPPING_NAMES[row.model_type] = body.__name__
    modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES[row.model_type] = head.__name__

    class ClassifierTest(ModelTesterMixin, unittest.TestCase):
        all_model_classes = (body, head)
        has_attentions = False
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = tester()
            self.config_tester = ConfigTester(
                self, config_class=row.config_class, common_properties=common_properties, hidden_size=6
            )

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, row.config_class)

        def _prepare_for_class(
            self, inputs: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = copy.deepcopy(inputs)
            if return_labels and model_class is head:
                inputs["labels"] = torch.zeros(self.model_tester.batch_size, dtype=torch.long)
            return inputs

    return ClassifierTest


def run_case(build: Callable[[], type[unittest.TestCase]]) -> tuple[int, list[str]]:
    """Run every test of a case; what skips itself is printed with its reason.

    Returns:
        How many did not skip themselves, and what went wrong.
    """
    try:
        case = build()
    except Unavailable as reason:
        pytest.skip(str(reason))
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(f"{result.testsRun} run, {len(result.skipped)} of them skipped themselves")
    wrong = [f"{test}\n{trace}" for test, trace in [*result.failures, *result.errors]]
    return result.testsRun - len(result.skipped), wrong
