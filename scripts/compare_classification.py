"""Train and score classifiers and baselines under one protocol and collect a table.

    python scripts/compare_classification.py run scripts/comparisons/classification.yaml --work_dir runs/classes \\
        --data doc_moviereviews=folder --data sent_nsmc_ko=folder
    python scripts/compare_classification.py table scripts/comparisons/classification.yaml

`run` goes through datasets, systems and seeds of the YAML file. The epoch is chosen on the validation split; the test
split is scored once, after training. Finished runs are rows of the CSV file beside the YAML file and are not trained
again, so that a stopped comparison goes on where it was; a run that was cut off goes on from its last epoch. Baselines
without chance have one row. Data sets that do not come with the package are named with --data and passed over without.
`table` reads the CSV file alone and writes a Markdown table of means for each data set beside it.

Trained systems start from the word vectors that the protocol names: none, a name or file that `--word_vectors` takes,
or `gensim`, learnt from the training texts once for each data set, so that every system and seed has the same.

The systems are baselines of `hf_attention_zoo.tasks.labels.baselines`, architectures of the zoo with a recipe and
changes to it, two models without attention (`small_classifier.py`: averaged word vectors, and a BiGRU of which the
last states are read), and the package of the authors of fastText. Of architectures with hops the table also has how
much these repeat one another, as means over the test texts: what two hops have in common, the number of different
ones, and the paper's penalty.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from comparison_rows import (
    allow_again,
    append_row,
    drop_checkpoints,
    flags_of,
    folder_name,
    mean_and_spread,
    read_protocol,
    read_rows,
    rows_of,
    trained,
)
from small_classifier import SmallClassifier

FIELDS = (
    "dataset",
    "system",
    "seed",
    "parameters",
    "epochs",
    "seconds",
    "validation_accuracy",
    "accuracy",
    "macro_f1",
    "overlap",
    "effective_hops",
    "penalty",
    "coverage",
    "hardware",
    "threads",
)
HOPS = {"overlap": "shared by two hops", "effective_hops": "different hops", "penalty": "penalty"}
WITHOUT_CHANCE = 0  # the seed of what has none


@dataclass(frozen=True)
class Run:
    """One system on one data set with one seed."""

    dataset: str
    path: str
    system: str
    settings: dict[str, Any]
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.dataset, self.system, self.seed

    @property
    def name(self) -> str:
        return f"{self.dataset}, {self.system}, seed {self.seed}"

    @property
    def folder(self) -> str:
        return folder_name(self.dataset, self.system, self.seed)


def fits(settings: dict[str, Any], dataset: str, data: dict[str, Any]) -> bool:
    """Whether a system is for this data set, by name and by pairs or single texts."""
    if dataset not in settings.get("sets", [dataset]):
        return False
    return settings.get("for") in (None, "pairs" if data.get("pairs", False) else "texts")


def runs(protocol: dict[str, Any], paths: dict[str, str]) -> Iterator[Run]:
    """Seed by seed, so that an interrupted comparison has whole rounds; data sets without a path are left out."""
    for number, seed in enumerate(protocol["seeds"]):
        for dataset, data in protocol["datasets"].items():
            path = paths.get(dataset) or (dataset if data.get("embedded", True) else None)
            if path is None:
                continue
            for system, settings in protocol["systems"].items():
                chance = settings["kind"] != "baseline"
                if fits(settings, dataset, data) and (chance or number == 0):
                    yield Run(dataset, path, system, settings, seed if chance else WITHOUT_CHANCE)


# ------------------------------------------------------------------------------------------------ baselines


def score_baseline(run: Run, protocol: dict[str, Any], work: Path, command: str) -> dict[str, Any]:
    """A row of what is not trained by gradients."""
    from hf_attention_zoo.metrics.label_scoring import score_classes
    from hf_attention_zoo.tasks.labels.baselines import cosine_logits, majority_logits, tfidf_logits
    from hf_attention_zoo.tasks.labels.rows import load_labelled

    splits, info = load_labelled(run.path)
    train = splits["train"]
    texts, labels = list(train["text"]), list(train["label"])
    pairs = list(train["text_pair"]) if "text_pair" in train.column_names else None
    started, found = time.monotonic(), {}
    for split in ("validation", "test"):
        rows = splits[split]
        second = list(rows["text_pair"]) if pairs is not None else None
        if run.settings["baseline"] == "majority":
            logits = majority_logits(labels, len(rows), info.num_labels, info.problem_type)
        elif run.settings["baseline"] == "cosine":
            logits = cosine_logits(texts, pairs, labels, list(rows["text"]), second)
        else:
            logits = tfidf_logits(
                texts,
                labels,
                list(rows["text"]),
                num_labels=info.num_labels,
                problem_type=info.problem_type,
                train_pairs=pairs,
                pairs=second,
            )
        found[split] = score_classes(logits, np.asarray(rows["label"]))
    return row_of(run, found["test"], found["validation"]["accuracy"], seconds=round(time.monotonic() - started, 1))


def row_of(run: Run, scores: dict[str, float], validation_accuracy: float | None, **more: Any) -> dict[str, Any]:
    """A row with what every run has; accuracies in per cent."""
    from hf_attention_zoo.folders.run_facts import describe_hardware

    return {
        "dataset": run.dataset,
        "system": run.system,
        "seed": run.seed,
        "validation_accuracy": None if validation_accuracy is None else round(100 * validation_accuracy, 2),
        "accuracy": round(100 * scores["accuracy"], 2),
        "macro_f1": round(100 * scores["macro_f1"], 2),
        "hardware": describe_hardware(),
        "threads": torch.get_num_threads(),
        **more,
    }


# ------------------------------------------------------------------------------------- budget and word vectors


def training_of(run: Run, protocol: dict[str, Any]) -> dict[str, Any]:
    """The budget of a data set: the common one and its own changes to it, or what the system brings."""
    own = protocol["datasets"][run.dataset].get("training", {})
    return {**protocol["training"], **own, **run.settings.get("training", {})}


def tokenizer_of(run: Run, protocol: dict[str, Any]) -> dict[str, Any]:
    """How the texts of a data set are cut into words or pieces."""
    own = protocol["datasets"][run.dataset].get("tokenizer", {})
    return {**protocol["tokenizer"], **own, **run.settings.get("tokenizer", {})}


def vectors_of(run: Run, protocol: dict[str, Any], work: Path) -> str | None:
    """The word vectors that a run starts from, as `--word_vectors` takes them; a file of those learnt here."""
    from hf_attention_zoo.data.text_encoding import raw_texts
    from hf_attention_zoo.tasks.labels.rows import load_labelled
    from hf_attention_zoo.tasks.labels.vector_start import LEARN, vectors_of_rows
    from hf_attention_zoo.tokenization.text_tokenizer import TextTokenizer

    source = run.settings.get("word_vectors", protocol.get("word_vectors"))
    if source != LEARN:
        return source
    file = work / "word_vectors" / f"{run.dataset}.txt"
    if not file.is_file():
        rows = load_labelled(run.path, splits=["train"])[0]["train"]
        tokenizer = TextTokenizer.train(raw_texts(rows), **tokenizer_of(run, protocol))
        vectors = vectors_of_rows(tokenizer, rows, protocol["vector_size"])
        lines = (f"{word} {' '.join(f'{number:.6g}' for number in vector)}\n" for word, vector in vectors.items())
        file.parent.mkdir(parents=True, exist_ok=True)
        begun = file.with_suffix(".part")
        begun.write_text("".join(lines), encoding="utf-8")
        begun.replace(file)
    return str(file)


# ------------------------------------------------------------------------------------- models without attention


def train_small(run: Run, protocol: dict[str, Any], work: Path, command: str) -> dict[str, Any]:
    """A row of a model without attention, trained by the zoo's trainer."""
    from transformers import AutoTokenizer, DataCollatorWithPadding, set_seed

    from hf_attention_zoo.data.text_encoding import longest_first, raw_texts
    from hf_attention_zoo.data.word_vectors import read_word_vectors, start_embeddings, words_of
    from hf_attention_zoo.metrics.label_scoring import score_classes
    from hf_attention_zoo.tasks.labels.evaluation import predict_logits
    from hf_attention_zoo.tasks.labels.examples import encode_labelled
    from hf_attention_zoo.tasks.labels.label_trainer import ZooLabelTrainer
    from hf_attention_zoo.tasks.labels.rows import load_labelled
    from hf_attention_zoo.tokenization.text_tokenizer import TextTokenizer
    from hf_attention_zoo.training.arguments import ZooTrainingArguments
    from hf_attention_zoo.training.checkpoints import last_whole_checkpoint

    folder = work / run.folder
    splits, info = load_labelled(run.path)
    if not (folder / "tokenizer_config.json").is_file():
        TextTokenizer.train(raw_texts(splits["train"]), **tokenizer_of(run, protocol)).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    set_seed(run.seed)
    model = SmallClassifier(
        run.settings["reader"],
        len(tokenizer),
        info.num_labels,
        "text_pair" in splits["train"].column_names,
        **run.settings.get("config", {}),
    )
    source = vectors_of(run, protocol, work)
    if source is not None:
        start_embeddings(model, tokenizer, read_word_vectors(source, wanted=words_of(tokenizer)))
    trainer = ZooLabelTrainer(
        model=model,
        args=ZooTrainingArguments(
            output_dir=str(folder), seed=run.seed, disable_tqdm=True, logging_steps=100, **training_of(run, protocol)
        ),
        train_dataset=encode_labelled(splits["train"], tokenizer),
        eval_dataset=longest_first(encode_labelled(splits["validation"], tokenizer)),
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        problem_type=info.problem_type,
    )
    checkpoint = last_whole_checkpoint(folder)
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint is not None else None)
    test = splits["test"]
    second = list(test["text_pair"]) if model.pairs else None
    logits = predict_logits(model.eval(), tokenizer, list(test["text"]), second)
    return row_of(
        run,
        score_classes(logits, np.asarray(test["label"])),
        trainer.state.best_metric,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        epochs=round(trainer.state.epoch or 0.0, 2),
        seconds=round(trainer.training_seconds, 1),
    )


