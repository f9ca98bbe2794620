"""The data sets that come with the package: what they are, and where their files lie.

Each is a folder under `embedded/` with `train|validation|test.jsonl.gz` and a `SOURCES.md` that states origin, licence
and caveats. `scripts/build_samples.py` makes the files and checks them against the table below.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

EMBEDDED = Path(__file__).parent / "embedded"


@dataclass(frozen=True)
class Sample:
    """One embedded data set.

    Attributes:
        name: what `load_data` takes.
        title: one line for a person.
        languages: language codes; any two of them make a direction.
        default_direction: source and target language where none is asked for.
        licence: SPDX name of the licence of the data (not of the package).
        source: where the data come from, with version.
        sizes: pairs per split.
        sha256: of each split's uncompressed JSON lines.
        quickstart_max_words: limit on the words of a side in the quickstart, `None` for no limit.
        dataset_card: what model cards say about it.
    """

    name: str
    title: str
    languages: tuple[str, ...]
    default_direction: tuple[str, str]
    licence: str
    source: str
    sizes: dict[str, int]
    sha256: dict[str, str]
    quickstart_max_words: int | None
    dataset_card: str

    @property
    def folder(self) -> Path:
        return EMBEDDED / self.name


SAMPLES = (
    Sample(
        name="translation_emoji_names",
        title="Names of emoji in Korean, English, German and French",
        languages=("ko", "en", "de", "fr"),
        default_direction=("ko", "en"),
        licence="Unicode-3.0",
        source="Unicode CLDR short names, from npm emojibase-data 17.0.0",
        sizes={"train": 3218, "validation": 280, "test": 263},
        sha256={
            "train": "eee2cd24dadc8ff1973f6735115ed99219eed443cbc45a497a7dc09ef0530a1b",
            "validation": "3ec5de21dc62c6ed8f5e3d96845ec800608543dfd48d4854cb3af08dbd888e08",
            "test": "4bd672d696bc4ac5a044011f195913451f99c494750a674dd66c6bfad07d3b58",
        },
        quickstart_max_words=None,
        dataset_card=(
            "Short names, not sentences. Most held-out names recombine parts that training has seen, so scores are "
            "flattering: the set shows that training works, not that a model translates."
        ),
    ),
    Sample(
        name="translation_de_en",
        title="Sentences of the LibreOffice help in German and English",
        languages=("de", "en"),
        default_direction=("de", "en"),
        licence="MPL-2.0",
        source="LibreOffice help 7.4.7, from Debian 12 libreoffice-help-en-us and -de 4:7.4.7-1+deb12u14",
        sizes={"train": 26176, "validation": 1129, "test": 1155},
        sha256={
            "train": "56777e3eea24a0d73ccab116b372b8bd1f2208acb4787ec0317f2ca0d3b64e4d",
            "validation": "ff6b05fb302a58ad8e0e179e32799571fef8ea0268460aa4f8088136bc4d2047",
            "test": "45ebfab56c2c29671c3fd28c9f6ea0daa5f5b0b59a648d4e52d0ce870c860258",
        },
        quickstart_max_words=10,
        dataset_card=(
            "One domain, office software help: a small vocabulary with many repeated patterns. A model trained on it "
            "does not translate general text. No published results exist for it."
        ),
    ),
    Sample(
        name="translation_ko_en",
        title="Sentences of the LibreOffice help in Korean and English",
        languages=("ko", "en"),
        default_direction=("ko", "en"),
        licence="MPL-2.0",
        source="LibreOffice help 7.4.7, from Debian 12 libreoffice-help-en-us and -ko 4:7.4.7-1+deb12u14",
        sizes={"train": 12402, "validation": 532, "test": 534},
        sha256={
            "train": "479af33de17b54003d6d3904beb96c9f82d1109c96ed2227873387718f44a53a",
            "validation": "4b655b7e9aef0d6af4ef88c5d26475325e7f14312fb39982a873d3eed44bf7cc",
            "test": "790d0847bf715e121caedbeef08cd894b76e615137ce97478d71903f8e894146",
        },
        quickstart_max_words=None,
        dataset_card=(
            "One domain, office software help, in formal Korean throughout. More than half of the Korean help pages "
            "are untranslated and were left out, hence the size. No published results exist for it."
        ),
    ),
)


def list_samples() -> list[Sample]:
    """All embedded data sets."""
    return list(SAMPLES)


def get_sample(name: str) -> Sample:
    """An embedded data set by name; a ValueError lists the known ones and the nearest."""
    for sample in SAMPLES:
        if sample.name == name:
            return sample
    raise ValueError(unknown_sample(name))


def is_sample(name: str) -> bool:
    """Whether an embedded data set has this name."""
    return any(sample.name == name for sample in SAMPLES)


def similar_samples(name: str) -> list[str]:
    """Names of embedded data sets that a mistyped name may have meant, nearest first."""
    return difflib.get_close_matches(name.lower().replace("-", "_"), [s.name for s in SAMPLES], n=2, cutoff=0.75)


def unknown_sample(name: str) -> str:
    """Message for a name that no embedded data set has."""
    near = similar_samples(name)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no embedded sample is called {name!r}: {meant}The samples are {', '.join(s.name for s in SAMPLES)}"
