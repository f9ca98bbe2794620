"""Subword vocabularies: byte-pair encoding over words that carry their space as `▁`.

Every token knows whether a space stood before it, so decoding restores the text exactly (in NFC, without white space
at the ends, and with line breaks and tabs as spaces). Punctuation marks and symbols are pieces of their own: they
never merge with a word, which keeps words recognisable and alignments readable.
"""

from collections.abc import Iterable
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS, end_sentences_with_eos

SPACE_MARK = "▁"

_CONTROL_WHITE_SPACE = "[\\t\\n\\v\\f\\r\\x{85}\\x{2028}\\x{2029}]"
_MARK_WITH_ITS_SPACE = rf"{SPACE_MARK}?[\p{{P}}\p{{S}}&&[^{SPACE_MARK}]]"


def train_subword(
    texts: Iterable[str],
    *,
    vocab_size: int,
    lowercase: bool = False,
    min_frequency: int = 2,
    alphabet_size: int | None = None,
) -> Tokenizer:
    """A byte-pair backend of at most `vocab_size` pieces, the four special tokens included.

    `alphabet_size` keeps only that many of the most frequent characters; the rest become `<unk>`, neighbouring ones
    together as one. Without it every character of `texts` is kept.

    Raises:
        ValueError: the characters of `texts` alone do not fit into `vocab_size`.
    """
    backend = Tokenizer(models.BPE(unk_token=SPECIAL_TOKENS["unk_token"], fuse_unk=True))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    steps += [normalizers.NFC(), normalizers.Replace(Regex(_CONTROL_WHITE_SPACE), " "), normalizers.Strip()]
    backend.normalizer = normalizers.Sequence(steps)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(replacement=SPACE_MARK, prepend_scheme="always", split=True),
            pre_tokenizers.Split(Regex(_MARK_WITH_ITS_SPACE), behavior="isolated"),
        ]
    )
    backend.decoder = decoders.Metaspace(replacement=SPACE_MARK, prepend_scheme="always")
    limit: dict[str, Any] = {} if alphabet_size is None else {"limit_alphabet": alphabet_size}
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(SPECIAL_TOKENS.values()),
        show_progress=False,
        **limit,
    )
    backend.train_from_iterator(texts, trainer)
    if backend.get_vocab_size() > vocab_size:
        characters = backend.get_vocab_size() - len(SPECIAL_TOKENS)
        raise ValueError(
            f"vocab_size={vocab_size} cannot hold the {len(SPECIAL_TOKENS)} special tokens and the {characters} "
            f"characters of the training text; give at least {backend.get_vocab_size()}, or keep only the most "
            "frequent characters with alphabet_size"
        )
    end_sentences_with_eos(backend)
    return backend
