"""transformers' own model and generation tests, run on Show, Attend and Tell.

Overridden, and why; those that skip themselves say why (run with `-s` to see the list):

- `has_attentions = False`: theirs means self-attention. That over regions is tested in `tests/models`.
- `test_generate_without_input_ids`: theirs lets an encoder read the start symbol; here a missing picture is refused.
- `_check_encoder_hidden_states_for_generate`: theirs counts tokens that were read; here they are regions, and beams
  share them.
- `_check_past_key_values_for_generate`: theirs looks for keys and values per layer; a recurrent state has none.
- `test_hidden_states_output`: theirs wants one state a layer, all of them `hidden_size` wide; the encoder has one,
  of the annotation size.
- `test_resize_embeddings = False`: theirs change the ids that are read, and a captioner reads none; see
  `test_words_can_be_added` in `tests/models/show_attend_tell`.
- `test_inputs_embeds_matches_input_ids`: theirs embeds what is read; here only what is written has a table.
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

from hf_attention_zoo import get_architecture

sys.path.insert(0, str(Path(__file__).parent))

from upstream_cases import declare_markers, run_case

ROW = get_architecture("show_attend_tell")
BATCH, LENGTH, SIZE = 3, 7, 12


class TinyPictures:
    """What the mixins ask for a config and inputs."""

    def __init__(self) -> None:
        self.is_training = True
        self.batch_size, self.seq_length = BATCH, LENGTH
        self.decoder_seq_length, self.encoder_seq_length = LENGTH, 16
        self.hidden_size, self.num_hidden_layers, self.num_attention_heads = SIZE, 1, 1

    def get_config(self) -> Any:
        fields = {
            "embedding_size": SIZE,
            "annotation_size": SIZE,
            "image_encoder": "convolutions",
            "freeze_encoder": False,
        }
        return ROW.config_class(**{**ROW.tiny_config().to_diff_dict(), **fields, "encoder_channels": [4]})

    def prepare_config_and_inputs_for_common(self) -> tuple[Any, dict[str, torch.Tensor]]:
        config = self.get_config()
        words = torch.randint(4, config.vocab_size, (BATCH, LENGTH))
        return config, {"pixel_values": torch.randn(BATCH, 3, 8, 8), "decoder_input_ids": words}

    prepare_config_and_inputs = prepare_config_and_inputs_for_common


def build_case(config: pytest.Config) -> type[unittest.TestCase]:
    """A test case of transformers' mixins."""
    declare_markers(config)
    from upstream_tests.generation.test_utils import GenerationTesterMixin
    from upstream_tests.test_configuration_common import ConfigTester
    from upstream_tests.test_modeling_common import ModelTesterMixin

    body, head = ROW.model_classes["AutoModel"], ROW.model_classes["AutoModelForImageTextToText"]
    # The mixins tell bodies from heads by class names in these static tables, and skip silently what they do not know.
    modeling_auto.MODEL_MAPPING_NAMES[ROW.model_type] = body.__name__
    modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES[ROW.model_type] = head.__name__

    class ModelTest(ModelTesterMixin, GenerationTesterMixin, unittest.TestCase):
        all_model_classes = (body, head)
        all_generative_model_classes = (head,)
        is_encoder_decoder, has_attentions, test_resize_embeddings = True, False, False
        test_can_init_all_missing_weights_before_2023 = True  # else it is skipped, by a date in the config's file

        def setUp(self) -> None:
            self.model_tester = TinyPictures()
            self.config_tester = ConfigTester(
                self, config_class=ROW.config_class, common_properties=["hidden_size"], hidden_size=SIZE
            )

        def test_config(self) -> None:
            self.config_tester.run_common_tests()
            self.assertIs(self.config_tester.config_class, ROW.config_class)

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
                words = model.decoder.previous_words(inputs.pop("decoder_input_ids"))
                made = model(**inputs, decoder_inputs_embeds=words)[0]
            torch.testing.assert_close(made, wanted)

        def test_generate_without_input_ids(self) -> None:
            config, _ = self.model_tester.prepare_config_and_inputs_for_common()
            with self.assertRaisesRegex(ValueError, "without a source"):
                head(config).generate(max_new_tokens=3)

        def test_hidden_states_output(self) -> None:
            config, inputs = self.model_tester.prepare_config_and_inputs_for_common()
            with torch.no_grad():
                made = body(config).eval()(**inputs, output_hidden_states=True)
            self.assertEqual([tuple(s.shape) for s in made.encoder_hidden_states], [(BATCH, 16, SIZE)])
            self.assertEqual([tuple(s.shape) for s in made.decoder_hidden_states], [(BATCH, LENGTH, SIZE)] * 2)

        def _check_encoder_hidden_states_for_generate(
            self, hidden_states: tuple[torch.Tensor, ...], batch_size: int, config: Any, prompt_length: int
        ) -> None:
            for states in hidden_states:
                self.assertEqual(batch_size % states.shape[0], 0)  # shared by beams
                self.assertEqual(tuple(states.shape[1:]), (16, SIZE))

        def _check_past_key_values_for_generate(
            self, batch_size: int, cache: Any, seq_length: int, config: Any
        ) -> None:
            self.assertEqual(cache.get_seq_length(), seq_length)
            self.assertEqual({state.shape[0] for state in cache.hypothesis.values()}, {batch_size})

    return ModelTest


@pytest.mark.slow
def test_the_captioner_passes_transformers_own_tests(request: pytest.FixtureRequest) -> None:
    ran, wrong = run_case(lambda: build_case(request.config))
    assert not wrong, "\n\n".join(wrong)
    assert ran >= 50
