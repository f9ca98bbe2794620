"""What the tokenizers of this package share beyond transformers' class for tokenizers with a backend."""

from typing import Any, ClassVar

from transformers import BatchEncoding, TokenizersBackend

from hf_attention_zoo.tokenization.special_tokens import SPECIAL_TOKENS
from hf_attention_zoo.tokenization.surfaces import composed, first_unreadable

# How a tokenizer was loaded is no property of it; saved, it would make a reloaded copy's files differ.
HOW_IT_WAS_LOADED = ("is_local", "local_files_only")


class OwnBackend(TokenizersBackend):
    """A tokenizer that stays what it was trained as, and reads every text composed (NFC).

    Attributes:
        own_tokens: the special tokens of a tokenizer that is told no others.
    """

    own_tokens: ClassVar[dict[str, str]] = SPECIAL_TOKENS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**self.own_tokens, **kwargs})
        for name in HOW_IT_WAS_LOADED:
            self.init_kwargs.pop(name, None)

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **kwargs: Any) -> dict[str, Any]:
        """Hand the files through: a class with its own `__init__` would otherwise lose normaliser and decoder."""
        return kwargs

    @staticmethod
    def is_empty_batch(text: Any, is_split_into_words: bool = False) -> bool:
        """Whether no text at all was given, which is not the same as an empty one."""
        return isinstance(text, list | tuple) and not text and not is_split_into_words

    def _encode_plus(self, text: Any, text_pair: Any = None, *args: Any, **kwargs: Any) -> BatchEncoding:
        if self.is_empty_batch(text, kwargs.get("is_split_into_words", False)):
            return BatchEncoding({name: [] for name in self.model_input_names})
        text, text_pair = composed(text), composed(text_pair)
        try:
            return super()._encode_plus(text, text_pair, *args, **kwargs)
        except (TypeError, UnicodeEncodeError) as error:
            wrong = first_unreadable(text) or first_unreadable(text_pair)
            if wrong is None:
                raise
            raise ValueError(f"{wrong}; every text must be a string of valid Unicode") from error
        finally:
            # No property of the tokenizer: left there, it would change saved files and the keys of data caches.
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
