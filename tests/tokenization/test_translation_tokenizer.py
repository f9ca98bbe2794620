import copy
import pickle
import threading
import unicodedata

import pytest
from datasets import Dataset
from datasets.fingerprint import Hasher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import DataCollatorForSeq2Seq

from hf_attention_zoo.tokenization.surfaces import readable_token
from hf_attention_zoo.tokenization.translation_tokenizer import TranslationTokenizer

KOREAN = [
    "흰 개가 달린다.",
    "흰 고양이가 잔다.",
    "개와 고양이 (동물)",
    "남자: 연한 갈색 피부",
    "서식 파일을 열어라!",
] * 4
ENGLISH = [
    "A white dog runs.",
    "A white cat sleeps.",
    "Dog and cat (animals)",
    "man: “light” skin",
    "Open f(x)[1]!",
] * 4
GERMAN = ["Der große Übermut läuft über die Straße.", "„Grüße“, sagte er (leise).", "Äpfel, Öl & Fuß: 3,5 %"] * 4

KINDS = pytest.mark.parametrize("kind", ["subword", "word"])
SHARED = pytest.mark.parametrize("shared", [False, True], ids=["separate", "shared"])


def build(kind: str = "subword", shared: bool = False, **options) -> TranslationTokenizer:
    options.setdefault("vocab_size", 400)
    return TranslationTokenizer.train(KOREAN, ENGLISH, kind=kind, shared=shared, **options)


@KINDS
@SHARED
def test_special_tokens_have_the_same_ids_in_every_vocabulary(kind, shared):
    tok = build(kind, shared)
    assert (tok.pad_token_id, tok.unk_token_id, tok.bos_token_id, tok.eos_token_id) == (0, 1, 2, 3)
    assert tok.convert_target_tokens_to_ids(["<pad>", "<unk>", "<s>", "</s>"]) == [0, 1, 2, 3]


@KINDS
@SHARED
def test_source_and_target_text_come_back_unchanged(kind, shared):
    tok = build(kind, shared)
    for source, target in zip(KOREAN, ENGLISH, strict=True):
        encoded = tok(source, text_target=target)
        assert tok.decode_source(encoded["input_ids"], skip_special_tokens=True) == source
        assert tok.decode(encoded["labels"], skip_special_tokens=True) == target
        assert encoded["input_ids"][-1] == encoded["labels"][-1] == 3
        assert encoded["attention_mask"] == [1] * len(encoded["input_ids"])


@KINDS
def test_german_letters_and_quotes_come_back_unchanged(kind):
    tok = TranslationTokenizer.train(GERMAN, GERMAN, kind=kind, vocab_size=400)
    for text in GERMAN:
        assert tok.decode(tok(text_target=text)["input_ids"], skip_special_tokens=True) == text


@KINDS
@pytest.mark.parametrize("form", ["NFD", "NFC"])
def test_decomposed_korean_gives_the_ids_of_composed_korean(kind, form):
    tok = build(kind)
    for text in KOREAN:
        ids = tok(unicodedata.normalize(form, text))["input_ids"]
        assert ids == tok(text)["input_ids"]
        assert tok.decode_source(ids, skip_special_tokens=True) == unicodedata.normalize("NFC", text)


def test_decomposed_training_text_gives_the_vocabulary_of_composed_text():
    decomposed = [unicodedata.normalize("NFD", text) for text in KOREAN]
    trained = TranslationTokenizer.train(decomposed, ENGLISH, vocab_size=400)
    assert trained.get_vocab() == build().get_vocab()


def test_separate_vocabularies_differ_and_a_shared_one_does_not():
    separate, shared = build(shared=False), build(shared=True)
    assert separate.get_vocab() != separate.get_target_vocab()
    assert "▁white" in separate.get_target_vocab() and "▁white" not in separate.get_vocab()
    assert separate.target_vocab_size == len(separate.get_target_vocab()) != len(separate)
    assert shared.get_vocab() == shared.get_target_vocab()
    assert shared.target_vocab_size == len(shared) == len(shared.get_vocab())


def test_word_shortlist_keeps_the_most_frequent_words():
    texts = ["a a a a", "b b b", "c c", "d"]
    tok = TranslationTokenizer.train(texts, texts, kind="word", vocab_size=7)
    assert set(tok.get_vocab()) == {"<pad>", "<unk>", "<s>", "</s>", "a", "b", "c"}
    assert tok("a d c")["input_ids"] == [tok.get_vocab()["a"], 1, tok.get_vocab()["c"], 3]


