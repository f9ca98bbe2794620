"""Make the data of published folders that do not come with the package, from sources that anybody can fetch.

    apt-get download r-cran-janeaustenr
    python scripts/make_data.py austen r-cran-janeaustenr_1.0.0-1_all.deb lm_austen

    git clone https://github.com/e9t/nsmc
    python scripts/make_data.py nsmc nsmc/raw sent_nsmc_ko

    npm pack emoji-datasource-twitter@16.0.0 emoji-datasource-google@16.0.0 emojibase-data@17.0.0
    python scripts/make_data.py emoji emoji-datasource-twitter-16.0.0.tgz emoji-datasource-google-16.0.0.tgz \\
        emojibase-data-17.0.0.tgz captions_emoji

The last word is the folder to write, which must not be there yet or be empty. It gets a `.jsonl.gz` file for each of
train, validation and test, for emoji also `images.zip`, and is there as a whole or not at all. Where it has the name
that the cards have, and lies where their commands are run, these work as they are written. The same sources give the
same rows in the same order, and the script says whether they are those of the published folders.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from pathlib import Path

from austen_chapters import make_austen
from build_samples import archive_of, canonical_lines_of, packed
from data_rules import Made
from emoji_captions import make_emoji
from nsmc_reviews import make_nsmc

from hf_attention_zoo.folders.checkpoint_folder import new_folder
from hf_attention_zoo.whole_files import whole_folder

# SHA-256 of the lines of each split that the published folders were trained and scored on.
PUBLISHED = {
    "austen": {
        "train": "363d7c540e228dd242188eaa46255007ed421414b34bc8f48f40ff3938b6ffbd",
        "validation": "04c021b26618b56cd2aa692656c00a9b5bf6b953659b6e906c9668ea242f95b3",
        "test": "e5229dff2c8286621aca69be22f9c21ce65ff461d99444d113ca7afccb58ded5",
    },
    "nsmc": {
        "train": "308ecb32ef951f08285aeb82fad4fab0664ebea812da11c8445a3646414ad70b",
        "validation": "cd29272fe421f613217076467aa6abf2922105785f6ea4af4a99206ad12696ee",
        "test": "bac200a048b82971f27b95b22ed73610e24d5a0fd8cac7ceb57a941c52695628",
    },
    "emoji": {
        "train": "740f14286fa62e5ca84cf018f026eb6f27023a4cfe5609dc65202619a3baaabc",
        "validation": "b37d4dee57179d623e84c90f8d36c2a6c1c7ded5aa4099b8565bce53913f0a0e",
        "test": "19919368413fc72f9adededc8ccd4fe65a1b0ee0f41675a8215535539604319b",
    },
}

# How each is made, and of what.
KINDS: dict[str, tuple[Callable[..., Made], dict[str, str]]] = {
    "austen": (make_austen, {"package": "Debian's r-cran-janeaustenr_1.0.0-1_all.deb"}),
    "nsmc": (make_nsmc, {"raw": "the folder raw/ of github.com/e9t/nsmc"}),
    "emoji": (
        make_emoji,
        {
            "twitter": "emoji-datasource-twitter 16.0.0, the .tgz file of `npm pack` or the folder that it unpacks to",
            "google": "emoji-datasource-google 16.0.0, likewise",
            "names": "emojibase-data 17.0.0, likewise",
        },
    ),
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="kind", required=True)
    for kind, (_, sources) in KINDS.items():
        command = commands.add_parser(kind)
        for name, said in sources.items():
            command.add_argument(name, type=Path, help=said)
        command.add_argument("folder", type=Path, help="the folder to write, not there yet or empty")
    chosen = parser.parse_args(arguments)
    make, sources = KINDS[chosen.kind]
    try:
        folder = new_folder(chosen.folder)
        made = make(*(getattr(chosen, name) for name in sources))
        lines = {split: canonical_lines_of(rows) for split, rows in made.splits.items()}
        files = {f"{split}.jsonl.gz": packed(content, "gz") for split, content in lines.items()}
        if made.pictures:
            files["images.zip"] = archive_of(made.pictures)
        with whole_folder(folder) as unfinished:
            for name, content in files.items():
                (unfinished / name).write_bytes(content)
    except (ValueError, OSError) as error:
        raise SystemExit(str(error)) from error
    published = PUBLISHED[chosen.kind]
    for split, rows in made.splits.items():
        same = hashlib.sha256(lines[split]).hexdigest() == published[split]
        print(f"{split}: {len(rows):,} rows, {'those' if same else 'NOT those'} of the published folders")


if __name__ == "__main__":
    main()
