"""Targets end n tokens behind the length of their own source."""

from pathlib import Path
from typing import Any

import pytest
import torch

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration


def endless_model() -> Transformer2017ForConditionalGeneration:
    """A model that writes ordinary words only."""
    config = Transformer2017Config(
        vocab_size=30,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        intermediate_size=8,
        output_bias=True,
    )
    model = Transformer2017ForConditionalGeneration(config).eval()
    with torch.no_grad():
        model.lm_head.bias[:4] -= 1e3
    return model


def sources() -> dict[str, torch.Tensor]:
    mask = torch.tensor([[1, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]])
    return {"input_ids": torch.randint(4, 30, (3, 5)) * mask, "attention_mask": mask}


@pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"num_beams": 3, "num_return_sequences": 2}], ids=str)
@pytest.mark.parametrize("beyond", [0, 4])
def test_every_row_has_its_own_limit(options: dict[str, Any], beyond: int) -> None:
    made = endless_model().generate(**sources(), max_length_beyond_source=beyond, **options)
    lengths = (made[:, 1:] > 3).sum(1).tolist()  # behind a beam's end transformers writes end symbols
    copies = options.get("num_return_sequences", 1)
    assert lengths == [length + beyond for length in (2, 5, 1) for _ in range(copies)]


def test_a_prompt_counts_for_itself_and_encoded_sources_will_do() -> None:
    model, inputs = endless_model(), sources()
    encoded = model.get_encoder()(**inputs)
    prompt = torch.tensor([[2, 7, 8]] * 3)
    made = model.generate(
        encoder_outputs=encoded,
        attention_mask=inputs["attention_mask"],
        decoder_input_ids=prompt,
        max_length_beyond_source=2,
    )
    assert (made != 0).sum(1).tolist() == [3 + 4, 3 + 7, 3 + 3]


def test_the_limit_is_saved_with_the_model_and_a_limit_in_the_call_takes_its_place(tmp_path: Path) -> None:
    model = endless_model()
    model.generation_config.max_length_beyond_source = 1
    model.save_pretrained(tmp_path)
    again = Transformer2017ForConditionalGeneration.from_pretrained(tmp_path)
    assert (again.generate(**sources())[:, 1:] != 0).sum(1).tolist() == [3, 6, 2]
    assert again.generate(**sources(), max_new_tokens=9).shape == (3, 10)


def test_impossible_limits_are_refused() -> None:
    for wrong in (-1, 2.5, True):
        with pytest.raises(ValueError, match="give a whole number of at least 0"):
            endless_model().generate(**sources(), max_length_beyond_source=wrong)
    model, begun = endless_model(), torch.full((3, 1), 2)
    for prompt in (torch.full((3, 2), 7), torch.cat([begun, torch.full((3, 2), 7)], 1)):  # without and with its start
        made = model.generate(**sources(), max_length_beyond_source=2, decoder_input_ids=prompt)
        assert (made != 0).sum(1).tolist() == [length + 2 + 3 for length in (2, 5, 1)]
    with pytest.raises(ValueError, match="max_new_tokens and max_length_beyond_source are two limits"):
        endless_model().generate(**sources(), max_length_beyond_source=3, max_new_tokens=3)