def test_a_word_is_the_same_row_with_and_without_punctuation_around_it():
    tok = build("word")
    cat = tok.convert_target_tokens_to_ids("cat")
    for text in ("cat", "(cat", "cat)", "“cat”", "cat.", "a (cat)!"):
        assert cat in tok(text_target=text)["input_ids"]


def test_hyphens_between_letters_and_points_between_digits_stay_in_the_word():
    text = "a 3.5 well-known -x, 1,000."
    tok = TranslationTokenizer.train([text], [text], kind="word", vocab_size=50)
    assert tok.tokenize(text) == ["a", "3.5", "well-known", "-￭", "x", "￭,", "1,000", "￭."]


@pytest.mark.parametrize(
    "text", ["()", "f(x)", "a(", "(a", '("b") {c}!', "- a -", "...", "z. B. 3,5 %", "don't", "a/b"]
)
def test_word_level_spacing_is_restored(text):
    tok = TranslationTokenizer.train([text], [text], kind="word", vocab_size=50)
    assert tok.decode(tok(text_target=text)["input_ids"], skip_special_tokens=True) == text


VISIBLE_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp", "Co", "Cn"), exclude_characters="▁￭"),
    min_size=1,
    max_size=20,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VISIBLE_TEXT.filter(str.strip))
def test_any_text_survives_subwords_when_its_characters_are_known(text):
    tok = TranslationTokenizer.train([text], [text], vocab_size=100)
    ids = tok(text_target=text)["input_ids"]
    assert 1 not in ids
    assert tok.decode(ids[:-1]) == unicodedata.normalize("NFC", text).strip()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VISIBLE_TEXT.filter(str.strip))
def test_any_text_survives_words_with_white_space_evened_out(text):
    tok = TranslationTokenizer.train([text], [text], kind="word", vocab_size=100)
    ids = tok(text_target=text)["input_ids"]
    assert tok.decode(ids[:-1]) == " ".join(unicodedata.normalize("NFC", text).split())


def test_double_spaces_survive_and_line_breaks_become_spaces():
    tok = TranslationTokenizer.train(["a  b"], ["a  b"], vocab_size=50)
    assert tok.decode(tok(text_target=" a  b\n")["input_ids"][:-1]) == "a  b"
    assert tok.decode(tok(text_target="a\tb")["input_ids"][:-1]) == "a b"


@KINDS
@SHARED
@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_text_without_words_is_an_end_mark_alone(kind, shared, text):
    tok = build(kind, shared)
    encoded = tok(text, text_target=text)
    assert encoded["input_ids"] == encoded["labels"] == [3]
    assert tok.decode([3], skip_special_tokens=True) == tok.decode([]) == ""


def test_an_empty_batch_is_empty():
    assert dict(build()([])) == {"input_ids": [], "attention_mask": []}
    assert build().batch_decode([]) == []


@KINDS
def test_unknown_text_becomes_the_unknown_token(kind):
    ids = build(kind)("ЖЖЖ")["input_ids"]
    assert ids.count(1) == 1 and ids[-1] == 3


@KINDS
def test_lower_casing_is_kept_in_the_tokenizer(kind):
    tok = TranslationTokenizer.train(GERMAN, GERMAN, kind=kind, vocab_size=400, lowercase=True)
    assert tok("GROSSE Äpfel")["input_ids"] == tok("grosse äpfel")["input_ids"]
    assert tok.decode(tok(text_target="Äpfel, ÖL")["input_ids"][:-1]) == "äpfel, öl"
    assert tok.lowercase and not build(kind).lowercase


@SHARED
def test_a_generator_that_runs_once_trains_the_same_vocabularies(shared):
    tok = TranslationTokenizer.train((t for t in KOREAN), iter(ENGLISH), vocab_size=400, shared=shared)
    batches = TranslationTokenizer.train([KOREAN[:3], KOREAN[3:]], [ENGLISH], vocab_size=400, shared=shared)
    assert tok.get_vocab() == batches.get_vocab() == build(shared=shared).get_vocab()
    assert tok.get_target_vocab() == batches.get_target_vocab() == build(shared=shared).get_target_vocab()


