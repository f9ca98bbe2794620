"""transformers' own model tests, run on ELMo's model and its heads.

Overridden or set, and why; those of theirs that skip themselves, most for want of attention or an accelerator,
say why (run with `-s` to see the list):

- `freeze_bilm=False`: theirs want a gradient for every parameter.
- `test_resize_embeddings = False`: `vocab_size` is that of the softmax, while the input table holds characters.
- `test_mismatched_shapes = False`: theirs changes `vocab_size`, which the heads do not have.
- `has_attentions = False`: there is no attention.
- `_prepare_for_class` gives each head labels of its own shape.
- `test_hidden_states_output`: theirs looks for attention-style sizes; here there are the words twice and each layer.
"""

from __future__ import annotations

import copy
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import declare_markers, run_case

ROW = get_architecture("elmo")
BATCH, LENGTH, CHARACTERS = 3, 7, 12


class TinyWords:
    """What the mixins ask for a config and inputs."""

    def __init__(self) -> None:
        self.is_training = True
        self.batch_size, self.seq_length = BATCH, LENGTH
        self.hidden_size, self.num_hidden_layers = 12, 2

    def get_config(self) -> Any:
        return ROW.config_class(**{**ROW.tiny_config().to_diff_dict(), "freeze_bilm": False})

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        ids = torch.randint(1, 257, (BATCH, LENGTH, CHARACTERS))
        return self.get_config(), {"character_ids": ids, "attention_mask": torch.ones(BATCH, LENGTH, dtype=torch.long)}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins."""
    declare_markers(config)
    from transformers.models.auto import modeling_auto
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    classes = ROW.model_classes
    body, language_model = classes["AutoModel"], classes["AutoModelForPreTraining"]
    of_texts, of_words = classes["AutoModelForSequenceClassification"], classes["AutoModelForTokenClassification"]
    modeling_auto.MODEL_MAPPING_NAMES["elmo"] = body.__name__
    modeling_auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES["elmo"] = language_model.__name__
    modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES["elmo"] = of_texts.__name__
    modeling_auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES["elmo"] = of_words.__name__

    class ModelTest(ModelTesterMixin, unittest.TestCase):
        all_model_classes = (body, language_model, of_texts, of_words)
        is_encoder_decoder = has_attentions = test_resize_embeddings = test_mismatched_shapes = False
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = TinyWords()
            self.config_tester = ConfigTester(
                self, config_class=ROW.config_class, common_properties=["num_hidden_layers"], projection_size=6
            )

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, ROW.config_class)

        def _prepare_for_class(
            self, inputs: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = copy.deepcopy(inputs)
            if return_labels and model_class is not body:
                width = {of_texts: (), of_words: (LENGTH,), language_model: (LENGTH + 1,)}[model_class]
                inputs["labels"] = torch.zeros((BATCH, *width), dtype=torch.long)
            return inputs

        def test_hidden_states_output(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            for model_class in self.all_model_classes:
                with torch.no_grad():
                    states = model_class(config).eval()(**inputs, output_hidden_states=True).hidden_states
                self.assertEqual([tuple(state.shape) for state in states], [(BATCH, LENGTH, 12)] * 3)

    return ModelTest


@pytest.mark.slow
def test_elmo_passes_transformers_own_tests(request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 40
