"""What a claim is: who said it, how it is tried, and which outcome would refute it, all fixed before it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hf_attention_zoo.history.kept_results import Results

# What one arm with one seed gives: numbers, and lists of them for curves and pictures.
Measures: TypeAlias = "dict[str, float | list[float] | list[list[float]]]"


@dataclass(frozen=True)
class Budget:
    """How long to try.

    Attributes:
        quick: whether this is a smoke run, which shows that everything works and decides nothing.
    """

    quick: bool = False

    def steps(self, full: int, quick: int = 5) -> int:
        """Training steps, or anything else that is counted (examples, passes): fewer in a smoke run."""
        return min(full, quick) if self.quick else full


Trial: TypeAlias = Callable[[int, Budget], Measures]


@dataclass(frozen=True)
class Difference:
    """A part of a claim: one number is larger than another, seed by seed, by more than `least`.

    Attributes:
        said: the part in a few words, as in "attention over fixed vector, 16 words".
        larger: what is claimed to be larger, as "arm/measure".
        smaller: what it is compared with.
        least: the smallest difference that the claim speaks of, in the measure's unit.
    """

    said: str
    larger: str
    smaller: str
    least: float = 0.0


@dataclass(frozen=True)
class Alike:
    """A part of a claim: two numbers differ by less than a margin, seed by seed.

    Attributes:
        said: the part in a few words.
        first, second: the two, as "arm/measure".
        margin: above 0, in the measure's unit.
    """

    said: str
    first: str
    second: str
    margin: float


@dataclass(frozen=True)
class Exact:
    """A part of a claim that is true or not, without chance: the measure is 1 with every seed, otherwise 0.

    Attributes:
        said: the part in a few words.
        of: the measure, as "arm/measure".
    """

    said: str
    of: str


Part: TypeAlias = Difference | Alike | Exact


@dataclass(frozen=True)
class Text:
    """A text in English and Korean.

    `{arm/measure:.2f}` in it is filled with the mean over the seeds that were kept, so that no number is typed.
    """

    en: str
    ko: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper and the experiment that tries it.

    Attributes:
        number: letter of the chapter and number, "A1".
        title: a few words.
        statement: the claim in one sentence.
        paper: authors and year.
        year: of the paper.
        printed: the numbers that the paper prints, and where.
        data: what is read, how it is made, how many examples are held out.
        models: `model_type` of each architecture that takes part; "torch" stands for plain layers.
        equal: what is equal between the arms (parameters, steps, compute) and what is not.
        metric: what is measured, and on what.
        refuted_by: the outcome that would refute the claim, fixed before the run.
        parts: what is compared; the verdict follows from them (`verdict.py`).
        arms: name -> trial(seed, budget). Every arm of one seed reads the same data in the same order.
        draw: draws the results into an empty figure.
        seen: what was seen, in about three sentences.
        minutes: of one core for all arms with one seed, about.
        seeds: how many, unless the user says otherwise.
        beside: kept comparisons of the repository that say more, as paths from its root.
    """

    number: str
    title: Text
    statement: Text
    paper: str
    year: int
    printed: tuple[str, ...]
    data: str
    models: tuple[str, ...]
    equal: str
    metric: str
    refuted_by: str
    parts: tuple[Part, ...]
    arms: Mapping[str, Trial]
    draw: Callable[[Figure, Results], None]
    seen: Text
    minutes: float
    seeds: int = 3
    beside: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """Each part speaks of arms that there are.

        Raises:
            ValueError: a part with another arm, without a slash, or a margin that is not above 0.
        """
        for part in self.parts:
            for measure in measures_of(part):
                arm, slash, name = measure.partition("/")
                if not slash or not name or arm not in self.arms:
                    raise ValueError(
                        f"claim {self.number}: {measure!r} is no arm/measure; arms are {', '.join(self.arms)}"
                    )
            if isinstance(part, Alike) and not part.margin > 0:
                raise ValueError(f"claim {self.number}: margin is {part.margin}; give one above 0")


def measures_of(part: Part) -> tuple[str, ...]:
    """The measures that a part compares, each as "arm/measure"."""
    if isinstance(part, Difference):
        return part.larger, part.smaller
    if isinstance(part, Alike):
        return part.first, part.second
    return (part.of,)
