"""The embedded samples: there, whole, licensed, loadable in every direction, and rebuilt byte for byte."""

import gzip
import itertools
import lzma
import shutil
from pathlib import Path

import pytest

from hf_attention_zoo.data.samples import EMBEDDED, CaptionSample, get_sample, list_samples
from hf_attention_zoo.tasks.captions.rows import load_captions
from hf_attention_zoo.tasks.labels.rows import load_labelled
from hf_attention_zoo.tasks.translation.rows import load_data

ROOT = Path(__file__).parents[2]
NAMES = [sample.name for sample in list_samples()]
TRANSLATIONS = [sample.name for sample in list_samples("translation")]
LABELLED = [sample.name for sample in list_samples("text-classification")]


def content(path):
    return (lzma if path.suffix == ".xz" else gzip).decompress(path.read_bytes())


@pytest.fixture
def build_samples(load_script):
    return load_script("build_samples")


def test_embedded_files_have_the_listed_counts_and_hashes(build_samples, capsys):
    assert build_samples.main(["--check"]) == 0
    assert "counts and hashes are as listed" in capsys.readouterr().out


def test_building_from_the_embedded_files_gives_the_same_bytes(build_samples, tmp_path):
    assert build_samples.main([str(EMBEDDED), "--out", str(tmp_path)]) == 0
    for sample in list_samples():
        for split in sample.sizes:
            rebuilt = tmp_path / sample.name / sample.file(split).name
            assert content(rebuilt) == content(sample.file(split))
        if isinstance(sample, CaptionSample):
            assert (tmp_path / sample.name / "images.zip").read_bytes() == sample.archive.read_bytes()


