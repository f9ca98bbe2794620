"""A process that is killed outright: the rerun computes what the undisturbed run computed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hf_attention_zoo.training.checkpoints import last_whole_checkpoint

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.py"


def log_of(folder: Path) -> list[tuple[int, float]]:
    """(step, loss) of the newest checkpoint's log."""
    checkpoint = last_whole_checkpoint(folder)
    assert checkpoint is not None
    history = json.loads((checkpoint / "trainer_state.json").read_text())["log_history"]
    return [(entry["step"], entry["loss"]) for entry in history if "loss" in entry]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["rnnsearch", "luong", "transformer2017"])
def test_kill_minus_nine_and_rerun_give_the_losses_of_an_undisturbed_run(
    tiny_run: Callable[..., list[str]], tmp_path: Path, architecture: str
) -> None:
    flags = ("--max_tokens_per_batch", "60", "--num_train_epochs", "20", "--config.dropout", "0.2")
    saves = ("--save_strategy", "steps", "--save_steps", "11", "--save_total_limit", "2")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(folder: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(SCRIPT), *tiny_run(*flags, *saves, folder=folder, architecture=architecture)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert start("whole").wait(timeout=600) == 0

    process = start("killed")
    limit = time.monotonic() + 600
    while last_whole_checkpoint(tmp_path / "killed") is None and time.monotonic() < limit:
        assert process.poll() is None, "training ended before it could be killed"
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    assert not (tmp_path / "killed" / "training.json").exists()
    killed_at = log_of(tmp_path / "killed")[-1][0]

    assert start("killed").wait(timeout=600) == 0
    undisturbed, continued = log_of(tmp_path / "whole"), log_of(tmp_path / "killed")
    assert killed_at < undisturbed[-1][0]
    assert continued == undisturbed
