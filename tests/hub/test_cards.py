"""Model cards: what they say, what they leave out, and that the Hub can read them."""

import ast
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import EvalResult, ModelCard, metadata_load
from huggingface_hub.repocard_data import model_index_to_eval_results

from hf_attention_zoo.folders.privacy import public_command
from hf_attention_zoo.hub.card_example import readable
from hf_attention_zoo.hub.cards import build_card, write_card
from hf_attention_zoo.hub.checkpoint_facts import dataset_name
from hf_attention_zoo.hub.language_codes import LANGUAGE_NAMES, check_language_code
from hf_attention_zoo.registry import Architecture, get_architecture, list_architectures

PLACEHOLDERS = re.compile(
    r"more information needed|\[.*needed\]|\bT[B]D\b|\bN/A\b|\bNone\b|\bnan\b|your[-_ ]|<[a-z_]+>|\{[a-z_]+\}|lorem",
    re.IGNORECASE,
)


def change(folder: Path, file: str, **values: Any) -> None:
    """Sets entries of one of the folder's JSON files; the file may be new."""
    path = folder / file
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **values}, ensure_ascii=False), encoding="utf-8")


def read(folder: Path, file: str) -> dict[str, Any]:
    return copy.deepcopy(json.loads((folder / file).read_text()))


def headings(card: str) -> list[str]:
    return [line.removeprefix("## ") for line in card.splitlines() if line.startswith("## ")]


def test_metadata_of_a_full_card_is_what_the_hub_expects(recorded_checkpoint: Path) -> None:
    metadata = metadata_load(write_card(recorded_checkpoint))
    assert metadata is not None
    index = metadata.pop("model-index")
    assert metadata == {
        "language": ["de", "en"],
        "license": "mpl-2.0",
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "tags": ["hf_attention_zoo", "rnnsearch", "attention", "arxiv:1409.0473"],
        "widget": [{"text": "Der Hund läuft."}],
        "metrics": ["sacrebleu", "chrf", "perplexity"],
    }
    name, results = model_index_to_eval_results(index)
    assert name == "rnnsearch-de-en"
    assert all(isinstance(result, EvalResult) and result.task_type == "translation" for result in results)
    assert {(result.metric_type, result.metric_value) for result in results} == {
        ("sacrebleu", 30.1235),
        ("chrf", 55.25),
        ("perplexity", 7.42),
    }
    assert {(result.dataset_type, result.dataset_split) for result in results} == {("translation_de_en", "test")}
    assert results[0].metric_args["signature"].startswith("nrefs:1|case:mixed")


def test_card_read_and_written_by_huggingface_hub_keeps_its_results(recorded_checkpoint: Path, tmp_path: Path) -> None:
    card = ModelCard(build_card(recorded_checkpoint))
    card.save(tmp_path / "again.md")
    again = ModelCard.load(tmp_path / "again.md")
    assert again.data.eval_results == card.data.eval_results
    assert again.data.to_dict() == card.data.to_dict()
    assert again.text == card.text


def test_full_card_has_every_section_and_no_placeholder(recorded_checkpoint: Path) -> None:
    card = build_card(recorded_checkpoint)
    assert headings(card) == [
        "How to use it",
        "Results",
        "BLEU by source length",
        "What it attends to",
        "How it was trained",
        "The paper",
        "Intended use",
        "Limits",
        "Licence",
    ]
    assert PLACEHOLDERS.search(re.sub(r"```bibtex.*?```", "", card, flags=re.DOTALL)) is None
    assert card.startswith("---\n")
    assert "# RNNsearch: German to English\n" in card
    assert "translates German into English" in card
    assert "![" in card and "(alignment.png)" in card


def test_sentences_are_shown_where_there_is_no_attention(recorded_checkpoint: Path) -> None:
    (recorded_checkpoint / "alignment.png").rename(recorded_checkpoint / "sentences.png")
    card = build_card(recorded_checkpoint)
    assert "What it makes of a sentence" in headings(card) and "What it attends to" not in headings(card)
    assert "(sentences.png)" in card and "(alignment.png)" not in card


def test_bare_checkpoint_gets_a_short_card_that_says_it_was_not_evaluated(checkpoint: Path) -> None:
    card = build_card(checkpoint)
    assert headings(card) == ["How to use it", "Results", "The paper"]
    assert "This checkpoint was not evaluated." in card
    metadata = ModelCard(card).data.to_dict()
    assert "license" not in metadata and "datasets" not in metadata and "model-index" not in metadata
    assert PLACEHOLDERS.search(re.sub(r"```bibtex.*?```", "", card, flags=re.DOTALL)) is None


