"""Links between words: what the attention of a forced decoding says, counted in words between white space."""

from pathlib import Path

import pytest

from hf_attention_zoo import align
from hf_attention_zoo.alignment.results.word_links import word_at, word_links
from hf_attention_zoo.cli.write_links import main
from hf_attention_zoo.metrics.alignment_error_rate import main as score_links
from hf_attention_zoo.metrics.alignment_error_rate import read_links, strongest_links

CARDS = Path(__file__).parents[2] / "model_cards"
SOURCES = ["das haus ist gross", "die katze, die katze!", "  ein  kleines haus ", "die Katze schla\u0308ft nicht"]
TARGETS = ["the house is big", "the cat, the cat!", "a small  house", "the cat does not sleep"]


@pytest.mark.parametrize(
    ("span", "word"), [((0, 2), 0), ((1, 2), 0), ((2, 5), 1), ((2, 3), None), ((0, 0), None), ((5, 6), 1), ((6, 8), 2)]
)
def test_a_token_belongs_to_the_word_in_which_its_characters_begin(span: tuple[int, int], word: int | None) -> None:
    assert word_at(span, "ab cd, e") == word


def test_every_target_word_is_linked_to_the_word_with_most_of_its_attention(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    found = word_links(model, tokenizer, SOURCES, TARGETS, batch_size=3)
    targets = [sorted(target for _, target in links) for links in found]
    assert targets == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 4]]
    if tokenizer.kind == "word":  # tokens are words, and marks that stand at a word belong to it
        first, second, *_ = (alignment.weights for alignment in align(model, tokenizer, SOURCES, targets=TARGETS))
        assert found[0] == {(int(row[:-1].argmax()), target) for target, row in enumerate(first[:-1])}
        words = [0, 1, 1, 2, 3, 3, None]
        assert found[1] == strongest_links(second, words, words)


def test_pairs_without_words_have_no_links_and_keep_their_place(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    whole = word_links(model, tokenizer, SOURCES[:1], TARGETS[:1])
    assert word_links(model, tokenizer, ["", SOURCES[0], "haus"], ["the", TARGETS[0], " "]) == [set(), *whole, set()]
    assert word_links(model, tokenizer, [], []) == []


def test_wrong_calls_are_refused(tiny_translator) -> None:
    model, tokenizer = tiny_translator
    with pytest.raises(ValueError, match="2 sources, but 1 targets"):
        word_links(model, tokenizer, SOURCES[:2], TARGETS[:1])
    with pytest.raises(ValueError, match="several matrices a pair"):
        word_links(model, tokenizer, SOURCES, TARGETS, head="all")


@pytest.mark.parametrize("name", ["rnnsearch-de-en", "luong-de-en", "transformer2017-de-en"])
def test_trained_models_link_words_to_their_translations_and_the_command_scores_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, gold, found = tmp_path / "pairs.tsv", tmp_path / "gold.txt", tmp_path / "found.txt"
    pairs.write_text("Wählen Sie eine Datei aus .\tChoose a file .\nDatei nicht gefunden\tFile not found\n")
    gold.write_text("0-0 2-1 3-2 4?0 5-3\n0-0 1-1 2-2\n")
    assert main([str(CARDS / name), str(pairs), "--output", str(found)]) == 0
    assert [len(links) for links in read_links(found)[0]] == [4, 3]
    assert score_links([str(found), str(gold)]) == 0
    rate = float(capsys.readouterr().out.split()[1])
    assert rate < 0.5  # links by chance would be right in one of five


def test_models_of_other_tasks_and_missing_files_are_refused(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a\tb\n")
    with pytest.raises(ValueError, match="links is for translators"):
        main([str(CARDS / "elmo-small-debian"), str(pairs)])
    with pytest.raises(ValueError, match="no such file"):
        main([str(CARDS / "rnnsearch-de-en"), str(tmp_path / "none.tsv")])
