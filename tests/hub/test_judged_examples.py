"""The examples of cards are drawn from held-out rows by rule, and the published ones are what the models say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import captioners
import pytest

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.samples import is_sample
from hf_attention_zoo.evaluation.judged_rows import HeldOut, JudgedRow
from hf_attention_zoo.hub.cards import build_card
from hf_attention_zoo.hub.judged_examples import JUDGED_FILE, choose_examples, drawn_order, first_ones, right_and_wrong
from hf_attention_zoo.tasks.captions.held_out import held_out_rows
from hf_attention_zoo.tasks.table import task_for
from hf_attention_zoo.tasks.tags.held_out import judged
from hf_attention_zoo.tasks.translation.held_out import is_right

CARDS = Path(__file__).parents[2] / "model_cards"
FOLDERS = [path.parent for path in sorted(CARDS.glob("*/config.json")) if task_for(path.parent).judged]


def held_out(rights: list[bool | None], words: list[int], asked: list[int] | None = None) -> HeldOut:
    """Rows whose verdicts are given; `asked` gets the rows that the model is asked for."""

    def judge(places: Any) -> list[JudgedRow]:
        (asked if asked is not None else []).extend(places)
        return [JudgedRow(f"row {place}", "said", "expected", rights[place]) for place in places]

    return HeldOut(words, judge)


def test_the_first_right_row_of_a_fitting_length_and_the_first_wrong_ones_are_taken() -> None:
    rights = [True, None, False, True, False, True, False]
    asked: list[int] = []
    right, wrong, count = first_ones(held_out(rights, [2, 5, 1, 99, 5, 4, 5], asked), 4, 16, [6, 3, 0, 2, 1, 5, 4])
    assert right is not None and (right[0], [row for row, _ in wrong]) == (5, [6, 2])
    assert asked == [6, 0, 2, 1, 5, 4] and count == 6  # the long one is passed over
    right, wrong, _ = first_ones(held_out([True, False], [2, 5]), 4, 16, [0, 1])
    assert right is not None and right[0] == 0 and len(wrong) == 1  # a short one where there is no other


def test_no_more_rows_are_asked_for_than_are_needed_and_the_order_is_a_seeds() -> None:
    asked: list[int] = []
    first_ones(held_out([True, False, False] * 40, [5] * 120, asked), 4, 16, list(range(120)))
    assert asked == list(range(16))
    assert drawn_order(50, 0) == drawn_order(50, 0) != drawn_order(50, 1)
    assert sorted(drawn_order(50, 0)) == list(range(50))


def test_a_card_says_where_nothing_is_right_or_nothing_wrong() -> None:
    row = {"row": 3, "given": "a | b", "said": "c", "expected": "d"}
    record = {"split": "validation", "rows": 1200, "seed": 0, "words": [4, 16], "judged": 1100}
    text = right_and_wrong({**record, "right": None, "wrong": [row]}, "it is so")
    assert "None of the 1,100 rows that are short enough is right." in text and "no other is wrong" in text
    assert "| wrong | a \\| b | c | d |" in text
    assert "Of the 1,100 rows that are short enough none is wrong." in right_and_wrong(
        {**record, "right": row, "wrong": []}, "it is so"
    )
    assert right_and_wrong({}, "it is so") == ""


def test_tags_are_right_together_and_wrong_one_by_one() -> None:
    assert judged(["a", "b"], [0, 1], [0, 1], ["X", "Y"]) == JudgedRow("a b", "a X, b Y", "a X, b Y", True)
    assert judged(["a", "b"], [0, -1], [0, 1], ["X", "Y"]) == JudgedRow("a b", "b nothing", "b Y", False)


def test_a_translation_close_to_its_reference_is_neither_right_nor_wrong() -> None:
    assert is_right("Click  Add.", "Click Add.") is True
    assert is_right("Click Add and then click Close.", "Click Add and then Close.") is None
    assert is_right("woman", "flag: Chad") is False


def test_pictures_are_saved_beside_the_record_and_shown(tmp_path: Path) -> None:
    folder = captioners.save_captioner(tmp_path / "captioner")
    generation = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**generation, "max_new_tokens": 4}))
    data = tmp_path / "data"
    data.mkdir()
    for number, picture in enumerate(captioners.pictures(3)):
        picture.save(data / f"{number}.png")
    lines = [{"file_name": f"{number}.png", "caption": "a"} for number in range(3)]
    (data / "validation.jsonl").write_text("\n".join(map(json.dumps, lines)))
    own = [row.said for row in held_out_rows(folder, dataset=str(data)).judge([0, 1, 2])]
    lines[1]["caption"] = own[1].upper()  # of random weights nothing else is right
    (data / "validation.jsonl").write_text("\n".join(map(json.dumps, lines)))
    record = choose_examples(folder, dataset=str(data))
    assert record is not None and record["right"]["row"] == 1 and record["right"]["given"] == "example.png"
    assert {one["row"] for one in record["wrong"]} == {0, 2}
    assert all((folder / name).is_file() for name in ("example.png", "wrong-1.png", "wrong-2.png"))
    card = build_card(folder)
    assert "| wrong | ![a held-out picture](wrong-2.png) |" in card and '"captioner/example.png"' in card


def test_the_command_chooses_and_a_broken_record_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rnnsearch-emoji-names-ko-en"
    shutil.copytree(CARDS / folder.name, folder)
    kept = json.loads((folder / JUDGED_FILE).read_text(encoding="utf-8"))
    (folder / JUDGED_FILE).unlink()
    assert "Right and wrong" not in build_card(folder)
    assert main(["card", str(folder), "--choose_examples", "--no_example"]) == 0
    assert json.loads((folder / JUDGED_FILE).read_text(encoding="utf-8")) == kept  # the rule, run again
    (folder / JUDGED_FILE).write_text(json.dumps({"right": None, "wrong": 3}))
    with pytest.raises(ValueError, match=r"judged\.json"):
        build_card(folder)
    assert main(["card", str(folder), "--dataset", "translation_emoji_names"]) == 2
    assert "--choose_examples" in capsys.readouterr().err


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_published_examples_are_what_the_model_says_of_held_out_rows(
    folder: Path,
) -> None:
    record = json.loads((folder / JUDGED_FILE).read_text(encoding="utf-8"))
    assert record["split"] == "validation" and len(record["wrong"]) == 2
    printed = json.loads((folder / "example.json").read_text(encoding="utf-8"))["prints"]
    shown = [one for one in (record["right"], *record["wrong"]) if one is not None]
    if record["right"] is not None:
        assert record["right"]["said"].lower() == record["right"]["expected"].lower()
        assert task_for(folder).name == "token-classification" or record["right"]["said"] in printed
    assert all(one["said"] != one["expected"] for one in record["wrong"])
    order = drawn_order(record["rows"], record["seed"])
    places = [order.index(one["row"]) for one in record["wrong"]]
    assert places == sorted(places)
    name = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["dataset"]["name"]
    if is_sample(name):
        rows = task_for(folder).held_out(folder, split="validation")
        assert rows is not None and len(rows.words) == record["rows"]
        for one, verdict in zip(shown, [True] * (len(shown) - 2) + [False] * 2, strict=True):
            (again,) = rows.judge([one["row"]])
            assert (again.given, again.said, again.expected) == (one["given"], one["said"], one["expected"])
            assert again.right is verdict
