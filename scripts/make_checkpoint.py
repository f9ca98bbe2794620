"""Make a folder of model_cards/ from a finished training: half precision, scored on test, drawn, described.

    python scripts/make_checkpoint.py RUN model_cards/NAME [--example "a text"]

The weights are stored in float16 (the config says float32, so that they are widened at loading and run on any
processor), then the stored model, not the one in memory, is scored on the test split and draws its alignment. The
example is a row of the validation split that the model gets right; --example names one where answers are neither.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image

import hf_attention_zoo
from hf_attention_zoo.alignment.results.sentence_projection import project_sentences
from hf_attention_zoo.alignment.results.word_space import WordSpace
from hf_attention_zoo.data.samples import get_sample, is_sample
from hf_attention_zoo.data.text_encoding import joined
from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader, saved_auto_class
from hf_attention_zoo.folders.written_files import note_files
from hf_attention_zoo.hub.card_pictures import ALIGNMENT_FILE, SENTENCES_FILE, SPACE_FILE, WORDS_FILE
from hf_attention_zoo.hub.cards import write_card
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint
from hf_attention_zoo.hub.judged_examples import choose_examples
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.table import task_for
from hf_attention_zoo.tasks.translation.rows import load_data

LIMIT_MB = 10.0
COLOURS = 256  # that a byte can number
SHOWN = 6  # words with their nearest ones, and how many of these


def store_half(run: Path, out: Path) -> None:
    """Model in float16 with a config that asks for float32, and the tokenizer or processor."""
    model = getattr(transformers, saved_auto_class(run)).from_pretrained(run)
    model.to(torch.float16).save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    config["dtype"] = "float32"
    (out / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    load_reader(run).save_pretrained(out)
    drop_indents(out)


def drop_indents(folder: Path) -> None:
    """Vocabularies of tokenizers without a line for every entry: half of their room. A guard stays readable."""
    for path in folder.glob("*tokenizer.json"):
        entries = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(entries, ensure_ascii=False, separators=(",", ": ")) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="output folder of attention-zoo train")
    parser.add_argument("out", type=Path, help="the checkpoint's folder, e.g. model_cards/rnnsearch-de-en")
    parser.add_argument("--example", help="a text for the card of a model whose answers are neither right nor wrong")
    parser.add_argument("--example_pair", help="the second text of the example, for models that read pairs")
    parser.add_argument("--dataset", help="score on this in place of the training's data set")
    parser.add_argument("--summary", help="one sentence for the head of the card")
    parser.add_argument("--mix_with", help="an n-gram model that a language model is mixed with, too")
    parser.add_argument(
        "--words", nargs="+", help="of vectors of words: draw these, with the nearest of the first ones"
    )
    parser.add_argument("--group_column", help="of captions: score the rows of each value of this column apart")
    parser.add_argument("--seen", action="store_true", help="of translators: score the training split apart, too")
    for name in ("data_licence", "data_source", "limits"):
        parser.add_argument(f"--{name}", help="what the card says, for data that are no embedded sample")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    store_half(options.run, options.out)
    size = (options.out / "model.safetensors").stat().st_size / 1e6
    if size > LIMIT_MB:
        raise SystemExit(f"model.safetensors has {size:.1f} MB, the limit is {LIMIT_MB:.0f} MB; train a smaller model")
    shutil.copyfile(options.run / "training.json", options.out / "training.json")
    note_files(options.out, *(path.name for path in options.out.iterdir() if path.name != "training.json"))
    kind = task_for(options.out)
    named = ("dataset", "mix_with", "group_column", "seen")
    chosen = {name: getattr(options, name) for name in named if getattr(options, name)}
    metrics = kind.evaluate(options.out, **chosen, split="test", command=evaluation_command(options.out, chosen))
    print(kind.summary(metrics))

    choose_examples(options.out, dataset=options.dataset)
    facts: dict[str, Any] = {"licence": "apache-2.0"}
    if options.example:
        facts["example"] = options.example
    (options.out / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
    example = Checkpoint(options.out).example
    nearest: list[str] = []
    if options.words:
        space = WordSpace.of(options.out)
        plot(space.plane(options.words), options.out / SPACE_FILE)
        for word in options.words[:SHOWN]:
            nearest.append(f"{word}: {', '.join(map(str, space.nearest(word, SHOWN)))}")
    elif example is None:
        raise SystemExit("no held-out row is right; name an --example for the picture and the card")
    else:
        draw(options.out, example, metrics["dataset"])
    if nearest:
        facts |= {"nearest": nearest, "task": "feature-extraction"}
    given = ("data_licence", "data_source", "limits", "example_pair", "summary")
    facts |= {name: getattr(options, name) for name in given if getattr(options, name)}
    if is_sample(metrics["dataset"]["name"]):
        sample = get_sample(metrics["dataset"]["name"])
        facts |= {"data_licence": sample.licence, "data_source": sample.source, "limits": sample.dataset_card}
    (options.out / "facts.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{write_card(options.out, run=True)}, {size:.1f} MB of weights")


def draw(out: Path, example: tuple[str, str | None, str | None], dataset: dict[str, Any]) -> None:
    """The picture of a card: where the model looks in the example, or the vectors of one that does not look.

    Args:
        example: as `Checkpoint.example`.
        dataset: what metrics.json says of it.
    """
    model, _ = load_checkpoint(out, device="cpu")
    reader, (text, pair, _) = load_reader(out), example
    if hasattr(reader, "image_processor"):  # the path of a picture, seen from where the folder lies
        text = str(out.resolve().parent / text)
    if model.config.model_type in {row.model_type for row in hf_attention_zoo.list_architectures() if row.aligner}:
        given = {"text": text, "text_pair": pair} if pair else text
        beams = {"num_beams": model.generation_config.num_beams or 1} if model.config.is_encoder_decoder else {}
        (alignment,) = hf_attention_zoo.align(model, reader, [given], **beams)
        plot(alignment, out / ALIGNMENT_FILE)
    elif hasattr(model, "sentence_vectors"):
        sentences = drawn_sentences(dataset, saved_auto_class(out))
        plot(project_sentences(model, reader, sentences), out / SENTENCES_FILE)
    elif saved_auto_class(out) == "AutoModelForCausalLM":
        texts = [line for document in DocumentSource(dataset["name"], split="test") for line in document]
        plot(hf_attention_zoo.cluster_words(model, reader, texts), out / WORDS_FILE)


def plot(found: Any, picture: Path) -> None:
    """Draw what was found into a file of little room."""
    found.plot(picture)
    name_colours(picture)


def name_colours(picture: Path) -> None:
    """Keep a picture of few colours by their numbers: not a pixel changes, and it needs less than half of the room."""
    with Image.open(picture) as drawn:
        plain = drawn.convert("RGB")
        if plain.getcolors(COLOURS) is not None:
            numbered = plain.quantize(COLOURS, dither=Image.Dither.NONE)
            numbered.save(picture, "PNG", optimize=True, dpi=drawn.info["dpi"])


def evaluation_command(out: Path, chosen: dict[str, Any]) -> str:
    """The command that scores the folder in the same way, to be recorded with the numbers; a switch has no value."""
    given = ((f"--{name}",) if value is True else (f"--{name}", value) for name, value in chosen.items())
    flags = [word for words in given for word in words]
    return shlex.join(["attention-zoo", "evaluate", out.as_posix(), *flags, "--split", "test"])


def drawn_sentences(dataset: dict[str, Any], auto_class: str, number: int = 10) -> list[str]:
    """The first sentences of the test split that have four to seven words; of labelled texts the shortest."""
    if auto_class == "AutoModelForSequenceClassification":
        texts = [joined(text) for text in load_labelled(dataset["name"], splits=["test"])[0]["test"]["text"]]
        return sorted(dict.fromkeys(texts), key=len)[: number // 2]  # longer labels hide each other
    languages = {name: dataset[name] for name in ("source_lang", "target_lang") if dataset.get(name)}
    rows = load_data(dataset["name"], **languages)["test"]["source"]
    return [text for text in dict.fromkeys(rows) if 4 <= len(text.split()) <= 7][:number]


if __name__ == "__main__":
    main()