# --------------------------------------------------------------------------------------------- architectures


def train_zoo(run: Run, protocol: dict[str, Any], work: Path, command: str) -> dict[str, Any]:
    """A row of an architecture of the zoo."""
    from hf_attention_zoo.tasks.labels.evaluation import evaluate_classifier

    folder, settings = work / run.folder, run.settings
    data = protocol["datasets"][run.dataset]
    pairs = data.get("pairs", False)
    tokenizer = tokenizer_of(run, protocol)
    if settings["model"] == "han":  # its tokenizer splits documents into sentences
        limits = {name: protocol[name] for name in ("max_sentences", "max_words") if name in protocol}
        tokenizer |= {**limits, "language": data["language"]}
    if settings["model"] == "fasttext":  # words and what is hashed
        tokenizer = {name: value for name, value in tokenizer.items() if name != "kind"}
    flags = {
        "recipe": f"{settings['recipe']}-pairs" if pairs else settings["recipe"],
        "dataset": run.path,
        "output_dir": folder,
        "seed": run.seed,
        "logging_steps": 100,
        "disable_tqdm": True,
        "word_vectors": vectors_of(run, protocol, work),
        **training_of(run, protocol),
        **{f"tokenizer.{name}": value for name, value in tokenizer.items()},
        **{f"config.{name}": value for name, value in settings.get("config", {}).items()},
    }
    facts = trained([settings["model"], *flags_of(flags)], folder, command)
    metrics = evaluate_classifier(folder, dataset=run.path, split="test", baselines=False)
    vectors = facts.get("word_vectors") or {}
    return row_of(
        run,
        metrics["results"],
        facts["best_validation"],
        parameters=metrics["parameters"],
        epochs=facts["epochs"],
        seconds=facts["seconds"],
        **(redundancy(folder, run.path) if "num_hops" in settings.get("config", {}) else {}),
        coverage=vectors.get("running_words"),
    )


