"""What a card says of pictures, of texts that are too long and of the weights is true of the model beside it."""

import ast
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import metadata_load
from transformers import pipeline

from hf_attention_zoo.hub.card_pictures import ALIGNMENT_FILE, PICTURES
from hf_attention_zoo.hub.cards import build_card
from hf_attention_zoo.registry import Architecture, get_architecture, list_architectures
from hf_attention_zoo.tasks.table import TASKS

CARDS = Path(__file__).parents[2] / "model_cards"
LIMITED = sorted(
    path.parent
    for path in CARDS.glob("*/config.json")
    if json.loads(path.read_text(encoding="utf-8")).get("max_position_embeddings")
)
LONG = "this package contains the files for the library " * 30
ATTENDING = [row for row in list_architectures() if row.aligner]


def bare(folder: Path, row: Architecture, **changes: Any) -> Path:
    """A folder with a config and a picture."""
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), **changes})
    config.save_pretrained(folder)
    (folder / ALIGNMENT_FILE).write_bytes(b"\x89PNG\r\n\x1a\n")
    return folder


def below_the_picture(card: str) -> str:
    return card.partition(f"({ALIGNMENT_FILE})\n\n")[2].partition("\n\n")[0]


# --- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ATTENDING, ids=lambda row: row.model_type)
def test_every_attention_picture_is_explained(row: Architecture, tmp_path: Path) -> None:
    said = below_the_picture(build_card(bare(tmp_path, row)))
    assert row.aligner in PICTURES and said and not said.startswith("#")
    if row.aligner.endswith(("align_seq2seq", "align_tokens")):
        assert said.startswith("Each row is ") and "each column" in said and "lighter the cell" in said


@pytest.mark.parametrize("name", ["transformer2017", "bert2018", "gpt2018"])
@pytest.mark.parametrize("layers", [1, 3])
def test_layers_and_heads_are_those_of_the_config(name: str, layers: int, tmp_path: Path) -> None:
    row = get_architecture(name)
    said = below_the_picture(build_card(bare(tmp_path, row, num_hidden_layers=layers)))
    kind = "decoder layer" if name == "transformer2017" else "layer"
    which = f"the last of 3 {kind}s" if layers == 3 else f"the one {kind}"
    assert f"attention of {which}, the mean of its {row.tiny_config().num_attention_heads} heads." in said
    assert ("upper right half is black" in said) == (name == "gpt2018")


def test_the_words_are_those_of_what_align_does_unasked() -> None:
    import inspect

    from hf_attention_zoo.alignment.results.seq2seq_alignment import align_seq2seq
    from hf_attention_zoo.alignment.results.token_alignment import align_tokens

    for function in (align_seq2seq, align_tokens):
        usual = {name: one.default for name, one in inspect.signature(function).parameters.items()}
        assert (usual["layer"], usual["head"], usual.get("kind", "cross")) == (-1, "mean", "cross")


# --- texts that are too long -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_a_limit_of_positions_stands_in_the_card(row: Architecture, tmp_path: Path) -> None:
    changes = {"position_encoding": "learned"} if row.model_type == "transformer2017" else {}
    limit = getattr(
        row.config_class(**{**row.tiny_config().to_diff_dict(), **changes}), "max_position_embeddings", None
    )
    card = build_card(bare(tmp_path, row, **changes))
    assert (f"A text may have {limit:,} tokens" in card) if limit else ("A text may have" not in card)
    for task in TASKS:
        for words in task.card.wording.values():
            assert "{" not in re.sub(r"\{\"", "", words.longer.format(limit=8, part=2))


def test_a_score_by_location_says_how_far_it_looks(tmp_path: Path) -> None:
    row = get_architecture("luong")
    location = {"attention_score": "location", "attention_window": "global", "location_max_length": 9}
    assert "The first 9 tokens of a text are attended to" in build_card(bare(tmp_path, row, **location))


@pytest.mark.parametrize("folder", LIMITED, ids=lambda folder: folder.name)
def test_what_a_card_advises_for_long_texts_works(folder: Path) -> None:
    (said,) = re.findall(r"^A text may have 128 tokens.*$", build_card(folder), re.MULTILINE)
    (options,) = re.findall(r"`([^`]+)`", said)
    call: Any = ast.parse(f"f({options})", mode="eval").body
    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    task: Any = metadata_load(folder / "README.md")["pipeline_tag"]
    run = pipeline(task, model=str(folder))
    text = f"the [MASK] {LONG}" if task == "fill-mask" else LONG
    if task != "token-classification":
        with pytest.raises(ValueError, match="128"):
            run(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(text, **given)
    assert found
    if task == "token-classification":
        assert found[-1]["end"] == len(LONG.strip())


# --- weights ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def averaged(recorded_checkpoint: Path) -> Path:
    path = recorded_checkpoint / "training.json"
    facts = json.loads(path.read_text())
    facts["averaged_checkpoints"] = [1200, 1300]
    facts["arguments"] |= {
        "load_best_model_at_end": True,
        "metric_for_best_model": "bleu",
        "greater_is_better": True,
        "save_total_limit": 6,
    }
    path.write_text(json.dumps(facts))
    return recorded_checkpoint


def test_a_mean_of_checkpoints_is_called_one_and_names_no_best_model(averaged: Path) -> None:
    card = build_card(averaged)
    assert "| weights | the mean of the checkpoints after steps 1200, 1300 |" in card
    assert "load_best_model_at_end" not in card and "metric_for_best_model" not in card
    assert "greater_is_better" not in card and "`save_total_limit=6`" in card


def test_what_ended_the_training_is_told_of_a_mean_too(averaged: Path) -> None:
    path = averaged / "training.json"
    facts = json.loads(path.read_text())
    facts["arguments"]["early_stopping_patience"] = 3
    path.write_text(json.dumps(facts))
    card = build_card(averaged)
    assert "`metric_for_best_model=bleu`" in card and "load_best_model_at_end" not in card
    facts["averaged_checkpoints"] = [1300]
    path.write_text(json.dumps(facts))
    assert "| weights | those of the checkpoint after step 1300 |" in build_card(averaged)


def test_other_weights_keep_the_setting_and_have_no_row(averaged: Path) -> None:
    path = averaged / "training.json"
    facts = json.loads(path.read_text())
    del facts["averaged_checkpoints"]
    path.write_text(json.dumps(facts))
    card = build_card(averaged)
    assert "`load_best_model_at_end=True`" in card and "| weights |" not in card


def test_every_published_mean_says_so() -> None:
    for path in CARDS.glob("*/training.json"):
        facts = json.loads(path.read_text(encoding="utf-8"))
        assert ("| weights | the mean of" in build_card(path.parent)) == bool(facts.get("averaged_checkpoints"))
