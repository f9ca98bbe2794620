"""Making a checkpoint: the command that is recorded with its numbers gives them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image
from transformers import AutoTokenizer

from hf_attention_zoo.tasks.captions.evaluation import build_parser
from hf_attention_zoo.tasks.running_text.pretrain import PRETRAINING
from hf_attention_zoo.training.run_help import TRAINING
from hf_attention_zoo.training.run_plan import parse_run

REPOSITORY = Path(__file__).parents[2]
RECORDS = sorted((REPOSITORY / "model_cards").glob("*/training.json"))


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
    published = REPOSITORY / "model_cards" / name
    before = AutoTokenizer.from_pretrained(published)
    before.save_pretrained(tmp_path)
    sizes = {path: path.stat().st_size for path in tmp_path.glob("*tokenizer.json")}
    load_script("make_checkpoint").drop_indents(tmp_path)
    assert sizes and all(path.stat().st_size < size for path, size in sizes.items())
    after, texts = AutoTokenizer.from_pretrained(tmp_path), ["the header files", "깃발: 대한민국", ""]
    assert after(texts)["input_ids"] == before(texts)["input_ids"]
    assert after.get_vocab() == before.get_vocab()


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.parent.name)
def test_the_command_that_makes_a_folder_again_is_understood_today(
    load_script: Callable[[str], ModuleType], record: Path
) -> None:
    """Flags have their names, recipes are there, and `--only` takes one run of the protocol."""
    facts = json.loads(record.read_text(encoding="utf-8"))
    for part in facts["command"].split(" && "):
        program, *words = shlex.split(part)
        if program == "attention-zoo" or words[0] == "scripts/train.py":
            command, *flags = words if program == "attention-zoo" else ("train", *words[1:])
            if command == "average":
                run, _, last, number = flags
                assert f"--output_dir {run}" in facts["command"] and last == "--last"
                assert len(facts["averaged_checkpoints"]) == int(number)
                continue
            plan = parse_run(flags, kind={"train": TRAINING, "pretrain": PRETRAINING}[command])
            assert plan.architecture == facts["architecture"]
            continue
        script, only = load_script(Path(words[0]).stem), words[words.index("--only") + 1]
        protocol, given = script.read_protocol(REPOSITORY / words[2]), {"tags_pud": "FOLDER"}
        if words[1] == "pretrain":
            assert only in protocol["bodies"]
        elif hasattr(script, "runs_of"):
            assert [run.name for run in script.runs_of(protocol, given, only)] == [only]
        else:
            assert [run.name for run in script.runs(protocol, given) if only in run.name] == [only]
