"""Unknown words are replaced by the aligned source word, in the right place and with the right spacing."""

from pathlib import Path

import pytest
import torch
from transformers import pipeline

from hf_attention_zoo import TranslationTokenizer, align, get_architecture, translate
from hf_attention_zoo.seq2seq.source_text import SourceSentence, encode_sources
from hf_attention_zoo.seq2seq.unknown_words import decode_replacing_unknown, load_dictionary

UNK, EOS = 1, 3


def rows(*columns: int, width: int) -> torch.Tensor:
    """One row per target token, pointing at a source token."""
    weights = torch.full((len(columns), width), 0.01)
    weights[torch.arange(len(columns)), list(columns)] = 1.0
    return weights


@pytest.fixture
def word_tokenizer() -> TranslationTokenizer:
    return TranslationTokenizer.train(["herr wohnt in ."], ["mister lives (in) town."], kind="word", vocab_size=30)


def source(tokenizer: TranslationTokenizer, text: str) -> SourceSentence:
    class Model:
        config = None

    (sentence,) = encode_sources(Model(), tokenizer, [text])
    return sentence


def replaced(tokenizer, text: str, target: str, columns: list[int], dictionary: dict[str, str] | None = None) -> str:
    sentence = source(tokenizer, text)
    ids = tokenizer(text_target=target)["input_ids"]
    weights = rows(*columns, width=len(sentence.input_ids))
    assert len(ids) == len(columns)
    return decode_replacing_unknown(tokenizer, ids, weights, sentence, dictionary or {})


def test_the_raw_source_word_takes_the_place_of_an_unknown_word(word_tokenizer) -> None:
    text = "herr Müller wohnt in Żywiec ."
    assert replaced(word_tokenizer, text, "mister X lives in Y.", [0, 1, 2, 3, 4, 5, 6]) == (
        "mister Müller lives in Żywiec."
    )


def test_two_unknown_words_may_copy_in_another_order(word_tokenizer) -> None:
    assert replaced(word_tokenizer, "Aa Bb", "X Y", [1, 0, 2]) == "Bb Aa"


def test_brackets_stay_attached_to_the_replaced_word(word_tokenizer) -> None:
    assert replaced(word_tokenizer, "Zürich", "in (X)", [0, 0, 0, 0, 1]) == "in (Zürich)"


def test_the_end_mark_is_never_copied(word_tokenizer) -> None:
    assert replaced(word_tokenizer, "Aa", "X", [1, 1]) == "Aa"


def test_an_unknown_word_of_an_empty_source_is_left_out(word_tokenizer) -> None:
    assert replaced(word_tokenizer, "", "in X", [0, 0, 0]) == "in"


def test_a_dictionary_translates_what_would_be_copied(word_tokenizer) -> None:
    words = {"Müller": "Miller", "haus": "house"}
    assert replaced(word_tokenizer, "Müller Haus", "X Y", [0, 1, 2], words) == "Miller house"


def test_a_typed_special_token_in_the_source_is_copied_like_any_word(word_tokenizer) -> None:
    assert replaced(word_tokenizer, "C++20 wohnt", "X lives", [0, 1, 2]).endswith(" lives")


@pytest.fixture
def piece_tokenizer() -> TranslationTokenizer:
    texts = ["haus tür haustür maus", "snow man snowman mouse"] * 5
    return TranslationTokenizer.train(texts, texts, kind="subword", vocab_size=60, target_vocab_size=60)


def test_weights_of_the_pieces_of_a_word_are_summed(piece_tokenizer) -> None:
    sentence = source(piece_tokenizer, "maus Ωhaus")
    words = [sentence.text[start:end] for start, end, _ in sentence.words()]
    assert words == ["maus", "Ωhaus"] and len(sentence.words()[1][2]) > 1
    weights = torch.zeros(1, len(sentence.input_ids))
    weights[0, sentence.words()[0][2][0]] = 0.4
    weights[0, sentence.words()[1][2]] = 0.6 / len(sentence.words()[1][2])
    assert decode_replacing_unknown(piece_tokenizer, [UNK], weights, sentence, {}) == "Ωhaus"


def test_a_whole_unknown_word_copies_the_whole_source_word(piece_tokenizer) -> None:
    sentence = source(piece_tokenizer, "maus 日本")
    ids = piece_tokenizer(text_target="mouse 中")["input_ids"]
    weights = torch.zeros(len(ids), len(sentence.input_ids))
    weights[:, sentence.words()[1][2][-1]] = 1.0
    assert decode_replacing_unknown(piece_tokenizer, ids, weights, sentence, {}) == "mouse 日本"


