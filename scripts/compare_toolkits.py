"""Translators trained for the same seconds of one core, here and by other toolkits, on the same pairs and pieces.

    pip install --no-deps joeynmt==2.3.0 OpenNMT-py==3.5.1 pyonmttok configargparse subword-nmt plotly narwhals \\
        importlib_metadata zipp pyahocorasick rapidfuzz   # beside the zoo and its extra `test`
    python scripts/compare_toolkits.py run scripts/comparisons/toolkits_short_de.yaml --work_dir runs/toolkits
    python scripts/compare_toolkits.py show scripts/comparisons/toolkits_short_de.yaml

Each system has its program's model, initialisation, loss and search; batches, clock and the rule of the rate are the
same for all (`seconds_budget.py`). A system is trained by the settings that its own program documents, which stand in
the protocol, or by ours: those that our validation chose for the model here that it resembles (`tune.py`). At each
mark validation pairs are translated greedily; the test split is translated once, at the end, with a beam. The rows of
a finished run are written to the CSV file beside the YAML file at once, and it is not run again; a run that fails is
told of, the others go on, and the exit status is 1. `show` reads the CSV file alone and writes picture and table.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import traceback
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import tune
from compare_translation import shared_tokenizer
from comparison_rows import (
    append_rows,
    folder_name,
    mean_and_spread,
    protocol_command,
    read_protocol,
    read_rows,
    rows_of,
)
from kept_runs import installed
from seconds_budget import Course, Ids, Mark, Pairs, System, Training, train, translated
from toolkit_settings import Sizes, check_form, fields_of, sizes_of, training_of
from toolkit_systems import HERE, PACKAGES, PROGRAMS, Zoo

FIELDS = (
    "system",
    "version",
    "seed",
    "mark",
    "seconds",
    "updates",
    "target_tokens",
    "parameters",
    "validation_bleu",
    "validation_chrf",
    "bleu",
    "chrf",
    "bleu_signature",
    "hardware",
)


@dataclass(frozen=True)
class Run:
    """One system with one seed; its entry in the protocol."""

    system: str
    seed: int
    entry: dict[str, Any]

    @property
    def key(self) -> tuple[str, int]:
        return self.system, self.seed


def runs(protocol: dict[str, Any]) -> list[Run]:
    """Seed by seed, so that a stopped comparison has whole rounds; a system may have seeds of its own."""
    seeds = {name: entry.get("seeds", protocol["seeds"]) for name, entry in protocol["systems"].items()}
    return [
        Run(name, seed, protocol["systems"][name])
        for seed in sorted({seed for own in seeds.values() for seed in own})
        for name, own in seeds.items()
        if seed in own
    ]


def plan_of(entry: dict[str, Any], best: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], Training]:
    """What a program is told of its model, and how it is trained: as the protocol says, or like a model here.

    What the protocol says of the model of an entry that is like another comes on top.

    Args:
        best: model of the zoo -> settings that its validation chose.
    """
    if "like" not in entry:
        return dict(entry["model"]), Training(**entry["training"])
    settings = best[entry["like"]]
    training = training_of(settings)
    if entry["toolkit"] == HERE:
        return {"model_type": entry["like"], **fields_of(settings)}, training
    check_form(entry["like"], settings)
    sizes: Sizes = sizes_of(settings)
    return {**PROGRAMS[entry["toolkit"]].like(sizes), **entry.get("model", {})}, training


@dataclass(frozen=True)
class Texts:
    """Pairs and pieces that all systems of a comparison share."""

    tokenizer: Any
    encoded: Any
    pairs: Pairs
    validation: tuple[list[Ids], list[str]]
    test: tuple[list[Ids], list[str]]
    longest: int  # pieces that a translation may have

    @property
    def words(self) -> tuple[int, int]:
        """Pieces of each side, special ones included."""
        return len(self.tokenizer), self.tokenizer.target_vocab_size

    def texts(self, rows: list[Ids]) -> list[str]:
        """Translations as texts."""
        return [text.strip() for text in self.tokenizer.batch_decode(rows, skip_special_tokens=True)]


def read_texts(protocol: dict[str, Any], work: Path) -> Texts:
    """The protocol's data set, encoded by the one tokenizer that is trained on its training split."""
    from transformers import AutoTokenizer

    from hf_attention_zoo.tasks.translation.examples import drop_long_pairs, encode_pairs
    from hf_attention_zoo.tasks.translation.rows import load_data

    tokenizer = AutoTokenizer.from_pretrained(shared_tokenizer(protocol, work / "tokenizer"))
    languages = {name: protocol[name] for name in ("source_lang", "target_lang")}
    splits = load_data(protocol["dataset"], max_words=protocol.get("max_words"), **languages)
    limits = [protocol.get(name) for name in ("max_source_length", "max_target_length")]
    encoded, _ = drop_long_pairs(encode_pairs(splits["train"], tokenizer), *limits)
    pairs = list(zip(encoded["input_ids"], encoded["labels"], strict=True))
    validation = splits["validation"].select(
        tune.drawn(len(splits["validation"]), protocol.get("validation_pairs"), seed=0)
    )
    held_out = [(encode_pairs(rows, tokenizer)["input_ids"], rows["target"]) for rows in (validation, splits["test"])]
    scored = [(list(ids), list(references)) for ids, references in held_out]
    return Texts(tokenizer, encoded, pairs, scored[0], scored[1], protocol["longest"])


