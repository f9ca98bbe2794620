"""Saves the tokenizer of every published folder anew, so that its files are what this package writes today.

    python scripts/resave_tokenizers.py [model_cards/FOLDER ...]

Without the `gpt` extra GPT's tokenizers cannot be loaded, and the script ends there with the message that says so.
"""

import argparse
from pathlib import Path

from transformers import AutoTokenizer

import hf_attention_zoo  # noqa: F401  (registers the tokenizers)

PUBLISHED = Path(__file__).parents[1] / "model_cards"


def main() -> None:
    """Load and save, folder by folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders or sorted(path.parent for path in PUBLISHED.glob("*/tokenizer.json"))
    for folder in folders:
        before = {path.name: path.read_bytes() for path in folder.glob("*token*")}
        AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
        changed = [path.name for path in sorted(folder.glob("*token*")) if before.get(path.name) != path.read_bytes()]
        print(f"{folder.name}: {', '.join(changed) or 'as before'}")


if __name__ == "__main__":
    main()
