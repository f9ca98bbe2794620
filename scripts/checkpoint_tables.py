"""The tables of the published folders, from what each of them records; `update_readme.py` puts them on their page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from comparison_rows import mean_and_spread, read_rows

ROOT = Path(__file__).resolve().parent.parent


def checkpoint_table() -> str:
    """Published checkpoints and their scores, from the metrics file of each folder in model_cards/: a table a task."""
    found: dict[str, list[str]] = {task: [] for task in TABLES}
    for path in sorted((ROOT / "model_cards").glob("*/metrics.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        link = f"`{path.parent.name}`"
        task = metrics.get("task", "translation")
        found[task].append("| " + " | ".join([link, *TABLES[task][1](metrics)]) + " |")
    parts = []
    for task, (head, _) in TABLES.items():
        if found[task]:
            parts.append("\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *found[task]]))
    return "\n\n".join(parts)


def translation_cells(metrics: dict[str, Any]) -> list[str]:
    """Data and scores of a translator."""
    data, results = metrics["dataset"], metrics["results"]
    scores = (results["bleu"]["value"], results["chrf"]["value"], metrics["baselines"]["copy"]["bleu"])
    pair = f"`{data['name']}` {data['source_lang']} to {data['target_lang']}"
    return [pair, f"{data['rows']:,}", *(f"{score:.1f}" for score in scores)]


def label_cells(metrics: dict[str, Any]) -> list[str]:
    """Data and scores of a classifier; dashes where its kind of labels has no such score."""
    data, results, baselines = metrics["dataset"], metrics["results"], metrics["baselines"]
    accuracy = [results.get("accuracy"), results.get("macro_f1")]
    accuracy += [baselines.get(name, {}).get("accuracy") for name in ("majority", "tfidf")]
    name = re.sub(r".*/", "", data["name"])
    return [f"`{name}`", f"{data['rows']:,}", *("-" if one is None else f"{percent(100 * one)} %" for one in accuracy)]


def caption_cells(metrics: dict[str, Any]) -> list[str]:
    """Data and scores of a captioner."""
    data, results, baselines = metrics["dataset"], metrics["results"], metrics["baselines"]
    scores = [results["bleu1"], results["bleu4"]["value"], results["exact"]]
    scores += [baselines[name]["bleu4"] for name in ("nearest", "most_frequent")]
    cider = f"{results['cider']:.2f}" if "cider" in results else "-"
    name = re.sub(r".*/", "", data["name"])
    shown = [f"{score:.1f}" for score in scores]
    return [f"`{name}` {data.get('language', '')}".strip(), f"{data['rows']:,}", *shown[:2], cider, *shown[2:]]


LANGUAGE_HEAD = ["checkpoint", "test split", "documents", "what is measured", "perplexity", "Kneser-Ney, 3 tokens"]


def language_cells(metrics: dict[str, Any]) -> list[str]:
    """Data and perplexity of a pre-trained model, and that of a trigram model where it is comparable."""
    data, results, baselines = metrics["dataset"], metrics["results"], metrics["baselines"]
    kinds = {"perplexity": "next tokens", "masked_perplexity": "hidden tokens"}
    if "backward_perplexity" in results:
        kinds["perplexity"] = "next words and words before"
    name = next((kind for kind in ("perplexity", "masked_perplexity") if kind in results), None)
    if name is None:
        name = next(kind for kind in results if "perplexity" in kind)
    simple = baselines.get("3-gram", {}).get(name)
    said = kinds.get(name, name.replace("_", " "))
    beside = "-" if simple is None else f"{simple:.1f}"
    shown = re.sub(r".*/", "", data["name"])
    return [f"`{shown}`", f"{data['rows']:,}", said, f"{results[name]:.1f}", beside]


def rows_cells(metrics: dict[str, Any]) -> list[str]:
    """Data and the first score of a model that tags, answers or chooses, and of a simple guess."""
    data, results = metrics["dataset"], metrics["results"]
    name = next(score for score in ("f1", "accuracy") if score in results)
    factor = 1 if name == "f1" else 100
    simple = max((scores[name] for scores in metrics["baselines"].values() if name in scores), default=None)
    beside = "-" if simple is None else f"{factor * simple:.1f}"
    shown = re.sub(r".*/", "", data["name"])
    task = metrics["task"].replace("-", " ")
    return [f"`{shown}`", f"{data['rows']:,}", f"{task}: {name}", f"{factor * results[name]:.1f}", beside]


ROWS_HEAD = ["checkpoint", "test split", "rows", "what is measured", "score in %", "the best simple guess"]
TABLES: dict[str, tuple[list[str], Callable[[dict[str, Any]], list[str]]]] = {
    "translation": (
        ["checkpoint", "test split", "sentences", "BLEU", "chrF", "copy baseline BLEU"],
        translation_cells,
    ),
    "text-classification": (
        [
            "checkpoint",
            "test split",
            "texts",
            "accuracy",
            "macro F1",
            "most frequent class",
            "tf-idf and linear model",
        ],
        label_cells,
    ),
    "image-captioning": (
        [
            "checkpoint",
            "test split",
            "pictures",
            "BLEU-1",
            "BLEU-4",
            "CIDEr",
            "exact in %",
            "nearest picture BLEU-4",
            "most frequent caption BLEU-4",
        ],
        caption_cells,
    ),
    "text-generation": (LANGUAGE_HEAD, language_cells),
    "fill-mask": (LANGUAGE_HEAD, language_cells),
    "feature-extraction": (LANGUAGE_HEAD, language_cells),
    "token-classification": (ROWS_HEAD, rows_cells),
    "question-answering": (ROWS_HEAD, rows_cells),
    "multiple-choice": (ROWS_HEAD, rows_cells),
}


def percent(share: float) -> str:
    """One decimal; what is not all is not rounded to 100."""
    return f"{share:.1f}" if share == 100 or round(share, 1) < 100 else f"{min(share, 99.99):.2f}"


def seen_table() -> str:
    """Groups of rows that are scored apart: what training has seen, and what it has not."""
    lines = [
        "| checkpoint | rows | how many | exact in % | BLEU | nearest picture BLEU-4 |",
        "|---|---|---|---|---|---|",
    ]
    for path in sorted((ROOT / "model_cards").glob("*/metrics.json")):
        for group in json.loads(path.read_text(encoding="utf-8")).get("groups", []):
            captions = "bleu4" in group
            exact, bleu = (group["exact"], group["bleu4"]) if captions else (group["exact_match"], group["bleu"])
            nearest = f"{group['baselines']['nearest']['bleu4']:.1f}" if captions else "-"
            cells = f"{group['group']} | {group['rows']:,} | {percent(exact)} | {percent(bleu)} | {nearest}"
            lines.append(f"| `{path.parent.name}` | {cells} |")
    return "\n".join(lines)


def no_answerer() -> str:
    """What fine-tuning on questions gave, beside the simple guess: why no such folder is published."""
    rows = read_rows(ROOT / "scripts" / "comparisons" / "pretraining.csv")
    found = [row for row in rows if (row["task"], row["system"]) == ("qa_xquad", "BERT, pre-trained")]
    (simple,) = {float(row["baseline"]) for row in found}
    best = max(float(row["value"]) for row in found)
    return (
        f"**No folder answers questions.** Fine-tuned on 856 questions of XQuAD the BERT of the comparison (two "
        "layers; the published one was not tried on questions) reaches an F1 of "
        f"{mean_and_spread(found, 'value')} ({len(found)} seeds, the best {best:.1f}), and the sentence that shares "
        f"the most words with the question {simple:.1f}: it is not published. The task is there "
        "([fine-tuning](../howto/pretrain.md), `--task question-answering`), with questions of your own."
    )


def replaced_table() -> str:
    """Translators that took the place of earlier ones: scores, passes and seconds of both, and the trials behind them.

    An earlier folder's figures are those of its own metrics.json and training.json, kept in checkpoints_before.json.
    """
    of_both = [part for name in ("BLEU", "chrF", "passes", "updates", "seconds") for part in (f"{name} before", name)]
    head = ["checkpoint", "trials", *of_both]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, earlier, training, results in replaced_folders(one_score=False):
        trials = ROOT / "scripts" / "comparisons" / f"tuning_{training['arguments']['source_lang']}.csv"
        tried = sum(row["model"] == training["architecture"] for row in read_rows(trials)) if trials.exists() else 0
        cells = [f"`{name}`", str(tried)]
        for score in ("bleu", "chrf"):
            cells += [f"{earlier[score]:.1f}", f"{results[score]['value']:.1f}"]
        cells += [f"{earlier['epochs']:.0f}", f"{training['epochs']:.0f}", *effort(earlier, training)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def other_replaced_table() -> str:
    """As `replaced_table`, of folders with one score each."""
    of_both = [part for name in ("", "updates ", "seconds ") for part in (f"{name}before", f"{name}now")]
    lines = ["| checkpoint | test split | " + " | ".join(of_both) + " |", "|---" * (len(of_both) + 2) + "|"]
    for name, earlier, training, results in replaced_folders(one_score=True):
        measure = earlier["measure"]
        found = results[measure]
        now = found["value"] if isinstance(found, dict) else 100 * found if measure == "accuracy" else found
        said = {"bleu": "BLEU", "accuracy": "accuracy in %"}.get(measure, measure.replace("_", " "))
        cells = [f"`{name}`", said, f"{earlier['value']:.1f}", f"{now:.1f}", *effort(earlier, training)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def effort(earlier: dict[str, Any], training: dict[str, Any]) -> list[str]:
    """Updates and seconds, before and now."""
    pairs = (("updates", "steps"), ("seconds", "seconds"))
    return [f"{found:,.0f}" for before, now in pairs for found in (earlier[before], training[now])]


def record(name: str, part: str) -> dict[str, Any]:
    """The training or the metrics of a published folder."""
    found: dict[str, Any] = json.loads((ROOT / "model_cards" / name / f"{part}.json").read_text(encoding="utf-8"))
    return found


def replaced_folders(one_score: bool) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Name of a folder, what an earlier one had, and its own training and results.

    Args:
        one_score: those of which one measure is kept, or the translators, which have two scores.
    """
    kept = ROOT / "scripts" / "comparisons" / "checkpoints_before.json"
    for name, earlier in json.loads(kept.read_text(encoding="utf-8")).items():
        if ("measure" in earlier) != one_score:
            continue
        training, metrics = record(name, "training"), record(name, "metrics")
        if (training["steps"], training["seconds"]) != (earlier["updates"], earlier["seconds"]):
            yield name, earlier, training, metrics["results"]


def averaging_lines() -> str:
    """What the mean of the last checkpoints gained or lost on validation, and which of the two is published."""
    lines = []
    for path in sorted((ROOT / "scripts" / "comparisons").glob("averaging_*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        mean, best = (f"{kept[one]['bleu']:.1f} BLEU and {kept[one]['chrf']:.1f} chrF" for one in ("mean", "best"))
        averaged = "averaged_checkpoints" in record(kept["checkpoint"], "training")
        which = "the mean of its" if averaged else "its best checkpoint, not the mean of the"
        lines.append(
            f"- `{kept['checkpoint']}` is {which} last {kept['averaged']}: on the validation split the mean "
            f"(`attention-zoo average`) has {mean}, the checkpoint with the best greedy BLEU {best}."
        )
    return "\n".join(lines)
