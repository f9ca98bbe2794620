"""The drawing: orientation, colours, sizes, formats, and nothing global touched."""

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from hf_attention_zoo import Alignment, DocumentAttention
from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection
from hf_attention_zoo.alignment.results.word_weights import LabelShare, WordWeights


def an_alignment(rows: int, columns: int) -> Alignment:
    weights = np.random.default_rng(0).dirichlet(np.ones(columns), size=rows)
    return Alignment([f"s{i}" for i in range(columns)], [f"t{i}" for i in range(rows)], weights)


def test_target_words_stand_beside_the_rows_and_source_words_on_top() -> None:
    alignment = an_alignment(4, 6)
    axes = alignment.plot().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == list(alignment.target_tokens)
    assert [text.get_text() for text in axes.get_xticklabels()] == list(alignment.source_tokens)
    assert {text.get_rotation() for text in axes.get_xticklabels()} == {90.0}
    assert axes.xaxis.get_ticks_position() == "top"
    top, bottom = axes.get_ylim()[1], axes.get_ylim()[0]
    assert top < bottom  # the first target word is at the top


def test_white_is_one_and_black_is_zero_and_cells_are_square() -> None:
    figure = Alignment(["a", "b"], ["c"], [[1.0, 0.0]]).plot()
    (image,) = figure.axes[0].images
    assert image.to_rgba(1.0) == (1.0, 1.0, 1.0, 1.0) and image.to_rgba(0.0) == (0.0, 0.0, 0.0, 1.0)
    np.testing.assert_array_equal(image.get_array(), [[1.0, 0.0]])
    assert figure.axes[0].get_aspect() == 1.0


def test_the_picture_grows_with_the_sentence_up_to_a_limit() -> None:
    small, large, huge = (an_alignment(n, n).plot().get_size_inches()[0] for n in (5, 40, 120))
    assert small < large <= 24.0 and huge == pytest.approx(24.0)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str, start: bytes) -> None:
    file = tmp_path / "folder" / f"a.{suffix}"
    figure = an_alignment(3, 3).plot(file, title="An alignment")
    assert isinstance(figure, Figure) and file.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["a", "a.gif", "a.txt"])
def test_other_suffixes_are_refused_before_drawing(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf"):
        an_alignment(2, 2).plot(tmp_path / name)


def test_an_alignment_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        Alignment([], [], np.zeros((0, 0))).plot()
    with pytest.raises(ValueError, match="must be positive"):
        an_alignment(2, 2).plot(cell_inches=0)


def test_signs_of_formulas_are_drawn_as_they_are(tmp_path: Path) -> None:
    tokens = ["$x^2$", "100%", "a_b", "\\frac", "{"]
    figure = Alignment(tokens, ["$"], np.full((1, 5), 0.2)).plot(tmp_path / "a.png")
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == tokens
    assert not any(text.get_parse_math() for text in figure.axes[0].get_xticklabels())


def test_very_long_tokens_are_shortened() -> None:
    label = Alignment(["x" * 90], ["a"], [[1.0]]).plot().axes[0].get_xticklabels()[0].get_text()
    assert len(label) == 24 and label.endswith("…")


def test_global_settings_and_backend_stay_as_they_were(tmp_path: Path) -> None:
    settings = dict(matplotlib.rcParams)
    an_alignment(3, 3).plot(tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == settings


def test_a_users_dark_style_does_not_reach_the_picture(tmp_path: Path) -> None:
    an_alignment(3, 3).plot(tmp_path / "plain.png")
    with matplotlib.rc_context({"text.color": "red", "xtick.color": "red", "axes.facecolor": "black"}):
        an_alignment(3, 3).plot(tmp_path / "styled.png")
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


def test_drawing_loads_neither_pyplot_nor_a_window_system(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from hf_attention_zoo.alignment.results.aligned import Alignment\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"Alignment(['a'], ['b'], [[1.0]]).plot({str(tmp_path / 'a.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").is_file()


def test_word_weights_of_many_labels_are_the_most_frequent_ones_and_the_rest_as_one() -> None:
    counts = [7, 1, 30, 2, 9, 4, 11, 3, 5, 8, 12, 6, 1, 2, 10, 13, 14, 15, 16, 17, 18]
    parts = {f"class {k}": LabelShare([0.5] * n, [0.5] * n, [0.1] * n, [0.1] * n) for k, n in enumerate(counts)}
    figure = WordWeights("word", {**parts, "never": LabelShare()}, 300).plot()
    titles = [axes.get_title() for axes in figure.axes]
    kept = sorted(sorted(range(len(counts)), key=lambda k: -counts[k])[:10])
    assert titles == [
        f"all ({sum(counts)})",
        *(f"class {k} ({counts[k]})" for k in kept),
        f"11 others ({sum(counts) - sum(counts[k] for k in kept)})",
    ]
    few = WordWeights("word", dict(list(parts.items())[:5]), 300).plot()
    assert len(few.axes) == 6 and few.get_size_inches()[0] < figure.get_size_inches()[0]


def test_labels_of_sentences_cover_neither_one_another_nor_the_frame() -> None:
    generator = np.random.default_rng(3)
    texts = tuple(f"sentence number {k} says a little more than the last" for k in range(14))
    points = np.concatenate([generator.normal(size=(8, 2)), 1 + 0.05 * generator.normal(size=(6, 2))])
    figure = SentenceProjection(texts, points, (0.5, 0.3)).plot()
    renderer = FigureCanvasAgg(figure).get_renderer()
    (axes,) = figure.axes
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    frame = axes.get_window_extent(renderer)
    assert len(boxes) == len(texts)
    for place, box in enumerate(boxes):
        assert frame.x0 - 1 <= box.x0 and box.x1 <= frame.x1 + 1 and frame.y0 - 1 <= box.y0 and box.y1 <= frame.y1 + 1
        for other in boxes[:place]:
            shared = Bbox.intersection(box, other)
            assert shared is None or min(shared.width, shared.height) < 2


def test_a_document_is_drawn_as_wide_as_it_is() -> None:
    def drawn(words: int) -> float:
        weights = np.full(words, 1 / words)
        return (
            DocumentAttention((("word",) * words,), (weights,), np.ones(1), {"x": 1.0}, "x")
            .plot()
            .get_size_inches()[0]
        )

    assert drawn(3) < 3 < drawn(12) < drawn(100) <= 9
