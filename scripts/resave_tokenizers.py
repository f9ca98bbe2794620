"""Saves the tokenizer of every published folder anew, so that its files are what this package writes today.

    python scripts/resave_tokenizers.py [model_cards/FOLDER ...]

Without the `gpt` extra GPT's tokenizers cannot be loaded, and the script ends there with the message that says so.
"""

import argparse
from pathlib import Path

from make_checkpoint import drop_indents
from transformers import AutoTokenizer

import hf_attention_zoo  # noqa: F401  (registers the tokenizers)
from hf_attention_zoo.folders.written_files import note_files

PUBLISHED = Path(__file__).parents[1] / "model_cards"


def main() -> None:
    """Load and save, folder by folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders or sorted(path.parent for path in PUBLISHED.glob("*/tokenizer.json"))
    for folder in folders:
        before = {path.name: path.read_bytes() for path in folder.glob("*token*")}
        AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
        drop_indents(folder)
        changed = [path.name for path in sorted(folder.glob("*token*")) if before.get(path.name) != path.read_bytes()]
        note_files(folder, *changed)
        print(f"{folder.name}: {', '.join(changed) or 'as before'}")


if __name__ == "__main__":
    main()
