"""What a user would do with a saved folder, in a process that has seen nothing of the training.

`python -m hf_attention_zoo.cli.fresh_process FOLDER` reads a JSON list of texts from standard input and writes that of
their translations to standard output, through `AutoModelForSeq2SeqLM`, `AutoTokenizer` and the pipeline.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def translate_in_fresh_process(folder: str | Path, texts: Sequence[str]) -> list[str]:
    """The translations of the texts, from a new Python process. Raises RuntimeError with its last error line."""
    done = subprocess.run(
        [sys.executable, "-m", "hf_attention_zoo.cli.fresh_process", str(folder)],
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the saved folder {folder} could not be used in a fresh process: {reason}")
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: Sequence[str]) -> int:
    """Load the folder, translate what standard input holds, write the result; returns the exit code."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

    from hf_attention_zoo.cli.quiet_libraries import silence_libraries

    silence_libraries()
    model = AutoModelForSeq2SeqLM.from_pretrained(argv[0])
    tokenizer = AutoTokenizer.from_pretrained(argv[0])
    translator = pipeline("translation", model=model, tokenizer=tokenizer)
    texts = json.loads(sys.stdin.read())
    print(json.dumps([result["translation_text"] for result in translator(texts)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
