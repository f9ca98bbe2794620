"""Which layer of a frozen biLM serves which task, and its perplexity beside smoothed n-grams'.

    python scripts/compare_contextual.py FOLDER --data DATA --output scripts/comparisons/contextual.json
    python scripts/compare_contextual.py runs/austen --data DATA --corpus lm_austen --parts perplexity \\
        --output scripts/comparisons/contextual_austen.json

DATA holds the folders lm_debian (or another --corpus), sent_vader, doc_debian_section and eval_pud. Vectors are made
once and frozen; on them a linear layer is trained (the mean over the words for texts, each word for tags): of x alone
(what a word is without context), of the first layer, of the last, and of the learned mix of all with its gamma
(Eq. 1). word2vec of the same training text stands beside them, in place of vectors that know no context. The pass is
chosen on validation data, the test data are scored once; seeds differ in first weights and order, for tags in the
tenth that is held out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo.data.contextual_vectors import ContextualVectors
from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.data.text_encoding import joined
from hf_attention_zoo.data.word_vectors import learn_word_vectors
from hf_attention_zoo.folders.written_files import FACTS_FILE
from hf_attention_zoo.metrics.label_scoring import score_classes
from hf_attention_zoo.models.elmo.layers_elmo import ScalarMix
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.running_text.bidirectional_words import BidirectionalWordsObjective
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.whole_files import json_if_any

SYSTEMS = ("word2vec", "x", "first layer", "last layer", "mix")
PASSES, UPDATES, RATE = 30, 40, 5e-3  # passes over the data, updates of each


class LinearReader(nn.Module):
    """A linear layer over one layer, or over the mix of all: (N, layers, H) -> (N, labels)."""

    def __init__(self, layers: int, size: int, labels: int, layer: int | None) -> None:
        super().__init__()
        self.layer = layer
        self.mix = ScalarMix(layers) if layer is None else None
        self.linear = nn.Linear(size, labels)

    def forward(self, vectors: Tensor) -> Tensor:
        chosen = self.mix(list(vectors.unbind(1))) if self.mix is not None else vectors[:, self.layer]
        return self.linear(functional.dropout(chosen, 0.2, self.training))


def standardised(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """Every number of every layer with mean 0 and variance 1 over the training data."""
    mean, spread = parts["train"].mean(0), parts["train"].std(0).clamp(min=1e-4)
    return {name: (part - mean) / spread for name, part in parts.items()}


def train_reader(
    parts: dict[str, Tensor], labels: dict[str, Tensor], count: int, layer: int | None, seed: int
) -> dict[str, Any]:
    """Train on "train", choose the pass on "validation", score "test"."""
    torch.manual_seed(seed)
    _, layers, size = parts["train"].shape
    reader = LinearReader(layers, size, count, layer)
    optimiser = torch.optim.AdamW(reader.parameters(), lr=RATE, weight_decay=1e-2)
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for _ in range(PASSES):
        reader.train()
        for places in torch.randperm(len(labels["train"])).split(max(32, len(labels["train"]) // UPDATES)):
            loss = functional.cross_entropy(reader(parts["train"][places]), labels["train"][places])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        reader.eval()
        with torch.no_grad():
            scores = {
                name: score_classes(reader(parts[name]).numpy(), labels[name].numpy())
                for name in ("validation", "test")
            }
        right = scores["validation"]["accuracy"]
        if right > best[0]:
            found: dict[str, Any] = {name: 100 * scores["test"][name] for name in ("accuracy", "macro_f1")}
            if reader.mix is not None:
                found["layer_weights"] = [round(share, 3) for share in reader.mix.layer_weights.tolist()]
            best = (right, found)
    return best[1]


def text_data(
    folder: Path, limits: dict[str, int], vectors: ContextualVectors, static: Callable[[Sequence[str]], Tensor]
) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor], list[str]]:
    """Means over the words of texts: of each layer (N, layers, H), of static vectors (N, 1, H), and the labels."""
    splits, info = load_labelled(str(folder))
    parts: dict[str, dict[str, Tensor]] = {"layers": {}, "static": {}}
    labels = {}
    for split, most in limits.items():
        rows = splits[split].shuffle(seed=0).select(range(min(most, len(splits[split]))))
        words = [vectors.words_of(joined(text))[:200] for text in rows["text"]]
        parts["layers"][split] = torch.stack([one.float().mean(1) for one in vectors.layers(words)])
        parts["static"][split] = torch.stack([static(one).mean(0, keepdim=True) for one in words])
        labels[split] = torch.tensor(rows["label"])
        vectors.kept.clear()
    return parts, labels, list(info.names)


def places_by_document(names: Sequence[str], seed: int) -> dict[str, np.ndarray]:
    """Places of the sentences of each split, those of a document together; the tenths turn with the seed.

    Args:
        names: of sentences: the document's, and three digits that number the sentence.
    """
    documents = np.array([name[:-3] for name in names])
    tenths = np.array_split(np.random.default_rng(1234).permutation(np.unique(documents)), 10)
    held = {"test": tenths[seed % 10], "validation": tenths[(seed + 1) % 10]}
    held = {split: np.flatnonzero(np.isin(documents, chosen)) for split, chosen in held.items()}
    return {"train": np.setdiff1d(np.arange(len(names)), np.concatenate(list(held.values()))), **held}


def tag_data(
    file: Path, vectors: ContextualVectors, static: Callable[[Sequence[str]], Tensor], seed: int
) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor], list[str]]:
    """Words of English sentences with their tags; a tenth of the documents is for testing, another for choosing."""
    rows = [row for _, row in read_rows(file)]
    names = sorted({tag for row in rows for tag in row["upos"]["en"]})
    splits = places_by_document([str(row["id"]) for row in rows], seed)
    parts: dict[str, dict[str, Tensor]] = {"layers": {}, "static": {}}
    labels = {}
    for split, places in splits.items():
        words = [rows[place]["tokens"]["en"] for place in places]
        parts["layers"][split] = torch.cat([one.float().transpose(0, 1) for one in vectors.layers(words)])
        parts["static"][split] = torch.cat([static(one)[:, None] for one in words])
        tags = [names.index(tag) for place in places for tag in rows[place]["upos"]["en"]]
        labels[split] = torch.tensor(tags)
    return parts, labels, names


def compare_task(load: Callable[[int], Any], seeds: Sequence[int], reload: bool) -> list[dict[str, Any]]:
    """Rows of every system, means over the seeds with their spread."""
    results: dict[str, list[dict[str, Any]]] = {system: [] for system in SYSTEMS}
    loaded = None
    for seed in seeds:
        if loaded is None or reload:
            loaded = load(seed)
        parts, labels, names = loaded
        ready = {kind: standardised(part) for kind, part in parts.items()}
        last = parts["layers"]["train"].shape[1] - 1
        for system, layer in zip(SYSTEMS, (0, 0, 1, last, None), strict=True):
            chosen = ready["static" if system == "word2vec" else "layers"]
            results[system].append(train_reader(chosen, labels, len(names), layer, seed))
            print(f"  seed {seed} {system}: {results[system][-1]}", flush=True)
    counts = {split: len(part) for split, part in labels.items()}
    truth = labels["test"]
    usual = int(labels["train"].bincount().argmax())
    majority = 100 * (truth == usual).float().mean().item()
    rows = [{"system": "most frequent label", "accuracy": round(majority, 2), "items": counts}]
    for system, found in results.items():
        row: dict[str, Any] = {"system": system}
        for metric in ("accuracy", "macro_f1"):
            values = [one[metric] for one in found]
            row[metric] = round(statistics.mean(values), 2)
            row[f"{metric}_spread"] = round(statistics.stdev(values), 2) if len(values) > 1 else 0.0
        if system == "mix":
            row["layer_weights"] = np.mean([one["layer_weights"] for one in found], axis=0).round(3).tolist()
        rows.append(row)
    return rows


def perplexities(folder: str, data: Path, most: int | None) -> dict[str, Any]:
    """Of both directions on the test text: the biLM's and those of Kneser-Ney models of one to four words."""
    from transformers import AutoModelForPreTraining, AutoTokenizer

    from hf_attention_zoo import get_architecture

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForPreTraining.from_pretrained(folder).eval()
    objective = BidirectionalWordsObjective(get_architecture("elmo"))
    test, train = (DocumentSource(str(data), split=split, limit=most) for split in ("test", "train"))
    found = {"biLM": objective.evaluate(model, tokenizer, test, length=10_000, batch_size=32)}
    facts = {"targets": found["biLM"]["targets"], "unknown_share": round(found["biLM"]["unknown_share"], 4)}
    found |= {
        f"Kneser-Ney {name}": row for name, row in objective.baselines(tokenizer, train, test, length=10_000).items()
    }
    rows = [
        {"system": name, **{key: round(value, 1) for key, value in row.items() if key.endswith("perplexity")}}
        for name, row in found.items()
    ]
    return {"rows": rows, **facts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="a pre-trained ELMo")
    parser.add_argument("--data", type=Path, required=True, help="folder with the four data sets")
    parser.add_argument("--output", type=Path, required=True, help="JSON file of the results")
    parser.add_argument("--corpus", default="lm_debian", help="folder in DATA of the text that the biLM learnt from")
    parser.add_argument("--parts", nargs="+", default=["tasks", "perplexity"], choices=["tasks", "perplexity"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--max_train", type=int, default=4000, help="training texts of each task, at most")
    parser.add_argument("--max_test", type=int, default=1200, help="test texts of each task, at most")
    parser.add_argument("--max_documents", type=int, help="documents that word2vec and n-grams learn from, at most")
    options = parser.parse_args()

    began = time.process_time()
    vectors = ContextualVectors(options.folder)
    result: dict[str, Any] = {"model": Path(options.folder).name}
    facts = json_if_any(Path(options.folder) / FACTS_FILE)
    training = {name: facts[name] for name in ("command", "steps", "seconds", "hardware") if name in facts}
    if options.output.exists():
        result = json.loads(options.output.read_text(encoding="utf-8"))
    result |= {"corpus": options.corpus, "training": training}
    if "perplexity" in options.parts:
        result["perplexity"] = perplexities(options.folder, options.data / options.corpus, options.max_documents)
        print(json.dumps(result["perplexity"], indent=1), flush=True)
    if "tasks" in options.parts:
        result |= compare_tasks(vectors, options)
    result["processor_seconds"] = result.get("processor_seconds", 0) + round(time.process_time() - began)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def compare_tasks(vectors: ContextualVectors, options: argparse.Namespace) -> dict[str, Any]:
    """Rows of all tasks."""
    source = DocumentSource(str(options.data / options.corpus), limit=options.max_documents)
    sentences = [[word.lower() for word in line.split()] for document in source for line in document]
    learnt = learn_word_vectors(sentences, vectors.size, seed=0, epochs=2)
    nothing = torch.zeros(vectors.size)
    table = {word: torch.as_tensor(np.asarray(vector), dtype=torch.float32) for word, vector in learnt.items()}

    def static(words: Sequence[str]) -> Tensor:
        return torch.stack([table.get(word.lower(), nothing) for word in words] or [nothing])

    limits = {"train": options.max_train, "validation": options.max_test, "test": options.max_test}
    tasks: dict[str, tuple[Callable[[int], Any], bool]] = {
        "sent_vader": (lambda _: text_data(options.data / "sent_vader", limits, vectors, static), False),
        "doc_debian_section": (
            lambda _: text_data(options.data / "doc_debian_section", limits, vectors, static),
            False,
        ),
        "eval_pud (tags)": (
            lambda seed: tag_data(options.data / "eval_pud" / "test.jsonl.gz", vectors, static, seed),
            True,
        ),
    }
    result: dict[str, Any] = {"seeds": options.seeds, "tasks": {}}
    for name, (load, reload) in tasks.items():
        print(name, flush=True)
        result["tasks"][name] = compare_task(load, options.seeds, reload)
    return result


if __name__ == "__main__":
    main()
