"""The export with code: what loads without the package, and which code cannot be exported."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_attention_zoo.hub.cards import write_card
from hf_attention_zoo.hub.code_export import (
    check_written_imports,
    export_with_code,
    exported_classes,
    flatten_modules,
    rewrite_imports,
)
from hf_attention_zoo.registry import Architecture, list_architectures

USE = """
import json, sys
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

def use(folder, **trust):
    config = AutoConfig.from_pretrained(folder, **trust)
    body = AutoModel.from_pretrained(folder, **trust)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, **trust)
    tokenizer = AutoTokenizer.from_pretrained(folder, **trust)
    batch = tokenizer(["Der Hund läuft.", "Die Katze."], text_target=["The dog.", "The cat runs."],
                      padding=True, return_tensors="pt")
    with torch.no_grad():
        out = model(**batch)
    ids = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"], num_beams=3, max_new_tokens=8,
                         num_return_sequences=2)
    return model, tokenizer, {
        "classes": [type(thing).__name__ for thing in (config, body, model, tokenizer)],
        "modules": sorted({type(thing).__module__.split(".")[0] for thing in (config, body, model, tokenizer)}),
        "logits": round(out.logits.double().sum().item(), 6),
        "loss": round(out.loss.item(), 6),
        "beams": ids.tolist(),
        "ids": batch["input_ids"].tolist(),
        "text": tokenizer.decode(batch["labels"][1], skip_special_tokens=True),
        "target_vocab_size": tokenizer.target_vocab_size,
    }
"""

BLOCKED = 'import sys; sys.modules["hf_attention_zoo"] = None  # any import of the package raises from here on\n'

LOAD = f"{BLOCKED}{USE}\nprint(json.dumps(use(sys.argv[1], trust_remote_code=True)[2]))"

LOAD_AND_SAVE = f"""{BLOCKED}{USE}
model, tokenizer, found = use(sys.argv[1], trust_remote_code=True)
model.save_pretrained(sys.argv[2])
tokenizer.save_pretrained(sys.argv[2])
print(json.dumps(found))
"""


def use_here(folder: Path) -> dict[str, Any]:
    """The same steps in this process, with the package and without trusting anything."""
    names: dict[str, Any] = {}
    exec(USE, names)
    return names["use"](str(folder))[2]


def test_export_loads_searches_and_saves_again_where_the_package_cannot_be_imported(
    recorded_checkpoint: Path, tmp_path: Path, run_python: Callable[..., str]
) -> None:
    exported = export_with_code(recorded_checkpoint, tmp_path / "exported")
    first = json.loads(run_python(LOAD_AND_SAVE, exported, tmp_path / "saved again"))
    again = json.loads(run_python(LOAD, tmp_path / "saved again"))
    plugin = use_here(recorded_checkpoint)

    assert first["classes"] == [
        "RNNsearchConfig",
        "RNNsearchModel",
        "RNNsearchForConditionalGeneration",
        "TranslationTokenizer",
    ]
    assert first["modules"] == ["transformers_modules"]
    assert plugin.pop("modules") == ["hf_attention_zoo"]
    assert first["text"] == "The cat runs."
    assert again == first
    first.pop("modules")
    assert first == plugin


def test_export_is_used_by_the_package_without_trusting_its_code(checkpoint: Path, tmp_path: Path) -> None:
    exported = export_with_code(checkpoint, tmp_path / "exported")
    assert use_here(exported) == use_here(checkpoint)
    assert use_here(exported)["modules"] == ["hf_attention_zoo"]


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_code_of_every_architecture_can_be_made_flat(row: Architecture, tmp_path: Path) -> None:
    classes = exported_classes(row)
    modules = flatten_modules({cls.__module__ for cls in classes.values()})
    for name, text in modules.items():
        compile(text, name, "exec")
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert {f"configuration_{row.model_type}", f"modeling_{row.model_type}"} <= set(modules)
    assert check_written_imports(tmp_path, modules) is None


def test_export_leaves_the_checkpoint_alone_and_keeps_its_files(recorded_checkpoint: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in recorded_checkpoint.iterdir()}
    exported = export_with_code(recorded_checkpoint, tmp_path / "new" / "exported")
    assert {path.name: path.read_bytes() for path in recorded_checkpoint.iterdir()} == before
    changed = {name for name, content in before.items() if (exported / name).read_bytes() != content}
    assert changed == {"config.json", "tokenizer_config.json"}
    assert list((tmp_path / "new").iterdir()) == [exported]


def test_every_auto_class_of_the_registry_row_is_in_the_auto_map(checkpoint: Path, tmp_path: Path) -> None:
    exported = export_with_code(checkpoint, tmp_path / "exported")
    auto_map = json.loads((exported / "config.json").read_text())["auto_map"]
    assert auto_map == {
        "AutoConfig": "configuration_rnnsearch.RNNsearchConfig",
        "AutoModel": "modeling_rnnsearch.RNNsearchModel",
        "AutoModelForSeq2SeqLM": "modeling_rnnsearch.RNNsearchForConditionalGeneration",
        "AutoTokenizer": [None, "translation_tokenizer.TranslationTokenizer"],
    }
    tokenizer = json.loads((exported / "tokenizer_config.json").read_text())
    assert tokenizer["auto_map"] == {"AutoTokenizer": [None, "translation_tokenizer.TranslationTokenizer"]}


def test_exported_code_names_its_origin_and_its_licence(checkpoint: Path, tmp_path: Path) -> None:
    exported = export_with_code(checkpoint, tmp_path / "exported")
    assert "Apache License" in (exported / "LICENSE-CODE").read_text()
    assert (exported / "NOTICE-CODE").read_text().startswith("hf_attention_zoo")
    sources = sorted(exported.glob("*.py"))
    assert len(sources) > 5
    for path in sources:
        first, second = path.read_text().splitlines()[:2]
        assert f".{path.stem} of hf_attention_zoo" in first
        assert "SPDX-License-Identifier: Apache-2.0" in second
        assert "from hf_attention_zoo" not in path.read_text()


def test_a_generated_card_mentions_the_code_and_a_written_one_is_kept(checkpoint: Path, tmp_path: Path) -> None:
    write_card(checkpoint)
    generated = (export_with_code(checkpoint, tmp_path / "one") / "README.md").read_text()
    assert "trust_remote_code=True" in generated
    assert '"rnnsearch-de-en"' in generated
    (checkpoint / "README.md").write_text("# By hand\n")
    assert (export_with_code(checkpoint, tmp_path / "two") / "README.md").read_text() == "# By hand\n"


def test_an_export_can_be_exported_again(checkpoint: Path, tmp_path: Path) -> None:
    once = export_with_code(checkpoint, tmp_path / "once")
    twice = export_with_code(once, tmp_path / "twice")
    assert {path.name: path.read_bytes() for path in twice.iterdir()} == {
        path.name: path.read_bytes() for path in once.iterdir()
    }


def test_export_refuses_a_folder_that_is_in_use(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept.txt").write_text("mine")
    with pytest.raises(ValueError, match="not an empty folder"):
        export_with_code(checkpoint, tmp_path / "full")
    with pytest.raises(ValueError, match="another folder"):
        export_with_code(checkpoint, checkpoint)
    assert (tmp_path / "full" / "kept.txt").read_text() == "mine"


def test_export_does_not_write_over_code_of_the_users_own(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "modeling_rnnsearch.py").write_text("print('mine')\n")
    with pytest.raises(ValueError, match=r"already holds modeling_rnnsearch\.py"):
        export_with_code(checkpoint, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Writes a package `hub_sample` from file names and texts and makes it importable."""

    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / "hub_sample" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for folder in path.relative_to(tmp_path).parents:
                if folder != Path("."):
                    (tmp_path / folder / "__init__.py").touch()

    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    for name in [name for name in sys.modules if name.split(".")[0] == "hub_sample"]:
        del sys.modules[name]


