"""The folders under model_cards/: small, in half precision, and with the card that their files give today."""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCardData, metadata_load
from huggingface_hub.repocard_data import model_index_to_eval_results
from huggingface_hub.utils import validate_repo_id
from safetensors.torch import load_file

from hf_attention_zoo import get_architecture
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.hub.card_example import readable
from hf_attention_zoo.hub.cards import build_card
from hf_attention_zoo.seq2seq.translating import translate
from hf_attention_zoo.tasks.translation.rows import load_data
from hf_attention_zoo.whole_files import checksum, json_if_any

REPOSITORY = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (REPOSITORY / "model_cards").glob("*/config.json"))
# Packages that are imported under another name.
MODULES = {"scikit-learn": "sklearn"}
MEGABYTES = 1e6


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_all_folders_together_stay_under_100_megabytes() -> None:
    assert len(FOLDERS) >= 13
    assert sum(map(size, FOLDERS)) < 100 * MEGABYTES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_weights_are_in_half_precision_and_small(folder: Path) -> None:
    kinds = {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()}
    assert torch.float16 in kinds and not kinds & {torch.float32, torch.float64}
    assert (folder / "model.safetensors").stat().st_size < 10 * MEGABYTES
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_card_links_its_paper_and_its_data(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    source = re.search(r"^\| data source \| (.+) \|$", card, re.MULTILINE)
    assert source is not None and re.search(r"https://[\w./-]+\w", source[1]), "where can the data be had?"
    row = get_architecture(json.loads((folder / "config.json").read_text())["model_type"])
    assert f"]({row.paper_url})" in card


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_card_is_what_the_files_beside_it_give(folder: Path) -> None:
    assert (folder / "README.md").read_text(encoding="utf-8") == build_card(folder)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_record_of_a_folder_is_of_the_files_that_lie_there(folder: Path) -> None:
    recorded = json_if_any(folder / "training.json").get("files", {})
    assert {name: checksum(folder / name) for name in recorded} == recorded


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_has_what_goes_to_the_hub(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names >= {"README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer_config.json"}
    row = get_architecture(json.loads((folder / "config.json").read_text())["model_type"])
    pictures = names & {"alignment.png", "sentences.png", "words.png"}
    assert pictures or row.aligner is None
    assert not {name for name in names if name.endswith((".bin", ".pt", ".pkl"))}


@pytest.fixture
def base_install_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only extras install cannot be imported."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in ("test", "dev")}
    wanted = ["spacy", *(line for lines in extras.values() for line in lines)]
    base = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}
    for name in {re.split(r"[^\w-]", line)[0] for line in wanted} - base:
        monkeypatch.setitem(sys.modules, MODULES.get(name, name.replace("-", "_")), None)


def numbers_apart(text: str) -> tuple[str, list[float]]:
    """What is printed without its decimal numbers, and these."""
    pattern = r"-?\d+\.\d+"
    return re.sub(pattern, "0.0", text), [float(number) for number in re.findall(pattern, text)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_metadata_of_a_card_are_valid_and_complete(folder: Path) -> None:
    metadata = metadata_load(folder / "README.md")
    data = ModelCardData(**{name: value for name, value in metadata.items() if name != "model-index"})
    results = model_index_to_eval_results(metadata["model-index"])[1]
    assert data.language and all(len(code) == 2 for code in data.language) and results
    assert all("/" in entry for entry in data.datasets or [])  # the Hub links them
    model = json.loads((folder / "config.json").read_text())
    tuned = folder.name in ("gpt2018-debian-section", "bert2018-tags-pud")
    assert bool(data.base_model) == tuned
    if tuned:
        validate_repo_id(data.base_model)
        assert (folder.parent / data.base_model / "config.json").is_file()
    names = list(model.get("id2label", {}).values())
    assert not any(re.fullmatch(r"(LABEL_)?\d+", name) for name in names)
    for entry in metadata.get("widget", []):
        assert entry["text"].strip()
        assert (
            {row["label"] for row in entry["output"]} <= set(names) if isinstance(entry.get("output"), list) else True
        )
    if model["model_type"] != "show_attend_tell":
        assert metadata["widget"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_python_of_a_card_runs_as_printed(
    folder: Path, base_install_alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert len(blocks) >= 2
    (tmp_path / folder.name).symlink_to(folder, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(blocks[0], folder.name, "exec"), names)
    printed = numbers_apart(readable(capsys.readouterr().out))
    shown = re.search(r"It prints, with numbers cut to four digits:\n\n```text\n(.*?)\n```", card, re.DOTALL)
    assert shown is not None and numbers_apart(shown[1])[0] == printed[0]
    assert numbers_apart(shown[1])[1] == pytest.approx(printed[1], abs=2e-3)
    for block in blocks[1:]:
        exec(compile(block, folder.name, "exec"), names)
    assert (tmp_path / "alignment.png").is_file() == any("alignment.plot" in block for block in blocks)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_card_names_the_layers_to_adapt(folder: Path) -> None:
    row = get_architecture(json.loads((folder / "config.json").read_text())["model_type"])
    named = ", ".join(f'"{name}"' for name in row.adapter_targets)
    assert f"LoraConfig(target_modules=[{named}])" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("architecture", ["rnnsearch"])
def test_a_translator_of_emoji_names_knows_all_that_it_was_trained_on(architecture: str) -> None:
    folder = REPOSITORY / "model_cards" / f"{architecture}-emoji-names-ko-en"
    groups = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["groups"]
    seen, unseen = groups[:2]
    assert (seen["rows"], seen["exact_match"]) == (3218, 100.0)
    assert unseen["rows"] == 263 and unseen["exact_match"] < 100  # of words that training does not have
    rows = load_data("translation_emoji_names", source_lang="ko", target_lang="en", splits=["train"])["train"]
    flags = [row for row in rows if row["target"].startswith("flag: ")]
    said = translate(*load_checkpoint(folder, "cpu"), [row["source"] for row in flags])
    assert len(flags) == 238 and said == [row["target"] for row in flags]
