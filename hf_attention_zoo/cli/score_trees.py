"""`attention-zoo parseval GOLD TEST`."""

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "parseval",
        description="Labelled bracket precision, recall and F1 of trees against gold trees, as evalb counts them with "
        "COLLINS.prm: without punctuation, traces and TOP, function tags cut off.",
    )
    parser.add_argument("gold", help="file of gold trees in Penn brackets")
    parser.add_argument("test", help="file of trees of the same sentences in the same order")
    parser.add_argument("--output", help="JSON file for the figures")
    options = parser.parse_args(argv)

    from hf_attention_zoo.tasks.parsing.bracket_scores import score_trees
    from hf_attention_zoo.tasks.parsing.bracket_trees import read_tree_files
    from hf_attention_zoo.whole_files import write_json

    scores = score_trees(read_tree_files([options.gold]), read_tree_files([options.test]))
    print(scores.report())
    if options.output:
        write_json(Path(options.output), scores.as_dict())
    return 0
