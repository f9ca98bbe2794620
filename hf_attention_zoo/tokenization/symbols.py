"""Vocabularies of symbols: what stands between white space is one token, whatever it is made of.

For texts that are sequences of names and not of words, such as linear trees: `(S (NP DT NN )NP )S` is six symbols.
"""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS, end_sentences_with_eos

# The WordPiece decoder leaves out the space before tokens that begin so; with white space in it none does.
_NO_PREFIX = "\n\n"


def train_symbols(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 1
) -> Tokenizer:
    """A backend with the four special tokens and the `vocab_size - 4` most frequent symbols of `texts`.

    Decoding puts one space between symbols. Equal counts are ordered alphabetically.
    """
    backend = Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.NFC()])
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.decoder = decoders.WordPiece(prefix=_NO_PREFIX, cleanup=False)
    trainer = trainers.WordLevelTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(SPECIAL_TOKENS.values()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    end_sentences_with_eos(backend)
    return backend
