"""What a claim's runs gave, as a JSON file: every seed, versions, hardware, minutes and the command."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.run_facts import describe_hardware, versions
from hf_attention_zoo.history.claim import Claim, Measures, Text, measures_of
from hf_attention_zoo.history.experiment import fingerprint
from hf_attention_zoo.history.verdict import PartVerdict, Verdict, judge
from hf_attention_zoo.whole_files import json_if_any, whole_file

KEPT = Path(__file__).parent / "kept"  # the results that come with the package


@dataclass
class Results:
    """The runs of one claim so far.

    Attributes:
        claim: the claim.
        quick: whether these are smoke runs.
        units: (arm, seed) -> what it measured.
        minutes: (arm, seed) -> minutes of one core.
        made: when, versions, hardware, as the file has it; empty for runs of this moment.
        experiment: the checksum of what runs; it is taken when the runs begin.
    """

    claim: Claim
    quick: bool = False
    units: dict[tuple[str, int], Measures] = field(default_factory=dict)
    minutes: dict[tuple[str, int], float] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    experiment: str = ""

    def __post_init__(self) -> None:
        self.experiment = self.experiment or fingerprint(self.claim.number)

    def seeds(self) -> list[int]:
        """The seeds with which every arm was run."""
        found = {seed for _, seed in self.units}
        return sorted(seed for seed in found if all((arm, seed) in self.units for arm in self.claim.arms))

    def of(self, measure: str) -> list[Any]:
        """A measure ("arm/measure") with each seed: numbers, or lists of them.

        Raises:
            ValueError: an arm or a measure that there is not.
        """
        arm, _, name = measure.partition("/")
        rows = [self.units[arm, seed] for seed in self.seeds() if (arm, seed) in self.units]
        if not rows or any(name not in row for row in rows):
            raise ValueError(f"claim {self.claim.number}: no measure {measure!r}; there are {', '.join(self.names())}")
        return [row[name] for row in rows]

    def names(self) -> list[str]:
        """Every measure, as "arm/measure"."""
        return sorted({f"{arm}/{name}" for (arm, _), row in self.units.items() for name in row})

    def mean(self, measure: str) -> float:
        """The mean of a number over the seeds."""
        return statistics.fmean(self.of(measure))

    def verdict(self) -> Verdict:
        """What the seeds say. Raises ValueError where no seed has all arms."""
        return judge(self.claim, {name: self.of(name) for part in self.claim.parts for name in measures_of(part)})

    def filled(self, text: Text, language: str = "en") -> str:
        """A text with its numbers."""
        said = text.ko if language == "ko" else text.en
        numbers = {name: self.mean(name) for name in self.names() if isinstance(self.of(name)[0], int | float)}
        return said.format_map(numbers)


def write_results(path: Path, results: Results, command: str) -> None:
    """Write the file; a smoke run has no verdict, nor has one without a whole seed."""
    claim, seeds = results.claim, results.seeds()
    facts: dict[str, Any] = {
        "claim": claim.number,
        "title": claim.title.en,
        "quick": results.quick,
        "command": command,
        "made": datetime.now(UTC).strftime("%Y-%m-%d"),
        "hardware": describe_hardware(),
        "versions": versions(),
        "minutes": round(sum(results.minutes.values()), 2),
        "seeds": seeds,
        "experiment": results.experiment,
    }
    if seeds and not results.quick:
        verdict = results.verdict()
        facts |= {"verdict": verdict.verdict, "parts": [_part_facts(part) for part in verdict.parts]}
    units = [
        {"arm": arm, "seed": seed, "minutes": round(results.minutes[arm, seed], 3), "measures": measures}
        for (arm, seed), measures in sorted(results.units.items())
    ]
    head = json.dumps(facts, indent=1, ensure_ascii=False)
    lines = ",\n".join("  " + json.dumps(unit, ensure_ascii=False) for unit in units)  # a unit a line: curves are long
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as unfinished:
        unfinished.write_text(f'{head[:-2]},\n "units": [\n{lines}\n ]\n}}\n', encoding="utf-8")


def _part_facts(part: PartVerdict) -> dict[str, Any]:
    """A part as the file has it."""
    return {
        "part": part.part.said,
        "verdict": part.verdict,
        "differences": list(part.differences),
        "mean": part.mean,
        "interval": None if part.low is None else [part.low, part.high],
        "seeds_needed": part.seeds_needed,
    }


class OtherExperiment(ValueError):
    """Results of a claim that was changed since."""


def read_results(path: Path, claim: Claim) -> Results | None:
    """The runs in a file, None without one.

    Raises:
        OtherExperiment: what the claim's arms reach was changed since, or its parts compare what was not measured.
        ValueError: the file is of another claim or no file of results.
    """
    if not path.exists():
        return None
    facts = json_if_any(path)
    units = facts.get("units")
    if facts.get("claim") != claim.number or not isinstance(units, list) or not all(map(_is_unit, units)):
        raise ValueError(f"{path} holds no results of claim {claim.number}; move it away or give another --output")
    if facts.get("experiment") != fingerprint(claim.number):
        raise OtherExperiment(
            f"{path} was made by another experiment: the code of claim {claim.number} was changed since; move the "
            "results away or give another --output"
        )
    known = [unit for unit in units if unit["arm"] in claim.arms]
    for arm, _, name in (measure.partition("/") for part in claim.parts for measure in measures_of(part)):
        if any(name not in unit["measures"] for unit in known if unit["arm"] == arm):
            raise OtherExperiment(
                f"{path} was made by another experiment: it has no {arm}/{name}, which claim {claim.number} compares; "
                "move the results away or give another --output"
            )
    return Results(
        claim,
        bool(facts.get("quick")),
        {(unit["arm"], int(unit["seed"])): unit["measures"] for unit in known},
        {(unit["arm"], int(unit["seed"])): float(unit["minutes"]) for unit in known},
        {name: facts[name] for name in ("command", "made", "hardware", "versions", "minutes") if name in facts},
        facts["experiment"],
    )


def _is_unit(unit: object) -> bool:
    """Whether this is one arm with one seed, as `write_results` writes it."""
    kinds = {"arm": str, "seed": int, "minutes": int | float, "measures": dict}
    return isinstance(unit, dict) and all(isinstance(unit.get(name), kind) for name, kind in kinds.items())


def results_file(folder: Path, number: str, quick: bool = False) -> Path:
    """Where the results of a claim lie; those of smoke runs lie apart, so that they never pass for others."""
    return folder / f"{number}{'.quick' if quick else ''}.json"
