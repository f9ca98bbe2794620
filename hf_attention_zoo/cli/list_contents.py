"""`attention-zoo list [architectures|recipes|samples|metrics|ARCHITECTURE]`."""

from collections.abc import Callable, Iterator, Sequence

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.registry import Architecture, get_architecture, list_architectures


def architectures() -> str:
    """One line per architecture."""
    return "\n".join(
        f"  {row.model_type:<20} {row.year}  {row.lead:<27} {', '.join(row.tasks)}" for row in list_architectures()
    )


def recipes_of(row: Architecture) -> Iterator[str]:
    """One line per recipe: the command that takes it, its name and what it is."""
    for command, found in (("train", row.recipes), ("pretrain", row.pretraining_recipes)):
        for name, recipe in found.items():
            yield f"{command:<9} {name:<24} {recipe['description']}"


def recipes() -> str:
    """One line per recipe, by architecture."""
    return "\n".join(f"  {row.model_type:<20} {line}" for row in list_architectures() for line in recipes_of(row))


def samples() -> str:
    """One line per embedded data set."""
    from hf_attention_zoo.data.samples import list_samples

    return "\n".join(
        f"  {sample.name:<24} {'/'.join(sample.languages):<12} {sample.sizes.get('train', 0):>7,} {sample.rows_said}  "
        f"{sample.licence:<22} {sample.title}"
        for sample in list_samples()
    )


def metrics() -> str:
    """One line per bundled metric."""
    from hf_attention_zoo.metrics.bundled_metrics import list_metrics

    return "\n".join(f"  {name}" for name in list_metrics())


PARTS: dict[str, Callable[[], str]] = {
    "architectures": architectures,
    "recipes": recipes,
    "samples": samples,
    "metrics": metrics,
}
NEXT = """
start one            attention-zoo quickstart --architecture NAME
one with its recipes attention-zoo list NAME
more                 attention-zoo list recipes, samples or metrics"""


def one_architecture(row: Architecture) -> str:
    """Its paper, its size there, how to start it, and its recipes with the commands that take them."""
    lines = [
        f"{row.model_type} ({row.year})",
        f"  paper       {', '.join(row.authors)}: {row.title}",
        f"              {row.paper_url}",
        f"  parameters  {row.paper_parameters:,} at the size of the paper",
        f"  tasks       {', '.join(row.tasks)}",
        f"  start       attention-zoo quickstart --architecture {row.model_type}",
        f"  classes     {', '.join(sorted(row.models))}",
        "",
        f"recipes, for `attention-zoo COMMAND {row.model_type} --recipe NAME --dataset DATA --output_dir FOLDER`",
        *(f"  {line}" for line in recipes_of(row)),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    said = "Show the architectures, one of them with its recipes, all recipes, the data samples or the metrics."
    parser = CommandParser("list", description=said)
    names = [row.model_type for row in list_architectures()]
    more = f"{', '.join(PARTS)}, or the name of an architecture (default: architectures)"
    parser.add_argument("part", nargs="?", choices=[*PARTS, *names], metavar="PART", help=more)
    options = parser.parse_args(argv)
    if options.part in names:
        print(one_architecture(get_architecture(options.part)))
        return 0
    part = options.part or "architectures"
    print(f"{part}\n{PARTS[part]()}")
    if options.part is None:
        print(NEXT)
    return 0
