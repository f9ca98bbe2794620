"""Translators in eight bits on a CPU beside float32: seconds for one sentence and for 32, and what it costs in BLEU.

    python scripts/benchmark_int8.py --json scripts/benchmarks/int8.json     # some minutes on one core
    python scripts/benchmark_int8.py --folders luong-de-en --samples 100     # a look
    python scripts/benchmark_int8.py --only-speed --json again.json

Each round runs float32 and int8 in turn, on one thread; seconds are those of the processor, and a ratio is the median
over rounds. Published folders translate their test split, for the score, and its first sentences, for the time; random
models of the sizes below write 25 words in beams of 5. CTranslate2, where it is installed, runs the Transformer's
folder in its own float32 and int8, in the same rounds.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from benchmark import load_builders, machine, print_rows, rows_of, variants_of
from benchmark_parts import processor_rounds

from hf_attention_zoo import load_data, translate
from hf_attention_zoo.folders.eight_bits import in_eight_bits
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.metrics.scoring import corpus_bleu

CARDS = Path(__file__).resolve().parent.parent / "model_cards"
PUBLISHED = ("rnnsearch-de-en", "luong-de-en", "transformer2017-de-en")
DATA = "translation_de_en"
SIZES = {"embedding": 512, "hidden": 512, "vocabulary": 8000}
WIDE = {"rnnsearch": None, "luong": "feeding"}  # architecture -> a variant of its builders
BATCHES = (1, 32)
BEAMS, WORDS = 5, 25
Row = dict[str, Any]
Cases = dict[str, Callable[[], Any]]


def beside_float32(seconds: dict[str, list[float]], facts: Row) -> list[Row]:
    """The rows of each program, with ratios to its own float32."""
    bounds = [name for name in seconds if name.endswith("float32")]
    programs = ({name: seconds[name] for name in (bound, bound.replace("float32", "int8"))} for bound in bounds)
    return [row for bound, one in zip(bounds, programs, strict=True) for row in rows_of(one, bound, facts)]


def ctranslate2_cases(folder: Path, texts: list[str], tokenizer: Any, written: Path) -> Cases:
    """CTranslate2's search on the exported folder, both ways; nothing where it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        return {}
    from hf_attention_zoo.hub.ctranslate2_export import export_ctranslate2

    if not written.exists():
        export_ctranslate2(folder, written)
    tokens = [tokenizer.convert_ids_to_tokens(tokenizer(text).input_ids) for text in texts]
    found: Cases = {}
    for kind in ("float32", "int8"):
        program = ctranslate2.Translator(str(written), compute_type=kind, inter_threads=1, intra_threads=1)

        def run(program: Any = program) -> list[str]:
            made = program.translate_batch(tokens, beam_size=BEAMS, length_penalty=0.0, max_batch_size=32)
            ids = [tokenizer.convert_target_tokens_to_ids(one.hypotheses[0]) for one in made]
            return tokenizer.batch_decode(ids, skip_special_tokens=True)

        found[f"CTranslate2, {kind}"] = run
    return found


def published(name: str, samples: int | None, repeats: int, only_speed: bool) -> list[Row]:
    """A folder's speed for each size of batch and, unless that is left out, its scores."""
    folder = CARDS / name
    model, tokenizer = load_checkpoint(folder, "cpu")
    models = {"float32": model, "int8": in_eight_bits(copy.deepcopy(model))}
    test = load_data(DATA, source_lang="de", target_lang="en")["test"]
    sources, references = list(test["source"])[:samples], list(test["target"])[:samples]
    rows = []
    with tempfile.TemporaryDirectory() as place:

        def cases(texts: list[str], batch: int) -> Cases:
            made: Cases = {
                kind: lambda one=one: translate(one, tokenizer, texts, batch_size=batch, num_beams=BEAMS)
                for kind, one in models.items()
            }
            if model.config.model_type == "transformer2017":
                made |= ctranslate2_cases(folder, texts, tokenizer, Path(place) / "ctranslate2")
            return made

        scores = {}
        if not only_speed:
            for kind, run in cases(sources, 32).items():
                scores[kind] = round(corpus_bleu(run(), references, language="en").value, 2)
        for batch in BATCHES:
            seconds = processor_rounds(cases(sources[:batch], batch), repeats)
            rows += beside_float32(seconds, {"model": name, "sentences": batch})
    return [{**row, "bleu": scores.get(row["candidate"])} for row in rows]


def wide(name: str, repeats: int) -> list[Row]:
    """A random model of larger sizes, all hypotheses of full length."""
    variants = variants_of(load_builders(name))
    builders = variants[next((one for one in variants if WIDE[name] and WIDE[name] in one), next(iter(variants)))]
    torch.manual_seed(0)
    model = builders.build_model(**SIZES).eval()
    model.generation_config.eos_token_id = None
    models = {"float32": model, "int8": in_eight_bits(copy.deepcopy(model))}
    rows = []
    for batch in BATCHES:
        ids = torch.randint(4, SIZES["vocabulary"], (batch, WORDS), generator=torch.Generator().manual_seed(0))
        options = {"num_beams": BEAMS, "max_new_tokens": WORDS, "attention_mask": torch.ones_like(ids)}
        cases = {kind: partial(one.generate, ids, **options) for kind, one in models.items()}
        seconds = processor_rounds(cases, repeats)
        rows += beside_float32(seconds, {"model": f"{name}, 512 wide, 8,000 words", "sentences": batch})
    return [{**row, "bleu": None} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", nargs="*", choices=PUBLISHED, default=list(PUBLISHED), metavar="NAME")
    parser.add_argument("--wide", nargs="*", choices=list(WIDE), default=list(WIDE), metavar="ARCHITECTURE")
    parser.add_argument("--samples", type=int, help="sentences of the test split; default: all")
    parser.add_argument("--repeats", type=int, default=7, help="rounds a measurement (default 7)")
    parser.add_argument("--only-speed", action="store_true", help="no scores")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there as well")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in options.folders:
        rows += published(name, options.samples, options.repeats, options.only_speed)
    for name in options.wide:
        rows += wide(name, options.repeats)
    print_rows("eight bits beside float32", rows)
    if options.json is not None:
        facts = {"machine": machine(), "threads": 1, "repeats": options.repeats, "samples": options.samples}
        options.json.write_text(json.dumps({**facts, "rows": rows}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
