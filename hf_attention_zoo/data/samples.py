"""The data sets that come with the package: what they are, and where their files lie.

Each is a folder under `embedded/` with `train|validation|test.jsonl.gz` (or `.xz`) and a `SOURCES.md` that states
origin, licence and caveats. `scripts/build_samples.py` makes the files and checks them against the table below.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hf_attention_zoo.near_names import near_names

EMBEDDED = Path(__file__).parent / "embedded"

# Each description has the licence of its package; the note beside the other licences says what that means.
DEBIAN_LICENCE = "LicenseRef-Debian-main"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One embedded data set.

    Attributes:
        name: what `load_data` or `load_labelled` takes.
        title: one line for a person.
        languages: language codes.
        licence: SPDX name of the licence of the data (not of the package).
        source: where the data come from, with version.
        sizes: rows per split.
        sha256: of each split's uncompressed JSON lines.
        dataset_card: what model cards say about it.
        packing: ending of the packed files.
    """

    name: str
    title: str
    languages: tuple[str, ...]
    licence: str
    source: str
    sizes: dict[str, int]
    sha256: dict[str, str]
    dataset_card: str
    packing: str = "gz"

    task: ClassVar[str]
    rows_said: ClassVar[str]

    @property
    def folder(self) -> Path:
        return EMBEDDED / self.name

    def file(self, split: str) -> Path:
        """The file of a split."""
        return self.folder / f"{split}.jsonl.{self.packing}"


@dataclass(frozen=True, kw_only=True)
class TranslationSample(Sample):
    """The same texts in several languages; any two of them make a direction.

    Attributes:
        default_direction: source and target language where none is asked for.
        quickstart_max_words: limit on the words of a side in the quickstart, `None` for no limit.
    """

    default_direction: tuple[str, str]
    quickstart_max_words: int | None

    task = "translation"
    rows_said = "training pairs"


@dataclass(frozen=True, kw_only=True)
class LabelledSample(Sample):
    """Texts, documents or pairs of texts with a label.

    Attributes:
        label_names: the classes in order.
        numbers: columns with a number to predict in place of the class.
    """

    label_names: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    task = "text-classification"
    rows_said = "training texts"


@dataclass(frozen=True, kw_only=True)
class CaptionSample(Sample):
    """Pictures with a caption in each language.

    Attributes:
        default_language: of the captions, where none is asked for.
        archive_sha256: of the archive with the pictures.
    """

    default_language: str
    archive_sha256: str

    task = "image-captioning"
    rows_said = "training pictures"

    @property
    def archive(self) -> Path:
        """The pictures, by the `file_name` of their rows."""
        return self.folder / "images.zip"


@dataclass(frozen=True, kw_only=True)
class TextSample(Sample):
    """Running text: documents as paragraphs of sentences."""

    task = "language-modeling"
    rows_said = "training documents"


