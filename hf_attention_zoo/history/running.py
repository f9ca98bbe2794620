"""Runs a claim: each arm with each seed is a unit; units run in parallel and are kept as soon as they are done."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from hf_attention_zoo.history.claim import Budget, Claim, Measures
from hf_attention_zoo.history.kept_results import Results, read_results, results_file, write_results
from hf_attention_zoo.history.table import load_claim
from hf_attention_zoo.history.telling import tell_unit


def run_unit(number: str, arm: str, seed: int, quick: bool) -> tuple[Measures, float]:
    """One arm with one seed, with one thread: what it measured, and the minutes of processor time."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    begin = time.process_time()
    measures = load_claim(number).arms[arm](seed, Budget(quick))
    return measures, (time.process_time() - begin) / 60


def run_claims(
    claims: Iterable[Claim],
    folder: Path,
    command: str,
    seeds: int | None = None,
    quick: bool = False,
    processes: int = 1,
    said: Callable[[str], None] = print,
    language: str = "en",
) -> dict[str, Results]:
    """Run what is missing of some claims and keep it.

    Args:
        folder: where `A1.json` and its like are written, after every unit; what is there is not run again.
        command: the command line that did it, for the file.
        seeds: 1 to this number; None is as many as each claim wants (one in a smoke run).
        processes: units that run at the same time, each with one thread; 1 runs them in this process.
        said: called with a line of progress.
        language: of that line, "en" or "ko".

    Returns:
        number -> results.

    Raises:
        ValueError: files in the folder are of something else (each is named), or a number of seeds or processes below
            1. Nothing is run then.
    """
    for name, value in (("seeds", seeds), ("processes", processes)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; give 1 or more")
    found: dict[str, Results] = {}
    units: list[tuple[str, str, int, bool]] = []
    refused: list[str] = []
    for claim in claims:
        try:
            kept = read_results(results_file(folder, claim.number, quick), claim)
        except ValueError as error:
            refused.append(str(error))
            continue
        found[claim.number] = kept or Results(claim, quick)
        wanted = range(1, (seeds or (1 if quick else claim.seeds)) + 1)
        done = found[claim.number].units
        units += [(claim.number, arm, seed, quick) for seed in wanted for arm in claim.arms if (arm, seed) not in done]
    if refused:
        raise ValueError("; ".join(refused))
    for (number, arm, seed, _), (measures, minutes) in _outcomes(units, processes):
        results = found[number]
        results.units[arm, seed], results.minutes[arm, seed] = measures, minutes
        write_results(results_file(folder, number, quick), results, command)
        said(tell_unit(number, arm, seed, minutes, language))
    return found


def _outcomes(
    units: list[tuple[str, str, int, bool]], processes: int
) -> Iterator[tuple[tuple[str, str, int, bool], tuple[Measures, float]]]:
    """Each unit with its outcome, in the order in which they are done."""
    if processes == 1 or len(units) < 2:
        for unit in units:
            yield unit, run_unit(*unit)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(units)), mp_context=context) as pool:
        waiting = {pool.submit(run_unit, *unit): unit for unit in units}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
