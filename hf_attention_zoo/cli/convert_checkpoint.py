"""`attention-zoo convert SOURCE OUT [--from marian|fairseq|annotated|elmo]`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

# --from -> "module:function" of what turns a source into a folder, for weights that are no Transformer's; it takes
# the source, the new folder and the options of the command line, and returns what it did in words.
OTHER_FORMS = {"elmo": "hf_attention_zoo.models.elmo.convert_elmo:convert_to_folder"}
# endings of files that say it themselves
FORM_OF_ENDING = {".hdf5": "elmo", ".h5": "elmo"}


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="attention-zoo convert",
        description="Turn weights of another Transformer into a transformer2017: a Marian model's folder, a fairseq "
        "checkpoint, or a state dict with the Annotated Transformer's names. Networks that compute something else "
        "are refused. Pickled files are read without running what is in them. Published ELMo weights (an HDF5 file "
        "and its options) become an elmo.",
    )
    parser.add_argument("source", help="folder (Marian, ELMo) or file (.pt, .safetensors, .hdf5)")
    parser.add_argument("out", help="new folder")
    parser.add_argument(
        "--from", dest="form", choices=("marian", "fairseq", "annotated", *OTHER_FORMS), help="told from the names"
    )
    parser.add_argument("--heads", type=int, help="number of heads, where the file does not say")
    parser.add_argument("--pad_id", "--pad-id", type=int, help="default: 1 for fairseq, 2 for annotated")
    parser.add_argument("--start_id", "--start-id", type=int, help="annotated only; default 0")
    parser.add_argument("--end_id", "--end-id", type=int, help="annotated only; default 1")
    parser.add_argument("--options", help="elmo only: the JSON file of options, if it is not beside the weights")
    parser.add_argument(
        "--vocabulary", help="elmo only: a word a line; default: vocab*.txt beside the weights, if any"
    )
    options = parser.parse_args(argv)

    from hf_attention_zoo.hub.checkpoint_folder import new_folder

    target, source = new_folder(options.out), Path(options.source)
    if not source.exists():
        raise ValueError(f"{source} does not exist; give a Marian folder or a file of weights")
    files = [source] if source.is_file() else sorted(source.iterdir())
    told = next((FORM_OF_ENDING[file.suffix] for file in files if file.suffix in FORM_OF_ENDING), None)
    form = options.form or told
    if form in OTHER_FORMS:
        from hf_attention_zoo.registry import load_object

        print(load_object(OTHER_FORMS[form])(source, target, options))
        return 0

    from hf_attention_zoo.models.transformer2017.convert_transformer2017 import convert_checkpoint, copy_tokenizer

    named = {"pad_token_id": options.pad_id, "start_token_id": options.start_id, "end_token_id": options.end_id}
    ids = {name: value for name, value in named.items() if value is not None}
    model = convert_checkpoint(source, form=options.form, heads=options.heads, **ids)
    model.save_pretrained(target)
    copied = copy_tokenizer(source, target) if source.is_dir() else []
    print(f"{model.num_parameters():,} parameters written to {target}")
    if not copied:
        print("no tokenizer came along; ids are those of the source's own dictionary")
    return 0
