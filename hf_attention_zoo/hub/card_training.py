"""What a model card says of the training: how the weights came about."""

from __future__ import annotations

from typing import Any

from hf_attention_zoo.folders.card_text import described, duration, one_line, settings, table
from hf_attention_zoo.folders.privacy import is_secret_name
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint, dataset_name

# How the best checkpoint of a run is chosen: of a mean of checkpoints it says nothing, unless it ended the training.
CHOOSING = ("load_best_model_at_end", "metric_for_best_model", "greater_is_better")


def training(checkpoint: Checkpoint) -> str:
    """How the weights came about."""
    facts = checkpoint.training
    if not facts:
        return ""
    rows = []
    if facts.get("recipe"):
        rows.append(["recipe", described(facts["recipe"])])
    if facts.get("dataset"):
        rows.append(["data", dataset_name(str(facts["dataset"]))])
    if checkpoint.facts.get("data_source"):
        rows.append(["data source", checkpoint.facts["data_source"]])
    for key, label in (("epochs", "epochs"), ("steps", "updates"), ("target_tokens", "target tokens seen")):
        if facts.get(key) is not None:
            rows.append([label, f"{round(facts[key], 2):,}".removesuffix(".0")])
    if which := weights(facts):
        rows.append(["weights", which])
    vectors = facts.get("word_vectors")
    if vectors:
        kept = "kept as they are" if vectors.get("frozen") else "trained further"
        share = f"{vectors['found']:,} of {vectors['entries']:,} entries found"
        rows.append(["word vectors at the start", f"{one_line(vectors['source'])}, {share}, {kept}"])
    if facts.get("seed") is not None:
        rows.append(["seed", str(facts["seed"])])
    if facts.get("hardware"):
        rows.append(["hardware", described(facts["hardware"])])
    if facts.get("seconds") is not None:
        rows.append(["wall time", duration(facts["seconds"])])
    if arguments := public_arguments(facts):
        rows.append(["arguments", settings(arguments)])
    lines = ["## How it was trained", ""]
    if rows:
        lines += [table(["", ""], rows), ""]
    if facts.get("command"):
        lines += ["```bash", facts["command"], "```"]
        if checkpoint.copy_needed and "FOLDER" not in facts["command"]:  # a command may say it itself
            lines += ["", checkpoint.copy_needed]
    return "\n".join(lines).rstrip()


def weights(facts: dict[str, Any]) -> str | None:
    """Which weights these are, where they are not those after the last update or of the best checkpoint."""
    steps = facts.get("averaged_checkpoints")
    if not steps:
        return None
    shown = ", ".join(map(str, steps))  # as folders of checkpoints are called
    if len(steps) == 1:
        return f"those of the checkpoint after step {shown}"
    return f"the mean of the checkpoints after steps {shown}"


def public_arguments(facts: dict[str, Any]) -> dict[str, Any]:
    """The arguments that made these weights and describe neither machine nor owner."""
    arguments = {key: value for key, value in (facts.get("arguments") or {}).items() if not private_argument(key)}
    if facts.get("averaged_checkpoints"):
        chosen = CHOOSING[:1] if "early_stopping_patience" in arguments else CHOOSING
        return {key: value for key, value in arguments.items() if key not in chosen}
    return arguments


def private_argument(name: str) -> bool:
    """Arguments that describe the machine or its owner and not the training."""
    return is_secret_name(name) or name.endswith(("_dir", "_file", "_path")) or name in {"dataset", "config"}
