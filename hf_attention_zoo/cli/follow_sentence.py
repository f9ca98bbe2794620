"""`attention-zoo lineage TEXT [FOLDER ...] --output page.html`."""

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser


def build_parser() -> CommandParser:
    """The flags of `attention-zoo lineage`."""
    parser = CommandParser(
        "lineage",
        description="Send one sentence through several translators, oldest paper first, and write one page that "
        "shows side by side what each wrote and what it looked at. Without folders, the German ones under "
        "model_cards/ are taken, or the Korean ones for a text in Hangul.",
    )
    parser.add_argument("text", help="the sentence")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folder of a translator (or Hub id)")
    parser.add_argument("--output", default="lineage.html", help="page to write (.html); default: %(default)s")
    parser.add_argument(
        "--language", choices=("en", "ko"), help="of the page at the start (default: the reader's own)"
    )
    parser.add_argument("--pieces", action="store_true", help="show the tokens as they are, in place of words")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)
    if Path(options.output).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--output {options.output}: a page is written; give a name that ends in .html")

    from hf_attention_zoo.alignment.results.lineage import follow, published_folders
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries

    silence_libraries()
    found = follow(options.text, options.folders or published_folders(options.text), pieces=options.pieces)
    found.to_html(options.output, language=options.language)
    for stop in found.stops:
        print(f"{stop.row.year} {stop.row.prefix}: {stop.translation}")
    print(f"page written to {options.output}")
    return 0