def scores(system: System, texts: Texts, split: tuple[list[Ids], list[str]], beams: int, language: str) -> Any:
    """BLEU and chrF of a split, each with its signature."""
    from hf_attention_zoo.metrics.scoring import corpus_bleu, corpus_chrf

    sources, references = split
    made = texts.texts(translated(system, sources, beams, texts.longest))
    return corpus_bleu(made, references, language=language), corpus_chrf(made, references)


def train_and_score(
    run: Run, protocol: dict[str, Any], best: dict[str, dict[str, Any]], texts: Texts, work: Path
) -> list[dict[str, Any]]:
    """A row for every mark; the last has the scores of the test split."""
    import torch
    from transformers import set_seed

    from hf_attention_zoo.data.token_budget import TokenBudgetBatchSampler, pair_lengths
    from hf_attention_zoo.folders.run_facts import describe_hardware

    torch.set_num_threads(1)
    set_seed(run.seed)
    language = protocol["target_lang"]
    model, training = plan_of(run.entry, best)
    system: System = PROGRAMS[run.entry["toolkit"]](model, training, texts.words)

    def validate() -> tuple[float, float]:
        bleu, chrf = scores(system, texts, texts.validation, 1, language)
        print(f"  BLEU {bleu.value:.2f}, chrF {chrf.value:.2f}", flush=True)
        return bleu.value, chrf.value

    course = Course(protocol["marks"], training.warmup_steps, validate)
    if isinstance(system, Zoo):
        system.train(texts.encoded, texts.tokenizer, course, run.seed, work / folder_name(run.system, run.seed))
    else:
        size = {"max_tokens": training.tokens, "batch_size": training.sentences}
        sampler = TokenBudgetBatchSampler(pair_lengths(texts.encoded), **size, seed=run.seed)
        train(system, training, texts.pairs, sampler, course)
    bleu, chrf = scores(system, texts, texts.test, protocol["beams"], language)
    last = {"bleu": round(bleu.value, 2), "chrf": round(chrf.value, 2), "bleu_signature": bleu.signature}
    same = {
        "system": run.system,
        "version": version(PACKAGES[run.entry["toolkit"]]),
        "seed": run.seed,
        "parameters": sum(part.numel() for part in system.model.parameters() if part.requires_grad),
        "hardware": describe_hardware(),
    }
    return [same | row_of(found) | (last if found is course.found[-1] else {}) for found in course.found]


def row_of(found: Mark) -> dict[str, Any]:
    """What a mark has in its row."""
    return {
        "mark": found.mark,
        "seconds": round(found.seconds, 1),
        "updates": found.updates,
        "target_tokens": found.target_tokens,
        "validation_bleu": round(found.bleu, 2),
        "validation_chrf": round(found.chrf, 2),
    }


