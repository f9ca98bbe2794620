"""transformers' own model tests, run on every head of BERT, GPT and the networks before attention.

One thing is overridden, as in their own tests of BERT: `_prepare_for_class` gives the pre-training model labels. Tests
that skip themselves say why (run with `-s` to see the list). The mixins find out what a head is by class names in
transformers' static tables, to which ours are added here.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto import modeling_auto

from hf_attention_zoo import get_architecture
from hf_attention_zoo.registry import Architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import declare_markers, run_case

BATCH, LENGTH = 3, 7
TABLES = {
    "AutoModel": "MODEL_MAPPING_NAMES",
    "AutoModelForPreTraining": "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "AutoModelForNextSentencePrediction": "MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES",
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForQuestionAnswering": "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
    "AutoModelForMultipleChoice": "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
}


class TinyTokens:
    """What the mixins ask for a config and inputs."""

    def __init__(self, row: Architecture) -> None:
        self.row, self.is_training = row, True
        self.batch_size, self.seq_length, self.num_choices = BATCH, LENGTH, 2
        config = self.get_config()
        self.hidden_size, self.num_hidden_layers = config.hidden_size, getattr(config, "num_hidden_layers", 1)
        self.num_attention_heads = getattr(config, "num_attention_heads", None)

    def get_config(self) -> Any:
        config = self.row.tiny_config()
        if hasattr(config, "embedding_size"):  # they want all states, the embedded words among them, of one size
            config.embedding_size = config.hidden_size
        return config

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        config = self.get_config()
        ids = torch.randint(4, config.vocab_size, (BATCH, LENGTH))
        return config, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(row: Architecture, config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins for one row."""
    declare_markers(config)
    from upstream_tests.generation.test_utils import GenerationTesterMixin
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    for auto, table in TABLES.items():
        if auto in row.models:
            getattr(modeling_auto, table)[row.model_type] = row.models[auto]

    causal = [model_class for auto, model_class in row.model_classes.items() if auto == "AutoModelForCausalLM"]
    mixins = (ModelTesterMixin, GenerationTesterMixin) if causal else (ModelTesterMixin,)

    class ModelTest(*mixins, unittest.TestCase):
        all_model_classes = tuple(row.model_classes.values())
        all_generative_model_classes = tuple(causal)
        has_attentions = row.aligner is not None
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = TinyTokens(row)
            heads = {} if self.model_tester.num_attention_heads is None else {"num_attention_heads": 4}
            common = ["hidden_size", *heads] + (["num_hidden_layers"] if heads else [])
            self.config_tester = ConfigTester(
                self, config_class=row.config_class, common_properties=common, hidden_size=16, **heads
            )

        def _prepare_for_class(
            self, inputs: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = super()._prepare_for_class(inputs, model_class, return_labels)
            if return_labels and model_class.__name__.endswith("ForPreTraining"):
                inputs["labels"] = torch.zeros((BATCH, LENGTH), dtype=torch.long)
                inputs["next_sentence_label"] = torch.zeros(BATCH, dtype=torch.long)
            return inputs

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, row.config_class)

    return ModelTest


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert2018", "gpt2018", "elman", "lstm1997", "nnlm"])
def test_a_model_of_texts_passes_transformers_own_tests(name: str, request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(get_architecture(name), request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 40
