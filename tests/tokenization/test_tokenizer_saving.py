import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, TokenizersBackend

import hf_attention_zoo  # noqa: F401  (registers the tokenizer)
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer
from hf_attention_zoo.tokenization.hierarchical_tokenizer import HierarchicalTokenizer
from hf_attention_zoo.tokenization.own_backend import GUARDED_VERSION, PLAIN_VERSION, OwnBackend
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


PUBLISHED = sorted(path.parent for path in (Path(__file__).parents[2] / "model_cards").glob("*/tokenizer.json"))

# What a tokenizer gives for texts in which plain and own reading part ways: several sentences, letters in parts, case,
# unusual white space, marks, special symbols, nothing at all; then for a pair and for a target, and back to text.
READ_ALL = r"""
def read_all(folder):
    from transformers import AutoTokenizer

    tok = AutoTokenizer.from_pretrained(folder)
    texts = [
        "Two sentences. The SECOND, one!",
        "Fu\u0308\u00dfe \t \u1112\u1161\u11ab 123,456\nline",
        "\ud55c\uad6d\uc5b4\ub2e4. \ub458\uc9f8!",
        "don't stop\u2026 \ufb01ne \u00bd\ufeff I\u0307 \u212b",
        "a <pad> </s> [CLS] <unk>",
        "",
    ]
    read = [tok(text)["input_ids"] for text in texts]
    read += [tok(texts)["attention_mask"], tok(text_target=texts[0])["input_ids"]]
    try:
        read.append(tok(texts[0], texts[2])["input_ids"])
    except ValueError as error:  # those that read no pairs
        read.append(str(error))
    return [read, [tok.decode(ids) for ids in read[:4]]]
"""
WITHOUT_THE_PACKAGE = (
    READ_ALL
    + """
import json, sys
sys.modules["hf_attention_zoo"] = None  # any import of the package raises from here on
found = {}
for folder in sys.argv[1:]:
    try:
        found[folder] = read_all(folder)
    except Exception as error:
        found[folder] = str(error)
print(json.dumps(found))
"""
)


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


def test_without_the_package_a_published_folder_gives_the_same_ids_or_names_it():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_PACKAGE, *map(str, PUBLISHED)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    names = {}
    exec(READ_ALL, names)
    refused = {folder for folder, read in found.items() if isinstance(read, str)}
    assert all("pip install hf_attention_zoo, then import hf_attention_zoo" in found[folder] for folder in refused)
    assert len(refused) > 10 and len(found) - len(refused) > 3
    for folder in found.keys() - refused:
        assert found[folder] == names["read_all"](folder), folder
    assert refused == {str(f) for f in PUBLISHED if GUARDED_VERSION in (f / "tokenizer.json").read_text("utf-8")}


@pytest.mark.parametrize("recompose", [True, False])
def test_a_tokenizer_that_needs_this_package_is_refused_by_the_plain_class(tmp_path, recompose):
    tok = BERT2018Tokenizer.train(["한국 cafe\u0301 ABC"] * 3, vocab_size=60, lowercase=False, recompose=recompose)
    tok.save_pretrained(tmp_path)
    if recompose:
        plain = TokenizersBackend.from_pretrained(tmp_path)
        assert plain("cafe\u0301")["input_ids"] == tok("cafe\u0301")["input_ids"] == tok("café")["input_ids"]
    else:
        with pytest.raises(Exception, match="pip install hf_attention_zoo"):
            TokenizersBackend.from_pretrained(tmp_path)
        with pytest.raises(Exception, match="pip install hf_attention_zoo"):
            Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(loaded, OwnBackend) and loaded("cafe\u0301 한국")["input_ids"] == tok("café 한국")["input_ids"]


def test_folders_from_before_the_guard_load_as_they_did(tmp_path):
    tok = HierarchicalTokenizer.train([["One sentence."], ["Another."]], vocab_size=40)
    tok.save_pretrained(tmp_path)
    file = tmp_path / "tokenizer.json"
    assert GUARDED_VERSION in file.read_text()
    direct = HierarchicalTokenizer(tokenizer_file=str(file))
    file.write_text(file.read_text().replace(GUARDED_VERSION, PLAIN_VERSION))
    old = AutoTokenizer.from_pretrained(tmp_path)
    text = "One. Another sentence."
    assert old(text)["input_ids"] == direct(text)["input_ids"] == tok(text)["input_ids"]
