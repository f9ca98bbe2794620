"""How many calls of torch a step makes, and how many numbers the host reads back, by torch's profiler on a CPU.

A call that computes is one kernel on a GPU; views and allocations are not. Where the device is a CPU, some code looks
at numbers that it would leave alone elsewhere, so what is counted is at least what a GPU would be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
from tool_programs import EVERY_HEAD, RegisteredHead, head_of
from torch.profiler import ProfilerActivity, profile

# Calls that compute nothing.
VIEWS = re.compile(
    r"""aten::(
    view|_unsafe_view|view_as|reshape|_reshape_alias|as_strided|slice|select|transpose|t|mT|numpy_T|expand|expand_as|
    unsqueeze|squeeze|permute|unbind|split|split_with_sizes|chunk|alias|detach|detach_|unflatten|flatten|narrow|
    movedim|swapaxes|diagonal|unfold|
    empty|empty_like|empty_strided|new_empty|new_empty_strided|resize_|set_|lift_fresh|
    to|_to_copy|contiguous|clone|resolve_conj|resolve_neg|result_type|item|is_nonzero|_local_scalar_dense
    )""",
    re.VERBOSE,
)
# Calls whose result the host has to wait for.
READ_BACK = frozenset(f"aten::{name}" for name in ("_local_scalar_dense", "nonzero", "equal", "masked_select"))
LENGTHS, WORDS, ROWS = (8, 16), (8, 16), 2


def computing(events: Iterable[Any]) -> int:
    """Calls at the bottom of the tree that compute; one whose parts compute counts as its parts."""
    found = 0
    for event in events:
        inside = computing(event.cpu_children)
        counts = event.name.startswith("aten::") and VIEWS.fullmatch(event.name) is None
        found += inside or int(counts)
    return found


def profiled(step: Callable[[], object]) -> tuple[int, int]:
    """Calls that compute, and numbers that are read back, of a step that has run once."""
    step()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step()
    events = seen.events()
    return computing(event for event in events if event.cpu_parent is None), sum(
        event.name in READ_BACK for event in events
    )


def per_step(make: Callable[[int], Callable[[], object]], sizes: tuple[int, int]) -> tuple[float, float]:
    """What one position more costs: the difference between two sizes."""
    (few, read_few), (many, read_many) = (profiled(make(size)) for size in sizes)
    width = sizes[1] - sizes[0]
    return round((many - few) / width, 1), round((read_many - read_few) / width, 1)


def training(head: RegisteredHead) -> dict[str, Any]:
    """A training step of rows of 16 positions, and how much of it each position adds."""
    model = head.model().train()

    def make(length: int) -> Callable[[], None]:
        batch = head.batch((length, length - 2))

        def step() -> None:
            model.zero_grad()
            model(**batch).loss.backward()

        return step

    calls, read = profiled(make(LENGTHS[1]))
    more, read_more = per_step(make, LENGTHS)
    return {"calls": calls, "read_back": read, "calls_per_position": more, "read_back_per_position": read_more}


def generation(head: RegisteredHead, beams: int) -> dict[str, Any] | None:
    """What one word more costs `generate`; None of a model that writes nothing."""
    model = head.model().eval()
    if not model.can_generate() or model.generation_config is None:
        return None
    batch = {name: tensor for name, tensor in head.batch((6, 6)).items() if not name.endswith("labels")}

    def make(words: int) -> Callable[[], None]:
        options = {"max_new_tokens": words, "min_new_tokens": words, "num_beams": beams, "do_sample": False}

        def step() -> None:
            with torch.no_grad():
                model.generate(**batch, **options)

        return step

    calls, read = per_step(make, WORDS)
    return {"calls": calls, "read_back": read}


def counted(model_type: str) -> dict[str, Any]:
    """All counts of one architecture."""
    writes = ("AutoModelForSeq2SeqLM", "AutoModelForImageTextToText", "AutoModelForCausalLM")
    heads = [head for head in EVERY_HEAD if head.model_type == model_type and head.auto in writes]
    head = heads[0] if heads else head_of(model_type)
    return {
        "head": head.auto,
        "training": training(head),
        "greedy": generation(head, 1),
        "beams": generation(head, 4),
    }