def test_target_size_and_languages_are_settable():
    tok = build("word", vocab_size=12, target_vocab_size=9, source_lang="ko", target_lang="en", model_max_length=50)
    assert (len(tok), tok.target_vocab_size) == (12, 9)
    assert (tok.source_lang, tok.target_lang, tok.kind, tok.model_max_length) == ("ko", "en", "word", 50)


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_goes_to_the_side_asked_for(side):
    tok = build()
    batch = tok(["흰 개가 달린다.", "개"], padding=True, padding_side=side, return_tensors="pt")
    alone = tok("개")["input_ids"]
    width = batch["input_ids"].shape[1]
    real = slice(0, len(alone)) if side == "right" else slice(width - len(alone), width)
    assert batch["input_ids"][1, real].tolist() == alone
    assert batch["attention_mask"][1].sum() == len(alone) and batch["attention_mask"][1, real].all()
    assert batch["input_ids"][1].sum() == sum(alone)
    assert tok.padding_side == "right"


@KINDS
def test_truncation_keeps_the_end_mark(kind):
    tok = build(kind)
    full = tok(KOREAN[0])["input_ids"]
    for length in range(1, len(full) + 2):
        cut = tok(KOREAN[0], truncation=True, max_length=length)["input_ids"]
        assert cut == [*full[:-1][: length - 1], 3]
    both = tok(KOREAN[0], text_target=ENGLISH[0], truncation=True, max_length=3, max_target_length=4)
    assert (len(both["input_ids"]), len(both["labels"])) == (3, 4)
    assert tok(KOREAN[0])["input_ids"] == full


@KINDS
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_offsets_point_at_the_token_without_its_space(kind, form):
    tok = build(kind)
    text = unicodedata.normalize(form, "흰 개가 (동물) 달린다.")
    encoded = tok(text, return_offsets_mapping=True)
    pieces = [text[start:end] for start, end in encoded["offset_mapping"][:-1]]
    assert "".join(pieces) == text.replace(" ", "")
    assert all(piece == piece.strip() for piece in pieces)
    assert unicodedata.normalize("NFC", pieces[0]) == "흰" and pieces[-1] == "."


@KINDS
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", ["흰 개가 (동물) 달린다.", "  흰  개: Жук! ", "", "x"])
def test_source_surface_has_one_readable_entry_for_each_id(kind, form, text):
    tok = build(kind)
    text = unicodedata.normalize(form, text)
    surface = tok.source_surface(text)
    assert len(surface) == len(tok(text)["input_ids"])
    assert surface[-1] == ("</s>", len(text), len(text))
    for token, start, end in surface[:-1]:
        assert "▁" not in token and "￭" not in token and token
        assert unicodedata.normalize("NFC", text[start:end]) == token or not text[start:end].strip()
    words = "".join(unicodedata.normalize("NFD", text[start:end]) for _, start, end in surface)
    assert words.replace(" ", "") == unicodedata.normalize("NFD", text).replace(" ", "")


def test_source_surface_shows_the_raw_word_of_an_unknown_one_and_follows_truncation():
    tok = build("word")
    assert tok.source_surface("흰 Zebra.") == [("흰", 0, 1), ("Zebra", 2, 7), (".", 7, 8), ("</s>", 8, 8)]
    assert tok.source_surface("흰 Zebra.", truncation=True, max_length=2) == [("흰", 0, 1), ("</s>", 9 - 1, 8)]


@KINDS
@pytest.mark.parametrize(
    "text", ["ЖЖЖ", "x;x", "흰 x;", "; Ж", "İx İ.", "🇩🇪👍🏽 x", "e\u0301\u0302;e\u0301", "(흰개;)"]
)
def test_unknown_pieces_cover_their_own_characters_only(kind, text):
    tok = build(kind, lowercase=True)
    spans = [(start, end) for _, start, end in tok.source_surface(text)]
    assert spans == sorted(spans)
    assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@pytest.mark.parametrize("token", ["<unk>", "</s>"])
def test_special_tokens_typed_in_the_source_keep_their_place(token):
    surface = build().source_surface(f"흰 {token} 개")
    assert (token, 2, 2 + len(token)) in surface


def test_target_surface_is_readable():
    tok = build("word")
    ids = tok(text_target="cat (dog)")["input_ids"]
    assert tok.target_surface(ids)[0] == "cat" and tok.target_surface(ids)[-2:] == [")", "</s>"]
    assert "▁" not in "".join(build().target_surface(build()(text_target=ENGLISH[0])["input_ids"]))
    assert (readable_token("▁Haus"), readable_token("￭(￭"), readable_token("▁")) == ("Haus", "(", "␣")


