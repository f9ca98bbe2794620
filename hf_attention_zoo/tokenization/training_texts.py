"""What a vocabulary is trained on: any iterable of sentences, checked while it streams by."""

from collections.abc import Iterable, Iterator

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS

DISCOUNT = 5  # delta of Mikolov et al. 2013, Equation 6: neighbours seen so often or less are no phrase


def checked_texts(texts: Iterable[str | list[str]], side: str) -> Iterator[str]:
    """Yield the sentences of `texts` (strings, or lists of strings) one by one; reads the iterable once.

    Raises:
        ValueError: `texts` is a single string or no iterable, an element is no string, or no element holds a
            visible character. `side` ("source" or "target") is named in the message.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise ValueError(
            f"the {side} training texts came as {type(texts).__name__}; give an iterable of sentences, "
            "for example a list of strings"
        )
    return _stream(texts, side)


class CheckedTexts:
    """The same for what is read several times.

    Raises:
        ValueError: as `checked_texts`, or the texts can be read only once.
    """

    def __init__(self, texts: Iterable[str | list[str]], side: str) -> None:
        if isinstance(texts, Iterator):
            raise ValueError(
                f"phrases are learnt in several passes, and the {side} training texts came as {type(texts).__name__}, "
                "which is read once; give a list"
            )
        self.texts, self.side = texts, side

    def __iter__(self) -> Iterator[str]:
        return checked_texts(self.texts, self.side)


def _stream(texts: Iterable[str | list[str]], side: str) -> Iterator[str]:
    found_text = False
    for position, item in enumerate(texts):
        for text in item if isinstance(item, list | tuple) else (item,):
            if not isinstance(text, str):
                raise ValueError(
                    f"{side} training text {position} is {type(text).__name__} ({text!r:.60}); every element must be "
                    "a string or a list of strings: drop or convert such rows"
                )
            found_text = found_text or bool(text.strip())
            yield text
    if not found_text:
        raise ValueError(
            f"the {side} training texts hold no text, so no vocabulary can be built; check that the iterator was not "
            "already used up and that the column is the right one"
        )


def check_vocab_size(vocab_size: int, name: str = "vocab_size") -> None:
    """Raise ValueError unless `vocab_size` is an integer that leaves room for a word beside the special tokens."""
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
        raise ValueError(f"{name}={vocab_size!r} is {type(vocab_size).__name__}; give an integer such as 8000")
    if vocab_size <= len(SPECIAL_TOKENS):
        raise ValueError(
            f"{name}={vocab_size} leaves no room beside the {len(SPECIAL_TOKENS)} special tokens "
            f"({', '.join(SPECIAL_TOKENS.values())}); give at least {len(SPECIAL_TOKENS) + 1}"
        )