def test_results_stand_beside_the_copy_baseline_with_signature_and_settings(recorded_checkpoint: Path) -> None:
    card = build_card(recorded_checkpoint)
    assert "| this checkpoint | 30.12 | 55.25 | 7.42 |" in card
    assert "| the source copied unchanged | 3.12 | 20.25 | - |" in card
    assert "- BLEU signature: `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`" in card
    assert "`num_beams=4`" in card
    assert "| 6-10 | 220 | 33.10 |" in card
    assert "(1,155 rows)" in card


def test_a_limit_on_sentence_length_in_the_evaluation_is_said(recorded_checkpoint: Path) -> None:
    dataset = {**read(recorded_checkpoint, "metrics.json")["dataset"], "max_words": 10}
    change(recorded_checkpoint, "metrics.json", dataset=dataset)
    card = build_card(recorded_checkpoint)
    assert "(1,155 rows, at most 10 words a side)" in card
    assert ModelCard(card).data.eval_results[0].dataset_args == {"max_words": 10}


def test_numbers_of_the_paper_are_marked_as_the_papers_and_stay_out_of_the_metadata(recorded_checkpoint: Path) -> None:
    card = build_card(recorded_checkpoint)
    mark = card.index("not measured with this checkpoint")
    for reported in get_architecture("rnnsearch").reported_results:
        line = next(line for line in card.splitlines() if line.startswith(f"| {reported['system']} |"))
        assert f"{reported['value']:.2f}" in line and reported["source"] in line
        assert card.index(line) > mark
    values = [result.metric_value for result in ModelCard(card).data.eval_results]
    assert 26.75 not in values and 28.45 not in values
    assert "`decoder_timing=paper`" in card
    assert "@inproceedings{bahdanau2015neural" in card


def test_usage_lines_are_valid_python_with_the_name_that_a_user_has(recorded_checkpoint: Path) -> None:
    for name, shown in ((None, '"rnnsearch-de-en"'), ("ada/rnnsearch", '"ada/rnnsearch"')):
        card = build_card(recorded_checkpoint, name=name)
        code = "".join(re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL))
        compile(code, "card", "exec")
        assert code.startswith("import hf_attention_zoo\n")
        assert f'pipeline("translation", model={shown})("Der Hund läuft.")' in code
        assert f"AutoModelForSeq2SeqLM.from_pretrained({shown})" in code
        assert ("seen from the one above it" in card) == (name is None)


def test_training_is_told_without_tokens_or_folders_of_the_machine(recorded_checkpoint: Path) -> None:
    token = "hf_" + "a1B2" * 8
    change(
        recorded_checkpoint,
        "training.json",
        command=f"attention-zoo train rnnsearch --output_dir /home/ada/runs/de-en --hub_token {token}",
        dataset="/home/ada/data/pairs.jsonl.gz",
        arguments={"learning_rate": 0.003, "output_dir": "/home/ada/runs", "hub_token": token},
    )
    card = build_card(recorded_checkpoint)
    assert "--output_dir de-en --hub_token $HF_TOKEN" in card
    assert "| data | pairs |" in card
    assert "`learning_rate=0.003`" in card
    assert "/home" not in card and token not in card
    assert "| wall time | 66.7 min |" in card and "| updates | 5,200 |" in card


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("attention-zoo train --dataset org/name", "attention-zoo train --dataset org/name"),
        ("python scripts/train.py --config=/a/b/c.yaml", "python scripts/train.py --config=c.yaml"),
        ("x '/a b/c d' https://huggingface.co/a/b 5/6 /", "x 'c d' https://huggingface.co/a/b 5/6 /"),
        ("x 'never closed", "x ''\"'\"'never' closed"),
        (["a", "--out", "/x/y/z"], "a --out z"),
    ],
)
def test_only_absolute_folders_are_shortened_in_commands(command: Any, shown: str) -> None:
    assert public_command(command) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("translation_de_en", "translation_de_en"),
        ("wmt/wmt14", "wmt/wmt14"),
        ("../data/pairs.csv", "pairs"),
        ("/data/x.parquet", "x"),
        ("./folder/", "folder"),
    ],
)
def test_data_sets_are_named_without_their_place(given: str, shown: str) -> None:
    assert dataset_name(given) == shown


