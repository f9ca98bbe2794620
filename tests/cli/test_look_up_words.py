"""`attention-zoo words`: nearest words, analogies, questions by section, the plane."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hf_attention_zoo.alignment.results.word_space import SectionScore, WordSpace, read_questions
from hf_attention_zoo.cli.command import main

# king - man + woman is queen, with a word of another kind beside them
VECTORS = {"man": (1, 0, 0), "woman": (1, 1, 0), "king": (1, 0, 1), "queen": (1, 1, 1), "file": (-1, 0.2, -0.5)}
QUESTIONS = (
    ": people\nman woman king queen\nMan King Woman Queen\n: unknown\nman woman king duke\nking queen file man\n"
)


@pytest.fixture
def space() -> WordSpace:
    return WordSpace({word: np.array(vector, dtype=np.float32) for word, vector in VECTORS.items()})


@pytest.fixture
def file(tmp_path: Path) -> str:
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in VECTORS.items()]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "questions.txt").write_text(QUESTIONS)
    return str(tmp_path / "v.txt")


def test_the_nearest_word_is_that_of_the_largest_cosine_and_not_the_word_itself(space: WordSpace) -> None:
    near = space.nearest("king", 4)
    assert near[0].word == "queen" and "king" not in {one.word for one in near}
    assert near[0].cosine == pytest.approx(2 / np.sqrt(6)) and len(near) == 4
    assert [one.cosine for one in near] == sorted((one.cosine for one in near), reverse=True)


def test_an_analogy_is_the_nearest_of_the_sum_without_the_three_words(space: WordSpace) -> None:
    (answer,) = space.analogy("man", "king", "woman")
    lengths = {word: np.array(vector) / np.linalg.norm(vector) for word, vector in VECTORS.items()}
    wanted = lengths["king"] - lengths["man"] + lengths["woman"]
    assert answer.word == "queen"
    assert answer.cosine == pytest.approx(wanted @ lengths["queen"] / np.linalg.norm(wanted), abs=1e-6)


def test_questions_are_scored_by_section(space: WordSpace, file: str) -> None:
    scores = space.answer(read_questions(Path(file).parent / "questions.txt"))
    assert scores["people"] == SectionScore(2, 2, 0)
    assert (scores["unknown"].asked, scores["unknown"].left_out) == (1, 1)


def test_the_command_prints_and_draws(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = str(Path(file).parent / "questions.txt")
    assert main(["words", file, "king", "--count", "1", "--analogy", "man", "king", "woman"]) == 0
    (answer,) = WordSpace.of(file).analogy("man", "king", "woman")
    assert capsys.readouterr().out == f"king: queen 0.82\nman : king = woman : queen {answer.cosine:.2f}\n"
    assert main(["words", file, "--questions", questions]) == 0
    said = capsys.readouterr().out
    assert "100.0%  2 of 2 (0 with an unknown word)  people" in said and "of 3 (1 with an unknown word)  all" in said
    assert main(["words", file, *VECTORS, "--plot", str(tmp_path / "plane.png")]) == 0
    assert (tmp_path / "plane.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "what shall be looked up? Give words, --analogy A B C or --questions FILE"),
        (["duke"], "'duke' is none of the 5 words that have a vector"),
        (["king", "--count", "0"], "--count 0: give 1 or more"),
        (["king", "--plot", "p.png"], "give two at least"),
        (["--questions", "nowhere.txt"], "no such file of questions: nowhere.txt"),
    ],
)
def test_what_cannot_be_looked_up_is_said(
    file: str, argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["words", file, *argv]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_questions_of_three_words_are_refused_by_line(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(": a\none two three\n")
    with pytest.raises(ValueError, match=r"line 2 of .* has 3 words; an analogy has four"):
        read_questions(tmp_path / "q.txt")
    (tmp_path / "q.txt").write_text(": a\n")
    with pytest.raises(ValueError, match="holds no analogy"):
        read_questions(tmp_path / "q.txt")
