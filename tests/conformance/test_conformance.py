"""transformers' own model tests, run on the sequence-to-sequence models of the registry.

No test of theirs is skipped by us; those that skip themselves say why (run with `-s` to see the list). What is
overridden, and why:

- `test_inputs_embeds_matches_input_ids`: theirs embeds both sides with the source table; here each side has its own.
- `_check_encoder_hidden_states_for_generate`: theirs wants every state to be `hidden_size` wide; those of a
  bidirectional encoder are twice as wide.
- `_check_past_key_values_for_generate` of recurrent models: theirs looks for keys and values per layer; a recurrent
  state has none.
- `test_resize_tokens_embeddings`: theirs runs whole, but its last model has two vocabularies of different sizes, for
  which one number is refused.
- `test_generate_without_input_ids`: theirs lets an encoder read the start symbol; here a missing source is refused.
- `expected_num_hidden_layers = 2` of recurrent models: hidden states are the embeddings and the top states; torch's
  stacked recurrent layers do not give those in between.
- `has_attentions = False` of recurrent models: theirs means self-attention. Cross-attention is tested in
  `tests/models`.
- `_check_encoder_attention_for_generate`: theirs wants one row per beam; here the beams of a source share it.
"""

from __future__ import annotations

import copy
import sys
import unittest
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.auto import modeling_auto

from hf_attention_zoo import list_architectures
from hf_attention_zoo.registry import Architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import declare_markers, run_case

SEQ2SEQ = "AutoModelForSeq2SeqLM"
SIZE, BATCH, LENGTH = 16, 3, 7


class TinyInputs:
    """What the mixins ask for a config and inputs."""

    def __init__(self, row: Architecture) -> None:
        self.row, self.is_training = row, True
        self.batch_size, self.seq_length = BATCH, LENGTH
        self.decoder_seq_length = self.encoder_seq_length = LENGTH
        config = self.get_config()
        self.hidden_size = config.hidden_size
        self.num_hidden_layers = getattr(config, "num_hidden_layers", 1)
        recurrent = row.model_classes[SEQ2SEQ]._is_stateful
        self.expected_num_hidden_layers = 2 if recurrent else self.num_hidden_layers + 1
        self.num_attention_heads = getattr(config, "num_attention_heads", 1)

    def get_config(self) -> Any:
        """The tiny config with one vocabulary size and one width of embeddings and states: the mixins know one."""
        config = self.row.tiny_config()
        sizes = {"vocab_size": 64, "decoder_vocab_size": 64}
        if hasattr(config, "embedding_size"):
            sizes["embedding_size"] = config.hidden_size
        return self.row.config_class(**{**config.to_diff_dict(), **sizes})

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        config = self.get_config()
        ids, previous = (torch.randint(4, config.vocab_size, (BATCH, LENGTH)) for _ in range(2))
        ids[:, -1] = config.eos_token_id
        return config, {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": previous}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(row: Architecture, config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins for one row."""
    declare_markers(config)
    from upstream_tests.generation.test_utils import GenerationTesterMixin
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    body, head = row.model_classes["AutoModel"], row.model_classes[SEQ2SEQ]
    recurrent = head._is_stateful
    # The mixins tell bodies from heads by class names in these static tables, and skip silently what they do not know.
    modeling_auto.MODEL_MAPPING_NAMES[row.model_type] = body.__name__
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES[row.model_type] = head.__name__

    class ModelTest(ModelTesterMixin, GenerationTesterMixin, unittest.TestCase):
        all_model_classes = (body, head)
        is_encoder_decoder, has_attentions = True, not recurrent
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = TinyInputs(row)
            config = row.tiny_config()  # without attention there are no heads
            sizes = [n for n in ("hidden_size", "num_attention_heads", "num_hidden_layers") if hasattr(config, n)]
            self.config_tester = ConfigTester(
                self, config_class=row.config_class, common_properties=sizes, hidden_size=SIZE
            )

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, row.config_class)

        def test_resize_tokens_embeddings(self) -> None:
            for model_class in (body, head):
                self.all_model_classes = (model_class,)
                with self.assertRaisesRegex(ValueError, "could mean either"):
                    super().test_resize_tokens_embeddings()

        def _prepare_for_class(
            self, inputs: dict[str, Any], model_class: type, return_labels: bool = False
        ) -> dict[str, Any]:
            inputs = copy.deepcopy(inputs)
            if return_labels and model_class is head:
                inputs["labels"] = torch.zeros((BATCH, LENGTH), dtype=torch.long)
            return inputs

        def test_inputs_embeds_matches_input_ids(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            model = body(config).eval()
            with torch.no_grad():
                wanted = model(**inputs)[0]
                source = model.get_input_embeddings()(inputs.pop("input_ids"))
                target = model.get_decoder_input_embeddings()(inputs.pop("decoder_input_ids"))
                made = model(**inputs, inputs_embeds=source, decoder_inputs_embeds=target)[0]
            torch.testing.assert_close(made, wanted)

        def test_generate_without_input_ids(self) -> None:
            config, _ = self.model_tester.prepare_config_and_inputs_for_common()
            with self.assertRaisesRegex(ValueError, "without a source"):
                head(config).generate(max_new_tokens=3)

        def _check_encoder_hidden_states_for_generate(
            self, hidden_states: tuple[torch.Tensor, ...], batch_size: int, config: Any, prompt_length: int
        ) -> None:
            for states in hidden_states:
                self.assertEqual(states.shape[1], prompt_length)
                self.assertEqual(states.shape[0] * (batch_size // states.shape[0]), batch_size)  # shared by beams

        def _check_encoder_attention_for_generate(
            self, attentions: tuple[torch.Tensor, ...], batch_size: int, config: Any, prompt_length: int
        ) -> None:
            sources = attentions[0].shape[0]
            self.assertEqual(batch_size % sources, 0)
            super()._check_encoder_attention_for_generate(attentions, sources, config, prompt_length)

        def _check_past_key_values_for_generate(
            self, batch_size: int, cache: Any, seq_length: int, config: Any
        ) -> None:
            if not recurrent:
                cache.cross_attention_cache.batch_repeat_interleave(cache.hypotheses_per_source)
                super()._check_past_key_values_for_generate(batch_size, cache, seq_length, config)
                return
            self.assertEqual(cache.get_seq_length(), seq_length)
            self.assertEqual({state.shape[0] for state in cache.hypothesis.values()}, {batch_size})

    return ModelTest


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [row for row in list_architectures() if SEQ2SEQ in row.models], ids=lambda row: row.model_type
)
def test_the_model_passes_transformers_own_tests(row: Architecture, request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(row, request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 50
