"""What a claim's runs gave, as a JSON file: every seed, versions, hardware, minutes and the command."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.run_facts import describe_hardware, versions
from hf_attention_zoo.history.claim import Claim, Measures, Text, measures_of
from hf_attention_zoo.history.table import claim_module
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
    """

    claim: Claim
    quick: bool = False
    units: dict[tuple[str, int], Measures] = field(default_factory=dict)
    minutes: dict[tuple[str, int], float] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

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
        "experiment": fingerprint(claim.number),
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


def read_results(path: Path, claim: Claim) -> Results | None:
    """The runs in a file, None without one.

    Raises:
        ValueError: the file is of another claim, of another experiment (the claim's file was changed since) or no file
            of results.
    """
    if not path.exists():
        return None
    facts = json_if_any(path)
    if facts.get("claim") != claim.number or not isinstance(facts.get("units"), list):
        raise ValueError(f"{path} holds no results of claim {claim.number}; move it away or give another --output")
    if facts.get("experiment") != fingerprint(claim.number):
        raise ValueError(
            f"{path} was made by another experiment: the file of claim {claim.number} was changed since; move the "
            "results away or give another --output"
        )
    units: Sequence[Mapping[str, Any]] = facts["units"]
    known = [unit for unit in units if unit["arm"] in claim.arms]
    return Results(
        claim,
        bool(facts.get("quick")),
        {(unit["arm"], int(unit["seed"])): unit["measures"] for unit in known},
        {(unit["arm"], int(unit["seed"])): float(unit["minutes"]) for unit in known},
        {name: facts[name] for name in ("command", "made", "hardware", "versions", "minutes") if name in facts},
    )


def results_file(folder: Path, number: str, quick: bool = False) -> Path:
    """Where the results of a claim lie; those of smoke runs lie apart, so that they never pass for others."""
    return folder / f"{number}{'.quick' if quick else ''}.json"


def fingerprint(number: str) -> str:
    """Tells experiments of a claim apart: a checksum of its file without texts, pictures and what is compared.

    Results of one experiment are never mixed with those of another. Comments and layout do not count, nor does a new
    wording; the arms and everything that they call in the file do.
    """
    counted = []
    for node in ast.parse(inspect.getsource(claim_module(number))).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("draw"):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            called = node.value
            if isinstance(called.func, ast.Name) and called.func.id == "Claim":
                counted += [ast.dump(word.value) for word in called.keywords if word.arg == "arms"]
                continue
        counted.append(ast.dump(_without_docstrings(node)))
    return hashlib.sha256("\n".join(counted).encode()).hexdigest()[:16]


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    """A statement whose functions and classes have lost their docstrings."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:]
    return node
