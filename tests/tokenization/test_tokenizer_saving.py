import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

import hf_attention_zoo  # noqa: F401  (registers the tokenizer)
from hf_attention_zoo.tokenization.translation_tokenizer import TARGET_TOKENIZER_FILE, TranslationTokenizer

SOURCE = ["흰 개가 달린다.", "개와 고양이 (동물)", "서식 파일을 열어라!"] * 3
TARGET = ["A white dog runs.", "Dog and cat (animals)", "Open “the” template!"] * 3

CHECK_IN_ANOTHER_PROCESS = """
import json, sys
from transformers import AutoTokenizer
import hf_attention_zoo
folder, source, target = sys.argv[1:4]
tok = AutoTokenizer.from_pretrained(folder)
encoded = tok(source, text_target=target)
print(json.dumps({
    "class": type(tok).__name__, "ids": encoded["input_ids"], "labels": encoded["labels"],
    "source": tok.decode_source(encoded["input_ids"]), "target": tok.decode(encoded["labels"]),
    "empty": tok("")["input_ids"], "sizes": [len(tok), tok.target_vocab_size],
    "special": [tok.pad_token_id, tok.unk_token_id, tok.bos_token_id, tok.eos_token_id],
    "facts": [tok.kind, tok.lowercase, tok.source_lang, tok.target_lang, tok.shared_vocabulary, tok.padding_side],
}))
"""


def build(kind: str = "subword", shared: bool = False, **options) -> TranslationTokenizer:
    return TranslationTokenizer.train(SOURCE, TARGET, kind=kind, vocab_size=200, shared=shared, **options)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("kind", "shared"), [("subword", False), ("word", True)])
def test_a_fresh_process_loads_the_same_tokenizer(tmp_path, kind, shared):
    tok = build(kind, shared, lowercase=True, source_lang="ko", target_lang="en")
    tok.save_pretrained(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", CHECK_IN_ANOTHER_PROCESS, str(tmp_path), SOURCE[1], TARGET[1]],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    encoded = tok(SOURCE[1], text_target=TARGET[1])
    assert seen == {
        "class": "TranslationTokenizer",
        "ids": encoded["input_ids"],
        "labels": encoded["labels"],
        "source": f"{SOURCE[1]}</s>" if kind == "subword" else f"{SOURCE[1]} </s>",
        "target": f"{TARGET[1].lower()}</s>" if kind == "subword" else f"{TARGET[1].lower()} </s>",
        "empty": [3],
        "sizes": [len(tok), tok.target_vocab_size],
        "special": [0, 1, 2, 3],
        "facts": [kind, True, "ko", "en", shared, "right"],
    }


@pytest.mark.parametrize("kind", ["subword", "word"])
@pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])
def test_saving_what_was_loaded_writes_the_same_files(tmp_path, kind, shared):
    tok = build(kind, shared)
    tok(SOURCE, text_target=TARGET, padding=True, truncation=True, max_length=3)
    written = tok.save_pretrained(tmp_path / "first")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "first")
    loaded(SOURCE, padding="max_length", truncation=True, max_length=5)
    loaded.save_pretrained(tmp_path / "second")
    AutoTokenizer.from_pretrained(tmp_path / "second").save_pretrained(tmp_path / "second")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    assert contents(tmp_path / "first").keys() == {Path(name).name for name in written}
    assert loaded.get_vocab() == tok.get_vocab() and loaded.get_target_vocab() == tok.get_target_vocab()


def test_added_tokens_survive_saving_with_their_ids_on_each_side(tmp_path):
    tok = build()
    tok.add_tokens(["<2de>"])
    tok.add_special_tokens({"extra_special_tokens": ["<sep>"]})
    tok.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.get_vocab() == tok.get_vocab()
    assert loaded.get_target_vocab() == tok.get_target_vocab()
    assert loaded(text_target="<2de> dog<sep>")["input_ids"] == tok(text_target="<2de> dog<sep>")["input_ids"]
    assert loaded.extra_special_tokens == ["<sep>"]


def test_a_shared_tokenizer_removes_the_target_file_of_an_earlier_one(tmp_path):
    build(shared=False).save_pretrained(tmp_path)
    assert (tmp_path / TARGET_TOKENIZER_FILE).is_file()
    shared = build(shared=True)
    shared.save_pretrained(tmp_path)
    assert not (tmp_path / TARGET_TOKENIZER_FILE).exists()
    assert AutoTokenizer.from_pretrained(tmp_path).get_target_vocab() == shared.get_vocab()


def test_a_missing_target_vocabulary_is_named_in_the_error(tmp_path):
    build(shared=False).save_pretrained(tmp_path)
    (tmp_path / TARGET_TOKENIZER_FILE).unlink()
    with pytest.raises(ValueError, match=TARGET_TOKENIZER_FILE):
        AutoTokenizer.from_pretrained(tmp_path)


def test_options_given_at_loading_win_over_the_saved_ones(tmp_path):
    build().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, padding_side="left", model_max_length=7)
    assert (loaded.padding_side, loaded.model_max_length) == ("left", 7)
    assert len(loaded(SOURCE[0], truncation=True)["input_ids"]) <= 7


def test_no_public_name_hides_one_of_transformers():
    import transformers

    assert not hasattr(transformers, "TranslationTokenizer")
