"""A Hub Space that shows the models of the folder beside it: copy model_cards/ next to this file and push both."""

from pathlib import Path

from hf_attention_zoo.cli.open_demo import build_demo

FOLDERS = [str(path.parent) for path in sorted((Path(__file__).parent / "model_cards").glob("*/config.json"))]

if __name__ == "__main__":
    build_demo(FOLDERS).launch()
