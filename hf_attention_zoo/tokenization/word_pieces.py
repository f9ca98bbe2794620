"""Word pieces as BERT reads them (Devlin et al. 2018; the rules are those of the authors' code).

Texts are cleaned (control characters go, white space becomes spaces), ideographs stand alone, words are cut at
punctuation, and each word becomes its longest known beginning, then the longest known rest, and so on; the rests carry
`##`. A word that cannot be made so, or is longer than 100 characters, is `[UNK]` as a whole.

Lower-casing takes the accents off, which means to decompose every letter first: 한 becomes three jamo that look the
same and match no whole syllable, so that an uncased vocabulary of the authors reads Korean as `[UNK]`. Here letters
are composed again afterwards (`recompose`), and Korean stays whole. Marks are still lost where they make another
letter (が becomes か, й becomes и): for Japanese, Hindi or Russian keep the accents, or the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from hf_attention_zoo.tokenization.piece_training import learn_pieces, words_of
from hf_attention_zoo.tokenization.special_tokens import WORD_PIECE_TOKENS

LONGEST_WORD = 100


def word_piece_backend(
    vocabulary: Mapping[str, int] | None, *, lowercase: bool, strip_accents: bool, recompose: bool
) -> Tokenizer:
    """The reader of texts, with a vocabulary or none yet.

    Args:
        vocabulary: piece -> id.
        lowercase: of every letter.
        strip_accents: take accents off.
        recompose: compose what is left; the authors' code does not.
    """
    unknown = WORD_PIECE_TOKENS["unk_token"]
    options = {} if vocabulary is None else {"vocab": dict(vocabulary)}
    backend = Tokenizer(models.WordPiece(unk_token=unknown, max_input_chars_per_word=LONGEST_WORD, **options))
    cleaning = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=lowercase
    )
    backend.normalizer = normalizers.Sequence([cleaning, normalizers.NFC()]) if recompose else cleaning
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    return backend


def train_word_pieces(
    texts: Iterable[str],
    *,
    vocab_size: int,
    lowercase: bool,
    strip_accents: bool,
    recompose: bool,
    min_frequency: int,
    alphabet_size: int | None,
) -> Tokenizer:
    """A backend that has learnt pieces by byte-pair merges, since the authors' own trainer was not published.

    Raises:
        ValueError: the characters of the texts alone do not fit into `vocab_size`.
    """
    choices = {"lowercase": lowercase, "strip_accents": strip_accents, "recompose": recompose}
    vocabulary, _ = learn_pieces(
        words_of(word_piece_backend(None, **choices), texts),
        vocab_size=vocab_size,
        special_tokens=WORD_PIECE_TOKENS.values(),
        min_frequency=min_frequency,
        alphabet_size=alphabet_size,
        prefix="##",
    )
    backend = word_piece_backend(vocabulary, **choices)
    backend.add_special_tokens(list(WORD_PIECE_TOKENS.values()))
    enclose_texts(backend)
    return backend


def enclose_texts(backend: Tokenizer) -> None:
    """Write `[CLS] text [SEP]` and `[CLS] text [SEP] text [SEP]`; the second text and its end are segment 1."""
    names = (WORD_PIECE_TOKENS["cls_token"], WORD_PIECE_TOKENS["sep_token"])
    start, end = names
    backend.post_processor = processors.TemplateProcessing(
        single=f"{start}:0 $A:0 {end}:0",
        pair=f"{start}:0 $A:0 {end}:0 $B:1 {end}:1",
        special_tokens=[(name, backend.token_to_id(name)) for name in names],
    )
