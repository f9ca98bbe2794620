"""A folder that was exported with its code before the package's modules lay as they do now.

`earlier/rnnsearch_with_code.zip` is a tiny RNNsearch with random weights, written by `attention-zoo export
--with_code` of version 0.1.0 with the modules in their first rooms.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

EARLIER = Path(__file__).parent / "earlier" / "rnnsearch_with_code.zip"

RUN = """
import json, sys
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

def use(folder, **trust):
    tokenizer = AutoTokenizer.from_pretrained(folder, **trust)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, **trust).eval()
    batch = tokenizer(["das haus ist gross", "ein haus"], padding=True, return_tensors="pt")
    labels = tokenizer(text_target=["the house is big", "a house"], padding=True, return_tensors="pt")["input_ids"]
    labels = labels.masked_fill(labels == tokenizer.pad_token_id, -100)
    with torch.no_grad():
        out = model(**batch, labels=labels)
    return {
        "module": type(model).__module__.split(".")[0],
        "logits": out.logits.tolist(),
        "loss": out.loss.item(),
        "beams": model.generate(**batch, num_beams=3, max_new_tokens=6).tolist(),
    }
"""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier") / "rnnsearch"
    with zipfile.ZipFile(EARLIER) as archive:
        archive.extractall(folder)
    return folder


def test_its_own_code_and_the_package_compute_the_same(earlier: Path, run_python: Callable[..., str]) -> None:
    blocked = 'import sys; sys.modules["hf_attention_zoo"] = None  # any import of the package raises from here on\n'
    own = json.loads(
        run_python(blocked + RUN + "print(json.dumps(use(sys.argv[1], trust_remote_code=True)))", earlier)
    )
    names: dict[str, Callable[..., dict]] = {}
    exec("import hf_attention_zoo\n" + RUN, names)  # the lines of above, in this process
    now = names["use"](earlier)
    assert own["module"] == "transformers_modules"
    assert now["module"] == "hf_attention_zoo"
    torch.testing.assert_close(torch.tensor(now["logits"]), torch.tensor(own["logits"]))
    assert now["loss"] == pytest.approx(own["loss"], abs=1e-5)
    assert now["beams"] == own["beams"]
