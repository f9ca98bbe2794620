"""`attention-zoo words SOURCE WORD ... --analogy A B C --questions FILE --plot FILE`."""

from __future__ import annotations

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser


def build_parser() -> CommandParser:
    """The flags of `attention-zoo words`."""
    parser = CommandParser(
        "words",
        description="Show which words stand nearest to a word by their vectors, answer analogies, and draw words in "
        "the plane of their vectors.",
    )
    parser.add_argument(
        "source", help="folder of a model that knows words (word2vec, HAN, ...), or a file that --word_vectors takes"
    )
    parser.add_argument("words", nargs="*", help="words to find neighbours of, and to draw")
    parser.add_argument(
        "--analogy", nargs=3, action="append", default=[], metavar=("A", "B", "C"), help="A is to B as C is to ...?"
    )
    parser.add_argument("--questions", help="file of analogies, four words a line; ': name' begins a section")
    parser.add_argument("--plot", help="draw the words to this file (.png, .svg, .pdf)")
    parser.add_argument("--count", type=int, default=10, help="neighbours of each word; default: 10")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)
    if not (options.words or options.analogy or options.questions):
        raise ValueError("what shall be looked up? Give words, --analogy A B C or --questions FILE")
    if options.count < 1:
        raise ValueError(f"--count {options.count}: give 1 or more")
    if options.plot and len(options.words) < 2:
        raise ValueError("--plot draws the words that are named: give two at least")

    from hf_attention_zoo.alignment.results.word_space import SectionScore, WordSpace, read_questions
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries

    silence_libraries()
    questions = read_questions(options.questions) if options.questions else {}
    space = WordSpace.of(options.source)
    if not options.plot:
        for word in options.words:
            print(f"{word}: {', '.join(map(str, space.nearest(word, options.count)))}")
    for a, b, c in options.analogy:
        print(f"{a} : {b} = {c} : {', '.join(map(str, space.analogy(a, b, c, min(3, options.count))))}")
    if questions:
        scores = space.answer(questions)
        scores["all"] = SectionScore(*map(sum, zip(*scores.values(), strict=True)))
        for name, score in scores.items():
            share = f"{score.right / score.asked:6.1%}" if score.asked else "     -"
            print(f"{share}  {score.right:,} of {score.asked:,} ({score.left_out:,} with an unknown word)  {name}")
    if options.plot:
        space.plane(options.words).plot(options.plot)
        print(f"drawn in {options.plot}")
    return 0
