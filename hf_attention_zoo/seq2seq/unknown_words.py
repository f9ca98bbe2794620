"""Unknown words in a translation, replaced by the source words that they are aligned with.

A model with a shortlist writes `<unk>` for every word outside it. Luong et al. (2015) and Jean et al. (2015) replace
such a token after the search: the source word with the largest attention weight in the row of that very token (in
RNNsearch alpha_i, computed for the i-th target token) is copied as it is spelled in the source, or translated by a
dictionary. The weight of a source word is the sum over its tokens; the end-of-sentence mark takes no part.

Where an unknown token is only a part of a word (a rare character in a subword vocabulary: `<unk>` touching letters),
the matching part of the source word is copied instead of the whole.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.data.text_lines import file_lines
from hf_attention_zoo.registry import list_architectures
from hf_attention_zoo.seq2seq.source_text import SourceSentence, Word
from hf_attention_zoo.tokenization.read_ids import text_of

Dictionary = Mapping[str, str] | str | PathLike[str] | None


def load_dictionary(dictionary: Dictionary) -> dict[str, str]:
    """Source word -> target word, from a mapping or from a UTF-8 file with one tab-separated pair a line.

    Empty lines are skipped; the first of several lines for a word counts.

    Raises:
        ValueError: the file is missing, a line has not exactly two columns, or a key or value is no string.
    """
    if dictionary is None:
        return {}
    if isinstance(dictionary, Mapping):
        for word, translation in dictionary.items():
            if not isinstance(word, str) or not isinstance(translation, str):
                raise ValueError(
                    f"dictionary entry {word!r}: {translation!r} must be two strings, word and translation"
                )
        return dict(dictionary)
    if not isinstance(dictionary, (str, PathLike)):
        raise ValueError(f"dictionary must be a mapping or the path of a TSV file, got {type(dictionary).__name__}")
    file = Path(dictionary)
    if not file.is_file():
        raise ValueError(f"dictionary file {str(file)!r} does not exist; give one 'source<TAB>target' pair a line")
    entries: dict[str, str] = {}
    for number, line in enumerate(file_lines(file), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not columns[0]:
            raise ValueError(
                f"{file.name}, line {number}: {len(columns)} columns in {line!r:.60}; "
                f"write 'source word<TAB>target word'"
            )
        entries.setdefault(columns[0], columns[1])
    return entries


def checked_dictionary(replace_unknown: bool, dictionary: Dictionary) -> dict[str, str]:
    """`load_dictionary`, and a ValueError for a dictionary that nothing would use."""
    if dictionary is not None and not replace_unknown:
        raise ValueError("a dictionary is used for unknown words only: pass replace_unknown=True with it")
    return load_dictionary(dictionary)


def attends_to_source(model: nn.Module) -> bool:
    """False for models of the zoo that came before attention; others are asked when it comes to that."""
    model_type = getattr(getattr(model, "config", None), "model_type", None)
    return not any(row.model_type == model_type and row.aligner is None for row in list_architectures())


def check_can_replace(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise unless the model attends, and the tokenizer has an unknown token and tells what a token covers."""
    if not any(attends_to_source(member) for member in getattr(model, "members", [model])):
        raise ValueError(
            f"replace_unknown=True copies the source word that the model attended to; {type(model).__name__} attends "
            "to none"
        )
    _ = getattr(model, "alignment_shift", 0)  # an ensemble whose members disagree says so
    if tokenizer.unk_token_id is None:
        raise ValueError("replace_unknown=True: this tokenizer has no unknown token, so there is nothing to replace")
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"replace_unknown=True copies words by their place in the text, which {type(tokenizer).__name__} does not "
            f"give; use a tokenizer with a fast backend"
        )


def decode_replacing_unknown(
    tokenizer: PreTrainedTokenizerBase,
    target_ids: Sequence[int],
    weights: torch.Tensor,
    sentence: SourceSentence,
    dictionary: Mapping[str, str],
) -> str:
    """Text of a translation with every unknown token replaced.

    Args:
        target_ids: T generated ids, without the decoder's start token.
        weights: (T, S), row t is the alignment of target token t over the S tokens of `sentence` (no padding).
        dictionary: source word -> target word; looked up as spelled, then in lower case.
    """
    unknown = tokenizer.unk_token_id
    dropped = set(tokenizer.all_special_ids) - {unknown}
    kept = [index for index, token in enumerate(target_ids) if token not in dropped]
    ids = [target_ids[index] for index in kept]
    text = text_of(tokenizer, ids, skip_special_tokens=False)
    words = sentence.words()
    pieces: list[str] = []
    cursor = 0
    for place, row in enumerate(kept):
        if ids[place] != unknown:
            continue
        start = _start_of_unknown(tokenizer, ids, place, text, cursor)
        if start is None:
            continue  # the tokenizer writes nothing for it
        end = start + len(tokenizer.unk_token)
        inside_word = text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
        copied = _copied_text(weights[row], sentence, words, unknown if inside_word else None)
        pieces += [text[cursor:start], dictionary.get(copied, dictionary.get(copied.lower(), copied))]
        cursor = end
    return "".join([*pieces, text[cursor:]]).strip()


def _start_of_unknown(
    tokenizer: PreTrainedTokenizerBase, ids: list[int], place: int, text: str, cursor: int
) -> int | None:
    """Where the unknown token at `place` stands in the decoded text: at the end of what is decoded up to it."""
    name = tokenizer.unk_token
    start = len(text_of(tokenizer, ids[: place + 1], skip_special_tokens=False)) - len(name)
    if start < cursor or text[start : start + len(name)] != name:
        start = text.find(name, cursor)
    return start if start >= 0 else None


def _copied_text(row: torch.Tensor, sentence: SourceSentence, words: Sequence[Word], unknown_part: int | None) -> str:
    """The source word with the largest weight in `row`, or of that word the token that is unknown as well."""
    if not words or sentence.spans is None:
        return ""
    start, end, tokens = max(words, key=lambda word: float(row[word[2]].sum()))
    if unknown_part is not None:
        candidates = [token for token in tokens if sentence.input_ids[token] == unknown_part] or tokens
        start, end = sentence.spans[max(candidates, key=lambda token: float(row[token]))]
    return sentence.text[start:end].strip()
