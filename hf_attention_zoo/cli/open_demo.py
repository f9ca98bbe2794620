"""`attention-zoo demo [FOLDER ...]`: the pages of the lineage and of any model, live in a browser."""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.command_parser import CommandParser


def build_parser() -> CommandParser:
    """The flags of `attention-zoo demo`."""
    parser = CommandParser(
        "demo",
        description="Open a page in which any sentence passes the translators, and any model shows where it looks. "
        "Without folders, those under model_cards/ are offered. Needs Gradio: pip install 'hf_attention_zoo[demo]'.",
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folder of a model (or Hub id)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; default: %(default)s, this machine")
    parser.add_argument("--port", type=int, default=7860, help="default: %(default)s")
    return parser


def said_and_shown(show: Callable[..., Any]) -> Callable[..., str]:
    """What `show` returns as a framed page; what is wrong with the input as a line of text."""

    def shown(*inputs: Any) -> str:
        try:
            from hf_attention_zoo.alignment.drawing.result_page import framed

            return framed(show(*inputs).to_html())
        except ValueError as error:
            return f"<p role='alert'>{escape(str(error))}</p>"

    return shown


def follow_text(text: str, folders: Sequence[str]) -> Any:
    """One sentence through the translators that were chosen."""
    from hf_attention_zoo.alignment.results.lineage import follow

    return follow(text, folders)


def look(folder: str, text: str, pair: str, picture: str | None) -> Any:
    """Where the model of a folder looks in a text, a pair of texts or a picture."""
    from hf_attention_zoo.alignment.aligning import align
    from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader, saved_auto_class

    auto_class = saved_auto_class(folder)
    model, _ = load_checkpoint(folder)
    if auto_class == "AutoModelForImageTextToText":
        if not picture:
            raise ValueError(f"{folder} captions pictures; give one")
        given: Any = picture
    else:
        if not text.strip():
            raise ValueError("there is no text")
        given = {"text": text, "text_pair": pair} if pair.strip() else text
    return align(model, load_reader(folder), [given])[0]


def build_demo(folders: Sequence[str]) -> Any:
    """The Gradio app of some folders.

    Raises:
        ValueError: Gradio is not installed, or there is no folder.
    """
    try:
        import gradio
    except ImportError as error:
        raise ValueError("the demo needs Gradio: pip install 'hf_attention_zoo[demo]'") from error
    from hf_attention_zoo.folders.saved_model import saved_kind

    kinds = {folder: saved_kind(folder) for folder in folders}
    translators = [folder for folder, kind in kinds.items() if kind.auto_class == "AutoModelForSeq2SeqLM"]
    attending = [folder for folder, kind in kinds.items() if kind.row is not None and kind.row.aligner is not None]
    with gradio.Blocks(title="hf_attention_zoo", analytics_enabled=False) as app:
        if translators:
            with gradio.Tab("One sentence through the lineage"):
                text = gradio.Textbox(label="Sentence", value="Klicken Sie auf OK.")
                german = [folder for folder in translators if folder.rstrip("/").endswith("-de-en")]
                chosen = gradio.CheckboxGroup(translators, value=german or translators[:5], label="Translators")
                shown = gradio.HTML()
                gradio.Button("Translate").click(said_and_shown(follow_text), [text, chosen], shown)
        if attending:
            with gradio.Tab("Where a model looks"):
                folder = gradio.Dropdown(attending, value=attending[0], label="Model")
                first, second = gradio.Textbox(label="Text"), gradio.Textbox(label="Second text, for pairs")
                picture = gradio.Image(type="filepath", label="Picture, for captioners")
                seen = gradio.HTML()
                gradio.Button("Look").click(said_and_shown(look), [folder, first, second, picture], seen)
    return app


def main(argv: Sequence[str]) -> int:
    """Run the sub-command until it is stopped; returns the exit code."""
    options = build_parser().parse_args(argv)
    folders = options.folders or [str(path.parent) for path in sorted(Path("model_cards").glob("*/config.json"))]
    if not folders:
        raise ValueError("there are no folders under model_cards/ here; name the folders of models")

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries

    silence_libraries()
    build_demo(folders).launch(server_name=options.host, server_port=options.port, share=False)
    return 0