def test_facts_override_and_complete_what_is_known(recorded_checkpoint: Path) -> None:
    change(
        recorded_checkpoint,
        "facts.json",
        title="Help pages, German to English",
        summary="Made for a course.",
        datasets=["org/help"],
        languages=["de", "en", "ko"],
        limits="One\nlimit.",
        licence="Unicode 3.0",
    )
    card = build_card(recorded_checkpoint)
    metadata = ModelCard(card).data.to_dict()
    assert "\n# Help pages, German to English\n" in card
    assert "Made for a course." in card and "- One limit.\n" in card
    assert metadata["datasets"] == ["org/help"] and metadata["language"] == ["de", "en", "ko"]
    assert metadata["license"] == "other" and metadata["license_name"] == "unicode-3.0"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"licens": "mit"}, "unknown key 'licens'. Allowed are title, "),
        ({"languages": "de"}, "'languages' is 'de'; it must be a list"),
        ({"limits": [1]}, r"'limits' is \[1\]"),
        ({"languages": ["German"]}, "'German' is no language code.*Write 'de' for German"),
        ({"languages": ["jp"]}, "Write 'ja' for Japanese"),
        ({"languages": ["de-AT"]}, "Write 'de' for German"),
        ({"languages": ["xx"]}, "Allowed are ISO 639-1"),
    ],
)
def test_wrong_facts_raise_and_name_the_file(recorded_checkpoint: Path, facts: dict[str, Any], message: str) -> None:
    change(recorded_checkpoint, "facts.json", **facts)
    with pytest.raises(ValueError, match=message) as caught:
        build_card(recorded_checkpoint)
    assert "facts.json" in str(caught.value)


def test_a_wrong_language_of_the_evaluation_raises(recorded_checkpoint: Path) -> None:
    dataset = {**read(recorded_checkpoint, "metrics.json")["dataset"], "source_lang": "de_DE"}
    change(recorded_checkpoint, "metrics.json", dataset=dataset)
    with pytest.raises(ValueError, match=r"metrics\.json, dataset\.source_lang: 'de_DE' is no language code"):
        build_card(recorded_checkpoint)


def test_languages_that_nobody_stated_are_left_out(checkpoint: Path) -> None:
    change(checkpoint, "tokenizer_config.json", source_lang=None, target_lang=None)
    card = build_card(checkpoint)
    assert "language" not in ModelCard(card).data.to_dict()
    assert "# RNNsearch: rnnsearch-de-en\n" in card
    assert 'input("text: ")' in card


def test_norwegian_stays_a_language_in_yaml(checkpoint: Path) -> None:
    change(checkpoint, "tokenizer_config.json", source_lang="no", target_lang="en")
    card = build_card(checkpoint)
    assert yaml.safe_load(card.split("---\n")[1])["language"] == ["no", "en"]
    assert "translates Norwegian into English" in card


@pytest.mark.parametrize("value", [None, "30", float("nan"), float("inf"), True, {"signature": "x"}])
def test_results_that_are_no_numbers_raise(recorded_checkpoint: Path, value: Any) -> None:
    change(recorded_checkpoint, "metrics.json", results={"bleu": value})
    with pytest.raises(ValueError, match=r"results\.bleu is .*finite number"):
        build_card(recorded_checkpoint)


def test_metrics_without_results_raise(recorded_checkpoint: Path) -> None:
    change(recorded_checkpoint, "metrics.json", results={})
    with pytest.raises(ValueError, match="has no `results`"):
        build_card(recorded_checkpoint)


@pytest.mark.parametrize(
    "file", ["config.json", "metrics.json", "training.json", "facts.json", "tokenizer_config.json"]
)
@pytest.mark.parametrize("text", ["{", "[]", "\udcff"])
def test_broken_files_are_named(recorded_checkpoint: Path, file: str, text: str) -> None:
    (recorded_checkpoint / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=re.escape(file)):
        build_card(recorded_checkpoint)


def test_a_model_of_another_library_raises_and_lists_ours(checkpoint: Path) -> None:
    change(checkpoint, "config.json", model_type="bert")
    with pytest.raises(ValueError, match="rnnsearch"):
        build_card(checkpoint)


def test_a_failed_build_leaves_the_old_card(recorded_checkpoint: Path) -> None:
    (recorded_checkpoint / "README.md").write_text("old")
    (recorded_checkpoint / "metrics.json").write_text("{")
    with pytest.raises(ValueError, match=r"metrics\.json"):
        write_card(recorded_checkpoint)
    assert (recorded_checkpoint / "README.md").read_text() == "old"
    assert not list(recorded_checkpoint.glob(".README*"))


def test_texts_that_are_markdown_or_yaml_do_not_break_the_card(recorded_checkpoint: Path) -> None:
    change(
        recorded_checkpoint,
        "facts.json",
        title="a: b\n---\n# c | d",
        data_source="x | y\nz",
        example='say "hi" \\ 안녕',
    )
    card = build_card(recorded_checkpoint)
    assert ModelCard(card).data.pipeline_tag == "translation"
    assert "\n# a: b --- # c | d\n" in card
    assert "| data source | x \\| y z |" in card
    code = "".join(re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL))
    compile(code, "card", "exec")


