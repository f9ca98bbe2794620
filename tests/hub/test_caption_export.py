"""A captioner that carries its code: model, pictures and words load where the plugin is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import captioners

import hf_attention_zoo


def test_an_exported_captioner_captions_without_the_plugin(tmp_path: Path) -> None:
    folder = captioners.save_captioner(tmp_path / "model")
    hf_attention_zoo.export_with_code(folder, tmp_path / "out")
    model, processor = captioners.make_captioner()
    (picture,) = captioners.pictures(1)
    picture.save(tmp_path / "a.png")
    pixels = processor(images=picture)["pixel_values"]
    wanted = processor.batch_decode(model.generate(pixel_values=pixels, num_beams=2, max_new_tokens=5), True)
    script = f"""
import sys
sys.modules["hf_attention_zoo"] = None  # as if it were not installed
from transformers import AutoModelForImageTextToText, AutoProcessor
model = AutoModelForImageTextToText.from_pretrained({str(tmp_path / "out")!r}, trust_remote_code=True)
processor = AutoProcessor.from_pretrained({str(tmp_path / "out")!r}, trust_remote_code=True)
pixels = processor(images={str(tmp_path / "a.png")!r})["pixel_values"]
print(processor.batch_decode(model.generate(pixel_values=pixels, num_beams=2, max_new_tokens=5), True))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == str(wanted)
