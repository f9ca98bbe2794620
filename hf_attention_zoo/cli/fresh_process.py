"""What a user would do with a saved folder, in a process that has seen nothing of the training.

`python -m hf_attention_zoo.cli.fresh_process FOLDER KIND` reads a JSON list of inputs from standard input and writes
the answers to standard output, through the Auto classes and the pipeline of the folder's task.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def pipeline_answers(task: str, shown: Callable[[Any], str], **options: Any) -> Callable[[str, list[Any]], list[str]]:
    """Answers of `pipeline(task, model=folder)`, each as `shown` says it."""

    def answers(folder: str, inputs: list[Any]) -> list[str]:
        import transformers

        make: Any = transformers.pipeline  # whose types know transformers' own tasks alone
        answering = make(task, model=folder)
        return [shown(answering(given, **options)) for given in inputs]

    return answers


def likeliest_label(found: Any) -> str:
    """The first label of a text; a pair's comes alone."""
    first = found[0] if isinstance(found, list) else found
    return f"{first['label']} ({first['score']:.2f})"


def nearest_words(folder: str, inputs: list[dict[str, Any]]) -> list[str]:
    """The nearest word in context of `word` in `text`, among `texts`, and the text that it stands in."""
    from hf_attention_zoo.alignment.results.context_neighbours import NeighbourIndex
    from hf_attention_zoo.data.contextual_vectors import ContextualVectors

    vectors = ContextualVectors(folder)
    said = []
    for one in inputs:
        index = NeighbourIndex(vectors, one["texts"])
        (nearest,) = index.nearest(one["text"], one["word"], count=1, other_words=True).found
        said.append(f"{nearest.word} (cosine {nearest.cosine:.2f}) in: {nearest.text}")
    return said


def nearest_vectors(folder: str, inputs: list[str]) -> list[str]:
    """The three words whose vectors are nearest to that of each word."""
    from hf_attention_zoo.alignment.results.word_space import WordSpace

    space = WordSpace.of(folder)
    return [", ".join(f"{one.word} ({one.cosine:.2f})" for one in space.nearest(word, 3)) for word in inputs]


# How a text is continued: without chance, and without the loops that a small model falls into.
CONTINUATION = {"max_new_tokens": 20, "do_sample": False, "no_repeat_ngram_size": 3}

# kind -> how a list of inputs is answered
ANSWERING: dict[str, Callable[[str, list[Any]], list[str]]] = {
    "translation": pipeline_answers("translation", lambda found: found[0]["translation_text"]),
    "text-classification": pipeline_answers("text-classification", likeliest_label),
    "image-captioning": pipeline_answers("image-captioning", lambda found: found[0]["generated_text"]),
    "fill-mask": pipeline_answers(
        "fill-mask",
        lambda found: ", ".join(f"{one['token_str']} ({one['score']:.2f})" for one in found),
        top_k=3,
    ),
    "text-generation": pipeline_answers(
        "text-generation", lambda found: " ".join(found[0]["generated_text"].split()), **CONTINUATION
    ),
    "neighbours": nearest_words,
    "words": nearest_vectors,
}


def answer_in_fresh_process(folder: str | Path, inputs: Sequence[Any], kind: str = "translation") -> list[str]:
    """The answers, from a new Python process.

    Args:
        inputs: texts, paths of pictures, pairs `{"text": ..., "text_pair": ...}`, or what else `kind` asks for.
        kind: one of `ANSWERING`.

    Raises:
        RuntimeError: it failed; with its last error line.
    """
    done = subprocess.run(
        [sys.executable, "-m", "hf_attention_zoo.cli.fresh_process", str(folder), kind],
        input=json.dumps(list(inputs)),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the saved folder {folder} could not be used in a fresh process: {reason}")
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: Sequence[str]) -> int:
    """Load the folder, answer what standard input holds, write the result; returns the exit code."""
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import check_folder

    silence_libraries()
    folder, kind = argv
    check_folder(folder)
    print(json.dumps(ANSWERING[kind](folder, json.loads(sys.stdin.read()))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
