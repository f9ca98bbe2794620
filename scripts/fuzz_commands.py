"""Bad inputs for commands: damaged folders, wrong flags, files of lines, run files, weights of other programs."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from fuzz_cases import CARDS, WRONG_VALUES, Case, Maker, damaged_bytes, rows_of, sentence, written
from PIL import Image

# Saved folders under every command that loads one, and the commands' own flags and files


def run(*argv: str) -> Callable[[], int]:
    from hf_attention_zoo.cli.command import main

    return lambda: main(list(argv))


# Published folder -> the task of its data, and commands that load it besides those that load all.
FOLDERS = {
    "rnnsearch-emoji-names-ko-en": ("translation", ("translate", "evaluate", "align", "score", "links")),
    "self-attentive-vader": ("labels", ("evaluate", "align", "word-weights")),
    "han-nsmc-ko": ("labels", ("evaluate", "align")),
    "bert2018-tags-pud": ("tags", ("evaluate", "convert")),
    "gpt2018-debian-section": ("labels", ("evaluate", "align", "convert")),
    "elmo-small-debian": ("documents", ("neighbours", "evaluate")),
    "show-attend-tell-emoji-en": ("captions", ("evaluate",)),
    "transformer2017-emoji-names-ko-en": ("translation", ("translate", "parse", "evaluate")),
}
ALL_FOLDERS = ("card", "export", "publish")


def command_line(command: str, model: Path, folder: Path) -> list[str]:
    """A command with a whole folder of the right kind, as it would be used."""
    lines = folder / "lines.tsv"
    lines.write_text("ba da\tda\n", encoding="utf-8")
    more = {
        "translate": ["ba da"],
        "align": ["ba da", "--output", str(folder / "a.html")],
        "score": [str(lines)],
        "links": [str(lines)],
        "parse": ["ba da"],
        "sentence-vectors": ["--text", "ba", "--output", str(folder / "s.png")],
        "word-weights": ["good", "--dataset", str(folder)],
        "neighbours": ["film", "--text", "the film", "--dataset", str(folder), "--split", "test"],
        "evaluate": ["--dataset", str(folder), "--max_samples", "1", "--output", str(folder / "m.json")],
        "export": [str(folder / "out")],
        "convert": [str(folder / "out")],
        "average": [str(folder / "out")],
        "publish": ["ada/model", "--dry-run"],
    }
    if command == "evaluate" and "elmo" in model.name:
        more[command][2] = "--max_documents"
    return [command, str(model), *more.get(command, [])]


def folder_case(rng: random.Random, folder: Path) -> Case:
    name = rng.choice(list(FOLDERS))
    model = folder / name
    shutil.copytree(CARDS / name, model)
    task, commands = FOLDERS[name]
    command = rng.choice((*commands, *commands, *ALL_FOLDERS))
    (folder / "test.jsonl").write_bytes(written(rows_of(task, rng), "jsonl"))
    Image.new("RGB", (8, 8)).save(folder / "one.png")
    files = [path for path in model.iterdir() if path.suffix in (".json", ".safetensors")]
    file = rng.choice(files)
    if file.suffix == ".json" and rng.random() < 0.6:
        content = json.loads(file.read_text(encoding="utf-8"))
        content = content if isinstance(content, dict) else {"list": content}
        key, value = rng.choice(list(content)), rng.choice(WRONG_VALUES)
        content[key] = value
        file.write_text(json.dumps(content), encoding="utf-8")
        return Case(
            run(*command_line(command, model, folder)), f"{command} {name}: {file.name}, {key} is {value!r:.40}"
        )
    content, said = damaged_bytes(file.read_bytes(), rng)
    file.write_bytes(content)
    must_fail = said in ("cut", "empty", "noise", "double", "insert") and file.name in (
        "model.safetensors",
        "config.json",
    )
    return Case(run(*command_line(command, model, folder)), f"{command} {name}: {file.name}, {said}", must_fail)


WRONG_FLAGS: tuple[str, ...] = (
    "0",
    "-1",
    "1e99",
    "nan",
    "",
    "x",
    "[]",
    "{}",
    "None",
    "99999999999999",
    "\x1b[31m",
    "/no/such",
    "0.5",
    "True",
    "영",
)


def _sizes(**fields: int | str) -> list[str]:
    return [f"--{name.replace('__', '.')}={value}" for name, value in fields.items()]


_TEXT = _sizes(config__hidden_size=8, config__num_hidden_layers=1, config__num_attention_heads=2, length=16)
_TEXT += _sizes(config__intermediate_size=8, config__max_position_embeddings=32, tokenizer__vocab_size=120)
# Architecture -> command, task of its data, flags for a few units.
TRAININGS: dict[str, tuple[str, str, list[str]]] = {
    "rnnsearch": (
        "train",
        "translation",
        _sizes(config__embedding_size=6, config__hidden_size=6, config__attention_size=6, config__maxout_size=6)
        + _sizes(tokenizer__kind="word"),
    ),
    "han": ("train", "labels", _sizes(config__embedding_size=6, config__hidden_size=6, tokenizer__kind="word")),
    "show_attend_tell": (
        "train",
        "captions",
        _sizes(config__embedding_size=6, config__hidden_size=6, config__annotation_size=8, config__grid_height=4)
        + _sizes(config__grid_width=4, config__image_encoder="convolutions", config__encoder_channels="[4, 8]"),
    ),
    "gpt2018": ("pretrain", "documents", _TEXT),
    "bert2018": ("pretrain", "documents", _TEXT),
}


def flag_case(rng: random.Random, folder: Path) -> Case:
    """A command of training with one flag wrong; what is accepted trains one step of a tiny model."""
    import dataclasses

    from hf_attention_zoo.training.arguments import DataArguments, ModelArguments, ZooTrainingArguments

    kind = rng.choice(list(TRAININGS))
    command, task, sizes = TRAININGS[kind]
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_bytes(written(rows_of(task, rng) * 3, "jsonl"))
    Image.new("RGB", (8, 8)).save(folder / "one.png")
    own = [item.name for item in (*dataclasses.fields(ModelArguments), *dataclasses.fields(DataArguments))]
    theirs = [
        "learning_rate",
        "per_device_train_batch_size",
        "gradient_accumulation_steps",
        "num_train_epochs",
        "seed",
    ]
    theirs += ["warmup_steps", "max_steps", "eval_steps", "save_steps", "logging_steps", "optim", "lr_scheduler_type"]
    theirs += [
        "dataloader_num_workers",
        "max_grad_norm",
        "label_smoothing_factor",
        "generation_num_beams",
        "weight_decay",
    ]
    theirs += [
        item.name
        for item in dataclasses.fields(ZooTrainingArguments)
        if item.name in ZooTrainingArguments.__annotations__
    ]
    sections = ["config.hidden_size", "config.embedding_size", "config.dropout", "config.vocab_size", "config.nothing"]
    sections += [
        "config.maxout_size",
        "tokenizer.kind",
        "tokenizer.vocab_size",
        "generation.num_beams",
        "generation.x",
    ]
    sections += ["config.initializer_range", "config.pad_token_id", "config.attention_size", "tokenizer.nothing"]
    name, value = rng.choice(rng.choice((own, theirs, sections))), rng.choice(WRONG_FLAGS)
    if name in ("output_dir", "dataset", "push_to_hub"):
        name = "nothing"
    flags = [command, kind, "--recipe", "none", "--dataset", str(folder), "--output_dir", str(folder / "run"), *sizes]
    flags += ["--max_steps", "1", "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none"]
    flags += ["--per_device_train_batch_size", "4", f"--{name}={value}"]
    must_fail = value in ("x", "\x1b[31m", "/no/such", "영") and name.startswith("config.")
    return Case(run(*flags), f"{command} {kind} --{name}={value!r}", must_fail)


def line_case(rng: random.Random, folder: Path) -> Case:
    """Files of lines, links and trees that are damaged."""
    lines = "".join(f"{sentence(rng)}\t{sentence(rng)}\n" for _ in range(4)).encode()
    trees = b"(S (NP (D the) (N film)) (VP (V was) (A good)))\n" * 3
    pairs = b"0-0 1-1 2-1\n0-1\n" * 2
    model = str(CARDS / "rnnsearch-emoji-names-ko-en")
    command = rng.choice(("translate", "score", "links", "aer", "parseval", "treebank", "sentence-vectors"))
    good = {"aer": pairs, "parseval": trees, "treebank": trees}.get(command, lines)
    content, said = damaged_bytes(good, rng)
    bad, right = folder / "bad.txt", folder / "right.txt"
    bad.write_bytes(content)
    right.write_bytes(good)
    argv = {
        "translate": ["translate", model, str(bad), "--max_new_tokens", "3"],
        "score": ["score", model, str(bad)],
        "links": ["links", model, str(bad)],
        "sentence-vectors": ["sentence-vectors", model, "--file", str(bad), "--output", str(folder / "s.png")],
        "aer": ["aer", str(bad), str(right)],
        "parseval": ["parseval", str(right), str(bad)],
        "treebank": [
            "treebank",
            str(folder / "bank"),
            "--train",
            str(bad),
            "--validation",
            str(right),
            "--test",
            str(right),
        ],
    }[command]
    return Case(run(*argv), f"{command}: {said}")


def run_file_case(rng: random.Random, folder: Path) -> Case:
    text = "recipe: none\ndata:\n  dataset: nowhere.jsonl\ntraining:\n  output_dir: run\nconfig:\n  hidden_size: 6\n"
    content, said = damaged_bytes(text.encode(), rng)
    (folder / "run.yaml").write_bytes(content)
    return Case(run("train", "rnnsearch", str(folder / "run.yaml")), said, True)


def weight_case(rng: random.Random, folder: Path) -> Case:
    """Weights of other programs, damaged."""
    import torch

    kind = rng.choice(("model.pt", "weights.hdf5", "params_shapes.json", "bert_config.json"))
    file = io.BytesIO()
    torch.save({"model": {"encoder.layers.0.fc1.weight": torch.zeros(3, 3)}, "args": None}, file)
    good = (
        file.getvalue() if kind == "model.pt" else b"\x89HDF\r\n\x1a\n" if kind == "weights.hdf5" else b'{"a": [1, 2]}'
    )
    content, said = damaged_bytes(good, rng)
    (folder / kind).write_bytes(content)
    (folder / "options.json").write_text('{"lstm": {"cell_clip": 3}}', encoding="utf-8")
    source = folder / kind if kind in ("model.pt", "weights.hdf5") else folder
    return Case(run("convert", str(source), str(folder / "out")), f"{kind}, {said}", True)


COMMANDS: dict[str, tuple[int, Maker]] = {
    "saved folders": (200, folder_case),
    "flags of training": (160, flag_case),
    "files of lines": (70, line_case),
    "run files": (30, run_file_case),
    "weights of others": (40, weight_case),
}
"""Kind of command -> how many cases a whole run has, and what makes one."""
