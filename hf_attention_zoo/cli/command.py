"""The `attention-zoo` command: reads the sub-command and hands the rest to the module that does it.

Modules are imported when their sub-command is called, so that `attention-zoo --help` answers at once.
"""

import importlib
import sys
from collections.abc import Sequence

from hf_attention_zoo.cli.failures import USER_ERROR, exit_code
from hf_attention_zoo.near_names import did_you_mean

# name -> (module with main(argv) -> exit code, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "quickstart": (
        "hf_attention_zoo.cli.quickstart",
        "train, score, save, reload, use and draw any architecture, in minutes",
    ),
    "train": (
        "hf_attention_zoo.tasks.train",
        "train an architecture on pairs, labels, tags, questions, choices or captions",
    ),
    "pretrain": ("hf_attention_zoo.tasks.running_text.pretrain", "pre-train an architecture on raw text"),
    "average": ("hf_attention_zoo.cli.average_checkpoints", "average the weights of a run's last checkpoints"),
    "evaluate": ("hf_attention_zoo.tasks.evaluate", "score a saved model on a split"),
    "translate": ("hf_attention_zoo.cli.translate_text", "translate a text, a file or standard input"),
    "align": ("hf_attention_zoo.cli.align_text", "draw what a model looked at: words, sentences, heads or regions"),
    "lineage": ("hf_attention_zoo.cli.follow_sentence", "show one sentence in every translator, oldest first"),
    "demo": ("hf_attention_zoo.cli.open_demo", "the same live in a browser, for any sentence and model"),
    "word-weights": ("hf_attention_zoo.cli.word_weights_by_label", "show the attention to a word, label by label"),
    "sentence-vectors": ("hf_attention_zoo.cli.draw_sentences", "draw sentences in the plane of their vectors"),
    "neighbours": ("hf_attention_zoo.cli.nearest_words", "show the nearest words of a word in its contexts"),
    "words": ("hf_attention_zoo.cli.look_up_words", "show nearest words, analogies and a picture of word vectors"),
    "score": ("hf_attention_zoo.cli.score_pairs", "log p(target | source) of the pairs in a file"),
    "links": ("hf_attention_zoo.cli.write_links", "link the words of sentence pairs by attention"),
    "aer": ("hf_attention_zoo.metrics.alignment_error_rate", "score alignments against sure and possible links"),
    "treebank": ("hf_attention_zoo.cli.make_treebank", "turn constituency trees into a folder to train a parser on"),
    "parse": ("hf_attention_zoo.cli.parse_text", "write the constituency trees of sentences"),
    "parseval": ("hf_attention_zoo.cli.score_trees", "score trees against gold trees as evalb does"),
    "card": ("hf_attention_zoo.cli.write_model_card", "write the model card of a folder"),
    "convert": (
        "hf_attention_zoo.cli.convert_checkpoint",
        "take over weights of Marian, fairseq or Annotated Transformers",
    ),
    "export": (
        "hf_attention_zoo.cli.export_folder",
        "copy a model folder, with its code if wanted, or as ONNX or CTranslate2",
    ),
    "publish": ("hf_attention_zoo.cli.publish_folder", "send a model folder to the Hub"),
    "reproduce": ("hf_attention_zoo.cli.reproduce_claims", "run the papers' claims again, with a verdict on each"),
    "list": ("hf_attention_zoo.cli.list_contents", "show the architectures, recipes, samples and metrics"),
}


def usage() -> str:
    """The help text."""
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:<{width}}  {text}" for name, (_, text) in COMMANDS.items())
    return (
        "usage: attention-zoo COMMAND [arguments]\n\n"
        f"The historical attention architectures as transformers models.\n\n{lines}\n\n"
        "attention-zoo COMMAND --help tells more. A good start: attention-zoo quickstart"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code (0 done, 2 the user can mend it, 130 stopped)."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"hf_attention_zoo {version('hf_attention_zoo')}")
        return 0
    if argv[0] not in COMMANDS:
        meant = did_you_mean(argv[0], COMMANDS)
        print(f"attention-zoo: no command {argv[0]!r}{meant}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return USER_ERROR
    return exit_code(lambda: importlib.import_module(COMMANDS[argv[0]][0]).main(argv[1:]), argv)


if __name__ == "__main__":
    sys.exit(main())
