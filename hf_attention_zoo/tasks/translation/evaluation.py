"""Score a saved translator on a split and write metrics.json: BLEU, chrF, perplexity, by length, beside plain copying.

Translations are detokenised text and so are the references; the perplexity per token is that of the references, from
the summed negative log likelihood without label smoothing. On several processes (`torchrun`) each sentence is
translated and scored by exactly one of them.
"""

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from transformers import DataCollatorForSeq2Seq

from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.data.text_encoding import symbols_as_text
from hf_attention_zoo.data.text_lines import one_line, written_file
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics
from hf_attention_zoo.folders.eight_bits import check_quantization, in_eight_bits
from hf_attention_zoo.folders.run_facts import describe_hardware, versions
from hf_attention_zoo.folders.saved_model import load_checkpoint, process_state
from hf_attention_zoo.metrics.likelihood import sentence_nll
from hf_attention_zoo.metrics.scoring import (
    bleu_by_source_length,
    copy_baseline,
    corpus_bleu,
    corpus_chrf,
    exact_matches,
)
from hf_attention_zoo.seq2seq.translating import translate
from hf_attention_zoo.tasks.translation.evaluation_flags import build_parser
from hf_attention_zoo.tasks.translation.rows import load_data
from hf_attention_zoo.tasks.translation.seen_rows import seen_and_unseen
from hf_attention_zoo.training.dotted_flags import split_dotted
from hf_attention_zoo.training.scored_data import ChosenData, chosen_data

DECODING_FIELDS = (
    "num_beams",
    "length_penalty",
    "gnmt_length_penalty",
    "early_stopping",
    "do_sample",
    "max_length",
    "max_new_tokens",
    "max_length_beyond_source",
    "no_repeat_ngram_size",
    "repetition_penalty",
)


@torch.no_grad()
def negative_log_likelihood(
    model: Any, tokenizer: Any, sources: Sequence[str], targets: Sequence[str], batch_size: int = 64
) -> tuple[float, int]:
    """Summed negative log likelihood in nats of the targets given the sources, and the number of target tokens."""
    reader, collate = symbols_as_text(tokenizer), DataCollatorForSeq2Seq(tokenizer, model=model)
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    total, count = 0.0, 0
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        encoded = reader([sources[i] for i in rows], text_target=[targets[i] for i in rows])
        features = [
            {name: encoded[name][k] for name in ("input_ids", "attention_mask", "labels")} for k in range(len(rows))
        ]
        batch = collate(features).to(model.device)
        nll, tokens = sentence_nll(model(**batch).logits, batch["labels"])
        total += nll.double().sum().item()
        count += int(tokens.sum())
    return total, count


