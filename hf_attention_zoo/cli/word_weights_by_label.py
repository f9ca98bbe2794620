"""`attention-zoo word-weights FOLDER WORD --dataset DATASET`."""

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.flags import FIRST


def build_parser() -> CommandParser:
    """The flags of `attention-zoo word-weights`."""
    parser = CommandParser(
        "word-weights",
        description="Show how the weight that a hierarchical model gives to a word is distributed, label by label, "
        "and how its predictions change when the word, or as many random other words, are left out.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("word", help="a word as it stands in the texts")
    parser.add_argument("--dataset", required=True, help="labelled texts: embedded sample, file, folder or Hub id")
    parser.add_argument("--split", default="test", help="default: test")
    parser.add_argument("--text_column", "--text-column", help="default: looked for")
    parser.add_argument("--label_column", "--label-column", help="default: looked for")
    parser.add_argument("--dataset_config", "--dataset-config", help="configuration of a Hub data set")
    parser.add_argument("--label_separator", "--label-separator", default=",", help="default: a comma")
    parser.add_argument("--max_documents", "--max-documents", type=int, help="read only the first N documents")
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=64, help="documents at a time; default: %(default)s"
    )
    parser.add_argument(
        "--output", help="histograms (.png, .svg, .pdf) or all numbers (.json); without it only the table is printed"
    )
    parser.flags_by_group(
        {FIRST: ("--dataset", "--split", "--max_documents", "--batch_size", "--output")}, rest="columns of the data"
    )
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.results.word_weights import measure_word_weights
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.data.labels import label_info_of
    from hf_attention_zoo.data.split_names import canonical_split
    from hf_attention_zoo.folders.saved_model import load_checkpoint
    from hf_attention_zoo.tasks.labels.named_classes import read_with_names
    from hf_attention_zoo.tasks.labels.rows import load_labelled

    silence_libraries()
    model, tokenizer = load_checkpoint(options.folder)
    if not hasattr(tokenizer, "sentences_of"):
        raise ValueError(f"{options.folder} reads no sentences of words; this command is for hierarchical models")
    info = label_info_of(model.config)
    named = {"text": options.text_column, "label": options.label_column}
    split = canonical_split(options.split)
    columns = {role: column for role, column in named.items() if column}
    settings = {
        "columns": columns or None,
        "problem_type": info.problem_type,
        "dataset_config": options.dataset_config,
        "label_separator": options.label_separator,
        "splits": [split],
    }
    splits, _ = read_with_names(
        options.folder, info, lambda names: load_labelled(options.dataset, label_names=names, **settings)
    )
    rows = splits[split]
    if options.max_documents is not None:
        rows = rows.select(range(min(len(rows), options.max_documents)))
    weights = measure_word_weights(
        model, tokenizer, options.word, rows["text"], rows["label"], batch_size=options.batch_size
    )
    print(weights.table())
    agreement = weights.agreement()
    if agreement is not None:
        print(f"rank correlation of the word's share with the change that its absence makes: {agreement:+.2f}")
    if options.output:
        writer = weights.to_json if Path(options.output).suffix.lower() == ".json" else weights.plot
        writer(options.output)
        print(f"written to {options.output}")
    return 0
