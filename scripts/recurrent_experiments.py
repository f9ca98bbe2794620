"""What recurrent networks were first shown to learn, and how far back they remember: numbers and pictures.

    python scripts/recurrent_experiments.py elman --output scripts/comparisons
    python scripts/recurrent_experiments.py adding --output scripts/comparisons --lags 10 50 100 200

`elman` repeats three experiments of Elman 1990, with one-step errors and logistic units as in the paper: exclusive or
in time, letters, simple sentences. `adding` gives Elman's network and the LSTM forms the adding problem of Hochreiter
and Schmidhuber 1997 at several lags. Each writes a JSON and pictures; `adding` goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import ElmanConfig, ElmanForCausalLM
from hf_attention_zoo.alignment.drawing.figures import save_tight
from hf_attention_zoo.alignment.results.word_clusters import WordClusters, cluster_vectors
from hf_attention_zoo.data import generated_sequences as generated
from hf_attention_zoo.recurrent.forgetting_blocks import ForgettingBlocks
from hf_attention_zoo.recurrent.memory_blocks import MemoryBlocks
from hf_attention_zoo.recurrent.reading_in_time import read_in_time
from hf_attention_zoo.recurrent.simple_cell import SimpleCell

SEEDS = (1, 2, 3)


class Net(nn.Module):
    """A cell and logistic or linear output units, read over sequences of numbers."""

    def __init__(self, cell: Any, outputs: int) -> None:
        super().__init__()
        self.cell, self.output = cell, nn.Linear(cell.hidden_size, outputs)

    def forward(self, inputs: Tensor, truncation: int | None) -> Tensor:
        """(N, T, I) -> the sums inside the output units after each step, (N, T, outputs)."""
        states, _ = read_in_time(self.cell, inputs, self.cell.zero_state(inputs), truncation=truncation)
        return self.output(states)


def squared_errors(stream: Tensor, hidden: int, passes: int, rows: int, rate: float, seed: int) -> Tensor:
    """The network predicts the next step of a stream (T, I), errors through one step; its squared errors on more.

    The stream is cut into rows that are read side by side. Half of it is learnt from, the other half scored, (T / 2 -
    1, I): rows begin anew, so that errors of each row's beginning are among them.
    """
    torch.manual_seed(seed)
    size = stream.shape[1]
    net = Net(SimpleCell(size, hidden), size)
    optimizer = torch.optim.Adam(net.parameters(), rate)
    learnt, held_out = stream.chunk(2)
    learnt = learnt[: len(learnt) // rows * rows].view(rows, -1, size)
    for _ in range(passes):
        made = torch.sigmoid(net(learnt[:, :-1], truncation=1))
        loss = functional.mse_loss(made, learnt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        made = torch.sigmoid(net(held_out[None, :-1], truncation=1))[0]
    return (made - held_out[1:]) ** 2


def temporal_exclusive_or(seed: int) -> dict[str, Any]:
    """Mean squared errors at each place of the triples; the third can be foreseen, the others are 0.25 at best."""
    stream = torch.from_numpy(generated.exclusive_or(2000, np.random.default_rng(seed))).float()[:, None]
    errors = squared_errors(stream, hidden=5, passes=1500, rows=60, rate=0.02, seed=seed)[:, 0]
    places = (torch.arange(len(errors)) + 1) % 3
    return {"mean_squared_error": [round(float(errors[places == place].mean()), 4) for place in range(3)]}


def letter_prediction(seed: int) -> dict[str, Any]:
    """Root mean squared errors of letters to come: consonants cannot be foreseen, vowels can."""
    text = generated.letters(1600, np.random.default_rng(seed))
    stream = torch.from_numpy(generated.letter_bits(text))
    errors = squared_errors(stream, hidden=20, passes=600, rows=64, rate=0.02, seed=seed)
    coming = text[-len(errors) :]
    consonant = torch.tensor([letter in generated.SYLLABLES for letter in coming])
    whole, bit = errors.mean(1), errors[:, 1]  # the second bit says that a vowel comes

    def root(values: Tensor) -> float:
        return round(float(values.mean().sqrt()), 4)

    return {
        "consonants": root(whole[consonant]),
        "vowels": root(whole[~consonant]),
        "bit_vowel_at_consonants": root(bit[consonant]),
        "first_letters": [
            [letter, round(float(error.sqrt()), 3)] for letter, error in zip(coming, whole, strict=True)
        ][3:40],
    }


def sentence_prediction(seed: int) -> tuple[dict[str, Any], WordClusters]:
    """Next words of 10,000 sentences without marks between them, and the tree of the hidden states of words."""
    random = np.random.default_rng(seed)
    sentences = generated.simple_sentences(10_000, random)
    words = sorted({word for sentence in sentences for word in sentence})
    place = {word: number for number, word in enumerate(words)}
    ids = torch.tensor([place[word] for sentence in sentences for word in sentence])
    rows = ids[: len(ids) // 64 * 64].view(64, -1)
    torch.manual_seed(seed)
    model = ElmanForCausalLM(ElmanConfig(stateful=True, pad_token_id=None))  # the paper's sizes
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(6):
        model.model.reset_state()
        for part in rows.split(20, dim=1):
            loss = model(part, labels=part).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    likelihoods = generated.next_word_likelihoods(sentences, words)
    with torch.no_grad():
        read = model(ids[None, :6000], output_hidden_states=True)
    predicted = read.logits[0, :, : len(words)].softmax(-1).double().numpy()
    wanted = np.stack([likelihoods[tuple(s[:n])] for s in sentences for n in range(1, len(s) + 1)][:6000])
    cosine = (predicted * wanted).sum(1) / np.linalg.norm(predicted, axis=1) / np.linalg.norm(wanted, axis=1)
    states = read.hidden_states[-1][0].double()
    seen = ids[:6000]
    vectors = torch.stack([states[seen == number].mean(0) for number in range(len(words))]).numpy()
    clusters = cluster_vectors(words, vectors, [int((seen == number).sum()) for number in range(len(words))])
    first, second = clusters.merges[-1, :2].astype(int)
    sides = [{words[leaf] for leaf in clusters.leaves(side)} for side in (first, second)]
    agreeing = max(sum((word in generated.NOUNS) == (word in side) for word in words) / len(words) for side in sides)
    return {
        "loss": round(loss.item(), 4),
        "mean_cosine_to_likelihoods": round(float(cosine.mean()), 4),
        "root_mean_squared_error_to_likelihoods": round(float(np.sqrt(((predicted - wanted) ** 2).mean())), 4),
        "nouns_and_verbs_apart": round(agreeing, 3),
    }, clusters


def run_elman(output: Path) -> None:
    """The three experiments, all seeds; `elman.json`, `elman_errors.png`, `elman_words.png`."""
    found: dict[str, Any] = {"command": f"python scripts/recurrent_experiments.py elman --output {output.as_posix()}"}
    started = time.monotonic()
    for name, experiment in (("exclusive_or", temporal_exclusive_or), ("letters", letter_prediction)):
        found[name] = {str(seed): experiment(seed) for seed in SEEDS}
        print(name, found[name]["1"])
    sentences = {seed: sentence_prediction(seed) for seed in SEEDS}
    found["sentences"] = {str(seed): numbers for seed, (numbers, _) in sentences.items()}
    print("sentences", found["sentences"])
    found["seconds"] = round(time.monotonic() - started, 1)
    (output / "elman.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sentences[1][1].plot(output / "elman_words.png")
    draw_errors(found, output / "elman_errors.png")


def draw_errors(found: dict[str, Any], path: Path) -> None:
    """As figures 3 and 4 of the paper: the error at each step, low where the next one can be known."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.6), facecolor="white")
    upper, lower = figure.subplots(2, 1)
    for seed in map(str, SEEDS):
        errors = found["exclusive_or"][seed]["mean_squared_error"]
        upper.plot(
            range(1, 10), np.sqrt([errors[(place - 1) % 3] for place in range(1, 10)]), ".-", label=f"seed {seed}"
        )
    upper.set_xticks(range(1, 10), ["first", "second", "xor"] * 3)
    upper.set_ylabel("error of the bit")
    upper.legend(fontsize=8)
    shown = found["letters"]["1"]["first_letters"]
    lower.plot([error for _, error in shown], ".-", color="black")
    lower.set_xticks(range(len(shown)), [letter for letter, _ in shown])
    lower.set_ylabel("error of the letter")
    for axes in (upper, lower):
        axes.set_ylim(bottom=0)
    figure.tight_layout()
    save_tight(figure, path)


