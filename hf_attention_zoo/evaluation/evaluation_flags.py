"""The flags of `attention-zoo evaluate` that every kind of model has; nothing heavy is imported for them."""

from __future__ import annotations

from collections.abc import Iterable

from hf_attention_zoo.flags import FIRST, FlagParser

METRICS_FILE = "metrics.json"
COLUMNS = "columns of the data"

_COLUMN_HELP = {
    "text_column": "the texts; default: looked for",
    "text_pair_column": "the second text of a pair",
    "label_column": "the labels; several with commas",
    "words_column": "the words of a sentence, a list; default: looked for",
    "tags_column": "a tag for each word, a list; default: looked for",
    "question_column": "the questions; default: looked for",
    "context_column": "the contexts; default: looked for",
    "answers_column": "the answers and their places; default: looked for",
    "choices_column": "the choices, a list of texts; default: looked for",
    "right_column": "the number of the right choice; default: looked for",
    "source_column": "the sources: sentences, or pictures",
    "target_column": "the targets: translations, or captions",
}


def add_data_flags(parser: FlagParser, rows: str = "rows", batch_size: int = 32) -> None:
    """Folder, data, and how much of them is read at a time.

    Args:
        rows: what a row of the data is called.
    """
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("--dataset", help="sample, file, folder or Hub id; default: what the model was trained on")
    parser.add_argument("--split", default="test", help="default: test")
    parser.add_argument("--max_samples", "--max-samples", type=int, help=f"score only the first {rows}")
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=batch_size, help=f"{rows} at a time; default: {batch_size}"
    )
    parser.add_argument("--output", help=f"file for the metrics; default: {METRICS_FILE} in the folder")
    parser.add_argument("--dataset_config", "--dataset-config", help="configuration of a Hub data set")


def add_column_flags(parser: FlagParser, columns: Iterable[str]) -> None:
    """A flag for each column of the data."""
    for column in columns:
        parser.add_argument(f"--{column}", f"--{column.replace('_', '-')}", help=_COLUMN_HELP[column])


def add_common_flags(parser: FlagParser, columns: Iterable[str], rows: str = "rows", batch_size: int = 32) -> None:
    """Folder, data, columns, baselines and files, for evaluations that write their answers as JSON lines."""
    add_data_flags(parser, rows, batch_size)
    parser.add_argument("--no_baselines", "--no-baselines", action="store_true", help="score the model alone")
    parser.add_argument("--predictions", help="file for the answers, a JSON line each")
    columns = list(columns)
    add_column_flags(parser, columns)
    first = ["--dataset", "--split", "--max_samples", "--batch_size", "--no_baselines", "--output", "--predictions"]
    parser.flags_by_group({FIRST: first, COLUMNS: ["--dataset_config", *(f"--{column}" for column in columns)]})
