"""The live demo: what it shows, what it refuses, and what is missing without its extra."""

import sys
from pathlib import Path

import pytest

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.cli.open_demo import build_demo, follow_text, look, said_and_shown

CARDS = Path(__file__).parents[2] / "model_cards"


def test_without_gradio_one_line_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    assert main(["demo", str(CARDS / "rnnsearch-de-en")]) == 2
    assert "pip install 'hf_attention_zoo[demo]'" in capsys.readouterr().err


def test_pages_stand_in_frames_and_what_is_wrong_is_said() -> None:
    shown = said_and_shown(follow_text)("Hund", [str(CARDS / "rnnsearch-de-en")])
    assert shown.startswith("<iframe sandbox='allow-scripts'") and "</script>" not in shown
    seen = said_and_shown(look)
    assert seen(str(CARDS / "self-attentive-vader"), "a fine film", "", None).startswith("<iframe")
    assert "there is no text" in seen(str(CARDS / "self-attentive-vader"), " ", "", None)
    assert "give one" in seen(str(CARDS / "show-attend-tell-emoji-en"), "", "", None)
    lineage = said_and_shown(follow_text)
    assert "no folder is given" in lineage("Hund", [])
    assert "there is no text" in lineage(" ", [str(CARDS / "rnnsearch-de-en")])
    assert "at most 200 tokens" in lineage("Hund " * 200, [str(CARDS / "rnnsearch-de-en")])


@pytest.mark.slow
def test_the_app_is_built_of_the_folders_that_fit() -> None:
    gradio = pytest.importorskip("gradio")
    folders = [str(CARDS / name) for name in ("luong-ko-en", "rnnsearch-de-en", "elmo-small-debian")]
    app = build_demo(folders)
    (ticked,) = (one.value for one in app.blocks.values() if isinstance(one, gradio.CheckboxGroup))
    assert ticked == folders[1:2]  # the sentence at the start is German
    assert isinstance(app, gradio.Blocks)
    labels = {component.label for component in app.blocks.values() if getattr(component, "label", None)}
    assert {"One sentence through the lineage", "Where a model looks", "Translators", "Model"} <= labels