def run_all(protocol_file: Path, work: Path, only: str | None, limit: int | None) -> None:
    """Every run that has no rows yet, or those of systems whose name contains `only`."""
    protocol, table = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    finished = {(row["system"], int(row["seed"])) for row in read_rows(table)}
    waiting = [run for run in runs(protocol) if run.key not in finished and (only is None or only in run.system)]
    missing = sorted({PACKAGES[run.entry["toolkit"]] for run in waiting} - {PACKAGES[HERE]})
    missing = [name for name in missing if not installed(name)]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; --help says how")
    models = {run.entry["like"] for run in waiting if "like" in run.entry}
    best = tune.best_settings(protocol_file.with_name(protocol["tuning"]), sorted(models))
    texts = read_texts(protocol, work)
    failed = []
    for run in waiting[:limit]:
        print(f"=== {run.system}, seed {run.seed}", flush=True)
        try:
            rows = train_and_score(run, protocol, best, texts, work)
        except (Exception, SystemExit):  # of a program that is not ours; the others' rows are not lost for it
            traceback.print_exc()
            failed.append(f"{run.system}, seed {run.seed}")
            continue
        append_rows(table, rows, FIELDS)
        print(f"=== BLEU {rows[-1]['bleu']}, chrF {rows[-1]['chrf']}, {rows[-1]['updates']} updates", flush=True)
        gc.collect()
    if failed:
        raise SystemExit(f"failed: {'; '.join(failed)}")