def test_card_counts_the_saved_parameters(checkpoint: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
    assert f"{model.num_parameters():,} parameters" in build_card(checkpoint)
    model.half().save_pretrained(checkpoint)
    assert "of float16 weights" in build_card(checkpoint)


@pytest.mark.parametrize("row", list_architectures(), ids=lambda row: row.model_type)
def test_every_architecture_has_a_card_without_placeholders(row: Architecture, tmp_path: Path) -> None:
    row.tiny_config().save_pretrained(tmp_path)
    card = build_card(tmp_path, name=f"ada/{row.model_type}")
    assert row.title in card and row.bibtex.strip() in card
    assert ModelCard(card).data.tags[:2] == ["hf_attention_zoo", row.model_type]
    assert PLACEHOLDERS.search(re.sub(r"```bibtex.*?```", "", card, flags=re.DOTALL)) is None


def test_every_two_letter_code_has_a_name_and_passes() -> None:
    assert len(LANGUAGE_NAMES) == 184
    assert all(
        check_language_code(code, "test") == code and name[0].isupper() for code, name in LANGUAGE_NAMES.items()
    )
    assert check_language_code("ace", "test") == "ace"
    assert check_language_code("multilingual", "test") == "multilingual"


def test_what_the_example_prints_is_shown_while_its_lines_are_the_same(recorded_checkpoint: Path) -> None:
    assert "It prints" not in build_card(recorded_checkpoint)
    card = write_card(recorded_checkpoint, run=True).read_text(encoding="utf-8")
    shown = re.search(r"It prints.*?```text\n(.*?)\n```", card, re.DOTALL)[1]
    answer = ast.literal_eval(shown)[0]["translation_text"]
    assert metadata_load(recorded_checkpoint / "README.md")["widget"] == [
        {"text": "Der Hund läuft.", "output": {"text": answer}}
    ]
    assert build_card(recorded_checkpoint) == card
    assert shown in build_card(recorded_checkpoint, name="ada/rnnsearch")
    change(recorded_checkpoint, "facts.json", example="Ein Hund.")
    assert "It prints" not in build_card(recorded_checkpoint)


def test_an_example_that_does_not_run_is_told_and_changes_nothing(recorded_checkpoint: Path) -> None:
    write_card(recorded_checkpoint)
    before = (recorded_checkpoint / "README.md").read_text()
    for file in recorded_checkpoint.glob("*tokenizer*"):
        file.unlink()
    with pytest.raises(ValueError, match=r"the example of .*rnnsearch-de-en does not run"):
        write_card(recorded_checkpoint, run=True)
    assert (recorded_checkpoint / "README.md").read_text() == before
    assert not (recorded_checkpoint / "example.json").exists()


def test_long_output_is_cut_and_numbers_have_four_digits() -> None:
    assert readable(f"[0.123456789, 12.5, {'x' * 2000}]\n").startswith("[0.1234, 12.5, xx")
    assert len(readable("x" * 2000)) < 600 and readable("x" * 2000).endswith(" ...")


@pytest.mark.parametrize(
    ("recorded", "stated", "name", "shown"),
    [
        ({}, {}, None, None),
        ({"base_model": "ada/gpt"}, {}, None, "ada/gpt"),
        ({"base_model": "gpt"}, {}, "ada/tuned", "ada/gpt"),
        ({"base_model": "gpt"}, {"base_model": "bob/other"}, "ada/tuned", "bob/other"),
        ({"base_model": "rnnsearch-de-en"}, {}, None, None),  # an earlier state of itself
    ],
)
def test_a_card_links_what_it_was_fine_tuned_from(
    recorded_checkpoint: Path, recorded: dict, stated: dict, name: str | None, shown: str | None
) -> None:
    change(recorded_checkpoint, "training.json", **recorded)
    change(recorded_checkpoint, "facts.json", **stated)
    assert ModelCard(build_card(recorded_checkpoint, name=name)).data.to_dict().get("base_model") == shown


def test_only_ids_of_the_hub_are_linked_as_data_sets(recorded_checkpoint: Path) -> None:
    data = read(recorded_checkpoint, "metrics.json")["dataset"]
    for dataset, linked in (("translation_de_en", None), ("runs/of/mine/de.tsv", None), ("ada/pairs", ["ada/pairs"])):
        change(recorded_checkpoint, "metrics.json", dataset={**data, "name": dataset})
        assert ModelCard(build_card(recorded_checkpoint)).data.to_dict().get("datasets") == linked