def train_package(run: Run, protocol: dict[str, Any], work: Path, command: str) -> dict[str, Any]:
    """A row of the authors' own package, the best of its trials on the validation split."""
    from fasttext_package import best_of_trials

    from hf_attention_zoo.data.text_encoding import joined
    from hf_attention_zoo.metrics.label_scoring import score_classes
    from hf_attention_zoo.tasks.labels.rows import load_labelled

    splits, info = load_labelled(run.path)
    shared, settings = tokenizer_of(run, protocol), run.settings
    texts = {split: [joined(text) for text in rows["text"]] for split, rows in splits.items()}
    labels = {split: np.asarray(rows["label"]) for split, rows in splits.items()}
    found = best_of_trials(
        texts,
        labels,
        info.num_labels,
        work / f"{run.folder}.txt",
        seed=run.seed,
        lowercase=shared["lowercase"],
        min_frequency=shared["min_frequency"],
        **{name: settings[name] for name in ("size", "buckets", "trials")},
    )
    more = {"parameters": found.parameters, "epochs": found.passes, "seconds": round(found.seconds, 1)}
    return row_of(run, score_classes(found.logits, labels["test"]), found.validation_accuracy, **more)


def redundancy(folder: Path, dataset: str) -> dict[str, float]:
    """How much the hops repeat one another, the means over all texts of the test split; see `HopRedundancy`."""
    from hf_attention_zoo.alignment.results.hop_redundancy import measure_redundancy
    from hf_attention_zoo.data.text_encoding import joined
    from hf_attention_zoo.folders.saved_model import load_checkpoint
    from hf_attention_zoo.tasks.labels.rows import load_labelled

    rows = load_labelled(dataset, splits=["test"])[0]["test"]
    names = [name for name in ("text", "text_pair") if name in rows.column_names]
    texts = [{name: joined(row[name]) for name in names} for row in rows.select_columns(names)]
    found = measure_redundancy(*load_checkpoint(folder), texts, batch_size=64)
    return {name: round(getattr(found, name), 4) for name in HOPS}


