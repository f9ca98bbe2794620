"""`attention-zoo average RUN OUT --last N`."""

from collections.abc import Sequence

from hf_attention_zoo.cli.command_parser import CommandParser


def build_parser() -> CommandParser:
    """The flags of `attention-zoo average`."""
    parser = CommandParser(
        "average",
        description="Write a model whose weights are the mean of those of the last checkpoints of a training run.",
    )
    parser.add_argument("run", help="output folder of the run, with checkpoint-STEP folders in it")
    parser.add_argument("out", help="new folder for the averaged model")
    parser.add_argument("--last", type=int, default=5, help="how many checkpoints (default 5; the big model's are 20)")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.training.checkpoint_averaging import last_checkpoints, step_of, write_average

    target = write_average(options.run, options.out, options.last)
    steps = [str(step_of(path)) for path in last_checkpoints(options.run, options.last)]
    print(f"mean of the weights after step{'s' if len(steps) > 1 else ''} {', '.join(steps)} written to {target}")
    return 0
