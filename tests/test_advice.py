"""What a message advises works: each row is a wrong command, what it is told, and the commands that were advised."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

import pytest
from training_fixtures import write_pairs

from hf_attention_zoo import list_architectures
from hf_attention_zoo.cli.command import COMMANDS, main
from hf_attention_zoo.cli.make_treebank import build_parser
from hf_attention_zoo.tasks.running_text.corpus_arguments import CorpusArguments
from hf_attention_zoo.tasks.running_text.objectives import learns_from_text, objective_class
from hf_attention_zoo.tasks.running_text.rows import read_documents
from hf_attention_zoo.training.arguments import DataArguments, ModelArguments, ZooTrainingArguments

REPOSITORY = Path(__file__).parents[1]
CARDS = REPOSITORY / "model_cards"
QUIET = ["--use_cpu", "True", "--disable_tqdm", "True", "--max_steps", "1", "--learning_rate", "0.01"]
TRAIN = [
    *(
        "rnnsearch",
        "--recipe",
        "none",
        "--dataset",
        "PAIRS",
        "--tokenizer.kind",
        "word",
        "--tokenizer.vocab_size",
        "40",
    ),
    *("--config.embedding_size", "8", "--config.hidden_size", "12", "--config.attention_size", "10"),
    *("--config.maxout_size", "8", "--output_dir", "OUT", "--report_to", "none", *QUIET),
]
LABELS = [
    *("self_attentive", "--recipe", "none", "--dataset", "LABELS", "--output_dir", "OUT", "--report_to", "none"),
    *("--config.embedding_size", "8", "--config.hidden_size", "6", "--config.attention_size", "6"),
    *("--config.classifier_size", "8", "--tokenizer.kind", "word", "--tokenizer.vocab_size", "60", *QUIET),
]
TAGS = [
    *("bert2018", "--task", "token-classification", "--recipe", "none", "--dataset", "TAGS", "--output_dir", "OUT"),
    *("--config.hidden_size", "16", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
    *("--config.intermediate_size", "16", "--tokenizer.vocab_size", "60", "--report_to", "none", *QUIET),
]
PRETRAIN = [
    *("gpt2018", "--recipe", "none", "--dataset", "TEXT", "--output_dir", "OUT", "--report_to", "none", *QUIET),
    *("--config.hidden_size", "16", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
    *("--config.intermediate_size", "16", "--tokenizer.vocab_size", "200", "--length", "16"),
]
SPLIT_LESS = ["--dataset", "LONELY", "--eval_strategy", "epoch"]
EVALUATED = ["--eval_strategy", "epoch", "--save_strategy", "epoch"]
AVERAGED = ["--average_last_checkpoints", "2", "--eval_strategy", "epoch"]
LEARNT_POSITIONS = [
    *("transformer2017", "--recipe", "none", "--dataset", "PAIRS", "--tokenizer.kind", "word", "--output_dir", "OUT"),
    *("--config.hidden_size", "8", "--config.num_hidden_layers", "1", "--config.num_attention_heads", "2"),
    *("--config.intermediate_size", "8", "--config.position_encoding", "learned", "--tokenizer.vocab_size", "40"),
    *("--config.share_encoder_decoder_embeddings", "False", "--report_to", "none", *QUIET),
]


Run = Callable[[list[str]], tuple[int, str]]


@dataclass(frozen=True)
class Advice:
    """A wrong command line, a part of its message, and command lines as the message advises."""

    wrong: list[str]
    told: str
    cures: list[list[str]] = field(hash=False)

    def __str__(self) -> str:
        return re.sub(r"\W+", "-", self.told)[:60].strip("-")


def train(*flags: str) -> list[str]:
    return ["train", *TRAIN, *flags]


def labels(*flags: str) -> list[str]:
    return ["train", *LABELS, *flags]


def pretrain(*flags: str) -> list[str]:
    return ["pretrain", *PRETRAIN, *flags]


ADVICES = [
    Advice(
        train("--recipe", "small", *SPLIT_LESS),
        "with --validation_split, hold some rows out with --validation_share 0.02, or give --eval_strategy no",
        [
            train("--recipe", "small", *SPLIT_LESS, "--validation_split", "train"),
            train("--recipe", "small", *SPLIT_LESS, "--validation_share", "0.2"),
            train("--recipe", "small", *SPLIT_LESS, "--eval_strategy", "no"),
        ],
    ),
    Advice(
        train("--early_stopping_patience", "2", "--eval_strategy", "no"),
        "--early_stopping_patience needs validations: set --eval_strategy to steps or epoch",
        [
            train("--early_stopping_patience", "2", "--eval_strategy", "epoch"),
            train("--early_stopping_patience", "2", "--eval_strategy", "steps"),
        ],
    ),
    Advice(
        train("--average_last_checkpoints", "2", "--save_strategy", "no"),
        "needs checkpoints: set --save_strategy to steps or epoch",
        [
            train("--average_last_checkpoints", "1", "--save_strategy", "epoch"),
            train("--average_last_checkpoints", "1", "--save_strategy", "steps", "--save_steps", "1"),
        ],
    ),
    Advice(
        train("--recipe", "small", *AVERAGED),
        "give --load_best_model_at_end False",
        [train("--recipe", "small", *AVERAGED, "--load_best_model_at_end", "False")],
    ),
    Advice(
        train("--average_last_checkpoints", "3", "--save_strategy", "epoch", "--save_total_limit", "2"),
        "--save_total_limit 2 keeps fewer; raise it",
        [train("--average_last_checkpoints", "3", "--save_strategy", "epoch", "--save_total_limit", "3")],
    ),
    Advice(
        train(*EVALUATED, "--metric_for_best_model", "rouge"),
        "name one of bleu, chrf, loss, perplexity",
        [train(*EVALUATED, "--metric_for_best_model", name) for name in ("chrf", "perplexity")],
    ),
    Advice(
        train(*EVALUATED, "--metric_for_best_model", "perplexity", "--greater_is_better", "True"),
        "perplexity is better when it is smaller, but --greater_is_better True; leave out --greater_is_better",
        [train(*EVALUATED, "--metric_for_best_model", "perplexity", "--load_best_model_at_end", "True")],
    ),
    Advice(
        train("--report_to", "wandb"),
        "pip install wandb, or give --report_to none",
        [train("--report_to", "none")],
    ),
    Advice(
        train("--streaming", "True", "--pool_batches", "2"),
        "leave out --streaming, or leave out --max_tokens_per_batch and --pool_batches",
        [train("--pool_batches", "2"), train("--streaming", "True")],
    ),
    Advice(
        ["train", *TRAIN[:3], *TRAIN[5:]],
        "which data? Give --dataset (a sample, a file, a folder or a Hub id) or --train_file",
        [train(), train("--train_file", "PAIRS/train.jsonl")],
    ),
    Advice(
        train("--dataset", "PAIRS/train.jsonl", "--train_file", "PAIRS/train.jsonl"),
        "is a file; use --train_file for it when others are named",
        [
            [
                "train",
                *TRAIN[:3],
                *TRAIN[5:],
                "--train_file",
                "PAIRS/train.jsonl",
                "--validation_file",
                "PAIRS/test.jsonl",
            ]
        ],
    ),
    Advice(
        ["train", *LEARNT_POSITIONS, "--config.max_position_embeddings", "6"],
        "--max_source_length and --max_target_length, or give --config.max_position_embeddings",
        [
            ["train", *LEARNT_POSITIONS, "--config.max_position_embeddings", "12"],
            [
                *("train", *LEARNT_POSITIONS, "--config.max_position_embeddings", "6"),
                *("--max_source_length", "6", "--max_target_length", "6"),
            ],
        ],
    ),
    Advice(
        labels("--label_smoothing_factor", "0.1"),
        "leave out --label_smoothing_factor",
        [labels()],
    ),
    Advice(
        labels("--generation.num_beams", "2"),
        "generates nothing; leave out --generation.num_beams",
        [labels()],
    ),
    Advice(
        labels("--freeze_word_vectors", "True"),
        "name vectors with --word_vectors",
        [labels("--freeze_word_vectors", "True", "--word_vectors", "VECTORS")],
    ),
    Advice(
        ["train", *TAGS, "--label_smoothing_factor", "0.1"],
        "leave out --label_smoothing_factor",
        [["train", *TAGS]],
    ),
    Advice(
        ["train", *TAGS, "--max_words", "9"],
        "--max_words says nothing to this task; leave it out",
        [["train", *TAGS]],
    ),
    Advice(
        pretrain("--validation_split", "nothing", "--eval_strategy", "steps"),
        "--held_out_documents 500, or give --eval_strategy no",
        [
            pretrain("--validation_split", "no", "--eval_strategy", "steps", "--validation_file", "TEXT/train.txt"),
            pretrain("--dataset", "LONELY_TEXT", "--eval_strategy", "steps", "--validation_split", "train"),
            pretrain("--validation_split", "nothing", "--eval_strategy", "steps", "--held_out_documents", "5"),
            pretrain("--validation_split", "nothing", "--eval_strategy", "no"),
        ],
    ),
    Advice(
        pretrain("--dataset", "LONELY_TEXT", "--eval_strategy", "steps", "--held_out_documents", "500"),
        "hold out fewer, or name held-out text with --validation_file",
        [pretrain("--dataset", "LONELY_TEXT", "--eval_strategy", "steps", "--validation_file", "TEXT/train.txt")],
    ),
    Advice(
        pretrain("--second_length", "32", "--max_steps", "-1"),
        "say how many with --max_steps",
        [pretrain("--second_length", "32", "--max_steps", "2")],
    ),
    Advice(pretrain("--pool_batches", "2"), "leave out sorted batches", [pretrain()]),
    Advice(
        pretrain("--auto_find_batch_size", "True"),
        "leave out --auto_find_batch_size, and give a smaller --per_device_train_batch_size with",
        [pretrain("--per_device_train_batch_size", "4", "--gradient_accumulation_steps", "2")],
    ),
    Advice(
        pretrain("--config.max_position_embeddings", "8"),
        "give a smaller --length or --second_length, or more --config.max_position_embeddings",
        [pretrain("--config.max_position_embeddings", "8", "--length", "8")],
    ),
    Advice(
        pretrain("--text_column", "text"),
        "leave it out (--text_column)",
        [pretrain()],
    ),
    Advice(
        pretrain("--objective.closing_token", "nothing"),
        "leave it out, or give ''",
        [pretrain(), pretrain("--objective.closing_token", "")],
    ),
    Advice(
        ["translate", "TRANSLATOR", "Ein Haus.", "--dictionary", "WORDS"],
        "--dictionary is used by --replace_unknown; give both",
        [["translate", "TRANSLATOR", "Ein Haus.", "--dictionary", "WORDS", "--replace_unknown"]],
    ),
    Advice(
        ["align", "TRANSLATOR", "Ein Haus.", "--pair", "A house.", "--out", "OUT/picture.png"],
        "a translation is given with --target",
        [["align", "TRANSLATOR", "Ein Haus.", "--target", "A house.", "--out", "OUT/picture.png"]],
    ),
    Advice(
        ["treebank", "OUT/trees"],
        "or --generated N",
        [["treebank", "OUT/trees", "--generated", "20"]],
    ),
    Advice(
        ["treebank", "OUT/trees", "--generated", "20", "--train", "x"],
        "leave out --train, --validation and --test",
        [["treebank", "OUT/trees", "--generated", "20"]],
    ),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the words in capitals stand for."""
    root = tmp_path_factory.mktemp("advice")
    for name in ("pairs", "lonely", "labels", "tags", "text", "lonely_text"):
        (root / name).mkdir()
    for split, count in (("train", 40), ("validation", 9), ("test", 9)):
        write_pairs(root / "pairs" / f"{split}.jsonl", count, count)
        rows = [{"text": f"ba {word} da", "label": word} for word in ("good", "bad") * 6]
        (root / "labels" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
        tagged = [{"words": ["a", "dog", "runs"], "tags": ["D", "N", "V"]}] * 8
        (root / "tags" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, tagged)) + "\n")
        documents = read_documents("lm_debian", split="validation" if split == "train" else "test", limit=8)
        (root / "text" / f"{split}.txt").write_text("\n\n".join("\n".join(one) for one in documents) + "\n")
    for split in ("train", "test"):  # rows for training alone are parted, these lack validation
        (root / "lonely" / f"{split}.jsonl").write_text((root / "pairs" / f"{split}.jsonl").read_text())
    (root / "lonely_text" / "train.txt").write_text((root / "text" / "train.txt").read_text())
    (root / "words").write_text("Haus\thouse\n")
    (root / "vectors.txt").write_text("".join(f"{word} {' '.join(['0.1'] * 8)}\n" for word in ("ba", "da", "good")))
    named = {name.upper(): str(root / name) for name in ("pairs", "lonely", "labels", "tags", "text", "lonely_text")}
    named |= {"WORDS": str(root / "words"), "VECTORS": str(root / "vectors.txt")}
    return {**named, "TRANSLATOR": str(CARDS / "rnnsearch-de-en")}


