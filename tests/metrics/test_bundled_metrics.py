"""The `evaluate` modules load from the package without network and agree with the functions behind them."""

from pathlib import Path

import pytest

from hf_attention_zoo.metrics.bundled_metrics import list_metrics, load_metric
from hf_attention_zoo.metrics.scoring import corpus_bleu, corpus_chrf

HYPOTHESES, REFERENCES = ["the cat sat on the mat"], ["the cat sat on a mat"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`evaluate` keeps tables on disk while it collects; they go to this test's folder."""
    monkeypatch.setattr("evaluate.config.HF_METRICS_CACHE", str(tmp_path))


def test_both_metrics_are_listed() -> None:
    assert list_metrics() == ["zoo_bleu", "zoo_chrf"]


def test_bleu_comes_with_signature() -> None:
    metric = load_metric("zoo_bleu")
    result = metric.compute(predictions=HYPOTHESES, references=REFERENCES, language="zh")
    expected = corpus_bleu(HYPOTHESES, REFERENCES, language="zh")
    assert (result["score"], result["signature"]) == (expected.value, expected.signature)
    assert result["brevity_penalty"] == 1.0
    assert "detokenised" in metric.description


def test_chrf_comes_with_signature_and_collects_batches() -> None:
    metric = load_metric("zoo_chrf")
    for hypothesis, reference in zip(HYPOTHESES * 2, REFERENCES * 2, strict=True):
        metric.add_batch(predictions=[hypothesis], references=[reference])
    result = metric.compute(word_order=2)
    expected = corpus_chrf(HYPOTHESES * 2, REFERENCES * 2, word_order=2)
    assert (result["score"], result["signature"]) == (expected.value, expected.signature)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="no metric 'bleurt' in this package; it has zoo_bleu, zoo_chrf"):
        load_metric("bleurt")
