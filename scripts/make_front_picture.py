"""Draw the picture of the front page: a held-out sentence that a published folder translates right, and its alignment.

    python scripts/make_front_picture.py [docs/pictures/front.png]

The sentence is one of `translation_ko_en`'s test split; the script ends with status 1 if the translation is not its
reference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

import hf_attention_zoo

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "model_cards" / "rnnsearch-ko-en"
SENTENCE = "숫자 식의 제곱근을 계산합니다."


def main(path: str | Path = ROOT / "docs" / "pictures" / "front.png") -> int:
    test = hf_attention_zoo.load_data("translation_ko_en", source_lang="ko", target_lang="en", splits=["test"])["test"]
    references = dict(zip(test["source"], test["target"], strict=True))
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(FOLDER), AutoTokenizer.from_pretrained(FOLDER)
    (alignment,) = hf_attention_zoo.align(model, tokenizer, [SENTENCE], num_beams=5)
    if alignment.target_text != references[SENTENCE]:
        print(f"{alignment.target_text!r} is not the reference, {references[SENTENCE]!r}", file=sys.stderr)
        return 1
    alignment.plot(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
