"""What a user would do with a saved folder, in a process that has seen nothing of the training.

`python -m hf_attention_zoo.cli.fresh_process FOLDER` reads a JSON list of inputs from standard input and writes the
pipeline's answers to standard output, through the Auto classes and the pipeline of the folder's task.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Auto class -> task of the pipeline, and what of its answers is shown.
ANSWERS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "AutoModelForSeq2SeqLM": ("translation", lambda answer: answer["translation_text"]),
    "AutoModelForSequenceClassification": (
        "text-classification",
        lambda answer: f"{answer['label']} ({answer['score']:.2f})",
    ),
}


def answer_in_fresh_process(folder: str | Path, inputs: Sequence[Any]) -> list[str]:
    """The pipeline's answers, from a new Python process: translations, or labels with their scores.

    Args:
        inputs: texts, or for pairs `{"text": ..., "text_pair": ...}`.

    Raises:
        RuntimeError: it failed; with its last error line.
    """
    done = subprocess.run(
        [sys.executable, "-m", "hf_attention_zoo.cli.fresh_process", str(folder)],
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
    import transformers

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.folders.saved_model import saved_auto_class

    silence_libraries()
    auto_class = saved_auto_class(argv[0])
    task, shown = ANSWERS[auto_class]
    model = getattr(transformers, auto_class).from_pretrained(argv[0])
    tokenizer = transformers.AutoTokenizer.from_pretrained(argv[0])
    answers = transformers.pipeline(task, model=model, tokenizer=tokenizer)(json.loads(sys.stdin.read()))
    print(json.dumps([shown(answer) for answer in answers]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