def test_an_unknown_letter_inside_a_word_copies_the_letter_and_not_the_word(piece_tokenizer) -> None:
    sentence = source(piece_tokenizer, "maus Ωhaus")
    ids = piece_tokenizer(text_target="Ψhaus")["input_ids"]
    assert UNK in ids
    weights = torch.zeros(len(ids), len(sentence.input_ids))
    weights[:, sentence.words()[1][2]] = 0.3
    assert decode_replacing_unknown(piece_tokenizer, ids, weights, sentence, {}) == "Ωhaus"


def test_text_without_unknown_words_is_plain_decoding(piece_tokenizer) -> None:
    ids = piece_tokenizer(text_target="snowman mouse")["input_ids"]
    sentence = source(piece_tokenizer, "haus")
    weights = torch.ones(len(ids), len(sentence.input_ids))
    assert decode_replacing_unknown(piece_tokenizer, ids, weights, sentence, {}) == "snowman mouse"


def only_unknown_words(model) -> None:
    with torch.no_grad():
        model.lm_head.bias[UNK] += 1e3


@pytest.mark.parametrize("num_beams", [1, 3])
def test_after_any_search_the_row_of_the_very_token_decides(tiny_translator, num_beams: int) -> None:
    model, tokenizer = tiny_translator
    only_unknown_words(model)
    texts = ["das Müller haus Żywiec", "Ω katze", "", "haus " * 20 + "Łódź"]
    options = {"num_beams": num_beams, "max_new_tokens": 6}
    result = translate(model, tokenizer, texts, batch_size=3, replace_unknown=True, **options)
    between = " " if tokenizer.kind == "word" else ""
    copied = set()
    for text, translation, alignment in zip(texts, result, align(model, tokenizer, texts, **options), strict=True):
        assert alignment.target_tokens == ("<unk>",) * 6
        (sentence,) = encode_sources(model, tokenizer, [text])
        words = []
        for row in alignment.weights:
            sums = [row[tokens].sum() for _, _, tokens in sentence.words()]
            words += [text[slice(*sentence.words()[sums.index(max(sums))][:2])]] if sums else []
        assert translation == between.join(words)
        copied.update(words)
    assert len(copied) > 3
    assert result == [translate(model, tokenizer, text, replace_unknown=True, **options)[0] for text in texts]
    assert translate(model, tokenizer, texts, **options) == [""] * 4


@pytest.mark.parametrize("model_type", ["seq2seq_lstm", "rnn_encoder_decoder"])
def test_a_model_that_attends_to_no_word_is_refused_before_the_search(tiny_translator, model_type: str) -> None:
    _, tokenizer = tiny_translator
    row = get_architecture(model_type)
    config = row.tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    model = row.model_classes["AutoModelForSeq2SeqLM"](config)
    with pytest.raises(ValueError, match="attends to none"):
        translate(model, tokenizer, ["katze"], replace_unknown=True)
    with pytest.raises(ValueError, match="attends to none"):
        pipeline("translation", model=model, tokenizer=tokenizer)("katze", replace_unknown=True)


def test_the_same_words_are_copied_on_both_padding_sides(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    only_unknown_words(model)
    results = []
    for tokenizer.padding_side in ("right", "left"):
        results.append(translate(model, tokenizer, ["das Müller haus", "Ω"], replace_unknown=True, max_new_tokens=5))
    assert results[0] == results[1] != ["", ""]


def test_a_dictionary_file_is_read_and_its_first_entry_counts(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_text("\ufeffHaus\thouse\n\n집\thome \nHaus\tbuilding\n", encoding="utf-8")
    assert load_dictionary(file) == load_dictionary(str(file)) == {"Haus": "house", "집": "home"}


@pytest.mark.parametrize("line", ["Haus", "Haus\thouse\tbuilding", "\thouse"])
def test_a_wrong_line_of_a_dictionary_file_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(f"gut\tgood\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"words\.tsv, line 2"):
        load_dictionary(file)


@pytest.mark.parametrize("dictionary", [{"a": 1}, {1: "a"}, 5, "no/such/file.tsv"])
def test_a_dictionary_of_the_wrong_kind_is_refused(dictionary: object) -> None:
    with pytest.raises(ValueError, match="dictionary"):
        load_dictionary(dictionary)