def decoding_settings(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the search was told, by the model's generation config and by this call."""
    settings = {**model.generation_config.to_diff_dict(), **given}
    if settings.get("max_length_beyond_source") is not None:  # it holds where the call gives no other limit
        unused = "max_length" if not given.keys() & {"max_length", "max_new_tokens"} else "max_length_beyond_source"
        settings.pop(unused, None)
    shown = {name: settings[name] for name in DECODING_FIELDS if settings.get(name) is not None}
    return {"num_beams": 1, **shown, **{name: value for name, value in given.items() if name not in shown}}


def translate_shares(model: Any, tokenizer: Any, sources: Sequence[str], **settings: Any) -> list[str]:
    """`translate`, each sentence by exactly one of the processes."""
    state = process_state()
    mine = range(state.process_index, len(sources), state.num_processes)
    parts = gather_object([(list(mine), translate(model, tokenizer, [sources[i] for i in mine], **settings))])
    found = {i: text for rows, texts in parts for i, text in zip(rows, texts, strict=True)}
    return [found[i] for i in range(len(sources))]


def languages_of(chosen: ChosenData, tokenizer: Any) -> tuple[str | None, str | None]:
    """Source and target language of what is scored: the data's, or else the tokenizer's."""
    data = chosen.arguments
    source = data.source_lang or getattr(tokenizer, "source_lang", None)
    return source, data.target_lang or getattr(tokenizer, "target_lang", None)


def read_pairs(chosen: ChosenData, tokenizer: Any, columns: dict[str, str] | None = None) -> Mapping[str, Any]:
    """The splits of what is scored, as the training had them; raises as `load_data` and `ChosenData.rows`.

    Args:
        columns: as for `load_data`; default: those of the training.
    """
    data = chosen.arguments
    source_lang, target_lang = languages_of(chosen, tokenizer)
    splits = data.read(
        load_data,
        columns=columns or data.columns(),
        source_lang=source_lang,
        target_lang=target_lang,
        max_words=data.max_words,
    )
    return chosen.rows(splits)


def evaluate_checkpoint(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    columns: dict[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    max_words: int | None = None,
    max_samples: int | None = None,
    batch_size: int = 32,
    replace_unknown: bool = False,
    quantize: str | None = None,
    tokenize: str | None = None,
    seen: bool = False,
    output: str | Path | None = None,
    translations: str | Path | None = None,
    command: str = "",
    **generate_kwargs: Any,
) -> dict[str, Any]:
    """Translate and score a split; writes and returns the metrics.

    Args:
        folder: saved model with tokenizer.
        dataset, split, dataset_config, columns, source_lang, target_lang, max_words: as for `load_data`. What is not
            given is that of the training (training.json), unless other data are named; languages the tokenizer's.
        max_samples: score only the first sentences.
        batch_size: sentences decoded at a time.
        replace_unknown: see `translate`.
        quantize: "int8": see `load_checkpoint`.
        tokenize: a sacreBLEU tokeniser in place of the target language's.
        seen: translate the training split, too, and score what the model has learnt apart from what it has not.
        output: file to write, by default metrics.json in the folder (for a Hub id nothing).
        translations: file to write the translations to, one a line.
        command: what to note as the command that was used.
        generate_kwargs: decoding settings in place of the model's own.

    Raises:
        ValueError: no such folder, data set or split, settings that `generate` does not know, or no training split
            where what was seen is to be scored.
    """
    state = process_state()
    check_quantization(quantize)
    model, tokenizer = load_checkpoint(folder, None if quantize is None else "cpu")
    parameters = model.num_parameters()
    if quantize is not None:
        model = in_eight_bits(model)
    given = {"dataset": dataset, "dataset_config": dataset_config, "max_words": max_words}
    given |= {"source_lang": source_lang, "target_lang": target_lang}
    chosen = chosen_data(folder, given)
    dataset, max_words = chosen.name, chosen.arguments.max_words
    source_lang, target_lang = languages_of(chosen, tokenizer)
    splits = read_pairs(chosen, tokenizer, columns)
    pairs = rows_of_split(splits, split, max_samples)
    sources, references = list(pairs["source"]), list(pairs["target"])
    if seen and (split == "train" or "train" not in splits):
        raise ValueError(f"what was seen is scored beside another split than {split!r}, and needs a split 'train'")
    settings = {"batch_size": batch_size, "replace_unknown": replace_unknown, **generate_kwargs}

    mine = range(state.process_index, len(sources), state.num_processes)
    started = time.monotonic()
    translated = translate(model, tokenizer, [sources[i] for i in mine], **settings)
    seconds = time.monotonic() - started
    nll, tokens = negative_log_likelihood(
        model, tokenizer, [sources[i] for i in mine], [references[i] for i in mine], batch_size
    )
    gathered = gather_object([(list(mine), translated, nll, tokens, seconds)])
    hypotheses = {i: text for rows, parts, *_ in gathered for i, text in zip(rows, parts, strict=True)}
    predictions = [hypotheses[i] for i in range(len(sources))]
    nll, tokens = sum(part[2] for part in gathered), sum(part[3] for part in gathered)

    noted = {"replace_unknown": replace_unknown or None, "quantize": quantize}
    noted = {name: value for name, value in noted.items() if value is not None}
    bleu = corpus_bleu(predictions, references, language=target_lang, tokenize=tokenize)
    chrf = corpus_chrf(predictions, references)
    metrics = {
        "dataset": {
            "name": str(dataset),
            "split": split,
            "source_lang": source_lang,
            "target_lang": target_lang,
            "rows": len(sources),
            "max_words": max_words,
            "licence": get_sample(dataset).licence if is_sample(dataset) else None,
        },
        "model_type": model.config.model_type,
        "parameters": parameters,
        "decoding": decoding_settings(model, {**generate_kwargs, **noted}),
        "results": {
            "bleu": {"value": round(bleu.value, 2), "signature": bleu.signature, "note": bleu.note},
            "chrf": {"value": round(chrf.value, 2), "signature": chrf.signature},
            "exact_match": round(exact_matches(predictions, references), 2),
            "perplexity_per_token": round(math.exp(min(nll / max(tokens, 1), 700.0)), 4),
            "target_tokens": tokens,
            "brevity_penalty": None if bleu.brevity_penalty is None else round(bleu.brevity_penalty, 4),
            "seconds": round(max(part[4] for part in gathered), 2),
            "sentences_per_second": round(len(sources) / max(part[4] for part in gathered), 2),
        },
        "baselines": {"copy": copy_baseline(sources, references, language=target_lang)},
        "bleu_by_source_length": bleu_by_source_length(sources, predictions, references, language=target_lang),
        "command": command,
        "hardware": describe_hardware(),
        "versions": versions(),
    }
    metrics["dataset"] = {name: value for name, value in metrics["dataset"].items() if value is not None}
    metrics["results"]["bleu"] = {k: v for k, v in metrics["results"]["bleu"].items() if v is not None}
    metrics["baselines"]["copy"] = {name: round(value, 2) for name, value in metrics["baselines"]["copy"].items()}
    for row in metrics["bleu_by_source_length"]:
        row["bleu"] = round(row["bleu"], 2)
    if seen:
        train = splits["train"]
        learnt = translate_shares(model, tokenizer, list(train["source"]), **settings)
        known = (list(train["source"]), learnt, list(train["target"]))
        metrics["groups"] = seen_and_unseen(known, (sources, predictions, references), target_lang)
    if state.is_main_process:
        write_metrics(metrics, folder, output)
        if translations is not None:
            with written_file(translations) as file:
                file.writelines(f"{one_line(line)}\n" for line in predictions)
    return metrics


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them, with the copy baseline beside them."""
    results, copied, data = metrics["results"], metrics["baselines"]["copy"], metrics["dataset"]
    lines = [
        f"{data['name']}, {data['split']} split, {data['rows']:,} sentences",
        f"  BLEU  {results['bleu']['value']:6.2f}   copying the source {copied['bleu']:6.2f}   "
        f"{results['bleu']['signature']}",
        f"  chrF  {results['chrf']['value']:6.2f}   copying the source {copied['chrf']:6.2f}   "
        f"{results['chrf']['signature']}",
        *([f"  exact {results['exact_match']:6.2f} %"] if "exact_match" in results else []),
        f"  perplexity per token {results['perplexity_per_token']:.2f}, brevity penalty "
        f"{results['brevity_penalty']:.3f}, decoded in {results['seconds']:.1f} s",
    ]
    for group in metrics.get("groups", []):
        lines.append(
            f"  {group['group']} ({group['rows']:,}): exact {group['exact_match']:.2f} %, BLEU {group['bleu']:.2f}"
        )
    if "note" in results["bleu"]:
        lines.append(f"  note: {results['bleu']['note']}")
    return "\n".join(lines)


def main(argv: Sequence[str], program: str) -> int:
    """The command line of models that translate."""
    rest, dotted = split_dotted(argv, ("generation",))
    options = vars(build_parser(program).parse_args(rest))
    named = {role: options.pop(f"{role}_column") for role in ("source", "target")}
    columns = {role: name for role, name in named.items() if name is not None} or None
    for name in ("num_beams", "length_penalty", "max_new_tokens"):
        value = options.pop(name)
        if value is not None:
            dotted["generation"].setdefault(name, value)
    metrics = evaluate_checkpoint(
        options.pop("folder"),
        columns=columns,
        command=f"{program} {shlex.join(argv)}",
        **options,
        **dotted["generation"],
    )
    if process_state().is_main_process:
        print(summary(metrics))
    return 0