def test_imports_inside_functions_and_over_several_lines_are_followed(
    package: Callable[[dict[str, str]], None],
) -> None:
    package(
        {
            "top.py": (
                '"""Text with ü before the imports: byte and character positions differ."""\n'
                "import os, torch\n"
                "from hub_sample.deep.er.first import (\n    one,  # kept\n    two as zwei,\n)\n"
                "def late():\n    ü = 'ü'; text = 'hub_sample.deep.er.first'\n"
                "    from hub_sample.second import three\n    return three, text\n"
            ),
            "deep/er/first.py": "one = two = 1\n",
            "second.py": "from hub_sample.deep.er.first import one\nthree = one\n",
        }
    )
    flat = flatten_modules({"hub_sample.top"}, package="hub_sample")
    assert list(flat) == ["first", "second", "top"]
    assert "from .first import (\n    one,  # kept\n    two as zwei,\n)" in flat["top"]
    assert "    from .second import three\n" in flat["top"]
    assert "text = 'hub_sample.deep.er.first'" in flat["top"]
    assert "import os, torch\n" in flat["top"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from . import second", "relative import"),
        ("from .second import three", "relative import"),
        ("import hub_sample.second", "cannot be exported"),
        ("import hub_sample.second as second", "cannot be exported"),
        ("from hub_sample import second", "imports from a package"),
        ("from hub_sample.deep import first", "imports from a package"),
        ("from hub_sample.second import *", "Name what is imported"),
        ("from hub_sample.missing import three", "does not exist"),
        ("import importlib; importlib.import_module('hub_sample.second')", "by a string"),
        ("__import__('hub_sample.second')", "by a string"),
        ("def late():\n    import hub_sample.second", "line 2"),
        ("from hub_sample.other.second import three; from hub_sample.second import three", "second.py"),
    ],
)
def test_imports_that_cannot_be_flattened_raise_with_module_and_line(
    package: Callable[[dict[str, str]], None], line: str, message: str
) -> None:
    package({"top.py": line + "\n", "second.py": "three = 3\n", "other/second.py": "three = 3\n", "deep/first.py": ""})
    with pytest.raises(ValueError, match=message):
        flatten_modules({"hub_sample.top"}, package="hub_sample")


def test_only_the_module_name_changes_in_an_import() -> None:
    text = "x = 'é'; from a.b.c import c, d  # from a.b.c\n"
    assert rewrite_imports(text, {"a.b.c": "c"}) == "x = 'é'; from .c import c, d  # from a.b.c\n"
