"""Captions as ids and back: both kinds, Korean, punctuation, saving."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from hf_attention_zoo import CaptionTokenizer

TEXTS = ["flag: Norway", "여자 배우: 갈색 피부", "don't panic (yet)!"] * 3


@pytest.mark.parametrize("kind", ["word", "subword"])
def test_captions_survive_ids_and_saving(kind: str, tmp_path: Path) -> None:
    tokenizer = CaptionTokenizer.train(TEXTS, kind=kind, vocab_size=200, language="ko")
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "show_attend_tell"}')
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is CaptionTokenizer and (again.language, again.kind) == ("ko", kind)
    for text in [*TEXTS, "여자 배우: 갈색 피부", ""]:
        ids = tokenizer(text)["input_ids"]
        assert ids[-1] == tokenizer.eos_token_id and again(text)["input_ids"] == ids
        assert again.decode(ids, skip_special_tokens=True) in (text, "여자 배우: 갈색 피부")


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="kind='letter' is not known"):
        CaptionTokenizer.train(TEXTS, kind="letter")
    with pytest.raises(ValueError, match="came as str"):
        CaptionTokenizer.train("one text")
