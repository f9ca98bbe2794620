"""Word vectors at the start of a training run, as its arguments ask for them."""

from typing import Any

from datasets import Dataset
from transformers.utils import logging

from hf_attention_zoo.data.text_encoding import joined, raw_texts
from hf_attention_zoo.data.word_vectors import (
    Vectors,
    learn_word_vectors,
    read_word_vectors,
    start_embeddings,
    words_of,
)
from hf_attention_zoo.training.arguments import ModelArguments

logger = logging.get_logger(__name__)

LEARN = "gensim"
# Texts that the coverage of running words is counted on.
COUNTED_TEXTS = 2000


def vectors_of_rows(tokenizer: Any, rows: Dataset, width: int, seed: int = 0) -> Vectors:
    """Vectors of `width` numbers learnt from the texts of labelled rows, as the tokenizer cuts them.

    Raises:
        ImportError: gensim is missing.
    """
    encode = tokenizer.backend_tokenizer.encode
    sentences = [
        encode(sentence, add_special_tokens=False).tokens
        for text in raw_texts(rows)
        for sentence in (text if isinstance(text, list) else [text])
    ]
    return learn_word_vectors(sentences, width, seed=seed)


def start_from_word_vectors(
    model: Any, tokenizer: Any, rows: Dataset, arguments: ModelArguments, seed: int
) -> dict[str, Any]:
    """Fill the embeddings as `--word_vectors` says; returns what was done, empty without it.

    Raises:
        ValueError: freezing without vectors, no such file, a pickle that was not asked for, or vectors of
            another width than the embeddings.
        ImportError: a package is missing.
    """
    source = arguments.word_vectors
    if source is None:
        if arguments.freeze_word_vectors:
            raise ValueError("--freeze_word_vectors would freeze random embeddings; name vectors with --word_vectors")
        return {}
    if source == LEARN:
        vectors = vectors_of_rows(tokenizer, rows, model.get_input_embeddings().weight.shape[1], seed)
    else:
        vectors = read_word_vectors(source, wanted=words_of(tokenizer), unpickle=arguments.unpickle_word_vectors)
    coverage = start_embeddings(
        model,
        tokenizer,
        vectors,
        freeze=arguments.freeze_word_vectors,
        texts=(joined(text) for text in raw_texts(rows, COUNTED_TEXTS)),
    )
    logger.warning("word vectors: %s", coverage)
    name = source if source == LEARN else source.rstrip("/").rpartition("/")[2]
    return {"source": name, "frozen": arguments.freeze_word_vectors, **coverage.as_dict()}
