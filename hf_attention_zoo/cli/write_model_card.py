"""`attention-zoo card FOLDER`."""

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "card",
        description="Write README.md, the model card, from metrics.json, training.json and facts.json.",
    )
    parser.add_argument("folder", help="folder of the model")
    parser.add_argument("--name", help="Hub id that the card's examples use; default: the folder's name")
    parser.add_argument("--print", action="store_true", dest="show", help="print the card, write nothing")
    options = parser.parse_args(argv)

    from hf_attention_zoo.hub.cards import build_card, write_card

    if options.show:
        print(build_card(options.folder, name=options.name))
    else:
        print(f"card written to {write_card(options.folder, name=options.name)}")
    return 0
