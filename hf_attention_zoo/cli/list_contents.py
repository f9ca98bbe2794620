"""`attention-zoo list [architectures|recipes|samples|metrics]`."""

from collections.abc import Callable, Sequence

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.registry import list_architectures


def architectures() -> str:
    """One line per architecture."""
    return "\n".join(
        f"  {row.model_type:<20} {row.year}  {row.lead}, {row.title} ({row.paper})" for row in list_architectures()
    )


def recipes() -> str:
    """One line per recipe, by architecture."""
    return "\n".join(
        f"  {row.model_type:<20} {name:<24} {recipe.get('description', '')}"
        for row in list_architectures()
        for name, recipe in row.recipes.items()
    )


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


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser("list", description="Show the architectures, their recipes, the data samples and metrics.")
    parser.add_argument("part", nargs="?", choices=sorted(PARTS), help="default: everything")
    options = parser.parse_args(argv)
    parts = [options.part] if options.part else list(PARTS)
    print("\n\n".join(f"{part}\n{PARTS[part]()}" for part in parts))
    return 0
