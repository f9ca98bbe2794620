"""`attention-zoo reproduce [CLAIM ...]`: lists the claims of the papers, or runs them again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.flags import FIRST


def build_parser() -> CommandParser:
    """The flags of `attention-zoo reproduce`."""
    parser = CommandParser(
        "reproduce",
        description="Run a claim of a paper again and say whether it holds. Without a claim: list them all, with the "
        "verdicts so far. A run that was stopped goes on where it was.",
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="numbers as in the list, such as A1")
    parser.add_argument("--all", action="store_true", help="run every claim")
    parser.add_argument("--seeds", type=int, help="seeds 1 to this number (default: as each claim says, mostly 3)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: a few steps, one seed, no verdict")
    parser.add_argument("--processes", type=int, help="trials at the same time (default: one a core)")
    parser.add_argument("--output", default="reproduced", help="folder for results and pictures (default: reproduced)")
    parser.add_argument(
        "--language", choices=("en", "ko"), default="en", help="of what is printed: en (default) or ko"
    )
    parser.flags_by_group({FIRST: ("--all", "--seeds", "--quick", "--processes", "--output", "--language")})
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)
    for name in ("seeds", "processes"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ValueError(f"--{name} is {value}; give 1 or more")
    if options.all and options.claims:
        raise ValueError(f"--all runs every claim; leave out {', '.join(options.claims)} or --all")

    from hf_attention_zoo.history.kept_results import results_file
    from hf_attention_zoo.history.table import CLAIMS, load_claim
    from hf_attention_zoo.history.telling import WORDS, list_claims, tell_claim

    numbers = list(CLAIMS) if options.all else [number.upper() for number in dict.fromkeys(options.claims)]
    claims = [load_claim(number) for number in numbers]
    output = Path(options.output)
    if not claims:
        print(list_claims([load_claim(number) for number in CLAIMS], output, options.language))
        return 0

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.run_facts import usable_cores
    from hf_attention_zoo.history.drawing_claims import write_picture
    from hf_attention_zoo.history.running import run_claims

    silence_libraries()
    command = shlex.join(["attention-zoo", "reproduce", *argv])
    found = run_claims(
        claims,
        output,
        command,
        options.seeds,
        options.quick,
        options.processes or usable_cores(),
        language=options.language,
    )
    words = WORDS[options.language]
    for number, results in found.items():
        print(f"\n{tell_claim(results, options.language)}")
        print(f"{words['results']}: {results_file(output, number, options.quick)}")
        print(f"{words['picture']}: {write_picture(results, output)}")
    return 0
