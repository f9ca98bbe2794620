"""`attention-zoo parse FOLDER SENTENCE|FILE|-`."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.data.text_lines import given_lines, is_blank, split_words, typed_by_hand, write_answers
from hf_attention_zoo.training.dotted_flags import split_dotted

CHUNK = 512
TREE_FILES = (".mrg", ".ptb", ".parse", ".trees", ".psd", ".prd")


def no_words(words: list[str]) -> bool:
    """Whether a sentence has nothing that can be seen."""
    return all(map(is_blank, words))


def build_parser() -> CommandParser:
    """The flags of `attention-zoo parse`."""
    parser = CommandParser(
        "parse",
        description="Write the tree of each sentence, one a line. Words and punctuation marks are separated by blanks "
        "in the input. From a file of trees the sentences are taken and the result is scored against it.",
        epilog="Any other decoding setting: --generation.NAME VALUE, e.g. --generation.gnmt_length_penalty 0.3",
    )
    parser.add_argument("folder", help="folder of the parser (or Hub id)")
    parser.add_argument(
        "text", help=f"a sentence, a file, - for standard input; or gold trees ({', '.join(TREE_FILES)})"
    )
    parser.add_argument("--num_beams", "--num-beams", type=int, help="default: the model's own setting")
    parser.add_argument(
        "--max_new_tokens", "--max-new-tokens", type=int, help="longest tree, in tokens (default: the folder's)"
    )
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=32, help="sentences at a time; default: %(default)s"
    )
    parser.add_argument("--max_samples", "--max-samples", type=int, help="only the first sentences of a file of trees")
    parser.add_argument("--output", help="file to write in place of standard output")
    parser.add_argument("--metrics", help="with gold trees: JSON file for the scores")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    rest, dotted = split_dotted(argv, ("generation",))
    options = build_parser().parse_args(rest)
    for name in ("num_beams", "max_new_tokens"):
        if getattr(options, name) is not None:
            dotted["generation"].setdefault(name, getattr(options, name))

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import load_checkpoint
    from hf_attention_zoo.tasks.parsing.bracket_scores import score_trees
    from hf_attention_zoo.tasks.parsing.bracket_trees import Tree
    from hf_attention_zoo.tasks.parsing.linearising import RestoredTree
    from hf_attention_zoo.tasks.parsing.parse_sentences import parse
    from hf_attention_zoo.tasks.parsing.treebank_folder import cleaned_trees, one_line, read_treebank
    from hf_attention_zoo.tasks.translation.evaluation import decoding_settings
    from hf_attention_zoo.whole_files import write_json

    silence_libraries()
    gold: list[Tree] = []
    if options.text.endswith(TREE_FILES):
        gold, _ = cleaned_trees(read_treebank([options.text]))
        gold = gold[: options.max_samples]
    elif options.metrics:
        raise ValueError(f"--metrics needs gold trees, a file ending in {', '.join(TREE_FILES)}; got {options.text!r}")
    sentences = (tree.words() for tree in gold) if gold else map(split_words, given_lines(options.text))
    results: list[RestoredTree] = []
    loaded: list[Any] = []

    def load() -> Any:
        loaded.extend(load_checkpoint(options.folder))
        return loaded

    def parsed(loaded: Any, sentences: list[list[str]]) -> Iterator[str]:
        model, tokenizer = loaded
        made = parse(model, tokenizer, sentences, batch_size=options.batch_size, **dotted["generation"])
        results.extend(made)
        return (one_line(one.tree) if one.tree is not None else "" for one in made)

    size = 1 if typed_by_hand(options.text) else CHUNK
    write_answers(sentences, options.output, size=size, load=load, answer=parsed, blank=no_words)
    if gold:
        scores = score_trees(gold, [one.tree for one in results])
        repairs = sum((Counter(one.repairs) for one in results), Counter())
        print(scores.report(), file=sys.stderr)
        print(f"well-formed outputs    {sum(one.well_formed for one in results)} of {len(results)}", file=sys.stderr)
        if options.metrics:
            content = {
                **scores.as_dict(),
                "well_formed": sum(one.well_formed for one in results),
                "repairs": dict(sorted(repairs.items())),
                "decoding": decoding_settings(loaded[0], dotted["generation"]),
                "gold": Path(options.text).name,
            }
            write_json(Path(options.metrics), content)
    return 0