def by_system(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Rows of each system, in the order of the file."""
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        groups.setdefault(row["system"], []).append(row)
    return groups


def at_marks(rows: list[dict[str, str]], field: str) -> dict[float, float]:
    """Mark -> mean over seeds, of one system."""
    marks = sorted({float(row["mark"]) for row in rows})
    return {mark: statistics.mean(float(row[field]) for row in rows if float(row["mark"]) == mark) for mark in marks}


def markdown_table(protocol: dict[str, Any], rows: list[dict[str, str]]) -> str:
    """A line for each system with updates, validation chrF and test scores, means over seeds; then who is ahead."""
    marks = protocol["marks"]
    groups = by_system(rows)
    lines = [
        "| system | seeds | parameters | updates | "
        + " | ".join(f"chrF at {mark} s" for mark in marks)
        + " | test BLEU | test chrF |",
        "|---" * (len(marks) + 6) + "|",
    ]
    for name in protocol["systems"]:
        if name not in groups:
            continue
        group = groups[name]
        ended = [row for row in group if row["bleu"]]
        updates = statistics.mean(int(row["updates"]) for row in ended)
        cells = [f"{value:.1f}" for value in at_marks(group, "validation_chrf").values()]
        lines.append(
            f"| {name} | {len(ended)} | {int(ended[0]['parameters']):,} | {updates:,.0f} | {' | '.join(cells)} | "
            f"{mean_and_spread(ended, 'bleu')} | {mean_and_spread(ended, 'chrf')} |"
        )
    return "\n".join([*lines, "", *standings(protocol, rows)]) + "\n"


MEASURES = {"validation_chrf": "chrF", "validation_bleu": "BLEU"}


def standings(protocol: dict[str, Any], rows: list[dict[str, str]]) -> list[str]:
    """For each kind of model: at which marks the model here is behind another, over the seeds that both have.

    What is the same at the decimal that is shown is level.
    """
    groups, said = by_system(rows), []
    for kind in kinds_of(protocol):
        named = {
            name: entry for name, entry in protocol["systems"].items() if entry["kind"] == kind and name in groups
        }
        own = next((name for name, entry in named.items() if entry["toolkit"] == HERE), None)
        if own is None:
            continue
        others = [name for name in named if name != own]
        shared = {name: with_same_seeds(groups[own], groups[name]) for name in others}
        without = [name for name, pair in shared.items() if not all(pair)]
        if without:
            said.append(f"- {kind}: no seed of {own} is one of {', '.join(without)}.")
        pairs = {name: pair for name, pair in shared.items() if all(pair)}
        if not pairs:
            continue
        for field, measure in MEASURES.items():
            curves = [(name, *(at_marks(group, field) for group in pair)) for name, pair in pairs.items()]
            marks = at_marks(groups[own], field)
            behind = [
                f"at {mark:g} s behind {name} ({told_at(mark, field, pairs[name])})"
                for mark in marks
                for name, here, there in curves
                if mark in here and mark in there and round(here[mark], 1) < round(there[mark], 1)
            ]
            said.append(
                f"- {kind}, validation {measure}: {own} is {'; '.join(behind) or 'behind none of the others'}."
            )
    return said


def told_at(mark: float, field: str, pair: list[list[dict[str, str]]]) -> str:
    """Both systems' means at a mark with the spread of their seeds, or that there is only one."""
    told = [mean_and_spread([row for row in group if float(row["mark"]) == mark], field) for group in pair]
    return "; ".join([*told, "one seed"] if len({row["seed"] for row in pair[0]}) == 1 else told)


def with_same_seeds(one: list[dict[str, str]], other: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Rows of two systems with the seeds that both have."""
    seeds = {row["seed"] for row in one} & {row["seed"] for row in other}
    return [[row for row in group if row["seed"] in seeds] for group in (one, other)]


def kinds_of(protocol: dict[str, Any]) -> list[str]:
    """Kinds of models that are compared with each other, in the protocol's order."""
    return list(dict.fromkeys(entry["kind"] for entry in protocol["systems"].values()))


def draw(protocol: dict[str, Any], rows: list[dict[str, str]], path: Path) -> None:
    """Validation chrF and BLEU against seconds: a column of panels for each kind of model."""
    from matplotlib.figure import Figure

    kinds = kinds_of(protocol)
    figure = Figure(figsize=(4.2 * len(kinds), 6.4), layout="constrained")
    panels = figure.subplots(len(MEASURES), len(kinds), sharex=True, sharey="row", squeeze=False)
    groups = by_system(rows)
    for column, kind in enumerate(kinds):
        named = [name for name, entry in protocol["systems"].items() if entry["kind"] == kind and name in groups]
        for line, (field, measure) in enumerate(MEASURES.items()):
            axes = panels[line][column]
            axes.spines[["top", "right"]].set_visible(False)
            for number, name in enumerate(named):
                entry, curve = protocol["systems"][name], at_marks(groups[name], field)
                look = {"color": f"C{number}", "linestyle": "-" if "like" in entry else ":"}
                width = 2.2 if entry["toolkit"] == HERE else 1.2
                axes.plot(
                    list(curve), list(curve.values()), marker="o", markersize=3, linewidth=width, label=name, **look
                )
                for row in groups[name]:
                    axes.plot(float(row["mark"]), float(row[field]), ".", color=f"C{number}", markersize=3, alpha=0.5)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(f"validation {measure}" if column == 0 else "")
        panels[0][column].set_title(kind, fontsize=10)
        panels[0][column].legend(frameon=False, fontsize=7, loc="upper left")
        panels[-1][column].set_xlabel("processor seconds of training")
    panels[0][0].set_ylim(0, 1.4 * max(float(row["validation_chrf"]) for row in rows))
    figure.savefig(path, dpi=120)


def show(protocol_file: Path) -> None:
    """The picture and the table from the CSV file."""
    protocol, rows = read_protocol(protocol_file), rows_of(protocol_file)
    table = markdown_table(protocol, rows)
    protocol_file.with_suffix(".md").write_text(table, encoding="utf-8")
    draw(protocol, rows, protocol_file.with_suffix(".png"))
    print(table, end="")


if __name__ == "__main__":
    told = ("train and score what has no rows yet", "systems", "picture and Markdown table from the CSV file")
    sys.exit(protocol_command(__doc__ or "", run_all, ("show", show), told))
