"""`attention-zoo treebank OUT --train FILES [--validation FILES] [--test FILES] | --generated N`."""

from collections.abc import Sequence
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser


def build_parser() -> CommandParser:
    """The flags of `attention-zoo treebank`."""
    parser = CommandParser(
        "treebank",
        description="Turn constituency trees in Penn brackets into a folder to train a parser on: sentences as "
        "sources, linear trees as targets. Traces are left out, and phrases that hold nothing else.",
    )
    parser.add_argument("out", help="new folder")
    for split in ("train", "validation", "test"):
        parser.add_argument(f"--{split}", nargs="+", default=[], metavar="PATH", help=f"{split} files, or folders")
    parser.add_argument("--generated", type=int, metavar="N", help="N made-up trees in place of files (10 %% + 10 %%)")
    parser.add_argument("--seed", type=int, default=0, help="for --generated")
    parser.add_argument(
        "--style", choices=("brackets", "slashes"), default="brackets", help="(NP ... )NP or NP ... /NP"
    )
    parser.add_argument("--tags", choices=("keep", "XX"), default="keep", help="XX: write every tag as XX")
    parser.add_argument("--keep_functions", "--keep-functions", action="store_true", help="keep NP-SBJ as it is")
    parser.add_argument("--max_words", "--max-words", type=int, help="leave out longer sentences")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.tasks.parsing.tree_grammar import sample_trees
    from hf_attention_zoo.tasks.parsing.treebank_folder import cleaned_trees, read_treebank, write_treebank

    named = {split: getattr(options, split) for split in ("train", "validation", "test")}
    facts: dict[str, Any] = {"keep_functions": options.keep_functions, "max_words": options.max_words}
    if options.generated is not None:
        if any(named.values()):
            raise ValueError("--generated stands in place of files; leave out --train, --validation and --test")
        if options.generated < 10:
            raise ValueError(f"--generated {options.generated}: at least 10 trees make three splits")
        trees = sample_trees(options.generated, seed=options.seed, max_words=options.max_words or 30)
        held_out = options.generated // 10
        splits = {
            "train": trees[2 * held_out :],
            "validation": trees[:held_out],
            "test": trees[held_out : 2 * held_out],
        }
        facts["source"] = f"made up by hf_attention_zoo.tasks.parsing.tree_grammar, seed {options.seed}"
    else:
        if not any(named.values()):
            raise ValueError(
                "which trees? Give --train (and --validation, --test) with files or folders, or --generated N"
            )
        splits = {}
        for split, paths in named.items():
            if paths:
                splits[split], left_out = cleaned_trees(
                    read_treebank(paths), keep_functions=options.keep_functions, max_words=options.max_words
                )
                for reason, count in left_out.items():
                    if count:
                        print(f"{split}: left out {count} trees ({reason.replace('_', ' ')})")
    folder = write_treebank(splits, options.out, style=options.style, tags=options.tags, facts=facts)
    counts = ", ".join(f"{len(trees)} for {split}" for split, trees in splits.items())
    print(f"{counts} written to {folder}")
    return 0
