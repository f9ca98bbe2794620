"""`attention-zoo export FOLDER OUT [--with-code | --format ctranslate2|onnx]`."""

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser


def copy_checkpoint(folder: str, out: str) -> Path:
    """Copy the files of a checkpoint that belong to it (no training state) into a new folder.

    Raises ValueError for an incomplete checkpoint, an access token or a user's folder in a file, or a folder that
    is not empty.
    """
    from hf_attention_zoo.folders.checkpoint_folder import (
        check_checkpoint,
        check_nothing_private,
        copy_files,
        new_folder,
        published_files,
    )

    source, target = check_checkpoint(folder), new_folder(out)
    files = published_files(source)
    check_nothing_private(source, files)
    copy_files(source, target, files)
    return target


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "export",
        description="Copy what belongs to a model into a new folder, without the state of its training; or write "
        "it in a format that other programs run.",
    )
    parser.add_argument("folder", help="folder of the model")
    parser.add_argument("out", help="new folder")
    parser.add_argument(
        "--with-code",
        "--with_code",
        action="store_true",
        help="add the model's code: loads with trust_remote_code=True where this package is not installed",
    )
    parser.add_argument(
        "--format",
        choices=("transformers", "ctranslate2", "onnx"),
        default="transformers",
        help="transformers: a copy; ctranslate2: for a Transformer2017; onnx: for a Transformer2017, BERT2018 or "
        "GPT2018 (extras of the same names)",
    )
    parser.add_argument("--quantization", help="with ctranslate2: how weights are stored, such as int8")
    options = parser.parse_args(argv)
    if options.quantization and options.format != "ctranslate2":
        raise ValueError("--quantization goes with --format ctranslate2; give both")
    if options.with_code and options.format != "transformers":
        raise ValueError(f"--with-code copies this package's code, which --format {options.format} does not use")
    if options.format == "ctranslate2":
        from hf_attention_zoo.hub.ctranslate2_export import export_ctranslate2

        out = export_ctranslate2(options.folder, options.out, quantization=options.quantization)
    elif options.format == "onnx":
        from hf_attention_zoo.hub.onnx_export import export_onnx

        out = export_onnx(options.folder, options.out)
    elif options.with_code:
        from hf_attention_zoo.hub.code_export import export_with_code

        out = export_with_code(options.folder, options.out)
    else:
        out = copy_checkpoint(options.folder, options.out)
    print(f"exported to {out}")
    return 0
