"""Messages of the command name flags, and no arguments of Python."""

import importlib
import json
import re
from pathlib import Path

import pytest
import run_kinds

from hf_attention_zoo import list_architectures
from hf_attention_zoo.cli.argument_names import ARGUMENT, in_flags
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.flags import FlagParser

CARD = Path(__file__).parents[2] / "model_cards" / "rnnsearch-ko-en"
PYTHON = re.compile(r"(?<![\w.\-'\"/])[a-z][a-z0-9_]*=")


def test_arguments_become_the_flags_that_were_written_or_that_a_run_has() -> None:
    row = "max_words=3 and batch_size=0; give 1 or more"
    assert in_flags(row, ["translate", "x", "--batch-size=0"]) == "max_words=3 and --batch-size 0; give 1 or more"
    run = ["train", "rnnsearch", "--max_words", "3"]
    said = in_flags("max_words=3, hidden_size=7, kind='x', dataset_config=None, unheard=1, --a.b=2 'c=3'", run)
    assert said == (
        "--max_words 3, --config.hidden_size 7, --tokenizer.kind 'x', --dataset_config None, unheard=1, --a.b=2 'c=3'"
    )
    assert in_flags("nothing = to say", run) == "nothing = to say"
    trainers = "save_total_limit=2 keeps fewer; learning_rate=0"  # arguments that transformers has
    for command in (["train", "rnnsearch"], ["pretrain", "gpt2018"], ["average", "run", "out"]):
        assert in_flags(trainers, command) == "--save_total_limit 2 keeps fewer; --learning_rate 0"
    for architecture in list_architectures():
        fields = [name for name in architecture.tiny_config().to_diff_dict() if not name.startswith("_")]
        text = "; ".join(f"{name}=1" for name in fields)
        assert not ARGUMENT.search(in_flags(text, ["train", architecture.model_type])), architecture.model_type


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set for each task, and some that are wrong."""
    folder = tmp_path_factory.mktemp("data")
    for kind in ("translation", "labels", "tags", "questions", "choices", "gpt"):
        run_kinds.write_data(kind, folder / kind)
    rows = [{"text": f"a {n}", "label": "x"} for n in range(9)]
    listed = [{"text": f"a {n}", "label": ["x", "y"] if n else "x"} for n in range(9)]
    for name, wrong in (("single", rows), ("listed", listed)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wrong), encoding="utf-8")
    (folder / "tables").mkdir()
    for name in ("a", "b"):
        (folder / "tables" / f"{name}.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "lines.txt").write_text("a line\n", encoding="utf-8")
    return folder


# Kind of training, the data, the flags that are wrong, and a flag that the message has to name.
RUNS = [
    ("translation", "translation", "--tokenizer.kind letters", "--tokenizer.kind"),
    ("translation", "translation", "--tokenizer.vocab_size 2", "--tokenizer.vocab_size"),
    ("translation", "translation", "--config.hidden_size 0", "--config.hidden_size"),
    ("translation", "translation", "--config.dropout 2", None),
    ("translation", "translation", "--max_source_length 1", "--max_source_length"),
    ("translation", "translation", "--max_words 0", "--max_words"),
    ("translation", "translation", "--target_column target", "--source_column and --target_column"),
    ("translation", "translation", "--source_column= --target_column=", "--source_column"),
    ("translation", "tables", "", "--train_file"),
    ("translation", "json", "", "--train_file"),
    ("labels", "single.jsonl", "--eval_strategy no", "--problem_type regression"),
    ("labels", "labels", "--problem_type many", "--problem_type"),
    ("labels", "listed.jsonl", "--problem_type single_label_classification", "--problem_type"),
    ("labels", "labels", "--label_column nothing", None),
    ("labels", "translation", "", "--label_column"),
    ("labels", "labels", "--config.num_hops 0", "--config.num_hops"),
    ("tags", "labels", "", None),
    ("questions", "labels", "", "_column"),
    ("choices", "labels", "", "_column"),
    ("questions", "questions", "--config.max_position_embeddings 4", None),
    ("tags", "tags", "--config.num_attention_heads 3", "--config.num_attention_heads"),
    ("gpt", "gpt", "--length 4", "--length"),
    ("gpt", "gpt", "--text_column body", "--text_column"),
    ("gpt", "gpt", "--text_documents lines", "--text_documents"),
]


@pytest.mark.parametrize(("kind", "place", "wrong", "flag"), RUNS)
def test_a_wrong_run_is_told_in_flags(
    kind: str, place: str, wrong: str, flag: str | None, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = str(data / place) if (data / place).exists() else place
    assert main(run_kinds.command(kind, given, tmp_path / "run", *wrong.split())) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("attention-zoo: ") and not PYTHON.search(said), said
    assert flag is None or flag in said, said


@pytest.mark.parametrize(
    "wrong",
    [
        ["translate", "CARD", "LINES", "--batch_size", "0"],
        ["translate", "CARD", "LINES", "--num_beams", "0"],
        ["translate", "CARD", "LINES", "--generation.num_beams", "two"],
        ["evaluate", "CARD", "--dataset", "TRANSLATION", "--num_beams", "-1"],
        ["translate", "CARD", "LINES", "--generation.num_return_sequences", "2"],
        ["score", "CARD", "LINES", "--batch-size", "0"],
        ["links", "CARD", "LINES", "--layer", "9"],
        ["evaluate", "CARD", "--dataset", "TRANSLATION", "--batch_size", "0"],
        ["evaluate", "CARD", "--dataset", "TRANSLATION", "--max_words", "0"],
        ["align", "CARD", "a line", "--layer", "9"],
        ["convert", "LINES", "OUT", "--heads", "0"],
    ],
)
def test_other_commands_are_told_in_flags(
    wrong: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"CARD": CARD, "LINES": data / "lines.txt", "TRANSLATION": data / "translation", "OUT": tmp_path / "out"}
    assert main([str(places.get(word, word)) for word in wrong]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("attention-zoo: ") and not PYTHON.search(said), said


def test_flags_that_messages_name_are_flags_of_a_command(data: Path) -> None:
    """What `in_flags` makes of the arguments of a run is what the run reads."""
    from hf_attention_zoo.training.run_plan import build_parser

    parser: FlagParser = build_parser()
    flags = set(parser._option_string_actions)
    module = importlib.import_module("hf_attention_zoo.training.run_arguments")
    for name in ("DataArguments", "ModelArguments", "HistoricalArguments"):
        for field in module.__dict__[name].__dataclass_fields__:
            assert in_flags(f"{field}=1", ["train", "rnnsearch"]) == f"--{field} 1"
            assert f"--{field}" in flags
