"""Words per second of word2vec's training beside gensim's, one thread each, in one run.

    python scripts/benchmark_words.py --json scripts/benchmarks/word2vec.json

Both read the descriptions of `lm_debian` as skip-gram with windows of 5, vectors of 100 and subsampling at 1e-4, the
same vocabulary and words; gensim draws 5 words of noise for each pair, ours 64 for a batch. Words are those of the
text, before any is left out. Ours is the `small` recipe through `attention-zoo pretrain`, without validation and
checkpoints, with all that the Trainer does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from benchmark import machine
from transformers import AutoTokenizer

from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.running_text.text_stretches import ids_of_documents
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.whole_files import write_json

ROUNDS = 3
QUIET = ("--eval_strategy", "no", "--save_strategy", "no", "--disable_tqdm", "True", "--report_to", "none")


def ours(folder: Path, steps: int) -> float:
    """Words of the text that a training of so many updates has read in a second."""
    argv = ["word2vec", "--dataset", "lm_debian", "--output_dir", str(folder), "--max_steps", str(steps), *QUIET]
    plan, task = pretraining_plan([*argv, "--overwrite_output_dir"])
    seconds = run_training(plan, quiet=True, task=task, say=lambda text: None).facts["seconds"]
    return steps * plan.training.per_device_train_batch_size * plan.data.length / seconds


def gensims(sentences: list[list[str]]) -> float:
    """The same of gensim's skip-gram."""
    from gensim.models import Word2Vec

    settings: dict[str, Any] = {"vector_size": 100, "window": 5, "negative": 5, "sample": 1e-4, "min_count": 1}
    model = Word2Vec(sg=1, workers=1, seed=1, **settings)
    model.build_vocab(sentences)
    begun = time.perf_counter()
    model.train(sentences, total_examples=len(sentences), epochs=1)
    return sum(map(len, sentences)) / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to keep the numbers in")
    parser.add_argument("--steps", type=int, default=150, help="updates of each round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rates: dict[str, list[float]] = {"ours": [], "gensim": []}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(ROUNDS):  # in turns, so that what else the machine does meets both
            rates["ours"].append(ours(Path(place) / "run", options.steps))
            tokenizer = AutoTokenizer.from_pretrained(Path(place) / "run")
            texts = ids_of_documents(DocumentSource("lm_debian"), tokenizer)
            unknown = tokenizer.unk_token_id
            rates["gensim"].append(gensims([[str(one) for one in ids if one != unknown] for ids in texts]))
    best = {name: round(max(found)) for name, found in rates.items()}
    ratio = sorted(mine / theirs for mine, theirs in zip(*rates.values(), strict=True))[ROUNDS // 2]
    kept = {"machine": machine(), "words_per_second": best, "ratio": round(ratio, 2), "rounds": ROUNDS}
    print(json.dumps(kept, indent=1))
    if options.json:
        write_json(options.json, kept)


if __name__ == "__main__":
    main()
