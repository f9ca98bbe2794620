"""Folders of other GPTs as folders of ours, and back, with their vocabularies: what `attention-zoo convert` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hf_attention_zoo.models.gpt2018.convert_gpt2018 import (
    convert_release_folder,
    from_transformers,
    to_transformers,
)
from hf_attention_zoo.parts.renaming import saved_model
from hf_attention_zoo.tokenization.gpt2018_tokenizer import GPT2018Tokenizer

FILES = (("vocab.json", "merges.txt"), ("encoder_bpe_40000.json", "vocab_40000.bpe"))


def tokenizer_of(source: Path) -> GPT2018Tokenizer | None:
    """The tokenizer of a folder of transformers or of the authors' release; None if there is none.

    Words are cut by the paper's rules. transformers cuts them by BERT's, so that ids can differ from its own where
    texts have accents, ideographs or contractions.
    """
    for vocabulary, merges in FILES:
        if (source / vocabulary).is_file() and (source / merges).is_file():
            return GPT2018Tokenizer.from_release(source / vocabulary, source / merges)
    if (source / "tokenizer.json").is_file():
        model = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))["model"]
        pairs = (pair if isinstance(pair, list) else pair.split(" ") for pair in model["merges"])
        return GPT2018Tokenizer.from_pieces(model["vocab"], [(first, second) for first, second in pairs])
    return None


def convert_to_folder(source: Path, target: Path, options: Any) -> str:
    """A GPT of transformers, or of the authors' release, becomes a gpt2018; says what was written.

    Raises:
        ValueError: the folder holds neither, or a network that computes something else.
    """
    if not source.is_dir():
        raise ValueError(f"{source} is no folder; give that of a GPT, with its config.json or params_shapes.json")
    if (source / "params_shapes.json").is_file():
        model = convert_release_folder(source, options.heads)
    else:
        model = from_transformers(saved_model(source, "openai-gpt", "OpenAIGPTModel"))
    tokenizer = tokenizer_of(source)
    model.save_pretrained(target)
    if tokenizer is None:
        return f"{model.num_parameters():,} parameters written to {target}; no tokenizer came along"
    tokenizer.save_pretrained(target)
    return f"{model.num_parameters():,} parameters and {len(tokenizer):,} byte pairs written to {target}"


def convert_back_to_folder(source: Path, target: Path, options: Any) -> str:
    """A gpt2018 becomes a GPT of transformers; says what was written. The tokenizer stays ours."""
    model = to_transformers(saved_model(source, "gpt2018", "GPT2018Model"))
    model.save_pretrained(target)
    return (
        f"{model.num_parameters():,} parameters written to {target}; transformers' tokenizer of GPT cuts words by "
        f"other rules: go on with the one of {source}"
    )