def test_target_tokens_and_ids_convert_in_both_directions():
    tok = build()
    ids = tok(text_target="white dog")["input_ids"]
    tokens = tok.convert_target_ids_to_tokens(ids)
    assert tokens == ["▁white", "▁dog", "</s>"]
    assert tok.convert_target_tokens_to_ids(tokens) == ids
    assert tok.convert_target_ids_to_tokens(ids, skip_special_tokens=True) == tokens[:-1]
    assert tok.convert_target_ids_to_tokens(ids[0]) == "▁white"


def test_batch_decode_reads_target_ids_of_any_container():
    tok = build()
    batch = tok(text_target=ENGLISH[:2], padding=True, return_tensors="pt")["input_ids"]
    assert tok.batch_decode(batch, skip_special_tokens=True) == ENGLISH[:2]
    assert tok.batch_decode(batch.numpy(), skip_special_tokens=True) == ENGLISH[:2]
    assert tok.decode_source(tok(KOREAN[:2])["input_ids"], skip_special_tokens=True) == KOREAN[:2]


def test_label_padding_in_decode_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"-100.*pad_token_id"):
        build().decode([5, -100])


@SHARED
def test_the_seq2seq_collator_pads_inputs_and_labels(shared):
    tok = build(shared=shared)
    features = [dict(tok(s, text_target=t)) for s, t in zip(KOREAN[:3], ENGLISH[:3], strict=True)]
    batch = DataCollatorForSeq2Seq(tok)(features)
    assert batch["input_ids"].shape == batch["attention_mask"].shape
    for feature, labels in zip(features, batch["labels"].tolist(), strict=True):
        assert labels == feature["labels"] + [-100] * (len(labels) - len(feature["labels"]))


@SHARED
def test_added_tokens_are_one_token_on_both_sides(shared):
    tok = build(shared=shared)
    before, target_before = len(tok), tok.target_vocab_size
    tok.add_tokens(["<2de>", "▁white"])
    assert tok.add_special_tokens({"extra_special_tokens": ["<sep>"]}) == 1
    assert len(tok) == before + (2 if shared else 3)
    assert tok.target_vocab_size == target_before + 2
    assert tok.tokenize("<2de> 개")[0] == "<2de>"
    ids = tok(text_target="<2de>white<sep>")["input_ids"]
    assert tok.convert_target_ids_to_tokens(ids)[0] == "<2de>"
    assert "<sep>" not in tok.decode(ids, skip_special_tokens=True)


@SHARED
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))], ids=["copy", "pickle"])
def test_copies_encode_and_decode_alike_and_are_independent(shared, clone):
    tok = build(shared=shared, source_lang="ko")
    expected = dict(tok(KOREAN, text_target=ENGLISH))
    twin = clone(tok)
    assert dict(twin(KOREAN, text_target=ENGLISH)) == expected
    assert twin.batch_decode(expected["labels"]) == tok.batch_decode(expected["labels"])
    twin.add_tokens(["<new>"])
    assert "<new>" not in tok.get_vocab() and "<new>" not in tok.get_target_vocab()
    assert twin.source_lang == "ko"


def test_a_call_leaves_no_trace_in_the_pickle():
    tok = build()
    before = pickle.dumps(tok)
    tok(KOREAN, text_target=ENGLISH, padding=True, truncation=True, max_length=4)
    assert pickle.dumps(tok) == before


def test_mapping_over_a_dataset_finds_its_cache_again():
    tok = build()
    before = Hasher.hash(tok)
    mapped = Dataset.from_dict({"s": KOREAN, "t": ENGLISH}).map(lambda row: tok(row["s"], text_target=row["t"]))
    assert mapped["labels"][:] == tok(text_target=ENGLISH)["input_ids"]
    tok(KOREAN, text_target=ENGLISH, padding=True, truncation=True, max_length=4)
    assert Hasher.hash(tok) == before != Hasher.hash(build(vocab_size=50, kind="word"))


