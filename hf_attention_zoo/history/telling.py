"""Claims and verdicts in words: the list of all, and what came out of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.history.claim import Claim, Exact
from hf_attention_zoo.history.kept_results import KEPT, Results, read_results, results_file
from hf_attention_zoo.history.verdict import HOLDS, IN_PART, NOT_HERE, UNDECIDED, PartVerdict

NOT_RUN = "not run"
KOREAN = {
    HOLDS: "성립한다",
    IN_PART: "일부 성립한다",
    NOT_HERE: "여기서는 성립하지 않는다",
    UNDECIDED: "이 규모에서는 판정할 수 없다",
    NOT_RUN: "아직 실행하지 않음",
}


def so_far(claim: Claim, folder: Path) -> Results | None:
    """The results in a folder, otherwise those that come with the package, otherwise None."""
    for place in (folder, KEPT):
        results = read_results(results_file(place, claim.number), claim)
        if results is not None and results.seeds():
            return results
    return None


def list_claims(claims: Sequence[Claim], folder: Path, language: str = "en") -> str:
    """A table: number, year, paper, claim, minutes of a core for all seeds, verdict so far."""
    rows = []
    for claim in claims:
        results = so_far(claim, folder)
        verdict = results.verdict().verdict if results else NOT_RUN
        title = claim.title.ko if language == "ko" else claim.title.en
        said = KOREAN[verdict] if language == "ko" else verdict
        rows.append((claim.number, claim.paper, title, f"{claim.minutes * claim.seeds:.0f} min", said))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    return "\n".join([*lines, "", "attention-zoo reproduce A1 runs one, --all runs all; --help tells more"])


def tell_claim(results: Results, language: str = "en") -> str:
    """What came out: the claim, each part with its differences, the verdict."""
    claim = results.claim
    statement = claim.statement.ko if language == "ko" else claim.statement.en
    lines = [f"{claim.number} ({claim.paper}): {statement}"]
    if results.quick:
        return "\n".join([*lines, "a smoke run: everything works; nothing is decided"])
    verdict = results.verdict()
    lines += [f"  {part.verdict}: {part.part.said}: {tell_part(part)}" for part in verdict.parts]
    said = KOREAN[verdict.verdict] if language == "ko" else verdict.verdict
    return "\n".join([*lines, f"verdict with {len(results.seeds())} seeds: {said}"])


def tell_part(part: PartVerdict) -> str:
    """The size of a part: mean, interval, and how many seeds would decide it."""
    if isinstance(part.part, Exact):
        return f"{sum(number == 1 for number in part.differences)} of {len(part.differences)} seeds"
    if part.low is None:
        return f"{part.mean:+.3g} (one seed)"
    size = f"{part.mean:+.3g} (95 % {part.low:+.3g} to {part.high:+.3g})"
    if part.verdict != UNDECIDED:
        return size
    return (
        f"{size}, {part.seeds_needed} seeds would decide" if part.seeds_needed else f"{size}, no number of seeds would"
    )
