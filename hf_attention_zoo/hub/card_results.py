"""What a model card says of the numbers: the table of results, and the limits that follow from them."""

from __future__ import annotations

from collections.abc import Mapping

from hf_attention_zoo.folders.card_text import (
    as_list,
    described,
    duration,
    listed,
    measured,
    number,
    one_line,
    settings,
    table,
)
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint


def results(checkpoint: Checkpoint) -> str:
    """The measured numbers beside the baselines, and how they were measured."""
    if not checkpoint.metrics:
        return "## Results\n\nThis checkpoint was not evaluated."
    found, metrics = checkpoint.metrics["results"], checkpoint.card.metrics
    shown = [key for key in metrics if measured(found.get(key))[0] is not None]
    rows = [["this checkpoint", *(metrics[key].shown(measured(found[key])[0]) for key in shown)]]
    for baseline, values in checkpoint.metrics.get("baselines", {}).items():
        cells = (metrics[key].shown(measured(values.get(key))[0]) for key in shown)
        rows.append([checkpoint.card.baselines.get(baseline, baseline), *cells])
    where = [f"{checkpoint.data['split']} split"] if checkpoint.data.get("split") else []
    where += [f"of {checkpoint.dataset}"] if checkpoint.dataset else []
    size = [f"{checkpoint.data['rows']:,} rows"] if isinstance(checkpoint.data.get("rows"), int) else []
    size += [f"at most {checkpoint.data['max_words']} words a side"] if checkpoint.data.get("max_words") else []
    where += [f"({', '.join(size)})"] if size else []
    lines = ["## Results", ""]
    if where:
        lines += [f"Measured on the {' '.join(where)}.", ""]
    lines += [table(["", *(metrics[key].name for key in shown)], rows), ""]
    for key in shown:
        signature = measured(found[key])[1]
        if signature:
            lines.append(f"- {metrics[key].name} signature: `{signature}`")
        if metrics[key].package:
            lines.append(f"- {metrics[key].name}: as `{metrics[key].package}` computes it")
        if isinstance(found[key], Mapping) and found[key].get("note"):
            lines.append(f"- {metrics[key].name}: {one_line(found[key]['note'])}")
    if found.get("brevity_penalty") is not None:
        lines.append(f"- brevity penalty: {number(found['brevity_penalty'], 3)}")
    if found.get("seconds") is not None:
        lines.append(f"- {checkpoint.wording.reading}: {duration(found['seconds'])}")
    decoding = settings(checkpoint.metrics.get("decoding"))
    if decoding:
        lines.append(f"- decoding: {decoding}")
    if checkpoint.metrics.get("hardware"):
        lines.append(f"- hardware: {described(checkpoint.metrics['hardware'])}")
    if checkpoint.metrics.get("versions"):
        lines.append(f"- versions: {described(checkpoint.metrics['versions'])}")
    if checkpoint.metrics.get("command"):
        lines += ["", "```bash", checkpoint.metrics["command"], "```"]
        lines += ["", checkpoint.copy_needed] if checkpoint.copy_needed else []
    return "\n".join(lines).rstrip()


def limits(checkpoint: Checkpoint) -> str:
    """What was stated, and what follows from the evaluation."""
    stated = as_list(checkpoint.facts.get("limits")) + beaten_by(checkpoint)
    if checkpoint.metrics and checkpoint.dataset:
        stated.append(f"The numbers above hold for {checkpoint.dataset}; other kinds of input were not measured.")
    return listed("Limits", stated)


def beaten_by(checkpoint: Checkpoint) -> list[str]:
    """A sentence for each baseline that is better in one of the metrics, in the whole split or in a group of it."""
    whole = [("here", checkpoint.metrics.get("results", {}), checkpoint.metrics.get("baselines", {}))]
    groups = [
        (f"on the {group['rows']:,} rows of {group['group']}", group, group.get("baselines") or {})
        for group in checkpoint.metrics.get("groups") or []
    ]
    sentences = []
    for where, found, baselines in whole + groups:
        for baseline, values in baselines.items():
            better = []
            for key, metric in checkpoint.card.metrics.items():
                own, other = measured(found.get(key))[0], measured(values.get(key))[0]
                if own is not None and other is not None and (other < own if metric.falls else other > own):
                    better.append(f"{metric.name} ({metric.shown(other)} against {metric.shown(own)})")
            if better:
                name = checkpoint.card.baselines.get(baseline, baseline)
                sentences.append(f"A simpler way is better {where}: {name} in {' and in '.join(better)}.")
    return sentences
