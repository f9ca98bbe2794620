"""Score a saved captioner on a split and write metrics.json: BLEU-1 to 4, CIDEr, METEOR, beside simple baselines.

The baselines: the most frequent caption of the training split, and the caption of the training picture whose mean
region is nearest (cosine, by the model's own encoder).
"""

from __future__ import annotations

import math
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object

from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.data.text_lines import one_line, written_file
from hf_attention_zoo.evaluation.evaluation_command import missing_baselines
from hf_attention_zoo.evaluation.metrics_file import rows_of_split, write_metrics
from hf_attention_zoo.folders.run_facts import describe_hardware, versions
from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader, process_state
from hf_attention_zoo.images.feature_cache import RegionsOfRows, encode_pictures
from hf_attention_zoo.metrics.caption_scoring import caption_scores
from hf_attention_zoo.metrics.likelihood import sentence_nll
from hf_attention_zoo.tasks.captions.evaluation_flags import build_parser
from hf_attention_zoo.tasks.captions.examples import cached_features, regions_folder
from hf_attention_zoo.tasks.captions.rows import CaptionRows, load_captions
from hf_attention_zoo.training.dotted_flags import split_dotted
from hf_attention_zoo.training.scored_data import ChosenData, chosen_data

DATA_FIELDS = ("dataset", "dataset_config", "target_lang", "source_column", "target_column")
SCORES = ("bleu1", "bleu2", "bleu3", "bleu4", "cider", "meteor", "exact")


def sources(model: Any, processor: Any, rows: CaptionRows, indices: Sequence[int]) -> dict[str, torch.Tensor]:
    """What the model reads of some of the rows: their pixels, or regions where it has no encoder of pictures."""
    if model.config.image_encoder == "regions":
        return {"annotations": rows.regions.stack(indices).to(model.device, model.dtype)}
    return {"pixel_values": processor(images=[rows.picture(k) for k in indices])["pixel_values"].to(model.device)}


@dataclass
class Captioned:
    """What a captioner made of some pictures.

    Attributes:
        captions: N captions.
        means: (N, D) mean regions, as `mean_regions` has them.
        nll, words: summed negative log likelihood in nats of every reference, and their words.
        seconds: it took to encode the pictures and to write the captions.
    """

    captions: list[str] = field(default_factory=list)
    means: list[torch.Tensor] = field(default_factory=list)
    nll: float = 0.0
    words: int = 0
    seconds: float = 0.0


@torch.no_grad()
def caption_rows(
    model: Any,
    processor: Any,
    rows: CaptionRows,
    indices: Sequence[int],
    batch_size: int = 32,
    **generate_kwargs: Any,
) -> Captioned:
    """Caption the pictures `indices`, in their order, and read their references; each picture is encoded once."""
    made = Captioned()
    for start in range(0, len(indices), batch_size):
        batch, began = indices[start : start + batch_size], time.monotonic()
        encoded = model.get_encoder()(**sources(model, processor, rows, batch))
        sequences = model.generate(encoder_outputs=encoded, **generate_kwargs)
        made.captions += [text.strip() for text in processor.batch_decode(sequences, skip_special_tokens=True)]
        made.seconds += time.monotonic() - began
        made.means.append(encoded.last_hidden_state.to(kept_type(model)).cpu().float().mean(1))
        nll, words = caption_likelihood(model, processor, encoded, [rows.captions[k] for k in batch], batch_size)
        made.nll, made.words = made.nll + nll, made.words + words
    return made


