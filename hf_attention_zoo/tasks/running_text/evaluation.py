"""Score a pre-trained model on held-out running text and write metrics.json: perplexities, beside n-gram models.

What is comparable is said by the objective of each architecture: next tokens of the same tokenizer with n-gram models
and with each other; perplexities per word across tokenizers; hidden tokens only with hidden tokens.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.data.split_names import canonical_split
from hf_attention_zoo.evaluation.evaluation_command import base_metrics, missing_baselines
from hf_attention_zoo.evaluation.metrics_file import write_metrics
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.corpus_arguments import CorpusArguments
from hf_attention_zoo.tasks.running_text.evaluation_flags import build_parser
from hf_attention_zoo.tasks.running_text.mixture_names import mixture_name
from hf_attention_zoo.tasks.running_text.mixtures import check_mixture, mixtures
from hf_attention_zoo.tasks.running_text.objectives import objective_class
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.running_text.scored_text import ChosenText, chosen_text
from hf_attention_zoo.whole_files import json_if_any


def evaluate_language(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    text_column: str | None = None,
    text_documents: str | None = None,
    language: str | None = None,
    length: int | None = None,
    max_documents: int | None = None,
    baseline_documents: int | None = None,
    batch_size: int = 16,
    baselines: bool = True,
    mix_with: str | None = None,
    mix_weight: float | str | None = None,
    output: str | Path | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Perplexities and accuracies of a split of running text; writes and returns the metrics.

    Args:
        folder: saved model with tokenizer.
        dataset, split, ...: as for `DocumentSource`; without a dataset those of the training are taken.
        length: tokens of an example at most; by default as many as the longest that the model was trained on, where
            its folder tells, else 128 or as many as it has positions.
        max_documents: score only the first documents.
        baseline_documents: n-gram models learn from so many documents at most.
        baselines: score n-gram models of the training split, too.
        mix_with: an n-gram model of the training split that a model of next tokens is mixed with, too: "1-gram" to
            "4-gram" (Kneser-Ney), or "interpolated-3-gram". Under `mixtures` the metrics say what comes of it.
        mix_weight: share of the n-gram model, above 0 and below 1, or "fitted", on the validation split. By default
            both a half and fitted.
        output: file to write, by default metrics.json in the folder.

    Raises:
        ValueError: no such folder, data set, split or column, an architecture that is not pre-trained, or nothing to
            mix.
    """
    given = {
        "dataset": dataset,
        "dataset_config": dataset_config,
        "text_column": text_column,
        "text_documents": text_documents,
        "language": language,
    }
    model, tokenizer = load_checkpoint(folder)
    chosen = chosen_text(folder, given)
    row = get_architecture(model.config.model_type)
    facts = json_if_any(Path(folder) / FACTS_FILE)
    trained = facts.get("objective", {})
    kind = objective_class(row)
    settings = {**trained, **kind.settings_of(model)}
    objective = kind(row, **{name: value for name, value in settings.items() if name != "name"})
    held_out = chosen.source(split, max_documents)
    if text_column is not None:  # that of the training may be of other files
        held_out.check_column()
    longest = length or trained_length(facts)
    if longest is None:
        longest = min(128, getattr(model.config, "max_position_embeddings", None) or 128)
    training = chosen.source("train", baseline_documents)
    validation = None if mix_with is None else validation_text(chosen, split)
    mixable = check_mixture(objective, mix_with, mix_weight, split, training, validation)
    if validation is not None:
        objective.check_held_out(tokenizer, validation, longest)
    started = time.monotonic()
    reading = {"length": longest, "batch_size": batch_size}
    if mixable is None:
        found = objective.evaluate(model, tokenizer, held_out, **reading)
    else:  # the same, with what is mixed kept
        texts = list(held_out)
        scored = mixable.log_probabilities(model, tokenizer, texts, **reading)
        found = mixable.scores(scored, tokenizer, texts)
    seconds = time.monotonic() - started
    documents = sum(1 for _ in held_out)
    metrics = base_metrics(objective.task, model, chosen.name, split, documents, seconds, command)
    metrics["results"] |= {name: _rounded(value) for name, value in found.items()}
    metrics["length"] = longest
    learnt = training.has_split()
    if baselines and split != "train" and learnt:
        simpler = objective.baselines(tokenizer, training, held_out, length=longest)
        metrics["baselines"] = {
            name: {number: _rounded(value) for number, value in numbers.items()} for name, numbers in simpler.items()
        }
    if mixable is not None and mix_with is not None:
        made, alone = mixtures(
            mixable,
            model,
            tokenizer,
            training,
            validation,
            texts,
            scored,
            mix_with=mix_with,
            mix_weight=mix_weight,
            **reading,
        )
        metrics["mixtures"] = [{name: _rounded(value) for name, value in one.items()} for one in made]
        metrics["baselines"].setdefault(mix_with, {name: _rounded(value) for name, value in alone.items()})
    metrics |= missing_baselines(baselines, split, learnt)
    write_metrics(metrics, folder, output)
    return metrics


def trained_length(facts: dict[str, Any]) -> int | None:
    """Tokens of the longest example of a pre-training, from its training.json; None if that tells of none."""
    if "objective" not in facts:
        return None
    arguments = facts.get("arguments", {})
    return CorpusArguments(
        **{name: arguments[name] for name in ("length", "second_length") if name in arguments}
    ).longest()


def validation_text(chosen: ChosenText, split: str) -> DocumentSource | None:
    """The text on which weights of a mixture are fitted; None if there is none, or it is what is scored."""
    if canonical_split(split) == "validation":
        return None
    try:
        found = chosen.source("validation")
    except ValueError:  # the training named files, and none of them for validation
        return None
    return found if found.has_split() else None


def _rounded(value: Any) -> Any:
    if not isinstance(value, float | int):
        return value
    return int(value) if float(value).is_integer() else round(float(value), 4)


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them."""
    results, data = metrics["results"], metrics["dataset"]
    lines = [f"{data['name']}, {data['split']} split, {data['rows']:,} documents, {metrics['length']} tokens at once"]
    for name, value in results.items():
        if "perplexity" in name or "accuracy" in name:
            beside = "".join(
                f"   {simple} {numbers[name]:.2f}"
                for simple, numbers in metrics["baselines"].items()
                if name in numbers
            )
            lines.append(f"  {name:<23} {value:9.3f}{beside}")
    for mixture in metrics.get("mixtures", []):
        lines.append(f"  {mixture['mixed_perplexity']:.3f} perplexity {mixture_name(mixture)}")
    return "\n".join([*lines, *(f"  {reason}" for reason in metrics.get("left_out", []))])


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    options = vars(build_parser(program).parse_args(argv))
    options["baselines"] = not options.pop("no_baselines")
    print(summary(evaluate_language(options.pop("folder"), command=f"{program} {shlex.join(argv)}", **options)))
    return 0
