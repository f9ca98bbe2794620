"""Word-level vocabularies with a shortlist, as Bahdanau et al. 2015 (section 4.1) used them.

The most frequent words get a row each, every other word becomes `<unk>`. Words and punctuation are separated first, as
the Moses tokenizer does for the paper: hyphens between letters and points between digits stay inside their word. What
is separated carries a joiner, `￭`, on the side where no space was: `f(x)` becomes `f ￭(￭ x ￭)`. So a word is the same
row whether or not a bracket stands before it, and decoding restores the spacing exactly, one space for each run of
white space.
"""

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS, end_sentences_with_eos

JOINER = "￭"
# A joiner that was typed by somebody; decoding would swallow it.
TYPED_JOINER = "■"
# The WordPiece decoder leaves out the space before tokens that begin so; with white space in it none does.
_NO_PREFIX = "\n\n"

_MARK = rf"[\p{{P}}\p{{S}}&&[^{JOINER}]]"
_INSIDE_A_WORD = r"(?<=\p{L})[-‐](?=\p{L})|(?<=\p{Nd})[.,:](?=\p{Nd})"
_BEFORE_ATTACHED_MARK = rf"(?<=\S)(?=(?!{_INSIDE_A_WORD}){_MARK})"
# Runs after the left joiners are in: a separated mark now follows the start, a space or a joiner.
_AFTER_ATTACHED_MARK = rf"(?<=\A{_MARK}|[ {JOINER}]{_MARK})(?=[^ {JOINER}\p{{P}}\p{{S}}])"


def learn_words(
    backend: Tokenizer, texts: Iterable[str], *, vocab_size: int, min_frequency: int, special_tokens: Iterable[str]
) -> Tokenizer:
    """Give a word-level backend the special tokens and the most frequent words of `texts`, as it splits them.

    Equal counts are ordered alphabetically, so the same texts always give the same ids. A special token that stands in
    a text is no word: the trainer of the library would give it a second id, and take the first one from it.
    """
    special = list(special_tokens)
    trainer = trainers.WordLevelTrainer(vocab_size=vocab_size, min_frequency=min_frequency, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    learnt = backend.get_vocab()
    words = [word for word in sorted(learnt, key=learnt.__getitem__) if word not in special]
    give_words(backend, words[: vocab_size - len(special)], special)
    return backend


def give_words(backend: Tokenizer, words: list[str], special: list[str]) -> None:
    """Make a word-level backend's vocabulary that of the special tokens and, behind them, of these words."""
    listed = {word: number for number, word in enumerate([*special, *words])}
    backend.model = models.WordLevel(listed, unk_token=backend.model.unk_token)
    backend.add_special_tokens(special)


def train_word_level(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 1
) -> Tokenizer:
    """A backend with the four special tokens and the `vocab_size - 4` most frequent words of `texts`."""
    backend = Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    steps += [
        normalizers.NFC(),
        normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Strip(),
        normalizers.Replace(JOINER, TYPED_JOINER),
        normalizers.Replace(Regex(_BEFORE_ATTACHED_MARK), f" {JOINER}"),
        normalizers.Replace(Regex(_AFTER_ATTACHED_MARK), f"{JOINER} "),
    ]
    backend.normalizer = normalizers.Sequence(steps)
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # The WordPiece decoder puts a space before each token but those that begin with the joiner.
    backend.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix=JOINER, cleanup=False),
            decoders.Fuse(),
            decoders.Replace(f"{JOINER} ", ""),
            decoders.Replace(JOINER, ""),
        ]
    )
    return _ending_with_eos(backend, texts, vocab_size, min_frequency)


def train_symbols(
    texts: Iterable[str], *, vocab_size: int, lowercase: bool = False, min_frequency: int = 1
) -> Tokenizer:
    """A backend with the four special tokens and the `vocab_size - 4` most frequent symbols of `texts`.

    A symbol is what stands between white space, whatever it is made of: for sequences of names and not of words, such
    as linear trees, where `(S (NP DT NN )NP )S` is six symbols. Decoding puts one space between symbols.
    """
    backend = Tokenizer(models.WordLevel(unk_token=SPECIAL_TOKENS["unk_token"]))
    steps: list[normalizers.Normalizer] = [normalizers.Lowercase()] if lowercase else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.NFC()])
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.decoder = decoders.WordPiece(prefix=_NO_PREFIX, cleanup=False)
    return _ending_with_eos(backend, texts, vocab_size, min_frequency)


def _ending_with_eos(backend: Tokenizer, texts: Iterable[str], vocab_size: int, min_frequency: int) -> Tokenizer:
    tokens = SPECIAL_TOKENS.values()
    learn_words(backend, texts, vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=tokens)
    end_sentences_with_eos(backend)
    return backend