@torch.no_grad()
def caption_likelihood(
    model: Any, processor: Any, encoded: Any, references: Sequence[Sequence[str]], batch_size: int = 32
) -> tuple[float, int]:
    """Summed negative log likelihood in nats of every reference of encoded pictures, and their words.

    The references of a picture share its regions: each has as many rows as the one with the most references of the
    batch, empty ones at the end.
    """
    total, count = 0.0, 0
    at_once = max(1, batch_size // max(map(len, references)))
    for start in range(0, len(references), at_once):
        part = references[start : start + at_once]
        most = max(map(len, part))
        read = processor(captions=[text for listed in part for text in listed])["labels"].to(model.device)
        places = [most * place + k for place, listed in enumerate(part) for k in range(len(listed))]
        labels = read.new_full((most * len(part), read.shape[1]), -100)
        labels[places] = read
        regions = type(encoded)(**{name: tensor[start : start + at_once] for name, tensor in encoded.items()})
        logits = model(encoder_outputs=regions, labels=labels, hypotheses_per_source=most).logits
        nll, words = sentence_nll(logits, labels)
        total, count = total + nll.double().sum().item(), count + int(words.sum())
    return total, count


def nearest_captions(train: CaptionRows, of_train: torch.Tensor, of_rows: torch.Tensor) -> list[str]:
    """The first caption of the nearest training picture: features (N, D) and (M, D) -> M captions."""
    similar = torch.nn.functional.normalize(of_rows, dim=-1) @ torch.nn.functional.normalize(of_train, dim=-1).T
    return [train.captions[int(place)][0] for place in similar.argmax(-1)]


def kept_type(model: Any) -> torch.dtype:
    """Numbers of regions that are compared: as in the file of an encoder that stays as it is, else in full."""
    kept = model.config.freeze_encoder and model.config.image_encoder != "regions"
    return torch.float16 if kept else torch.float32


def mean_regions(rows: CaptionRows, model: Any, image_processor: Any) -> torch.Tensor:
    """The mean region of each picture, (N, D); regions of an encoder that stays as it is are kept in a file."""
    if model.config.image_encoder == "regions":
        regions = rows.regions
    elif model.config.freeze_encoder:
        regions = RegionsOfRows(cached_features(rows, model, image_processor, regions_folder()), rows.names)
    else:
        made = encode_pictures(model, image_processor, rows.pictures(), dtype=kept_type(model))
        return torch.cat([part.mean(1) for part in made])
    return torch.stack([regions[index].float().mean(0) for index in range(len(rows))])


def baseline_captions(
    train: CaptionRows, means: torch.Tensor, model: Any, image_processor: Any
) -> dict[str, list[str]]:
    """What is to be beaten: name -> one caption for each picture, of which (N, D) mean regions are given."""
    frequent = Counter(text for listed in train.captions for text in listed).most_common(1)[0][0]
    nearest = nearest_captions(train, mean_regions(train, model, image_processor), means)
    return {"most_frequent": [frequent] * len(means), "nearest": nearest}


def read_captions(
    chosen: ChosenData, language: str | None, pictures_outside: bool = False
) -> Mapping[str, CaptionRows]:
    """The splits of what is scored, as the training had them; raises as `load_captions` and `ChosenData.rows`."""
    data = chosen.arguments
    loaded = load_captions(
        chosen.name,
        language=language,
        dataset_config=data.dataset_config,
        picture_column=data.source_column,
        caption_column=data.target_column,
        pictures_outside=pictures_outside,
    )
    return chosen.rows(loaded)


def evaluate_captioner(
    folder: str | Path,
    *,
    dataset: str | None = None,
    split: str = "test",
    dataset_config: str | None = None,
    target_lang: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    group_column: str | None = None,
    pictures_outside: bool = False,
    max_samples: int | None = None,
    batch_size: int = 32,
    baselines: bool = True,
    output: str | Path | None = None,
    captions: str | Path | None = None,
    command: str = "",
    **generate_kwargs: Any,
) -> dict[str, Any]:
    """Caption and score a split; writes and returns the metrics.

    Args:
        folder: saved model with processor.
        dataset, split, dataset_config, target_lang, ..._column: as for `load_captions`; `source_column` holds the
            pictures, `target_column` the captions. Without a data set those of the training are taken.
        pictures_outside: as for `load_captions`.
        group_column: score the rows of each value of this column apart, too.
        max_samples: score only the first pictures.
        batch_size: pictures at a time.
        baselines: score what is to be beaten, too, if there is a training split.
        output: file to write, by default metrics.json in the folder (for a Hub id nothing).
        captions: file for the captions, one a line.
        command: what to note as the command that was used.
        generate_kwargs: decoding settings in place of the model's own.

    Raises:
        ValueError: no such folder, data set, split or column, or settings that `generate` does not know.
    """
    state = process_state()
    model, tokenizer = load_checkpoint(folder)
    processor = load_reader(folder)
    processor.tokenizer = tokenizer  # which reads files
    given = dict(zip(DATA_FIELDS, (dataset, dataset_config, target_lang, source_column, target_column), strict=True))
    chosen = chosen_data(folder, given)
    language = chosen.arguments.target_lang or getattr(tokenizer, "language", None)
    splits = read_captions(chosen, language, pictures_outside)
    rows = rows_of_split(splits, split, max_samples)
    if group_column is not None and any(group_column not in row for row in rows.rows):
        raise ValueError(
            f"group_column={group_column!r} is no column of every row; the first has {list(rows.rows[0])}"
        )

    mine = list(range(state.process_index, len(rows), state.num_processes))
    made = caption_rows(model, processor, rows, mine, batch_size, **generate_kwargs)
    gathered = gather_object([(mine, made)])
    by_index = {k: text for places, part in gathered for k, text in zip(places, part.captions, strict=True)}
    found = [by_index[k] for k in range(len(rows))]
    nll, words = sum(part.nll for _, part in gathered), sum(part.words for _, part in gathered)
    seconds = max(part.seconds for _, part in gathered)

    scores = caption_scores(found, rows.captions, language)
    beaten: dict[str, list[str]] = {}
    if baselines and "train" in splits and split != "train":
        places = torch.tensor([k for listed, _ in gathered for k in listed])
        means = torch.cat([mean for _, part in gathered for mean in part.means])[places.argsort()]
        beaten = baseline_captions(splits["train"], means, model, processor.image_processor)
    decoding = {**model.generation_config.to_diff_dict(), **generate_kwargs}
    wanted = ("num_beams", "length_penalty", "max_length", "max_new_tokens", "do_sample", "early_stopping")
    metrics: dict[str, Any] = {
        "task": "image-captioning",
        "dataset": {
            "name": chosen.name,
            "split": split,
            "rows": len(rows),
            **({"language": language} if language else {}),
            **({"licence": get_sample(chosen.name).licence} if is_sample(chosen.name) else {}),
        },
        "model_type": model.config.model_type,
        "parameters": model.num_parameters(),
        "decoding": {"num_beams": 1, **{name: decoding[name] for name in wanted if decoding.get(name) is not None}},
        "results": {
            **rounded(scores),
            "bleu4": {
                "value": round(scores["bleu4"], 2),
                "signature": scores["signature"],
                **({"note": scores["note"]} if "note" in scores else {}),
            },
            "perplexity_per_token": round(math.exp(min(nll / max(words, 1), 700.0)), 4),
            "target_tokens": words,
            "seconds": round(seconds, 2),
            "captions_per_second": round(len(rows) / max(seconds, 1e-9), 2),
        },
        "baselines": {name: rounded(caption_scores(texts, rows.captions, language)) for name, texts in beaten.items()},
        **missing_baselines(baselines, split, "train" in splits),
        **({"groups": by_group(found, rows, group_column, language, beaten)} if group_column else {}),
        **({"note": scores["note"]} if "note" in scores else {}),
        "command": command,
        "hardware": describe_hardware(),
        "versions": versions("pycocoevalcap", "nltk"),
    }
    if state.is_main_process:
        write_metrics(metrics, folder, output)
        if captions is not None:
            with written_file(captions) as file:
                file.writelines(f"{one_line(text)}\n" for text in found)
    return metrics


def rounded(scores: dict[str, Any]) -> dict[str, float]:
    """The scores with as many digits as they are worth."""
    return {name: round(scores[name], 2) for name in SCORES if name in scores}


def by_group(
    found: list[str], rows: CaptionRows, column: str, language: str | None, beaten: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """Scores of the rows of each value of a column, with the baselines'."""
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows.rows):
        groups.setdefault(str(row[column]), []).append(index)

    def score(texts: list[str], places: list[int]) -> dict[str, float]:
        return rounded(caption_scores([texts[k] for k in places], [rows.captions[k] for k in places], language))

    return [
        {
            "group": f"{column}={value}",
            "rows": len(places),
            **score(found, places),
            "baselines": {name: score(texts, places) for name, texts in beaten.items()},
        }
        for value, places in sorted(groups.items())
    ]


def summary(metrics: dict[str, Any]) -> str:
    """The numbers as a person reads them, with the baselines beside them."""
    results, data = metrics["results"], metrics["dataset"]
    lines = [f"{data['name']}, {data['split']} split, {data['rows']:,} pictures"]
    for name in SCORES:
        value = results.get(name)
        if value is None:
            continue
        value = value["value"] if isinstance(value, dict) else value
        beside = "".join(f"   {said} {scores[name]:6.2f}" for said, scores in metrics["baselines"].items())
        lines.append(f"  {name:<7} {value:6.2f}{beside}")
    for group in metrics.get("groups", []):
        lines.append(
            f"  {group['group']} ({group['rows']:,}): BLEU-4 {group['bleu4']:.2f}, exact {group['exact']:.2f}"
        )
    lines.append(
        f"  perplexity per token {results['perplexity_per_token']:.2f}, written in {results['seconds']:.1f} s"
    )
    lines += [f"  {reason}" for reason in metrics.get("left_out", [])]
    if "note" in metrics:
        lines.append(f"  note: {metrics['note']}")
    return "\n".join(lines)


def main(argv: Sequence[str], program: str = "attention-zoo evaluate") -> int:
    """The command line. Returns the exit code."""
    rest, dotted = split_dotted(argv, ("generation",))
    options = vars(build_parser(program).parse_args(rest))
    beams = options.pop("num_beams")
    if beams is not None:
        dotted["generation"].setdefault("num_beams", beams)
    metrics = evaluate_captioner(
        options.pop("folder"),
        baselines=not options.pop("no_baselines"),
        command=f"{program} {shlex.join(argv)}",
        **options,
        **dotted["generation"],
    )
    if process_state().is_main_process:
        print(summary(metrics))
    return 0
