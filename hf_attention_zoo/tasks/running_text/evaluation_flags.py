"""The flags of `attention-zoo evaluate` for pre-trained models."""

from __future__ import annotations

from hf_attention_zoo.evaluation.evaluation_flags import METRICS_FILE
from hf_attention_zoo.flags import FIRST, FlagParser
from hf_attention_zoo.tasks.running_text.mixture_names import FITTED, MIXED_WITH

FLAGS = (
    *("--dataset", "--split", "--max_documents", "--batch_size", "--length", "--no_baselines"),
    *("--mix_with", "--mix_weight", "--output"),
)


def weight(text: str) -> float | str:
    """A share, or "fitted"; what else it may be is checked with the rest."""
    return text if text == FITTED else float(text)


def build_parser(program: str) -> FlagParser:
    """The parser of the command."""
    parser = FlagParser(prog=program, description="Score a pre-trained model on running text and write metrics.json.")
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("--dataset", help="sample, file, folder or Hub id; default: what the model was trained on")
    parser.add_argument("--dataset_config", "--dataset-config", help="configuration of a Hub data set")
    parser.add_argument("--split", default="test", help="default: test")
    parser.add_argument("--text_column", "--text-column", help="the documents; default: looked for")
    parser.add_argument("--text_documents", "--text-documents", help="in .txt files: blank_line (default) or file")
    parser.add_argument("--language", help="language code that guides the splitting into sentences")
    parser.add_argument("--length", type=int, help="tokens of an example; default: the longest of the training")
    parser.add_argument("--max_documents", "--max-documents", type=int, help="score only the first documents")
    parser.add_argument(
        "--baseline_documents", "--baseline-documents", type=int, help="n-gram models learn from at most so many"
    )
    parser.add_argument("--batch_size", "--batch-size", type=int, default=16, help="examples at a time; default: 16")
    parser.add_argument("--no_baselines", "--no-baselines", action="store_true", help="score the model alone")
    parser.add_argument(
        "--mix_with", "--mix-with", choices=MIXED_WITH, help="mix the next tokens with those of an n-gram model, too"
    )
    parser.add_argument(
        "--mix_weight",
        "--mix-weight",
        type=weight,
        help=f"share of the n-gram model, or {FITTED} (on the validation split); default: both 0.5 and {FITTED}",
    )
    parser.add_argument("--output", help=f"file for the metrics; default: {METRICS_FILE} in the folder")
    parser.flags_by_group({FIRST: FLAGS}, rest="how the data are read")
    return parser