# --- the adding problem ----------------------------------------------------------------------------------------------

BLOCKS = 8
SYSTEMS: dict[str, tuple[Any, int | None]] = {  # a cell, and how many steps errors go back
    "Elman, one step": (lambda: SimpleCell(2, 2 * BLOCKS, "tanh"), 1),
    "Elman, through time": (lambda: SimpleCell(2, 2 * BLOCKS, "tanh"), None),
    "LSTM of 1997, truncated": (lambda: MemoryBlocks(2, 2 * BLOCKS, 2), None),
    "LSTM with forget gates": (lambda: ForgettingBlocks(2, 2 * BLOCKS, 1, truncated=False), None),
}


def gate_starts(cell: Any) -> None:
    """Input gates begin closed in the LSTM of 1997, as in the paper's Experiment 4, forget gates begin open."""
    with torch.no_grad():
        if isinstance(cell, MemoryBlocks):
            cell.gate_bias[: cell.gates // 2] = -3.0
        elif isinstance(cell, ForgettingBlocks):
            third = cell.gates // 3
            cell.gate_bias[third : 2 * third] = 3.0


def adding_error(system: str, lag: int, seed: int, steps: int) -> dict[str, Any]:
    """The mean squared error on 1,000 new sequences, and the share that is right to 0.04, as the paper counts."""
    make, truncation = SYSTEMS[system]
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    net = Net(make(), 1)
    gate_starts(net.cell)
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    rates = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    started = time.monotonic()
    for _ in range(steps):
        inputs, targets = (torch.from_numpy(part) for part in generated.adding_problem(32, lag, random))
        loss = functional.mse_loss(net(inputs, truncation)[:, -1, 0], targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        rates.step()
    inputs, targets = (torch.from_numpy(part) for part in generated.adding_problem(1000, lag, random))
    with torch.no_grad():
        error = net(inputs, truncation)[:, -1, 0] - targets
    return {
        "mean_squared_error": round(float((error**2).mean()), 5),
        "right": round(float((error.abs() < 0.04).float().mean()), 3),
        "answering_the_mean": round(float(targets.var()), 5),
        "steps": steps,
        "seconds": round(time.monotonic() - started, 1),
    }


def run_adding(output: Path, lags: list[int], seeds: list[int], steps: int) -> None:
    """Every system at every lag; `adding.json`, written after each, and `adding.png`."""
    file = output / "adding.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"runs": {}}
    for seed in seeds:
        for lag in lags:
            for system in SYSTEMS:
                key = f"{system} | {lag} | {seed}"
                if key not in found["runs"]:
                    found["runs"][key] = adding_error(system, lag, seed, steps)
                    print(key, found["runs"][key], flush=True)
                    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw_adding(found, output / "adding.png")


def draw_adding(found: dict[str, Any], path: Path) -> None:
    """Error against lag, a line for each system, a point for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4), facecolor="white")
    axes = figure.add_subplot()
    for system in SYSTEMS:
        points: dict[int, list[float]] = {}
        for key, run in found["runs"].items():
            name, lag, _ = key.split(" | ")
            if name == system:
                points.setdefault(int(lag), []).append(run["mean_squared_error"])
        lags = sorted(points)
        (line,) = axes.plot(lags, [np.median(points[lag]) for lag in lags], "-", label=system)
        for lag in lags:
            axes.plot([lag] * len(points[lag]), points[lag], ".", color=line.get_color())
    guess = np.mean([run["answering_the_mean"] for run in found["runs"].values()])
    axes.axhline(guess, color="grey", linestyle="--", linewidth=0.8, label="answering the mean")
    axes.set_yscale("log")
    axes.set_xlabel("lag, steps")
    axes.set_ylabel("mean squared error")
    axes.legend(fontsize=8)
    save_tight(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=["elman", "adding"])
    parser.add_argument("--output", type=Path, required=True, help="folder of the JSON and the pictures")
    parser.add_argument("--lags", type=int, nargs="+", default=[10, 50, 100, 200])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--steps", type=int, default=800, help="updates of 32 sequences (default: %(default)s)")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if options.experiment == "elman":
        run_elman(options.output)
    else:
        run_adding(options.output, options.lags, options.seeds, options.steps)


if __name__ == "__main__":
    main()
