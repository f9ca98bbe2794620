"""`attention-zoo card FOLDER`."""

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "card",
        description="Write README.md, the model card, from metrics.json, training.json and facts.json. "
        "The lines of its example are run, and the card shows what they print. With --choose_examples the example is "
        "a held-out row that the model gets right, and two that it gets wrong stand beside it.",
    )
    parser.add_argument("folder", help="folder of the model")
    parser.add_argument("--name", help="Hub id that the card's examples use; default: the folder's name")
    parser.add_argument("--print", action="store_true", dest="show", help="print the card, write nothing")
    parser.add_argument("--no_example", "--no-example", action="store_true", help="do not run the card's example")
    parser.add_argument(
        "--choose_examples",
        "--choose-examples",
        action="store_true",
        help="draw examples from the validation split: the card then shows rows of your data",
    )
    parser.add_argument("--dataset", help="where the data of --choose_examples lie; default: those of the training")
    options = parser.parse_args(argv)
    if options.dataset is not None and not options.choose_examples:
        parser.error("--dataset goes with --choose_examples")
    if options.show and options.choose_examples:
        parser.error("--print writes nothing, and --choose_examples does; give one of them")

    from hf_attention_zoo.hub.cards import build_card, write_card

    if options.show:
        print(build_card(options.folder, name=options.name))
    else:
        from hf_attention_zoo.cli.quiet_libraries import silence_libraries

        silence_libraries()
        if options.choose_examples:
            from hf_attention_zoo.hub.judged_examples import choose_examples

            if choose_examples(options.folder, dataset=options.dataset) is None:
                print(f"no examples were chosen: the answers of {options.folder} are neither right nor wrong")
        print(f"card written to {write_card(options.folder, name=options.name, run=not options.no_example)}")
    return 0
