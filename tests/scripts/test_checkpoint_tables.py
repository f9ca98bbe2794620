"""The tables of the published folders."""

from collections.abc import Callable
from types import ModuleType

import pytest


@pytest.mark.parametrize(
    ("share", "shown"),
    [(100, "100.0"), (99.999, "99.99"), (99.97, "99.97"), (99.94, "99.9"), (86.69, "86.7"), (0, "0.0")],
)
def test_what_is_not_all_is_not_rounded_to_all(
    load_script: Callable[[str], ModuleType], share: float, shown: str
) -> None:
    assert load_script("checkpoint_tables").percent(share) == shown
