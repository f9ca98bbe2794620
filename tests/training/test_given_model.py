"""`--model` and `--tokenizer`: what does not fit is refused before training; a new task brings its layers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from training_runs import train
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertConfig

from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.given_model import load_given

TEXTS = ["the dog sees Anna .", "a cat came , the horse went .", "Carla likes the dog ."]
FLAGS = ["--recipe", "none", "--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none", "--max_steps", "1"]
Arguments = Callable[..., list[str]]


def save(folder: Path, architecture: str, auto_class: str, texts: list[str] = TEXTS) -> None:
    """A tiny random model and its tokenizer."""
    row = get_architecture(architecture)
    tokenizer = row.tokenizer_class.train(texts * 3, vocab_size=90)
    fields = {**row.tiny_config().to_diff_dict(), "vocab_size": len(tokenizer)}
    row.model_classes[auto_class](row.config_class(**fields)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bodies of two architectures, one with another vocabulary, and labelled rows."""
    folder = tmp_path_factory.mktemp("given")
    save(folder / "bert", "bert2018", "AutoModelForMaskedLM")
    save(folder / "gpt", "gpt2018", "AutoModelForCausalLM")
    save(folder / "other", "bert2018", "AutoModelForMaskedLM", ["zwei drei vier fünf sechs"])
    rows = [{"text": text, "label": ["bad", "good"][number % 2]} for number, text in enumerate(TEXTS * 4)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def fine_tuning(folders: Path, tmp_path: Path) -> Arguments:
    def arguments(body: str, *flags: str, model: str = "bert2018") -> list[str]:
        place = ("--dataset", str(folders / "rows.jsonl"), "--output_dir", str(tmp_path / "run"))
        return [model, *place, *FLAGS, "--eval_strategy", "no", "--model", str(folders / body), *flags]

    return arguments


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--config.hidden_size", "64"), r"embed_positions.*\(\d+, \d+\) in the folder and \(\d+, 64\) in the model"),
        (
            ("--config.num_hidden_layers", "4"),
            r"model\.layers\.\d\..* is not in the folder.*--config.num_hidden_layers",
        ),
        (
            ("--config.num_hidden_layers", "1"),
            r"model\.layers\.1\..* has no place in the model.*--config.num_hidden_lay",
        ),
        (
            ("--config.num_attention_heads", "1"),
            "num_attention_heads is 4 in .*leave out --config.num_attention_heads",
        ),
        (("--config.nonsense", "3"), "BERT2018Config has no field nonsense"),
    ],
)
def test_only_layers_of_the_task_may_begin_at_random(
    fine_tuning: Arguments, tmp_path: Path, flags: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        train(fine_tuning("bert", *flags))
    assert not (tmp_path / "run" / "training.json").exists()


def test_a_tagger_gives_its_body_to_a_language_model(tmp_path: Path) -> None:
    """All but what its own task brought; layers are not left out."""
    row = get_architecture("elmo")
    row.model_classes["AutoModelForTokenClassification"](row.tiny_config()).save_pretrained(tmp_path / "tagger")
    task = SimpleNamespace(
        plan=SimpleNamespace(model=SimpleNamespace(model=tmp_path / "tagger"), config={}),
        auto_class="AutoModelForPreTraining",
        head_fields=dict,
    )
    given = load_given(task).model.bilm.state_dict()  # the mixes of the tagger are not for a language model
    tagger = AutoModel.from_pretrained(tmp_path / "tagger").bilm.state_dict()
    assert all(torch.equal(given[name], tensor) for name, tensor in tagger.items())
    task.plan.config = {"num_layers": 1}
    with pytest.raises(ValueError, match="has no place in the model"):
        load_given(task)


def test_what_from_pretrained_takes_can_be_set(fine_tuning: Arguments, tmp_path: Path) -> None:
    train(fine_tuning("bert", "--config.num_labels", "2", "--config.attn_implementation", "eager"))
    assert AutoConfig.from_pretrained(tmp_path / "run").num_labels == 2


def test_an_incomplete_folder_is_not_blamed_on_settings_alone(
    fine_tuning: Arguments, folders: Path, tmp_path: Path
) -> None:
    shutil.copytree(folders / "bert", tmp_path / "part")
    weights = load_file(tmp_path / "part" / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if not name.startswith("model.layers.0.")}
    save_file(kept, tmp_path / "part" / "model.safetensors", metadata={"format": "pt"})
    message = "Leave out --config.hidden_dropout_prob if that changes a size, or give a whole checkpoint"
    with pytest.raises(ValueError, match=message):
        train(fine_tuning(str(tmp_path / "part"), "--config.hidden_dropout_prob", "0.2"))


def test_layers_that_a_task_brings_are_new(fine_tuning: Arguments, folders: Path, tmp_path: Path) -> None:
    train(fine_tuning("bert", "--learning_rate", "0.0"))  # its folder has neither pooler nor labels
    body, tuned = (AutoModel.from_pretrained(place) for place in (folders / "bert", tmp_path / "run"))
    for name, tensor in body.state_dict().items():
        assert name.startswith("pooler.") or torch.equal(tensor, tuned.state_dict()[name]), name


def test_a_classifier_that_is_trained_further_keeps_all_of_its_layers(
    folders: Path, fine_tuning: Arguments, tmp_path: Path
) -> None:
    train(fine_tuning("bert"))
    again = fine_tuning("bert", "--output_dir", str(tmp_path / "again"))
    again[again.index("--model") + 1] = str(tmp_path / "run")
    train(again)
    assert AutoConfig.from_pretrained(tmp_path / "again").id2label == {0: "bad", 1: "good"}
    state = (tmp_path / "run" / "config.json").read_text().replace('"1": "good"', '"1": "good", "2": "fair"')
    (tmp_path / "run" / "config.json").write_text(state)
    refused = pytest.raises(ValueError, match=r"task\.\S+ is \(2.* in the folder and \(3.*Give a whole checkpoint")
    with refused, pytest.warns(UserWarning, match="no training text has the label fair"):
        train([*again, "--overwrite_output_dir", "True", "--class_names", "bad,good,fair"])


def test_models_of_other_architectures_are_refused(fine_tuning: Arguments, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")  # of an earlier run, which is not lost by the mistake
    with pytest.raises(ValueError, match="gpt holds a model of gpt2018, not of bert2018"):
        train(fine_tuning("gpt"))
    BertConfig(hidden_size=8, num_attention_heads=2).save_pretrained(tmp_path / "theirs")
    with pytest.raises(ValueError, match=r"of bert, not of bert2018; .* with `attention-zoo convert`") as raised:
        train(fine_tuning(str(tmp_path / "theirs")))
    assert "name the architecture" not in str(raised.value)
    with pytest.raises(ValueError, match=r"bert2018, not of gpt2018; .* name the architecture bert2018"):
        arguments = fine_tuning("bert", model="gpt2018")
        arguments[arguments.index("--dataset") + 1] = "lm_debian"
        plan, task = pretraining_plan(arguments)
        run_training(plan, task=task)
    assert (tmp_path / "run" / "config.json").exists()


def test_tokenizers_of_other_vocabularies_are_refused(fine_tuning: Arguments, folders: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"another vocabulary than the one of --model .* for the model and .*leave out"
    ):
        train(fine_tuning("bert", "--tokenizer", str(folders / "other")))
    tokenizer = AutoTokenizer.from_pretrained(folders / "bert")
    words = len(tokenizer)
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(tmp_path / "longer")
    with pytest.raises(ValueError, match=f"the tokenizer has {words + 1} tokens, the model {words}"):
        train(fine_tuning("bert", "--tokenizer", str(tmp_path / "longer")))
    train(fine_tuning("bert", "--tokenizer", str(folders / "bert")))
    assert (tmp_path / "run" / "training.json").exists()
