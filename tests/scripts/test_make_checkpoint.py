"""Making a checkpoint: the command that is recorded with its numbers gives them again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image
from transformers import AutoTokenizer

from hf_attention_zoo.tasks.captions.evaluation import build_parser


def test_the_recorded_command_has_every_choice_of_the_evaluation(load_script: Callable[[str], ModuleType]) -> None:
    make_checkpoint = load_script("make_checkpoint")
    chosen = {"dataset": "data/my pictures", "group_column": "seen_base"}
    command = make_checkpoint.evaluation_command(Path("model_cards") / "a", chosen)
    program, evaluate, *words = shlex.split(command)
    options = vars(build_parser("attention-zoo evaluate").parse_args(words))
    assert (program, evaluate, options["folder"], options["split"]) == (
        "attention-zoo",
        "evaluate",
        "model_cards/a",
        "test",
    )
    assert {name: options[name] for name in chosen} == chosen
    assert make_checkpoint.evaluation_command(Path("a"), {"seen": True}).split() == [
        *("attention-zoo", "evaluate", "a", "--seen", "--split", "test")
    ]
    assert make_checkpoint.evaluation_command(Path("a"), {}) == "attention-zoo evaluate a --split test"


def test_a_picture_of_few_colours_keeps_every_pixel_in_less_room_and_one_of_many_stays(
    load_script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    script, path = load_script("make_checkpoint"), tmp_path / "picture.png"
    few = Image.new("RGBA", (200, 200), "white")
    few.paste((0, 90, 200, 255), (20, 20, 90, 90))
    many = Image.new("RGBA", (64, 64))
    many.putdata([(k % 256, k // 256 * 9, 7, 255) for k in range(64 * 64)])
    for picture, gets_smaller in ((few, True), (many, False)):
        picture.save(path, dpi=(120, 120))
        before = path.read_bytes()
        script.name_colours(path)
        with Image.open(path) as kept:
            assert kept.convert("RGB").tobytes() == picture.convert("RGB").tobytes()
            assert kept.info["dpi"] == pytest.approx((120, 120), abs=0.1)
        assert (len(path.read_bytes()) < len(before)) == gets_smaller


@pytest.mark.parametrize("name", ["rnnsearch-emoji-names-ko-en", "word2vec-debian", "gpt2018-small-debian"])
def test_a_tokenizer_without_indents_reads_as_before_in_less_room(
    load_script: Callable[[str], ModuleType], tmp_path: Path, name: str
) -> None:
    if name.startswith("gpt2018"):
        pytest.importorskip("ftfy")
    published = Path(__file__).parents[2] / "model_cards" / name
    before = AutoTokenizer.from_pretrained(published)
    before.save_pretrained(tmp_path)
    sizes = {path: path.stat().st_size for path in tmp_path.glob("*tokenizer.json")}
    load_script("make_checkpoint").drop_indents(tmp_path)
    assert sizes and all(path.stat().st_size < size for path, size in sizes.items())
    after, texts = AutoTokenizer.from_pretrained(tmp_path), ["the header files", "깃발: 대한민국", ""]
    assert after(texts)["input_ids"] == before(texts)["input_ids"]
    assert after.get_vocab() == before.get_vocab()
