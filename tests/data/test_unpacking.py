"""What a packed file may unpack to."""

import gzip
import lzma
import zipfile
from pathlib import Path

import pytest

from hf_attention_zoo.data import unpacking
from hf_attention_zoo.data.record_files import read_rows
from hf_attention_zoo.data.word_vectors import read_word_vectors


@pytest.fixture
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "ALWAYS_ALLOWED", 1 << 16)


def bombs(folder: Path, name: str, content: bytes) -> list[Path]:
    """The same content packed in every way that is read."""
    for ending, pack in ((".gz", gzip.compress), (".xz", lzma.compress)):
        (folder / f"{name}{ending}").write_bytes(pack(content))
    return [folder / f"{name}.gz", folder / f"{name}.xz"]


@pytest.mark.usefixtures("small_bound")
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    line = b'{"text": "' + b"a" * 1000 + b'"}\n'
    for path in [
        *bombs(tmp_path, "rows.jsonl", line * 3000),
        *bombs(tmp_path, "rows.csv", b"text\n" + b"a" * 3_000_000),
        *bombs(tmp_path, "array.json", b"[" + b" " * 3_000_000 + b"]"),
    ]:
        with pytest.raises(ValueError, match=f"{path.name} has [0-9,]+ bytes and unpacks to more than"):
            list(read_rows(path))
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", b"film " + b"0 " * 1_500_000)
    for path in [*bombs(tmp_path, "v.txt", b"film " + b"0 " * 1_500_000), tmp_path / "v.zip"]:
        with pytest.raises(ValueError, match="unpacks to more than"):
            read_word_vectors(path)
    (tmp_path / "rows.jsonl").write_bytes(gzip.decompress((tmp_path / "rows.jsonl.gz").read_bytes()))
    assert sum(1 for _ in read_rows(tmp_path / "rows.jsonl")) == 3000  # what the message advises


@pytest.mark.usefixtures("small_bound")
def test_text_that_is_packed_as_text_is_has_no_bound(tmp_path: Path) -> None:
    lines = "".join(f'{{"text": "{hash(str(number))} {number}"}}\n' for number in range(20_000))
    for path in bombs(tmp_path, "rows.jsonl", lines.encode()):
        assert sum(1 for _ in read_rows(path)) == 20_000


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("opening", ["[", '{"a": '])
def test_json_that_is_nested_too_deeply_is_one_error(tmp_path: Path, opening: str, ending: str) -> None:
    plain = tmp_path / "deep.json"
    plain.write_text(opening * 200_000, encoding="utf-8")
    bombs(tmp_path, "deep.json", plain.read_bytes())
    with pytest.raises(ValueError, match=r"nested too deeply|is not JSON"):
        list(read_rows(tmp_path / f"deep.json{ending}"))
