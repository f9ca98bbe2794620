"""One rule for all claims: from the differences over seeds to a verdict.

A part that claims a difference looks at the differences d of the seeds, claimed larger minus claimed smaller, and at
their 95 % interval by Student's t, mean(d) ± t(n - 1) · s(d) / √n:

    holds            the whole interval lies above the least difference that the claim speaks of
    does not hold    the whole interval lies below it
    undecided        otherwise, or with one seed

A part that claims likeness holds if the interval lies within ± margin, and does not if it lies outside. An exact part
holds if its measure is 1 with every seed. A claim

    holds                       if all its parts do
    holds in part               if some parts do
    does not hold here          if none does, and at least one does not
    not decided at this size    if all are undecided
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from hf_attention_zoo.history.claim import Alike, Claim, Difference, Exact, Part, measures_of

HOLDS = "holds"
IN_PART = "holds in part"
NOT_HERE = "does not hold here"
UNDECIDED = "not decided at this size"
MOST_SEEDS = 100
CONFIDENCE = 0.95


@cache
def student_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """The t with P(|T| < t) = confidence, found by bisection in Student's distribution.

    Args:
        degrees: of freedom, 1 or more.

    P(|T| < t) is a finite sum for whole degrees (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def _within(bound: float, degrees: int) -> float:
    """P(|T| < bound)."""
    angle = math.atan(bound / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return (2 / math.pi) * (angle + sine * total) if odd else sine * total


@dataclass(frozen=True)
class PartVerdict:
    """What the seeds say about one part.

    Attributes:
        part: the part.
        verdict: "holds", "does not hold here" or "not decided at this size".
        differences: of each seed; of an exact part its measures.
        mean: of them.
        low, high: the 95 % interval of their mean; with one seed both are None.
        seeds_needed: of an undecided part, how many seeds would decide it if mean and spread stayed as they are; None
            where that is not known (one seed) or more than `MOST_SEEDS`.
    """

    part: Part
    verdict: str
    differences: tuple[float, ...]
    mean: float
    low: float | None = None
    high: float | None = None
    seeds_needed: int | None = None


def judge_part(part: Part, measures: Sequence[Sequence[float]]) -> PartVerdict:
    """The verdict on one part.

    Args:
        measures: for each measure that the part compares (`measures_of`), its number with each seed.

    Raises:
        ValueError: no seed, seeds that are missing in one of the two, or a number that is not finite.
    """
    if not measures or not measures[0] or len({len(numbers) for numbers in measures}) > 1:
        raise ValueError(
            f"{part.said}: numbers of {[len(numbers) for numbers in measures]} seeds; give as many of each"
        )
    if not all(math.isfinite(number) for numbers in measures for number in numbers):
        raise ValueError(f"{part.said}: numbers are {[list(numbers) for numbers in measures]}; each must be finite")
    if isinstance(part, Exact):
        found = tuple(float(number) for number in measures[0])
        holds = HOLDS if all(number == 1 for number in found) else NOT_HERE
        return PartVerdict(part, holds, found, statistics.fmean(found))
    differences = tuple(float(first - second) for first, second in zip(*measures, strict=True))
    mean = statistics.fmean(differences)
    if len(differences) == 1:
        return PartVerdict(part, UNDECIDED, differences, mean)
    spread = statistics.stdev(differences)
    half = student_quantile(len(differences) - 1) * spread / math.sqrt(len(differences))
    verdict = _verdict(part, mean - half, mean + half)
    needed = seeds_that_decide(part, mean, spread, len(differences)) if verdict == UNDECIDED else None
    return PartVerdict(part, verdict, differences, mean, mean - half, mean + half, needed)


def _verdict(part: Difference | Alike, low: float, high: float) -> str:
    """Where an interval lies."""
    if isinstance(part, Difference):
        return HOLDS if low > part.least else NOT_HERE if high < part.least else UNDECIDED
    if -part.margin < low and high < part.margin:
        return HOLDS
    return NOT_HERE if low > part.margin or high < -part.margin else UNDECIDED


def seeds_that_decide(part: Difference | Alike, mean: float, spread: float, seeds: int) -> int | None:
    """The least number of seeds, more than there were, with which this mean and spread would decide a part."""
    for more in range(seeds + 1, MOST_SEEDS + 1):
        half = student_quantile(more - 1) * spread / math.sqrt(more)
        if _verdict(part, mean - half, mean + half) != UNDECIDED:
            return more
    return None


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim and on each of its parts."""

    verdict: str
    parts: tuple[PartVerdict, ...]


def judge(claim: Claim, measures: Mapping[str, Sequence[float]]) -> Verdict:
    """The verdict on a claim.

    Args:
        measures: "arm/measure" -> its number with each seed, in one order of seeds.

    Raises:
        ValueError: a measure is missing, or as in `judge_part`.
    """
    missing = sorted({name for part in claim.parts for name in measures_of(part)} - set(measures))
    if missing:
        raise ValueError(f"claim {claim.number}: no numbers for {', '.join(missing)}; there are {', '.join(measures)}")
    parts = tuple(judge_part(part, [measures[name] for name in measures_of(part)]) for part in claim.parts)
    found = {part.verdict for part in parts}
    if found == {HOLDS}:
        return Verdict(HOLDS, parts)
    if HOLDS in found:
        return Verdict(IN_PART, parts)
    return Verdict(NOT_HERE if NOT_HERE in found else UNDECIDED, parts)
