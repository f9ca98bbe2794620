"""The README is true: its tables are those of the registry and the metrics files, and its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_generated_parts_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "update_readme.py"), "--check"], capture_output=True, text=True
    )
    assert result.returncode == 0, "README.md is stale: run python scripts/update_readme.py\n" + result.stderr


def test_python_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model_cards").symlink_to(ROOT / "model_cards", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    examples = blocks("python")
    assert len(examples) >= 4
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert (tmp_path / "alignment.png").stat().st_size > 1000
    assert (tmp_path / "alignment.html").is_file()


@pytest.mark.parametrize("line", [line for block in blocks("bash") for line in block.splitlines() if line])
def test_every_command_of_the_readme_exists(line: str) -> None:
    from hf_attention_zoo.cli.command import COMMANDS

    words = re.findall(r"attention-zoo (\S+)", line)
    scripts = re.findall(r"scripts/\S+\.py", line)
    assert words or scripts or "pytest" in line
    assert all(word in COMMANDS for word in words)
    assert all((ROOT / script).is_file() for script in scripts)
