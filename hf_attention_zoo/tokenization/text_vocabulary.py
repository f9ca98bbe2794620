"""Vocabularies of words, byte-pair pieces or characters, without an end symbol.

A pad is id 0, an unknown word id 1. Nothing is restored to text exactly, so words carry no marks: `good` is one row
whether or not a bracket stands beside it, under the spelling that files of word vectors use.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from hf_attention_zoo.tokenization.subword import train_subword
from hf_attention_zoo.tokenization.training_texts import DISCOUNT, CheckedTexts, check_vocab_size, checked_texts
from hf_attention_zoo.tokenization.word_level import learn_words

TEXT_SPECIAL_TOKENS: dict[str, str] = {"pad_token": "<pad>", "unk_token": "<unk>"}

# Marks stand alone, except for hyphens and apostrophes between letters and points between digits.
_INSIDE_A_WORD = r"(?<=\p{L})[-‐'’](?=\p{L})|(?<=\p{Nd})[.,:](?=\p{Nd})"
MARK = rf"(?!{_INSIDE_A_WORD})[\p{{P}}\p{{S}}]"


def train_text_words(
    texts: Iterable[str],
    *,
    vocab_size: int,
    lowercase: bool = False,
    min_frequency: int = 1,
    phrase_thresholds: Sequence[float] = (),
    phrase_discount: int = DISCOUNT,
) -> Tokenizer:
    """A backend of `<pad>`, `<unk>` and the most frequent words and punctuation marks of `texts`.

    With thresholds, phrases are entries, too (see `phrases`), and the texts are read several times.
    """
    backend = Tokenizer(models.WordLevel(unk_token=TEXT_SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.NFC()])
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(MARK), behavior="isolated")]
    )
    backend.decoder = decoders.WordPiece(prefix="\0", cleanup=False)  # words with a space between them
    tokens = TEXT_SPECIAL_TOKENS.values()
    sizes: dict[str, Any] = {"vocab_size": vocab_size, "min_frequency": min_frequency, "special_tokens": tokens}
    if not phrase_thresholds:
        return learn_words(backend, texts, **sizes)
    from hf_attention_zoo.tokenization.phrases import learn_phrases

    return learn_phrases(backend, texts, thresholds=phrase_thresholds, discount=phrase_discount, **sizes)


def train_text_pieces(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 2
) -> Tokenizer:
    """A byte-pair backend of the pieces that `train_subword` learns, which puts no symbol behind a text."""
    backend = train_subword(texts, vocab_size=vocab_size, lowercase=lowercase, min_frequency=min_frequency)
    backend.post_processor = processors.Sequence([])
    return backend


def train_text_characters(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 1
) -> Tokenizer:
    """A backend of `<pad>`, `<unk>` and the most frequent characters of `texts`, spaces among them."""
    backend = Tokenizer(models.WordLevel(unk_token=TEXT_SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.NFC()])
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    backend.decoder = decoders.Fuse()
    tokens = TEXT_SPECIAL_TOKENS.values()
    return learn_words(backend, texts, vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=tokens)


Learner = Callable[..., Tokenizer]
KINDS: dict[str, Learner] = {"word": train_text_words, "subword": train_text_pieces}


def train_text_vocabulary(
    texts: Iterable[str | list[str]],
    said: str,
    *,
    kind: str,
    vocab_size: int,
    lowercase: bool,
    min_frequency: int | None,
    learners: Mapping[str, Learner] = KINDS,
    phrase_thresholds: Sequence[float] = (),
    phrase_discount: int = DISCOUNT,
) -> Tokenizer:
    """The backend of a kind, from texts or lists of texts; the iterable is read once, with phrases several times.

    Args:
        said: what a text is called in messages.
        kind: one of `learners`.
        min_frequency: how often a word or a pair of pieces must occur; as the kind has it if None.
        learners: kind -> how its backend is learnt.
        phrase_thresholds, phrase_discount: see `phrases`; for words.

    Raises:
        ValueError: a value of the wrong type or range, or texts without text.
    """
    if kind not in learners:
        raise ValueError(f"kind={kind!r} is not known; choose from {', '.join(map(repr, learners))}")
    check_vocab_size(vocab_size)
    options: dict[str, Any] = {} if min_frequency is None else {"min_frequency": min_frequency}
    if phrase_thresholds or phrase_discount != DISCOUNT:
        from hf_attention_zoo.tokenization.phrases import check_thresholds

        check_thresholds(phrase_thresholds, phrase_discount)
    if phrase_thresholds:
        if kind != "word":
            raise ValueError(f"phrases are made of words, and kind={kind!r}; leave out phrase_thresholds or the kind")
        options |= {"phrase_thresholds": phrase_thresholds, "phrase_discount": phrase_discount}
    read = CheckedTexts(texts, said) if phrase_thresholds else checked_texts(texts, said)
    return learners[kind](read, vocab_size=vocab_size, lowercase=lowercase, **options)
