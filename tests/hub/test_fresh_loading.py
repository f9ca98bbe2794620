"""Every folder under model_cards/ in a fresh process through the Auto classes: by the plugin, its own code, its id.

All folders share one process each way, since starting one takes longer than what it does.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback_hub import TOKEN, LoopbackHub

from hf_attention_zoo.folders.saved_model import saved_auto_class
from hf_attention_zoo.hub.code_export import export_with_code
from hf_attention_zoo.hub.publishing import publish

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[2] / "model_cards").glob("*/config.json"))
ARCHITECTURES = {json.loads((folder / "config.json").read_text())["model_type"]: folder for folder in FOLDERS}

USE = """
import json, sys
import torch, transformers
from PIL import Image

TEXTS = ["Der Hund läuft, 고양이.", "The file"]

def use(folder, auto, **trust):
    model = getattr(transformers, auto).from_pretrained(folder, **trust).eval()
    if auto == "AutoModelForImageTextToText":
        reader = transformers.AutoProcessor.from_pretrained(folder, **trust)
        batch = reader(images=[Image.new("RGB", (32, 24), "red")], text=TEXTS[:1], return_tensors="pt")
    else:
        reader = transformers.AutoTokenizer.from_pretrained(folder, **trust)
        target = {"text_target": TEXTS} if auto == "AutoModelForSeq2SeqLM" else {}
        batch = reader(TEXTS, padding=True, return_tensors="pt", **target)
    torch.manual_seed(0)
    with torch.no_grad():
        out = model(**batch)
    body = transformers.AutoModel.from_pretrained(folder, **trust)
    return {
        "classes": [type(thing).__name__ for thing in (model.config, model, body, reader)],
        "plugin": sorted({type(thing).__module__.split(".")[0] for thing in (model.config, model, body, reader)}),
        "body": sum(tensor.double().abs().sum().item() for tensor in body.state_dict().values()),
        **{name: value.double().sum().item() for name, value in out.items() if torch.is_tensor(value)},
    }
"""

RUN = "\nprint(json.dumps({name: use(*call, **TRUST) for name, call in json.loads(sys.argv[1]).items()}))\n"
BLOCKED = 'import sys; sys.modules["hf_attention_zoo"] = None  # any import of the package raises from here on\n'


def in_a_fresh_process(
    script: str, calls: dict[str, list[str]], home: Path, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script, json.dumps(calls)]
    done = subprocess.run(
        command, env=environment or offline, cwd=home, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def calls() -> dict[str, list[str]]:
    """Name of the folder -> folder and Auto class."""
    return {folder.name: [str(folder), saved_auto_class(folder)] for folder in FOLDERS}


@pytest.fixture(scope="module")
def plain(calls: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each folder gives where the package is installed."""
    return in_a_fresh_process(
        f"import hf_attention_zoo\n{USE}TRUST = {{}}{RUN}", calls, tmp_path_factory.mktemp("home")
    )


@pytest.fixture(scope="module")
def exported(calls: dict[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the export with code of a folder of each architecture gives where the package cannot be imported."""
    home = tmp_path_factory.mktemp("home")
    moved = {
        folder.name: [str(export_with_code(folder, home / folder.name)), calls[folder.name][1]]
        for folder in ARCHITECTURES.values()
    }
    return in_a_fresh_process(f"{BLOCKED}{USE}TRUST = dict(trust_remote_code=True){RUN}", moved, home)


@pytest.fixture(scope="module")
def use_here() -> Any:
    """The same steps in this process."""
    names: dict[str, Any] = {}
    exec(USE, names)
    return names["use"]


def check_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.pop("classes") == wanted.pop("classes")
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_loads_through_the_auto_classes_in_a_fresh_process(
    folder: Path, plain: dict[str, Any], calls: dict[str, list[str]], use_here: Any
) -> None:
    found, wanted = dict(plain[folder.name]), use_here(*calls[folder.name])
    assert found.pop("plugin") == wanted.pop("plugin") == ["hf_attention_zoo"]
    assert len(found) > 2
    check_same(found, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_an_export_with_code_loads_where_the_package_cannot_be_imported(
    folder: Path, exported: dict[str, Any], plain: dict[str, Any]
) -> None:
    found, wanted = dict(exported[folder.name]), dict(plain[folder.name])
    assert found.pop("plugin") == ["transformers_modules"] and wanted.pop("plugin") == ["hf_attention_zoo"]
    check_same(found, wanted)


@pytest.mark.slow
def test_a_folder_of_each_architecture_is_published_and_loaded_by_its_id(
    online: LoopbackHub, plain: dict[str, Any], calls: dict[str, list[str]], tmp_path: Path
) -> None:
    by_id = {}
    for folder in ARCHITECTURES.values():
        copy = shutil.copytree(folder, tmp_path / folder.name)
        publish(copy, f"ada/{folder.name}", token=TOKEN)
        by_id[folder.name] = [f"ada/{folder.name}", calls[folder.name][1]]
    script = f"import hf_attention_zoo\n{USE}TRUST = {{}}{RUN}"
    received = in_a_fresh_process(script, by_id, tmp_path, online.environment(tmp_path / "receiver"))
    assert len(received) == len(ARCHITECTURES)
    for name, found in received.items():
        assert found.pop("plugin") == ["hf_attention_zoo"]
        check_same(found, {key: value for key, value in plain[name].items() if key != "plugin"})
