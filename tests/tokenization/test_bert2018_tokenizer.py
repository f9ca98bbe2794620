"""BERT's word pieces: the authors' own examples, Korean, segments, released vocabularies, saving."""

import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, BertTokenizer

from hf_attention_zoo import BERT2018Tokenizer

TEXTS = [
    "한국어 문장은 흰 개가 달린다.",
    "A white dog runs (fast), it's state-of-the-art.",
    "Café für 3.50 €, ÀÉÎ unaffable unwanted running",
    "흰 개와 고양이가 있다!",
] * 4
RELEASED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","]
HANGUL = ["한", "##국", "##어", "ᄒ", "##ᅡ", "##ᆫ", "##ᄀ", "##ᅮ", "##ᆨ", "##ᄋ", "##ᅥ"]


@pytest.fixture(scope="module")
def uncased() -> BERT2018Tokenizer:
    return BERT2018Tokenizer.train(TEXTS, vocab_size=400)


def vocabulary(folder: Path, pieces: list[str]) -> Path:
    path = folder / "vocab.txt"
    path.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return path


def test_the_authors_examples_give_the_authors_pieces(tmp_path: Path) -> None:
    tok = BERT2018Tokenizer.from_vocabulary(vocabulary(tmp_path, RELEASED), lowercase=True)
    assert tok.tokenize("UNwantéd,running") == ["un", "##want", "##ed", ",", "runn", "##ing"]
    assert tok.tokenize("unwanted running") == ["un", "##want", "##ed", "runn", "##ing"]
    assert tok.tokenize("unwantedX running") == ["[UNK]", "runn", "##ing"]
    assert tok.tokenize("wa" * 51) == ["[UNK]"] and tok.tokenize("") == []
    words = [
        word
        for word, _ in tok._tokenizer.pre_tokenizer.pre_tokenize_str(
            tok._tokenizer.normalizer.normalize_str("ah博推zz  \tHeLLo!how\u0000 \u00ad Are\nyoU?")
        )
    ]
    assert words == ["ah", "博", "推", "zz", "hello", "!", "how", "are", "you", "?"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_released_vocabulary_gives_the_ids_of_transformers_tokenizer(lowercase: bool, tmp_path: Path) -> None:
    path = vocabulary(tmp_path, RELEASED + HANGUL)
    ours = BERT2018Tokenizer.from_vocabulary(path, lowercase=lowercase)
    theirs = BertTokenizer(str(path), do_lower_case=lowercase)
    for texts in (
        ("UNwantéd,running 한국어", None),
        ("want, runn", "한국어 wa"),
        ("", None),
        ("zz\u200b[MASK] un", ""),
    ):
        assert ours(*texts) == theirs(*texts)


def test_korean_survives_with_and_without_case(uncased: BERT2018Tokenizer) -> None:
    cased = BERT2018Tokenizer.train(TEXTS, vocab_size=400, lowercase=False)
    for tok in (uncased, cased):
        for text in ("흰 개와 고양이가 있다!", unicodedata.normalize("NFD", "한국어 문장은")):
            ids = tok(text)["input_ids"]
            assert tok.unk_token_id not in ids
            back = tok.decode(ids, skip_special_tokens=True)
            assert unicodedata.is_normalized("NFC", back)
            assert back.replace(" !", "!") == unicodedata.normalize("NFC", text)


def test_without_composing_again_korean_falls_into_letters_that_a_vocabulary_of_syllables_does_not_know(
    tmp_path: Path,
) -> None:
    path = vocabulary(tmp_path, RELEASED + HANGUL[:3])
    assert BERT2018Tokenizer.from_vocabulary(path, lowercase=True).tokenize("한국어") == ["[UNK]"]
    for choice in ({"recompose": True}, {"strip_accents": False}):
        tok = BERT2018Tokenizer.from_vocabulary(path, lowercase=True, **choice)
        assert tok.tokenize("한국어") == ["한", "##국", "##어"]
    decomposed = BERT2018Tokenizer.train(TEXTS, vocab_size=400, recompose=False)
    assert "".join(decomposed.tokenize("한")).replace("##", "") == unicodedata.normalize("NFD", "한")


def test_accents_are_taken_off_or_kept_as_asked(uncased: BERT2018Tokenizer) -> None:
    assert uncased("CAFÉ für") == uncased("cafe fur")
    kept = BERT2018Tokenizer.train(TEXTS, vocab_size=400, strip_accents=False)
    assert kept("Café") != kept("Cafe") and kept("CAFÉ") == kept("café")


def test_segments_mark_the_second_text_and_its_end(uncased: BERT2018Tokenizer) -> None:
    first, both = uncased("a dog"), uncased("a dog", "it runs")
    assert both["input_ids"][0] == uncased.cls_token_id and both["input_ids"][-1] == uncased.sep_token_id
    split = len(first["input_ids"])
    assert both["input_ids"][:split] == first["input_ids"]
    assert both["token_type_ids"] == [0] * split + [1] * (len(both["input_ids"]) - split)
    padded = uncased(["a dog", "runs (fast), it's"], ["it", "a"], padding=True)
    assert all(
        t == 0
        for row, mask in zip(padded["token_type_ids"], padded["attention_mask"], strict=True)
        for t, m in zip(row, mask, strict=True)
        if not m
    )
    assert uncased("")["input_ids"] == [uncased.cls_token_id, uncased.sep_token_id]


def test_offsets_point_at_the_characters_of_the_text(uncased: BERT2018Tokenizer) -> None:
    text = "Café für, 흰 개"
    made = uncased(text, return_offsets_mapping=True)
    assert "".join(text[start:end] for start, end in made["offset_mapping"]) == text.replace(" ", "")


def test_offsets_count_the_text_as_it_was_given(uncased: BERT2018Tokenizer) -> None:
    texts = [unicodedata.normalize("NFD", text) for text in ("한국어 문장은", "Café für, 흰 개", "a e\u0302\u0323x")]
    plain = [unicodedata.normalize("NFC", text) for text in texts]

    def words(text: str, offsets: Any) -> str:
        return "".join(text[start:end] for start, end in offsets)

    def whole(text: str) -> str:
        return text.replace(" ", "")

    for text, alone in zip(texts, uncased(texts, return_offsets_mapping=True)["offset_mapping"], strict=True):
        assert words(text, alone) == whole(text)
        assert uncased(text, return_offsets_mapping=True)["offset_mapping"] == alone
        (row,) = uncased(text, return_offsets_mapping=True, return_tensors="pt")["offset_mapping"].tolist()
        assert [tuple(span) for span in row] == alone
    paired = uncased(texts, [plain[0], texts[0], texts[1]], padding=True, return_offsets_mapping=True)
    for number, (first, second) in enumerate(zip(texts, (plain[0], texts[0], texts[1]), strict=True)):
        sides = paired.encodings[number].sequence_ids
        spans = paired["offset_mapping"][number]
        for side, text in enumerate((first, second)):
            mine = [span for span, one in zip(spans, sides, strict=True) if one == side]
            assert words(text, mine) == whole(text)
    parts = uncased(texts, truncation=True, max_length=4, return_overflowing_tokens=True, return_offsets_mapping=True)
    for number, text in enumerate(texts):
        mine = [
            words(text, spans)
            for spans, sample in zip(parts["offset_mapping"], parts["overflow_to_sample_mapping"], strict=True)
            if sample == number
        ]
        assert "".join(mine) == whole(text) and len(parts["input_ids"]) > len(texts)
    split = [text.split() for text in texts]
    made = uncased(split, is_split_into_words=True, return_offsets_mapping=True)
    for number, row in enumerate(split):
        places = zip(made["offset_mapping"][number], made.word_ids(number), strict=True)
        assert "".join(row[word][slice(*span)] for span, word in places if word is not None) == "".join(row)


def test_saved_tokenizers_come_back_in_a_fresh_process(uncased: BERT2018Tokenizer, tmp_path: Path) -> None:
    uncased.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is BERT2018Tokenizer and (again.lowercase, again.strip_accents, again.recompose) == (True,) * 3
    script = f"""
import hf_attention_zoo
from transformers import AutoTokenizer
tok = AutoTokenizer.from_pretrained({str(tmp_path)!r})
print(type(tok).__name__, tok("Café 한국어", "dog")["input_ids"], tok.mask_token_id, tok("")["input_ids"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = ("BERT2018Tokenizer", uncased("Café 한국어", "dog")["input_ids"], uncased.mask_token_id, [2, 3])
    assert done.stdout.split("\n")[0] == " ".join(map(str, wanted))


def test_the_same_texts_give_the_same_ids_in_every_process(uncased: BERT2018Tokenizer) -> None:
    script = f"""
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer
from hf_attention_zoo.tokenization.gpt2018_tokenizer import GPT2018Tokenizer
print(sorted(BERT2018Tokenizer.train({TEXTS!r}, vocab_size=400).get_vocab().items()))
print(GPT2018Tokenizer.train({TEXTS!r}, vocab_size=200, text_packages=False)._tokenizer.to_str())
"""
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout for _ in range(2)]
    assert runs[0] == runs[1] and runs[0].startswith(str(sorted(uncased.get_vocab().items())))


def test_only_the_most_frequent_characters_are_kept_if_asked() -> None:
    tok = BERT2018Tokenizer.train(TEXTS, vocab_size=200, alphabet_size=20)
    letters = {piece.removeprefix("##") for piece in tok.get_vocab() if len(piece.removeprefix("##")) == 1}
    assert len(letters) == 20 and tok.tokenize("€") == ["[UNK]"]


def test_wrong_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="characters of the training text"):
        BERT2018Tokenizer.train(TEXTS, vocab_size=20)
    with pytest.raises(ValueError, match="hold no text"):
        BERT2018Tokenizer.train([" "], vocab_size=100)
    with pytest.raises(ValueError, match="no such file"):
        BERT2018Tokenizer.from_vocabulary(tmp_path / "none.txt", lowercase=True)
    with pytest.raises(ValueError, match=r"has no \[MASK\]"):
        BERT2018Tokenizer.from_vocabulary(vocabulary(tmp_path, RELEASED[:4]), lowercase=True)
