"""`attention-zoo sentence-vectors FOLDER`."""

import inspect
from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.data.text_lines import check_apart, is_blank, lines_of_file


def build_parser() -> CommandParser:
    """The flags of `attention-zoo sentence-vectors`."""
    parser = CommandParser(
        "sentence-vectors",
        description="Draw sentences as points of a plane: the first two principal components of the vectors that the "
        "encoder makes of them (Sutskever et al. 2014, figure 2). For models that make one vector of a text: "
        "rnn_encoder_decoder, seq2seq_lstm and fasttext; those with attention have none.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("--text", action="append", default=[], help="a sentence; give it several times")
    parser.add_argument("--file", help="a sentence on each line, or - for standard input")
    parser.add_argument("--output", default="sentences.png", help="picture (.png, .svg, .pdf) or coordinates (.json)")
    parser.add_argument("--part", choices=("all", "top"), help="of seq2seq_lstm: all states, or h of the top layer")
    parser.add_argument("--title", help="a line above the picture")
    parser.add_argument(
        "--batch_size", "--batch-size", type=int, default=64, help="texts at a time; default: %(default)s"
    )
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)
    if options.file is not None:
        check_apart(options.output, options.file)
    given = [*options.text, *(lines_of_file(options.file) if options.file else ())]
    texts = [text for text in given if not is_blank(text)]
    if not texts:
        raise ValueError("no sentences; give --text several times, or --file")

    from hf_attention_zoo.alignment.results.sentence_projection import project_sentences
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import load_checkpoint

    silence_libraries()
    model, tokenizer = load_checkpoint(options.folder)
    choices = {} if options.part is None else {"part": options.part}
    vectors = getattr(model, "sentence_vectors", None)
    if choices and (vectors is None or "part" not in inspect.signature(vectors).parameters):
        raise ValueError(f"--part chooses among several states; {model.config.model_type} has one vector at most")
    made = project_sentences(model, tokenizer, texts, batch_size=options.batch_size, **choices)
    if Path(options.output).suffix.lower() == ".json":
        made.to_json(options.output)
    else:
        made.plot(options.output, title=options.title)
    shares = " and ".join(f"{100 * share:.1f} %" for share in made.explained)
    print(f"{len(texts)} sentences written to {options.output}; the axes hold {shares} of the variance")
    return 0
