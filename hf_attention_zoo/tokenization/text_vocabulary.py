"""Vocabularies of the models that read texts and write none: words or byte-pair pieces, without an end symbol.

A pad is id 0, an unknown word id 1. Nothing is restored to text exactly, so words carry no marks: `good` is one row
whether or not a bracket stands beside it, under the spelling that files of word vectors use.
"""

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from hf_attention_zoo.tokenization.subword import train_subword

KINDS = ("word", "subword")
TEXT_SPECIAL_TOKENS: dict[str, str] = {"pad_token": "<pad>", "unk_token": "<unk>"}

# Marks stand alone, except for hyphens and apostrophes between letters and points between digits.
_INSIDE_A_WORD = r"(?<=\p{L})[-‐'’](?=\p{L})|(?<=\p{Nd})[.,:](?=\p{Nd})"
_MARK = rf"(?!{_INSIDE_A_WORD})[\p{{P}}\p{{S}}]"


def train_text_words(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 1
) -> Tokenizer:
    """A backend of `<pad>`, `<unk>` and the most frequent words and punctuation marks of `texts`.

    Equal counts are ordered alphabetically, so the same texts always give the same ids.
    """
    backend = Tokenizer(models.WordLevel(unk_token=TEXT_SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.NFC()])
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(_MARK), behavior="isolated")]
    )
    backend.decoder = decoders.WordPiece(prefix="\0", cleanup=False)  # words with a space between them
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(TEXT_SPECIAL_TOKENS.values()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def train_text_pieces(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 2
) -> Tokenizer:
    """A byte-pair backend of the pieces that `train_subword` learns, which puts no symbol behind a text."""
    backend = train_subword(texts, vocab_size=vocab_size, lowercase=lowercase, min_frequency=min_frequency)
    backend.post_processor = processors.Sequence([])
    return backend