def test_a_failed_target_encoding_leaves_the_tokenizer_in_source_mode():
    tok = build()
    expected = tok(KOREAN[0])["input_ids"]
    with pytest.raises(ValueError, match="text 1 is NoneType"):
        tok(KOREAN[:2], text_target=["fine", None])
    assert tok.encode(KOREAN[0]) == tok(KOREAN[0])["input_ids"] == expected
    assert len(tok) == len(tok.get_vocab())


def test_threads_do_not_mix_up_vocabularies_padding_or_truncation():
    tok = build()
    expected = [dict(tok(s, text_target=t)) for s, t in zip(KOREAN, ENGLISH, strict=True)]
    padded = tok(KOREAN, padding=True)["input_ids"]
    wrong: list[object] = []

    def encode(turn: int) -> None:
        try:
            for step in range(60):
                i = (turn + step) % len(KOREAN)
                if turn % 3 == 0 and tok(KOREAN, padding=True)["input_ids"] != padded:
                    wrong.append("padding")
                if turn % 3 == 1 and len(tok(KOREAN[i], truncation=True, max_length=2)["input_ids"]) != 2:
                    wrong.append("truncation")
                if dict(tok(KOREAN[i], text_target=ENGLISH[i])) != expected[i]:
                    wrong.append("ids")
                if tok.decode(expected[i]["labels"], skip_special_tokens=True) != ENGLISH[i]:
                    wrong.append("text")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=encode, args=(turn,)) for turn in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source_texts": []}, "source training texts hold no text"),
        ({"target_texts": ["", "  "]}, "target training texts hold no text"),
        ({"source_texts": "one string"}, "source training texts came as str"),
        ({"source_texts": 5}, "source training texts came as int"),
        ({"target_texts": ["a", None]}, "target training text 1 is NoneType"),
        ({"target_texts": [["a", 3]]}, "target training text 0 is int"),
        ({"target_texts": None}, "need target_texts"),
        ({"kind": "char"}, "kind='char'.*'subword', 'word'"),
        ({"vocab_size": 4}, "vocab_size=4 leaves no room"),
        ({"vocab_size": "8000"}, "vocab_size='8000' is str"),
        ({"vocab_size": True}, "vocab_size=True is bool"),
        ({"target_vocab_size": 2.5}, "target_vocab_size=2.5 is float"),
        ({"vocab_size": 6}, "vocab_size=6 cannot hold .* characters"),
        ({"shared": True, "target_vocab_size": 9}, "differ; leave target_vocab_size out"),
        ({"kind": "word", "alphabet_size": 9}, "alphabet_size=9 is for kind='subword'"),
    ],
)
def test_wrong_training_input_raises_a_readable_error(arguments, message):
    arguments = {"source_texts": KOREAN, "target_texts": ENGLISH, "vocab_size": 400, **arguments}
    source, target = arguments.pop("source_texts"), arguments.pop("target_texts")
    with pytest.raises(ValueError, match=message):
        TranslationTokenizer.train(source, target, **arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (["fine", None], "text 1 is NoneType"),
        (["fine", 3], "text 1 is int"),
        ("bad \ud800", "lone surrogate at character 4"),
    ],
)
def test_wrong_input_text_raises_a_readable_error(text, message):
    with pytest.raises(ValueError, match=message):
        build()(text)


def test_a_small_alphabet_turns_rare_characters_into_unknown_ones():
    tok = TranslationTokenizer.train(KOREAN, ENGLISH, vocab_size=20, alphabet_size=10)
    assert (len(tok), tok.target_vocab_size) == (20, 20)
    assert 1 in tok("서식 파일을 열어라!")["input_ids"]


def test_training_twice_gives_the_same_ids():
    assert build().get_vocab() == build().get_vocab()
    assert build("word").get_target_vocab() == build("word").get_target_vocab()


def test_one_iterator_retrains_a_shared_vocabulary_only():
    retrained = build(shared=True).train_new_from_iterator(GERMAN, vocab_size=200)
    assert retrained.shared_vocabulary and "ß" in retrained.get_vocab()
    assert retrained.decode(retrained(GERMAN[0])["input_ids"], skip_special_tokens=True) == GERMAN[0]
    with pytest.raises(ValueError, match="separate source and target"):
        build().train_new_from_iterator(GERMAN, vocab_size=200)


def test_pairs_of_sentences_each_get_an_end_mark():
    tok = build()
    pair = tok("개", "고양이")["input_ids"]
    assert pair == tok("개")["input_ids"] + tok("고양이")["input_ids"]