def test_building_from_changed_rows_writes_nothing(build_samples, tmp_path, capsys):
    for sample in list_samples():
        (tmp_path / "in" / sample.name).mkdir(parents=True)
        if isinstance(sample, CaptionSample):
            shutil.copy(sample.archive, tmp_path / "in" / sample.name)
        for split in sample.sizes:
            lines = content(sample.file(split)).decode().splitlines(keepends=True)
            kept = lines[:-1] if (sample.name, split) == ("translation_de_en", "test") else lines
            (tmp_path / "in" / sample.name / f"{split}.jsonl").write_text("".join(kept), encoding="utf-8")
    assert build_samples.main([str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 1
    assert "translation_de_en, test: 1154 rows, the table says 1155" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", NAMES)
def test_each_sample_states_its_licence(name):
    sample = get_sample(name)
    notes = (sample.folder / "SOURCES.md").read_text(encoding="utf-8")
    assert f"**Licence of the data: {sample.licence}**" in notes
    assert all((EMBEDDED / "licences" / f"{name}.txt").is_file() for name in sample.licence.split(" AND "))
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert name in notice and sample.licence in notice
    for rows in sample.sizes.values():
        assert f"{rows:,}" in notes


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_each_sample_loads_in_every_direction(name):
    sample = get_sample(name)
    test_rows = {}
    for source, target in itertools.permutations(sample.languages, 2):
        data = load_data(name, source_lang=source, target_lang=target, splits=["test"])["test"]
        assert len(data) == sample.sizes["test"]
        test_rows[source, target] = (data["source"][:], data["target"][:])
    for (source, target), (sources, targets) in test_rows.items():
        assert test_rows[target, source] == (targets, sources)


def test_the_default_direction_and_all_splits_are_loaded():
    data = load_data("translation_emoji_names")
    assert {split: len(rows) for split, rows in data.items()} == get_sample("translation_emoji_names").sizes
    first = data["train"][0]
    assert first == {"id": "emoji/0023-20e3", "source": "키 캡: #", "target": "keycap: #"}


@pytest.mark.parametrize(
    ("keywords", "direction"),
    [
        ({"source_lang": "en"}, ("en", "ko")),
        ({"source_lang": "de"}, ("de", "en")),
        ({"target_lang": "ko"}, ("en", "ko")),
        ({"target_lang": "fr"}, ("ko", "fr")),
    ],
)
def test_one_language_is_enough_for_a_sample(keywords, direction):
    one = load_data("translation_emoji_names", splits="test", **keywords)["test"]
    both = load_data("translation_emoji_names", splits="test", source_lang=direction[0], target_lang=direction[1])[
        "test"
    ]
    assert one[0] == both[0]


def test_the_quickstart_limit_of_the_german_sample_gives_the_known_counts():
    limit = get_sample("translation_de_en").quickstart_max_words
    data = load_data("translation_de_en", max_words=limit)
    assert limit == 10
    assert {split: len(rows) for split, rows in data.items()} == {"train": 9674, "validation": 433, "test": 430}


def test_samples_stream():
    assert next(iter(load_data("translation_ko_en", streaming=True)["test"]))["target"].startswith("To change")


def test_wrong_languages_are_named():
    with pytest.raises(ValueError, match="target_lang='fr': sample translation_de_en has the languages de, en"):
        load_data("translation_de_en", target_lang="fr")
    with pytest.raises(ValueError, match="both 'de'"):
        load_data("translation_de_en", source_lang="de", target_lang="de")


def test_a_mistyped_sample_gets_suggestions():
    for name in ("translation_dr_en", "translation-de-en", "Translation_DE_EN"):
        with pytest.raises(ValueError, match=f"{name}.*did you mean translation_de_en.*The samples are"):
            load_data(name)
    with pytest.raises(ValueError, match="The samples are translation_emoji_names"):
        get_sample("nothing_like_it")
    with pytest.raises(ValueError, match="an empty data set name"):
        load_data("")


def test_arguments_for_other_sources_are_refused():
    for keywords in ({"dataset_config": "x"}, {"data_files": "x"}, {"columns": {"source": "a", "target": "b"}}):
        with pytest.raises(ValueError, match="is an embedded sample; leave it out"):
            load_data("translation_de_en", **keywords)


@pytest.mark.parametrize("name", LABELLED)
def test_each_labelled_sample_loads_with_its_classes_in_order(name):
    sample = get_sample(name)
    data, info = load_labelled(name, splits=["validation", "test"])
    assert {split: len(rows) for split, rows in data.items()} == {s: sample.sizes[s] for s in ("validation", "test")}
    assert info.names == sample.label_names and info.problem_type == "single_label_classification"
    assert set(data["test"]["label"]) == set(range(len(sample.label_names)))


def test_documents_come_as_sentences_and_pairs_as_two_texts():
    document = load_labelled("doc_debian_section", splits="test")[0]["test"][0]
    assert isinstance(document["text"], list) and len(document["text"]) > 1
    pair = load_labelled("pair_debian_match", splits="test")[0]["test"][0]
    assert isinstance(pair["text"], str) and isinstance(pair["text_pair"], str)


def test_ratings_make_a_regression():
    data, info = load_labelled("sent_vader", splits="test", columns={"label": "rating"})
    assert (info.problem_type, info.names) == ("regression", ("rating",))
    assert all(-4 <= rating <= 4 for rating in data["test"]["label"])


def test_samples_of_the_other_kind_are_refused_with_the_right_loader():
    with pytest.raises(ValueError, match="load it with load_labelled"):
        load_data("sent_vader")
    with pytest.raises(ValueError, match="load it with load_data"):
        load_labelled("translation_de_en")


def test_pictures_load_with_captions_in_each_language():
    sample = get_sample("captions_emoji_people")
    for language in sample.languages:
        splits = load_captions(sample.name, language=language)
        assert {split: len(rows) for split, rows in splits.items()} == sample.sizes
        assert splits["test"].picture(0).size == (64, 64)
    assert {
        caption.partition(":")[0] for (caption,) in load_captions(sample.name, language="en")["test"].captions
    } <= {caption.partition(":")[0] for (caption,) in load_captions(sample.name, language="en")["train"].captions}
