"""The language models from before attention on Jane Austen's novels, several seeds, beside counting and mixed with it.

    python scripts/language_model_seeds.py --data FOLDER_OF_LM_AUSTEN --work_dir runs/austen
    python scripts/language_model_seeds.py --data ... --work_dir ... --only nnlm --seeds 2

Every architecture is pre-trained by its recipe `small` and scored on the test split. Seed 1 is the published folder,
in half precision. A run that is in `scripts/comparisons/language_models.json` is not made again, a stopped training
goes on from its checkpoint, and the file is written after each run, with a table of means and spreads beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.tasks.running_text.evaluation import evaluate_language
from hf_attention_zoo.tasks.running_text.mixture_names import INTERPOLATED, N_GRAMS, mixture_name
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.train import run_training

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "scripts" / "comparisons" / "language_models.json"
PUBLISHED = {"elman": "elman-austen", "lstm1997": "lstm1997-austen", "nnlm": "nnlm-austen"}
SEEDS = (1, 2, 3)
COMMAND = "python scripts/language_model_seeds.py --data FOLDER --work_dir runs/austen"


def folder_of(model: str, seed: int, data: Path, work_dir: Path) -> Path:
    """A trained folder: the published one, or one that is trained here."""
    if seed == 1:
        return ROOT / "model_cards" / PUBLISHED[model]
    folder = work_dir / f"{model}-{seed}"
    if not (folder / FACTS_FILE).is_file():
        flags = ["--recipe", "small", "--dataset", str(data), "--seed", str(seed), "--output_dir", str(folder)]
        quiet = ["--disable_tqdm", "True", "--use_cpu", "True"]
        plan, task = pretraining_plan([model, *flags, *quiet], command=COMMAND)
        run_training(plan, task=task)
    return folder


def scores(folder: Path, data: Path, work_dir: Path) -> dict[str, Any]:
    """What is kept of a run, and the n-gram models beside it."""
    facts = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
    settings: dict[str, Any] = {"dataset": str(data), "split": "test", "output": work_dir / "metrics.json"}
    metrics = evaluate_language(folder, mix_with="4-gram", **settings)
    papers = evaluate_language(folder, mix_with=INTERPOLATED, baselines=False, **settings)
    return {
        "validation_perplexity": round(facts["validation"]["perplexity"], 4),
        "perplexity": metrics["results"]["perplexity"],
        "perplexity_per_word": metrics["results"]["perplexity_per_word"],
        "parameters": metrics["parameters"],
        "steps": facts["steps"],
        "seconds": facts["seconds"],
        "hardware": facts["hardware"],
        "mixtures": metrics["mixtures"] + papers["mixtures"],
        "baselines": metrics["baselines"] | papers["baselines"],
    }


def summary(found: dict[str, Any]) -> str:
    """Means and, of several seeds, sample standard deviations, as a Markdown table."""
    lines = ["| model | seeds | validation | test | per word | half and half with 4-gram | fitted share |"]
    lines.append("|---|---|---|---|---|---|---|")
    for model in PUBLISHED:
        runs = [run for key, run in found["runs"].items() if key.startswith(f"{model} | ")]
        if not runs:
            continue
        half, fitted = ([run["mixtures"][place] for run in runs] for place in (0, 1))
        cells = [spread([run[name] for run in runs]) for name in ("validation_perplexity", "perplexity")]
        cells.append(spread([run["perplexity_per_word"] for run in runs]))
        cells.append(spread([one["mixed_perplexity"] for one in half]))
        share = statistics.mean(one["weight"] for one in fitted)
        cells.append(f"{spread([one['mixed_perplexity'] for one in fitted])} (share {share:.2f})")
        lines.append(f"| `{model}` | {len(runs)} | {' | '.join(cells)} |")
    for name, numbers in found.get("baselines", {}).items():
        per_word = f"{numbers['perplexity_per_word']:.1f}"
        lines.append(f"| {N_GRAMS[name]} | - | - | {numbers['perplexity']:.1f} | {per_word} | - | - |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the novels, lm_austen")
    parser.add_argument("--work_dir", type=Path, required=True, help="folder of the trainings")
    parser.add_argument("--only", choices=[*PUBLISHED], help="this architecture alone")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    options = parser.parse_args()
    options.work_dir.mkdir(parents=True, exist_ok=True)
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {"command": COMMAND, "runs": {}}
    for model in PUBLISHED if options.only is None else [options.only]:
        for seed in options.seeds:
            key = f"{model} | {seed}"
            if key in kept["runs"]:
                continue
            folder = folder_of(model, seed, options.data, options.work_dir)
            found = scores(folder, options.data, options.work_dir)
            beside = found.pop("baselines")
            kept["baselines"] = kept.get("baselines", beside)  # learnt from the same text, with one tokenizer
            kept["runs"][key] = found
            kept["runs"] = dict(sorted(kept["runs"].items()))
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            RESULTS.with_suffix(".md").write_text(summary(kept) + "\n", encoding="utf-8")
            print(key, found["perplexity"], [mixture_name(one) for one in found["mixtures"]], flush=True)
    print(summary(kept))


if __name__ == "__main__":
    main()
