"""Corpus scores: equal to sacreBLEU's own, tokenised by language, with a named fallback."""

import pytest
import sacrebleu

from hf_attention_zoo.metrics import scoring
from hf_attention_zoo.metrics.scoring import (
    bleu_by_source_length,
    bleu_tokenizer,
    copy_baseline,
    corpus_bleu,
    corpus_chrf,
    length_bucket,
)

HYPOTHESES = ["the cat sat on the mat", "there is a dog , in the garden", "hello"]
REFERENCES = ["the cat sat on a mat", "there is one dog in the garden", "hello world"]


def test_bleu_and_chrf_are_sacrebleus_own() -> None:
    bleu, chrf = corpus_bleu(HYPOTHESES, REFERENCES), corpus_chrf(HYPOTHESES, REFERENCES)
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
    assert bleu.value == expected.score
    assert bleu.brevity_penalty == expected.bp
    assert chrf.value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert corpus_chrf(HYPOTHESES, REFERENCES, word_order=2).value == pytest.approx(
        sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    )


def test_the_signature_says_how_the_score_was_made() -> None:
    assert "tok:13a" in corpus_bleu(HYPOTHESES, REFERENCES).signature
    assert f"version:{sacrebleu.__version__}" in corpus_bleu(HYPOTHESES, REFERENCES, language="de").signature
    assert "tok:intl" in corpus_bleu(HYPOTHESES, REFERENCES, tokenize="intl").signature
    assert "nc:6" in corpus_chrf(HYPOTHESES, REFERENCES).signature


@pytest.mark.parametrize("language", ["zh", "zh-CN", "zh_Hans", "ZH"])
def test_chinese_is_split_into_characters(language: str) -> None:
    score = corpus_bleu(["今天天气很好啊"], ["今天天气很好吧"], language=language)
    assert "tok:zh" in score.signature
    assert score.value > 50


@pytest.mark.parametrize(("language", "tokenizer"), [("ko", "ko-mecab"), ("ja", "ja-mecab"), ("ko-KR", "ko-mecab")])
def test_korean_and_japanese_use_mecab_or_name_the_fallback(
    language: str, tokenizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "_works", lambda name: True)
    assert bleu_tokenizer(language) == (tokenizer, None)
    monkeypatch.setattr(scoring, "_works", lambda name: name != tokenizer)
    chosen, note = bleu_tokenizer(language)
    assert chosen == "char"
    assert tokenizer in note and "pip install" in note


def test_a_fallback_shows_in_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "_works", lambda name: False)
    score = corpus_bleu(["나는 학교에 간다"], ["나는 학교에 간다"], language="ko")
    assert "tok:char" in score.signature
    assert "not comparable" in score.note
    assert score.as_dict()["note"] == score.note


def test_korean_is_scored_whatever_is_installed() -> None:
    score = corpus_bleu(["나는 학교에 간다 오늘"], ["나는 학교에 간다 오늘"], language="ko")
    assert score.value == pytest.approx(100)


@pytest.mark.parametrize(
    ("predictions", "references", "message"),
    [
        (["a"], ["a", "b"], "1 predictions and 2 references"),
        ([], [], "nothing to score"),
        ("a", ["a"], "list of strings"),
        ([None], ["a"], "list of strings"),
    ],
)
def test_what_cannot_be_scored_is_refused(predictions: list[str], references: list[str], message: str) -> None:
    for score in (corpus_bleu, corpus_chrf):
        with pytest.raises(ValueError, match=message):
            score(predictions, references)


def test_an_unknown_or_missing_tokenizer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no tokeniser 'mosses'"):
        corpus_bleu(["a"], ["a"], tokenize="mosses")
    monkeypatch.setattr(scoring, "_works", lambda name: False)
    with pytest.raises(ValueError, match="needs more packages"):
        corpus_bleu(["a"], ["a"], tokenize="ko-mecab")


def test_copying_the_source_is_scored_like_a_translation() -> None:
    sources = ["LibreOffice Writer 7", "das haus"]
    references = ["LibreOffice Writer 7", "the house"]
    baseline = copy_baseline(sources, references)
    assert baseline["bleu"] == corpus_bleu(sources, references).value
    assert baseline["chrf"] == corpus_chrf(sources, references).value


@pytest.mark.parametrize(
    ("words", "label"), [(0, "1-5"), (1, "1-5"), (5, "1-5"), (6, "6-10"), (30, "21-30"), (50, "41-50"), (51, "51+")]
)
def test_length_buckets_have_no_gaps(words: int, label: str) -> None:
    assert length_bucket(words) == label


def test_bleu_by_length_counts_every_sentence_once_in_order_of_length() -> None:
    sources = ["a " * 12, "b", "c " * 7, "d d"]
    rows = bleu_by_source_length(sources, sources, sources)
    assert [(row["words"], row["sentences"]) for row in rows] == [("1-5", 2), ("6-10", 1), ("11-15", 1)]
    assert rows[2]["bleu"] == pytest.approx(100)