KINDS = {"baseline": score_baseline, "small": train_small, "zoo": train_zoo, "package": train_package}


def run_all(
    protocol_file: Path, work: Path, paths: dict[str, str], only: str | None, limit: int | None, again: bool = False
) -> None:
    """Every run that has no row yet, with `again` those that have one, or the first `limit` named like `only`."""
    protocol, table = read_protocol(protocol_file), protocol_file.with_suffix(".csv")
    unknown = set(paths) - set(protocol["datasets"])
    if unknown:
        raise SystemExit(f"{protocol_file} has no data set {', '.join(sorted(unknown))}")
    finished = {(row["dataset"], row["system"], int(row["seed"])) for row in read_rows(table)}
    named = [run for run in runs(protocol, paths) if only is None or only in run.name]
    waiting = [run for run in named if again or run.key not in finished]
    for run in waiting[:limit]:
        print(f"=== {run.name}", flush=True)
        program = f"python scripts/compare_classification.py run scripts/comparisons/{protocol_file.name}"
        command = f'{program} --work_dir runs/classes --only "{run.name}" --again'
        row = KINDS[run.settings["kind"]](run, protocol, work, command)
        if run.key not in finished:
            append_row(table, row, FIELDS)
        drop_checkpoints(work / run.folder)
        print(f"=== accuracy {row['accuracy']} after {row['seconds']} s", flush=True)


def markdown_tables(rows: list[dict[str, str]], protocol: dict[str, Any]) -> str:
    """A table of means over seeds for each data set, the systems in the protocol's order."""
    parts = []
    for dataset in protocol["datasets"]:
        here = [row for row in rows if row["dataset"] == dataset]
        hops = {name: said for name, said in HOPS.items() if any(row[name] for row in here)}
        names = ["seeds", "parameters", "seconds", "validation accuracy", "test accuracy", "macro F1", *hops.values()]
        lines = [f"| system | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for system in protocol["systems"]:
            group = [row for row in here if row["system"] == system]
            if group:
                seeds = sum(row["seed"] != str(WITHOUT_CHANCE) for row in group) or "-"
                parameters = f"{int(group[0]['parameters']):,}" if group[0]["parameters"] else "-"
                seconds = statistics.mean(float(row["seconds"]) for row in group)
                cells = [mean_and_spread(group, name) for name in ("validation_accuracy", "accuracy", "macro_f1")]
                cells += [mean_and_spread(group, name, 2) for name in hops]
                lines.append(f"| {system} | {seeds} | {parameters} | {seconds:.0f} | {' | '.join(cells)} |")
        if len(lines) > 2:
            parts.append(f"## {dataset}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write_table(protocol_file: Path) -> None:
    """The Markdown tables from the CSV file."""
    text = markdown_tables(rows_of(protocol_file), read_protocol(protocol_file))
    protocol_file.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train and score what has no row yet")
    run.add_argument("protocol", type=Path)
    run.add_argument("--work_dir", type=Path, required=True, help="models and tokenizers")
    run.add_argument("--data", action="append", default=[], metavar="NAME=FOLDER", help="where a data set lies")
    run.add_argument("--only", help="only runs whose name (data set, system, seed) contains this")
    run.add_argument("--limit", type=int, help="at most so many runs")
    allow_again(run)
    table = commands.add_parser("table", help="write the tables of what has been run")
    table.add_argument("protocol", type=Path)
    options = parser.parse_args()
    if options.command == "table":
        write_table(options.protocol)
        return 0
    wrong = [word for word in options.data if "=" not in word]
    if wrong:
        parser.error(f"--data {wrong[0]}: give NAME=FOLDER")
    paths = dict(word.split("=", 1) for word in options.data)
    run_all(options.protocol, options.work_dir, paths, options.only, options.limit, options.again)
    return 0


if __name__ == "__main__":
    sys.exit(main())
