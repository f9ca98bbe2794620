"""A decoding step asks for no number on the host: it runs where there are none to read, on the meta device."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from model_cases import CASES, Case
from torch import Tensor, nn
from transformers.cache_utils import Cache, CacheLayerMixin

from hf_attention_zoo import get_architecture
from hf_attention_zoo.loops import may_run

WRITERS = [case for case in CASES if getattr(case.config(), "is_encoder_decoder", False)]
SOURCES, BEAMS = 2, 3


def away(value: Any) -> Any:
    """The same shapes without numbers; a cache is changed itself."""
    if isinstance(value, Tensor):
        return value.to("meta")
    if isinstance(value, dict):  # an output of a model, too
        parts = {name: away(part) for name, part in value.items()}
        return parts if type(value) is dict else type(value)(**parts)
    if isinstance(value, (Cache, CacheLayerMixin)):
        for name, part in vars(value).items():
            setattr(value, name, away(part))
    return type(value)(map(away, value)) if type(value) in (tuple, list) else value


def encoded(model: Any) -> tuple[dict[str, Any], Any]:
    """What a decoder is given of two sources, the second of them with pads."""
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    if model.config.model_type == "show_attend_tell":
        return {}, model.get_encoder()(
            annotations=torch.randn(SOURCES, 6, model.config.annotation_size), return_dict=True
        )
    states = model.get_encoder()(torch.full((SOURCES, 4), 5), mask, return_dict=True)
    return {"attention_mask": mask}, states


@pytest.mark.parametrize("twins", [True, False], ids=["twins", "formulas"])
@pytest.mark.parametrize("case", WRITERS, ids=str)
@torch.no_grad()
def test_a_step_and_a_change_of_places_read_nothing(case: Case, twins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    row = get_architecture(case.model_type)
    auto = next(name for name in row.model_classes if name != "AutoModel")
    model = row.model_classes[auto](case.config()).eval()
    given, states = encoded(model)
    if twins:  # which take weights without numbers for weights that are elsewhere
        monkeypatch.setattr(may_run, "is_plain_weight", lambda weight: type(weight) is nn.Parameter)
        monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)  # it does not know the device
    words = torch.full((SOURCES * BEAMS, 1), 5)
    fixed = {"hypotheses_per_source": BEAMS, "use_cache": True}
    with nullcontext() if twins else may_run.formulas_only():
        first = model(decoder_input_ids=words, encoder_outputs=states, **given, **fixed)
    cache, words, model = away(first.cache), away(words), model.to("meta")
    fixed |= {"encoder_outputs": away(states), **away(given)}
    for _ in range(2):
        cache.move_hypotheses(torch.zeros(SOURCES * BEAMS, dtype=torch.long, device="meta"))
        step = model(decoder_input_ids=words, cache=cache, **fixed)
        assert step.logits.shape == first.logits.shape and step.logits.is_meta
