"""Pictures of emoji in two styles, with their names in four languages, from packages of npm, for `make_data.py`."""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

from data_rules import Made, Row, Splits, by_id, empty_splits, likeness, one_spaced, split_of
from PIL import Image
from source_packages import files_of_npm

LANGUAGES = ("en", "ko", "de", "fr")
SIDE, COLOURS = 64, 32
SKIN_TONES = {"1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF"}
MANY_TONES = 4  # so many pictures of one thing differ in skin tones
HELD_OUT, HELD_OUT_WITH_TONES = 300, 1000


def make_emoji(twitter: Path, google: Path, names: Path) -> Made:
    """Rows of pictures, and the pictures by `file_name`.

    A row has `id`, `file_name`, `style`, `hexcode`, `base` (the hexcode without skin tones), `captions` by language,
    and `seen_base`: whether training has the same thing in another tone. An emoji is held out in both styles at once,
    and more of those that come in several tones. Left out are pictures that serve emoji of different names, and
    held-out ones whose English name is that of a training picture.

    Raises:
        ValueError: a package lacks its files, or one of them cannot be read.
    """
    captions = _captions(names)
    pictures: dict[str, bytes] = {}
    rows: list[Row] = []
    for style, package in (("twitter", twitter), ("google", google)):
        found = files_of_npm(package, re.compile(rf"img/{style}/{SIDE}/[^/]+\.png"))
        if not found:
            raise ValueError(f"{package} has no img/{style}/{SIDE}/*.png; give emoji-datasource-{style} 16.0.0")
        for path, content in found.items():
            stem = Path(path).stem
            code = _code(stem)
            named = {language: captions[language].get(code) for language in LANGUAGES}
            if all(named.values()):
                base = "-".join(part for part in code.split("-") if part not in SKIN_TONES)
                file_name = f"{style}/{stem}.png"
                pictures[file_name] = reduced_picture(content, f"{path} of {package}")
                row = {"id": f"emoji/{style}/{stem}", "file_name": file_name, "style": style, "hexcode": code}
                rows.append({**row, "base": base, "captions": named})
    splits = _split(_without_shared_pictures(rows, pictures))
    if not any(splits.values()):
        raise ValueError(f"no picture has a name in {names}; give emojibase-data 17.0.0")
    used = [row["file_name"] for part in splits.values() for row in part]
    return Made(splits, {name: pictures[name] for name in used})


def reduced_picture(content: bytes, name: str) -> bytes:
    """A picture laid on white, in few colours, as PNG."""
    try:
        with Image.open(io.BytesIO(content)) as opened:
            picture = opened.convert("RGBA")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"{name} is not a whole picture ({error}); fetch the package again") from error
    if picture.size != (SIDE, SIDE):
        raise ValueError(f"{name} has {picture.size[0]} x {picture.size[1]} dots; pictures have {SIDE} x {SIDE}")
    on_white = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    target = io.BytesIO()
    few = on_white.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(target, "PNG", optimize=True)
    return target.getvalue()


def _code(hexcode: str) -> str:
    """Code points without the mark that asks for a colourful picture: some files' names have it, others have not."""
    return hexcode.upper().replace("-FE0F", "")


def _captions(package: Path) -> dict[str, dict[str, str]]:
    """Language -> code points -> name."""
    found = files_of_npm(package, re.compile(rf"(?:{'|'.join(LANGUAGES)})/data\.json"))
    captions: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        path = f"{language}/data.json"
        if path not in found:
            raise ValueError(f"{package} has no {path}; give emojibase-data 17.0.0")
        try:
            listed = [tone for emoji in json.loads(found[path]) for tone in (emoji, *emoji.get("skins", ()))]
            captions[language] = {_code(emoji["hexcode"]): one_spaced(emoji["label"]) for emoji in listed}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{path} of {package} is not a list of emoji, each with hexcode and label ({error!r}); "
                "give emojibase-data 17.0.0"
            ) from error
    return captions


def _without_shared_pictures(rows: list[Row], pictures: dict[str, bytes]) -> list[Row]:
    """Rows whose picture stands for one emoji alone: of the others no name is certain."""
    emoji: dict[bytes, set[str]] = defaultdict(set)
    for row in rows:
        emoji[pictures[row["file_name"]]].add(row["hexcode"])
    return [row for row in rows if len(emoji[pictures[row["file_name"]]]) == 1]


def _split(rows: list[Row]) -> Splits:
    tones = Counter(row["base"] for row in rows if row["style"] == "twitter")
    dealt = empty_splits()
    for row in rows:
        held_out = HELD_OUT_WITH_TONES if tones[row["base"]] >= MANY_TONES else HELD_OUT
        dealt[split_of(row["hexcode"], "emoji", held_out)].append(row)
    names = {likeness(row["captions"]["en"]) for row in dealt["train"]}
    bases = {row["base"] for row in dealt["train"]}
    return by_id(
        {
            split: [
                {**row, "seen_base": row["base"] in bases}
                for row in part
                if split == "train" or likeness(row["captions"]["en"]) not in names
            ]
            for split, part in dealt.items()
        }
    )
