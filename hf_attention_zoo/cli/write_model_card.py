"""`attention-zoo card FOLDER`."""

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "card",
        description="Write README.md, the model card, from metrics.json, training.json and facts.json. "
        "The lines of its example are run, and the card shows what they print.",
    )
    parser.add_argument("folder", help="folder of the model")
    parser.add_argument("--name", help="Hub id that the card's examples use; default: the folder's name")
    parser.add_argument("--print", action="store_true", dest="show", help="print the card, write nothing")
    parser.add_argument("--no_example", "--no-example", action="store_true", help="do not run the card's example")
    options = parser.parse_args(argv)

    from hf_attention_zoo.hub.cards import build_card, write_card

    if options.show:
        print(build_card(options.folder, name=options.name))
    else:
        from hf_attention_zoo.cli.quiet_libraries import silence_libraries

        silence_libraries()
        print(f"card written to {write_card(options.folder, name=options.name, run=not options.no_example)}")
    return 0
