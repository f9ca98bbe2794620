"""One sentence through several translators, and its page."""

import json
import re
from pathlib import Path

import pytest

from hf_attention_zoo.alignment.results.lineage import Lineage, follow, published_folders
from hf_attention_zoo.cli.command import main

CARDS = Path(__file__).parents[2] / "model_cards"
TEXT = "Klicken Sie auf OK."


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    return follow(TEXT, sorted(CARDS.glob("*-de-en"), reverse=True))


def test_models_come_in_the_order_of_their_papers_each_with_what_it_knew(lineage: Lineage) -> None:
    names = [stop.row.model_type for stop in lineage.stops]
    assert names == ["rnn_encoder_decoder", "seq2seq_lstm", "rnnsearch", "luong", "transformer2017"]
    for stop in lineage.stops:
        attends = stop.row.aligner is not None
        assert (stop.vector is None) == attends and bool(stop.layers) == attends
        for layer in stop.layers:
            columns = {"cross": stop.source_tokens, "encoder": stop.source_tokens}.get(layer.kind, layer.source_tokens)
            assert layer.source_tokens == columns
            assert layer.weights.shape[1:] == (len(layer.target_tokens), len(layer.source_tokens))
    kinds = {(layer.kind, layer.layer) for layer in lineage.stops[-1].layers}
    assert {kind for kind, _ in kinds} == {"cross", "encoder", "decoder"}


def test_the_page_has_every_word_and_weight(lineage: Lineage) -> None:
    page = lineage.to_html(language="ko")
    data = json.loads(re.search(r"id='zoo-data'>(.*?)</script>", page)[1])
    assert data["language"] == "ko" and len(data["stops"]) == 5
    for made, stop in zip(data["stops"], lineage.stops, strict=True):
        assert (made["said"], made["target"]) == (stop.translation, list(stop.target_tokens))
        assert len(made["maps"]) == sum(len(layer.heads) for layer in stop.layers)
        assert set(made["about"]) == {"en", "ko"}


def test_the_command_takes_the_folders_of_the_texts_language(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {folder.name.rpartition("-")[0] for folder in published_folders("단추", CARDS)} >= {"rnnsearch-ko"}
    monkeypatch.chdir(tmp_path)
    assert main(["lineage", TEXT]) == 2
    assert "name the folders of translators" in capsys.readouterr().err
    assert main(["lineage", TEXT, str(CARDS / "rnnsearch-de-en"), "--output", "page.txt"]) == 2
    assert "ends in .html" in capsys.readouterr().err
    assert main(["lineage", TEXT, str(CARDS / "han-debian-section")]) == 2
    assert "the sentence passes translators alone" in capsys.readouterr().err
    assert main(["lineage", TEXT, str(CARDS / "rnnsearch-de-en"), "--output", "page.html"]) == 0
    assert "2015 RNNsearch: Click OK." in capsys.readouterr().out and (tmp_path / "page.html").stat().st_size > 10_000
