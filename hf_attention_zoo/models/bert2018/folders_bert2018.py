"""Folders of other BERTs as folders of ours, and back, with their tokenizers: what `attention-zoo convert` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hf_attention_zoo.folders.wholeness import loading
from hf_attention_zoo.models.bert2018.convert_bert2018 import (
    convert_release_folder,
    from_transformers,
    to_transformers,
)
from hf_attention_zoo.parts.renaming import saved_model
from hf_attention_zoo.tokenization.bert2018_tokenizer import BERT2018Tokenizer


def tokenizer_of(source: Path, uncased: bool | None = None) -> BERT2018Tokenizer | None:
    """The tokenizer of a folder of transformers or of the authors' release; None if there is none.

    Args:
        uncased: of a bare vocab.txt; by default as the folder's settings or the release's file name say, else uncased
            where no piece has a capital letter.
    """
    vocabulary, settings = source / "vocab.txt", source / "tokenizer_config.json"
    if (source / "tokenizer.json").is_file():
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(source / "tokenizer.json"))
        state = json.loads(backend.to_str())["normalizer"] or {}
        lower = bool(state.get("lowercase"))
        strip = state.get("strip_accents")
        limit = (
            json.loads(settings.read_text(encoding="utf-8")).get("model_max_length") if settings.is_file() else None
        )
        backend.no_truncation()
        backend.no_padding()
        return BERT2018Tokenizer(
            tokenizer_object=backend,
            lowercase=lower,
            strip_accents=lower if strip is None else bool(strip),
            recompose=False,
            **({} if limit is None else {"model_max_length": limit}),
        )
    if not vocabulary.is_file():
        return None
    if uncased is None and settings.is_file():
        uncased = json.loads(settings.read_text(encoding="utf-8")).get("do_lower_case", True)
    if uncased is None:
        pieces = vocabulary.read_text(encoding="utf-8").split("\n")
        uncased = not any(piece != piece.lower() for piece in pieces if not piece.startswith("["))
    return BERT2018Tokenizer.from_vocabulary(vocabulary, lowercase=uncased)


def convert_to_folder(source: Path, target: Path, options: Any) -> str:
    """A BERT of transformers, or of the authors' release, becomes a bert2018; says what was written.

    Raises:
        ValueError: the folder holds neither, or a network that computes something else.
    """
    if not source.is_dir():
        raise ValueError(f"{source} is no folder; give that of a BERT, with its config.json or bert_config.json")
    if (source / "bert_config.json").is_file():
        model = convert_release_folder(source)
    else:
        model = from_transformers(saved_model(source, "bert", "BertModel"))
    model.save_pretrained(target)
    tokenizer = tokenizer_of(source)
    if tokenizer is None:
        return f"{model.num_parameters():,} parameters written to {target}; no tokenizer came along"
    tokenizer.save_pretrained(target)
    return f"{model.num_parameters():,} parameters and {len(tokenizer):,} word pieces written to {target}"


def convert_back_to_folder(source: Path, target: Path, options: Any) -> str:
    """A bert2018 becomes a BERT of transformers; says what was written.

    The tokenizer is saved as one that transformers reads as it is, with our way to lower-case.
    """
    from transformers import AutoTokenizer, TokenizersBackend

    model = to_transformers(saved_model(source, "bert2018", "BERT2018Model"))
    model.save_pretrained(target)
    if not (source / "tokenizer.json").is_file():
        return f"{model.num_parameters():,} parameters written to {target}; no tokenizer came along"
    with loading(source):
        ours = AutoTokenizer.from_pretrained(source)
    theirs = TokenizersBackend(
        tokenizer_object=ours._tokenizer,
        model_max_length=ours.model_max_length,
        model_input_names=ours.model_input_names,
        **ours.own_tokens,
    )
    theirs.save_pretrained(target)
    return f"{model.num_parameters():,} parameters and {len(ours):,} word pieces written to {target}"