SAMPLES: tuple[Sample, ...] = (
    TranslationSample(
        name="translation_emoji_names",
        title="Names of emoji in Korean, English, German and French",
        languages=("ko", "en", "de", "fr"),
        default_direction=("ko", "en"),
        licence="Unicode-3.0",
        source="Unicode CLDR short names, from npm emojibase-data 17.0.0 (https://github.com/milesj/emojibase)",
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
    TranslationSample(
        name="translation_de_en",
        title="Sentences of the LibreOffice help in German and English",
        languages=("de", "en"),
        default_direction=("de", "en"),
        licence="MPL-2.0",
        source="LibreOffice help 7.4.7, from Debian 12 libreoffice-help-en-us and -de 4:7.4.7-1+deb12u14 (https://packages.debian.org/bookworm/libreoffice-help-de)",
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
    TranslationSample(
        name="translation_ko_en",
        title="Sentences of the LibreOffice help in Korean and English",
        languages=("ko", "en"),
        default_direction=("ko", "en"),
        licence="MPL-2.0",
        source="LibreOffice help 7.4.7, from Debian 12 libreoffice-help-en-us and -ko 4:7.4.7-1+deb12u14 (https://packages.debian.org/bookworm/libreoffice-help-ko)",
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
    LabelledSample(
        name="doc_debian_section",
        title="Descriptions of Debian packages, by section of the archive",
        languages=("en",),
        licence=DEBIAN_LICENCE,
        source="Debian 12 (bookworm) main, package index and English descriptions (https://packages.debian.org/bookworm/)",
        sizes={"train": 10130, "validation": 1056, "test": 978},
        sha256={
            "train": "ececd8b7189a604b04002b26ed5cd5a27aebcc90fd2016b51a43ba23b296de9f",
            "validation": "4ec84d08e98b1e1811595654bb95668479cc7c09f1f39c5eb1d09a62a99cd74a",
            "test": "c6f5a467df7365e262d4a1bba1fb00bd0040f02c461af3be2b46f67f90738d79",
        },
        label_names=(
            *("admin", "editors", "fonts", "games", "gnu-r", "golang", "graphics", "haskell", "java", "javascript"),
            *("lisp", "mail", "math", "net", "perl", "python", "ruby", "science", "sound", "text", "utils", "video"),
            *("web", "x11"),
        ),
        packing="xz",
        dataset_card=(
            "Short documents, 4.6 sentences or list items on average, about software. The labels are Debian's own and "
            "neighbours overlap (admin, utils and net; science and math), so nobody reaches 100 %; some classes are "
            "given away by a word. No published results exist for it."
        ),
    ),
    LabelledSample(
        name="sent_vader",
        title="Sentences of film and product reviews and short messages, by sentiment",
        languages=("en",),
        licence="MIT",
        source="the ratings of Hutto and Gilbert (2014), package vaderSentiment 3.3.2 (https://github.com/cjhutto/vaderSentiment)",
        sizes={"train": 15787, "validation": 1284, "test": 1187},
        sha256={
            "train": "53c58d8de087d44fe838294426810686489e5898227e1decd2a4c5ca66f3c2ab",
            "validation": "b6ef2b52ad8874fa346cd3387576bef6668821dfa11effbddc3a756d58fc2a0d",
            "test": "53e0d9cddf0153bd383f5291a383d5f5d84651157a69127dc8d738199cf320c5",
        },
        label_names=("very negative", "negative", "neutral", "positive", "very positive"),
        numbers=("rating",),
        packing="xz",
        dataset_card=(
            "The class is a band of the mean of about 20 ratings from -4 to 4, given to sentences out of context; "
            "classes next to each other are hard to tell apart. Some language is coarse. No published results exist "
            "for these splits."
        ),
    ),
    LabelledSample(
        name="pair_debian_match",
        title="A synopsis and a description: of the same Debian package or not?",
        languages=("en",),
        licence=DEBIAN_LICENCE,
        source="Debian 12 (bookworm) main, package index and English descriptions (https://packages.debian.org/bookworm/)",
        sizes={"train": 20099, "validation": 2198, "test": 2022},
        sha256={
            "train": "32da037901c5012b32c2850ac5ed9b628c2d7250bd7ecd9a9ce8d015134ffd64",
            "validation": "78b3dca25e02ffb00f1fd97241d9e489dd8106f5132658511576041f56013389",
            "test": "bded80030f4e1f1384235db3bb34fada42938cb3e7bf2bc67d195937ba8374a5",
        },
        label_names=("other package", "same package"),
        packing="xz",
        dataset_card=(
            "The texts are real, the labels follow from a rule: a wrong description comes from another package of the "
            "same section with like words, and a few of these fit after all. No published results exist for it."
        ),
    ),
    CaptionSample(
        name="captions_emoji_people",
        title="Emoji of people and hands in a skin tone, with their names in English and Korean",
        languages=("en", "ko"),
        default_language="en",
        licence="Apache-2.0 AND Unicode-3.0",
        source="Noto Emoji, 64 pixels, from npm emoji-datasource-google 16.0.0; Unicode CLDR short names, from npm "
        "emojibase-data 17.0.0 (https://github.com/iamcal/emoji-data)",
        sizes={"train": 1041, "validation": 147, "test": 142},
        sha256={
            "train": "768b589ca87cef420d7ae5dae1fa80930e82c0f137505712786ec84ca1745f08",
            "validation": "c7dbc324fe9610e36ac34be7abd233064a8575252cbebbfc9f019e06837c22f0",
            "test": "ac0960e4b077cfdd5d8b10f802fa0774faf78017d21e9c52fc7b57b7126872f8",
        },
        archive_sha256="224289d836fd004ab9b10cf41e9a433f39de5452e16cddc48d3f00919c03cfb6",
        dataset_card=(
            "Drawings on white and short names put together from parts. Every held-out picture shows a person or hand "
            "that training has in other skin tones, so scores are flattering: a captioner that names the figure and "
            "reads the tone is right, and no new thing is ever asked for."
        ),
    ),
    TextSample(
        name="lm_debian",
        title="Running text: descriptions of Debian packages, 2.07 million words",
        languages=("en",),
        licence=DEBIAN_LICENCE,
        source="Debian 12 (bookworm) main, English descriptions (https://packages.debian.org/bookworm/)",
        sizes={"train": 27272, "validation": 706, "test": 624},
        sha256={
            "train": "1808261f2a68aa0fd24845e46d121775bd553a0da1050d4eaef68b08cc47bb93",
            "validation": "2971c40acc0627f4a7cd5ae6be0642c4e48c9b7d152e9bc0039306ff0958b7f3",
            "test": "307d8eb22c3f9e6ce1096415bf9901dc42c955367d932d5d32f2c3d25390c9ec",
        },
        packing="xz",
        dataset_card=(
            "Descriptions of software, many names, versions and lists: enough to watch perplexity fall, far from a "
            "general language model. No published results exist for it."
        ),
    ),
)


def list_samples(task: str | None = None) -> list[Sample]:
    """All embedded data sets, or those for one task.

    Args:
        task: "translation", "text-classification", "image-captioning" or "language-modeling".
    """
    return [sample for sample in SAMPLES if task in (None, sample.task)]


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
    return near_names(name, [sample.name for sample in SAMPLES], most=2, cutoff=0.75)


def unknown_sample(name: str) -> str:
    """Message for a name that no embedded data set has."""
    near = similar_samples(name)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no embedded sample is called {name!r}: {meant}The samples are {', '.join(s.name for s in SAMPLES)}"
