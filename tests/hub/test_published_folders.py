"""The folders under model_cards/: small, in half precision, and with the card that their files give today."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from hf_attention_zoo import get_architecture
from hf_attention_zoo.hub.cards import build_card
from hf_attention_zoo.hub.checkpoint_facts import Checkpoint

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "model_cards").glob("*/config.json"))
MEGABYTES = 1e6


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_all_folders_together_stay_under_80_megabytes() -> None:
    assert len(FOLDERS) >= 13
    assert sum(map(size, FOLDERS)) < 80 * MEGABYTES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_weights_are_in_half_precision_and_small(folder: Path) -> None:
    kinds = {tensor.dtype for tensor in load_file(folder / "model.safetensors").values()}
    assert torch.float16 in kinds and not kinds & {torch.float32, torch.float64}
    assert (folder / "model.safetensors").stat().st_size < 10 * MEGABYTES
    assert json.loads((folder / "config.json").read_text())["dtype"] == "float32"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_card_is_what_the_files_beside_it_give(folder: Path) -> None:
    assert (folder / "README.md").read_text(encoding="utf-8") == build_card(folder)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_has_what_goes_to_the_hub(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names >= {"README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer_config.json"}
    row = get_architecture(json.loads((folder / "config.json").read_text())["model_type"])
    pictures = names & {"alignment.png", "sentences.png"}
    assert pictures or row.aligner is None
    assert not {name for name in names if name.endswith((".bin", ".pt", ".pkl"))}


def test_a_card_installs_what_loading_needs() -> None:
    installed = {folder.name: Checkpoint(folder).installed for folder in FOLDERS}
    assert installed["gpt2018-small-debian"] == '"hf_attention_zoo[gpt]"'
    assert installed["bert2018-small-debian"] == "hf_attention_zoo"
    assert "pip install " + installed["gpt2018-small-debian"] in build_card(FOLDERS[0].parent / "gpt2018-small-debian")