@pytest.fixture
def run(
    places: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture
) -> Callable[[list[str]], tuple[int, str]]:
    def go(command: list[str]) -> tuple[int, str]:
        go.number += 1
        named = {**places, "OUT": str(tmp_path / f"out{go.number}")}
        (tmp_path / f"out{go.number}").mkdir()
        filled = [re.sub(r"^[A-Z_]+(?=/|$)", lambda found: named.get(found[0], found[0]), word) for word in command]
        code = main(filled)
        return code, capfd.readouterr().err

    go.number = 0
    return go


def slow_ones(advice: Advice) -> list[pytest.MarkDecorator]:
    """Pre-training learns a tokenizer for each command."""
    return [pytest.mark.slow] if advice.wrong[0] == "pretrain" and "eval_strategy no" not in advice.told else []


@pytest.mark.parametrize(
    "advice", [pytest.param(advice, id=str(advice), marks=slow_ones(advice)) for advice in ADVICES]
)
def test_what_a_message_advises_works(advice: Advice, run: Run) -> None:
    code, said = run(advice.wrong)
    last = said.strip().splitlines()[-1]
    assert code == 2 and advice.told in last, said
    assert "Traceback" not in said
    for cure in advice.cures:
        code, said = run(cure)
        assert code == 0, (cure, said[-600:])


