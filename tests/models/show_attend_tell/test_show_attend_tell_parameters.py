"""The parameter count at the paper's sizes, derived from the equations term by term (the paper prints none)."""

from __future__ import annotations

import torch

from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig
from hf_attention_zoo.models.show_attend_tell.facts_show_attend_tell import PAPER_CONFIG, PAPER_PARAMETERS
from hf_attention_zoo.models.show_attend_tell.modeling_show_attend_tell import ShowAttendTellForConditionalGeneration

K, M, D, N = 10_000, 512, 512, 1800  # words, embedding, annotation vector, cells
TERMS = {
    "E": K * M,
    "f_init, shared": D * D + D,
    "f_init,h and f_init,c": 2 * (D * N + N),
    "W of i, f, o, g": M * 4 * N,
    "U of i, f, o, g": N * 4 * N,
    "Z of i, f, o, g": D * 4 * N,
    "b of i, f, o, g": 4 * N,
    "f_att: W_c, W_d, b": D * D + N * D + D,
    "f_att: second layer of the regions": D * D + D,
    "f_att: u, c": D + 1,
    "f_beta": N + 1,
    "L_h": N * M + M,
    "L_z": D * M + M,
    "L_o": M * K + K,
}


def count(**changes: object) -> int:
    with torch.device("meta"):
        model = ShowAttendTellForConditionalGeneration(ShowAttendTellConfig(**{**PAPER_CONFIG, **changes}))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_captioner_of_coco_has_the_parameters_of_its_equations() -> None:
    assert sum(TERMS.values()) == 35_333_450 == PAPER_PARAMETERS == count()
    attention = sum(size for name, size in TERMS.items() if name.startswith("f_att"))
    assert attention == 1_447_425 and TERMS["f_init,h and f_init,c"] == 1_846_800


def test_each_choice_adds_or_leaves_out_its_own_term() -> None:
    without = {
        "f_init, shared": {"num_initial_layers": 1},
        "f_att: second layer of the regions": {"num_attention_layers": 1},
        "f_beta": {"context_gate": False},
        "L_z": {"context_to_output": False},
    }
    for term, changes in without.items():
        assert PAPER_PARAMETERS - count(**changes) == TERMS[term], term
    assert PAPER_PARAMETERS - count(word_to_output=False) == 0  # E is there all the same
    assert count(num_output_layers=2) - PAPER_PARAMETERS == M * M + M
    small = count(hidden_size=512, num_attention_layers=1, num_initial_layers=1)
    assert small == 14_974_226
    assert count(image_encoder="vgg19") - PAPER_PARAMETERS == 20_024_384
