"""`attention-zoo convert SOURCE OUT [--from marian|fairseq|annotated|elmo|bert|gpt|bert2018|gpt2018]`."""

from collections.abc import Sequence
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser

# --from -> "module:function" of what turns a source into a folder, for weights that are no Transformer's; it takes
# the source, the new folder and the options of the command line, and returns what it did in words.
OTHER_FORMS = {
    "elmo": "hf_attention_zoo.models.elmo.convert_elmo:convert_to_folder",
    "bert": "hf_attention_zoo.models.bert2018.folders_bert2018:convert_to_folder",
    "gpt": "hf_attention_zoo.models.gpt2018.folders_gpt2018:convert_to_folder",
    "bert2018": "hf_attention_zoo.models.bert2018.folders_bert2018:convert_back_to_folder",
    "gpt2018": "hf_attention_zoo.models.gpt2018.folders_gpt2018:convert_back_to_folder",
}
# endings of files that say it themselves
FORM_OF_ENDING = {".hdf5": "elmo", ".h5": "elmo"}
# files that only one form has, and the `model_type` that a config names
FORM_OF_FILE = {"bert_config.json": "bert", "params_shapes.json": "gpt"}
FORM_OF_MODEL_TYPE = {"bert": "bert", "openai-gpt": "gpt", "bert2018": "bert2018", "gpt2018": "gpt2018"}


def told_form(files: Sequence[Path]) -> str | None:
    """The form that files tell; None if they do not."""
    from hf_attention_zoo.folders.checkpoint_folder import required_json

    for file in files:
        form = FORM_OF_ENDING.get(file.suffix) or FORM_OF_FILE.get(file.name)
        if form is not None:
            return form
        if file.name == "config.json":
            settings = required_json(file)
            form = FORM_OF_MODEL_TYPE.get(settings.get("model_type", ""))
            if form is not None:
                return form
    return None


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    parser = CommandParser(
        "convert",
        description="Turn weights of other implementations into folders of the zoo. A Marian model's folder, a "
        "fairseq checkpoint, or a state dict with the Annotated Transformer's names becomes a transformer2017. "
        "Networks that compute something else are refused. Pickled files are read without running what is in them. "
        "Published ELMo weights (an HDF5 file and its options) become an elmo; transformers' BERT and GPT, and their "
        "authors' releases in TensorFlow and NumPy, a bert2018 and a gpt2018; and a folder of these two becomes one "
        "of transformers' own.",
    )
    parser.add_argument("source", help="folder (Marian, ELMo, BERT, GPT) or file (.pt, .safetensors, .hdf5)")
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

    from hf_attention_zoo.folders.checkpoint_folder import new_folder

    target, source = new_folder(options.out), Path(options.source)
    if not source.exists():
        raise ValueError(f"{source} does not exist; give a Marian folder or a file of weights")
    files = [source] if source.is_file() else sorted(source.iterdir())
    form = options.form or told_form(files)
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