@cache
def messages() -> list[tuple[str, str]]:
    """Every text in a statement that raises an error, and where it stands."""
    return list(_messages())


def _messages() -> Iterator[tuple[str, str]]:
    for path in sorted((REPOSITORY / "hf_attention_zoo").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                for part in ast.walk(node.exc):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value, f"{path.name}:{node.lineno}"


def known_flags() -> set[str]:
    """The flags of all commands, with the section before those that have one."""
    found = {f"--{item.name}" for kind in (ModelArguments, DataArguments, CorpusArguments) for item in fields(kind)}
    found |= {f"--{item.name}" for item in fields(ZooTrainingArguments)}
    for path in (REPOSITORY / "hf_attention_zoo").rglob("*.py"):
        found |= set(re.findall(r"add_argument\(\s*\"(--[\w-]+)\"", path.read_text(encoding="utf-8")))
        found |= set(re.findall(r"add_argument\(\s*\"[\w-]+\",\s*\"(--[\w-]+)\"", path.read_text(encoding="utf-8")))
        found |= set(re.findall(r"\"(--[\w-]+)\", \"--[\w-]+\"", path.read_text(encoding="utf-8")))
    for row in list_architectures():
        found |= {f"--config.{item.name}" for item in fields(row.config_class)}
        if row.tokenizer_class is not None:
            found |= {f"--tokenizer.{name}" for name in inspect.signature(row.tokenizer_class.train).parameters}
        if learns_from_text(row):
            found |= {f"--objective.{name}" for name in objective_class(row).settings}
    return found | {"--help", "--config", "--list", "--version", *build_parser()._option_string_actions}


def test_every_flag_in_a_message_is_one_of_a_command() -> None:
    known = known_flags()
    named = {(flag.rstrip("."), place) for text, place in messages() for flag in re.findall(r"--[a-z][\w.-]*\w", text)}
    assert len(named) > 60
    beginnings = ("--generation", "--predict_with", "--config", "--tokenizer", "--objective")  # a name follows
    assert not {(flag, place) for flag, place in named if flag not in known and not flag.startswith(beginnings)}
    sections = {
        (flag, place) for flag, place in named if flag.startswith(("--config.", "--objective.", "--tokenizer."))
    }
    assert not {(flag, place) for flag, place in sections if flag not in known}


def test_every_package_in_a_message_is_an_extra_or_declared() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = {re.split(r"[^\w-]", line)[0] for lines in extras.values() for line in lines}
    seen = set()
    for text, place in messages():
        for asked in re.findall(r"pip install (['\"]?[\w\[\]-]+['\"]?)", text):
            name = asked.strip("'\"")
            extra = re.fullmatch(r"hf_attention_zoo\[([\w,]+)\]", name)
            if extra:
                assert set(extra[1].split(",")) <= extras.keys(), (asked, place)
            else:
                assert name in declared or name == "torchvision", (asked, place)
            seen.add(name)
    assert len(seen) >= 6


def test_every_command_in_a_message_exists() -> None:
    for text, place in messages():
        for command in re.findall(r"`attention-zoo ([a-z-]+)", text):
            assert command in COMMANDS, (command, place)
