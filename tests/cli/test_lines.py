"""Lines in, lines out, for every command that answers line by line: none is lost, moved, joined or made up."""

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hf_attention_zoo import TranslationTokenizer, get_architecture
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.text_lines import file_lines, is_blank, split_lines, written_file

Captured = pytest.CaptureFixture[str]

# What stands in a line; \x85, \u2028 and \x1c end a line for str.splitlines, a lone \r for open().
LINES = [
    "das haus",
    "",
    "die\rkatze",
    "das\u2028haus",
    "   ",
    "ein\x85haus",
    "\u200b\xa0\x1c",
    "das\x0bhaus\x0cist gross",
    "das haus",
]


@dataclass(frozen=True)
class LineCommand:
    """A command, the folder of its model, and what is in a line."""

    name: str
    folder: Path
    pair: bool = False

    def line(self, text: str) -> str:
        return f"{text}\t{text}" if self.pair and not is_blank(text) else text

    def argv(self, given: str | Path, *more: str) -> list[str]:
        return [self.name, str(self.folder), str(given), "--batch_size", "2", *more]


@pytest.fixture(scope="session")
def parser_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parser") / "model"
    trees = ["(S NN )S", "(S (NP NN )NP )S"]
    tokenizer = TranslationTokenizer.train(["das haus", "ein haus"], trees, kind="word", target_kind="symbols")
    config = get_architecture("rnnsearch").tiny_config()
    config.vocab_size, config.decoder_vocab_size = len(tokenizer), tokenizer.target_vocab_size
    model = get_architecture("rnnsearch").model_classes["AutoModelForSeq2SeqLM"](config)
    model.generation_config.max_length = 6
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(params=["translate", "parse", "score", "links"])
def command(request: pytest.FixtureRequest, saved_folder: Path, parser_folder: Path) -> LineCommand:
    folder = parser_folder if request.param == "parse" else saved_folder
    return LineCommand(request.param, folder, pair=request.param in ("score", "links"))


@pytest.fixture
def answers(command: LineCommand, capsys: Captured) -> Callable[[bytes, pytest.MonkeyPatch], list[str]]:
    def of_standard_input(text: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text), encoding="ascii"))
        assert main(command.argv("-")) == 0
        return capsys.readouterr().out.split("\n")[:-1]

    return of_standard_input


def test_a_line_for_each_line_and_blank_for_blank(
    command: LineCommand, answers: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = "".join(f"{command.line(line)}\n" for line in LINES)
    reference = answers(plain.encode(), monkeypatch)
    assert len(reference) == len(LINES)
    assert [is_blank(line) for line in LINES] == [line == "" for line in reference]
    alone = answers(f"{command.line('das haus')}\n".encode(), monkeypatch)[0]
    assert reference[0][:-2] == reference[-1][:-2] == alone[:-2]  # batches move the last digits of a score
    for text in (plain, "\ufeff" + plain, plain.replace("\n", "\r\n"), plain.removesuffix("\n")):
        file, out = tmp_path / "in.txt", tmp_path / "out.txt"
        file.write_bytes(text.encode())
        assert main(command.argv(file, "--output", str(out))) == 0
        assert out.read_bytes().decode() == "".join(f"{line}\n" for line in reference)
        assert answers(text.encode(), monkeypatch) == reference
    assert answers(b"", monkeypatch) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_the_output_may_be_the_input_under_any_name(command: LineCommand, tmp_path: Path) -> None:
    text = "".join(f"{command.line(line)}\n" for line in LINES)
    (tmp_path / "first.txt").write_text(text, encoding="utf-8", newline="\n")
    assert main(command.argv(tmp_path / "first.txt", "--output", str(tmp_path / "right.txt"))) == 0
    right = (tmp_path / "right.txt").read_bytes()
    for other in ("same", "path", "symbolic", "hard"):
        folder = tmp_path / other
        folder.mkdir()
        file = folder / "in.txt"
        file.write_text(text, encoding="utf-8", newline="\n")
        output = {
            "same": file,
            "path": folder / ".." / other / "in.txt",
            "symbolic": folder / "link.txt",
            "hard": folder / "hard.txt",
        }[other]
        if other == "symbolic":
            output.symlink_to(file)
        if other == "hard":
            os.link(file, output)
        assert main(command.argv(file, "--output", str(output))) == 0
        assert output.read_bytes() == right
        assert output.is_symlink() == (other == "symbolic")
        assert len(list(folder.iterdir())) == (1 if other in ("same", "path") else 2)


def test_what_fails_half_way_leaves_the_output_as_it_was(
    command: LineCommand, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = {"translate": "translate_text", "parse": "parse_text", "score": "score_pairs", "links": "write_links"}
    monkeypatch.setattr(f"hf_attention_zoo.cli.{module[command.name]}.CHUNK", 1)
    for wrong, message in ((b"\xff\xfe", "is not UTF-8 text"), (b"das\0haus\n", "a NUL in line 2")):
        file = tmp_path / "in.txt"
        content = f"{command.line('das haus')}\n".encode() + wrong
        file.write_bytes(content)
        out = tmp_path / "out.txt"
        out.write_text("kept\n")
        for output in (out, file):
            assert main(command.argv(file, "--output", str(output))) == 2
            assert message in capsys.readouterr().err
        assert (out.read_text(), file.read_bytes()) == ("kept\n", content)
    file.write_text(command.line("das haus") + "\n")
    for output, message in ((tmp_path, "is a folder"), (tmp_path / "absent" / "out.txt", "there is no folder")):
        assert main(command.argv(file, "--output", str(output))) == 2
        assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


@pytest.mark.parametrize("command", ["translate", "parse"], indirect=True)
def test_a_text_is_no_file_name(command: LineCommand, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(command.argv("한" * 2000)) == 0  # longer than any name
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main(command.argv("das haus\n\nein haus")) == 0
    printed = capsys.readouterr().out.split("\n")
    assert len(printed) == 4 and printed[1] == ""
    assert main(command.argv("")) == 0
    assert capsys.readouterr().out == "\n"
    assert main(command.argv("sentences.txt")) == 2
    assert "no such file: sentences.txt" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("sentences.txt\n"))  # what the message advises
    assert main(command.argv("-")) == 0


def test_sentences_that_are_drawn_are_read_by_the_same_rules(tmp_path: Path, capsys: Captured) -> None:
    folder = Path(__file__).parents[2] / "model_cards" / "rnn-encoder-decoder-de-en"
    file, out = tmp_path / "in.txt", tmp_path / "out.json"
    file.write_bytes(("\ufeff" + "\n".join(LINES)).encode())
    assert main(["sentence-vectors", str(folder), "--file", str(file), "--output", str(out)]) == 0
    drawn = json.loads(out.read_text())["sentences"]
    assert [one["text"] for one in drawn] == [line for line in LINES if not is_blank(line)]
    assert main(["sentence-vectors", str(folder), "--file", str(tmp_path / "absent")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_picture_is_not_written_over_what_it_is_made_of(tmp_path: Path, capsys: Captured) -> None:
    cards = Path(__file__).parents[2] / "model_cards"
    picture = tmp_path / "example.png"
    picture.write_bytes((cards / "show-attend-tell-emoji-en" / "example.png").read_bytes())
    (tmp_path / "link.png").symlink_to(picture)
    sentences = tmp_path / "in.json"
    sentences.write_text("das haus\nein haus\n")
    for argv, kept in (
        (
            ["align", str(cards / "show-attend-tell-emoji-en"), str(picture), "--output", f"{tmp_path}/link.png"],
            picture,
        ),
        (["sentence-vectors", str(cards / "seq2seq-lstm-de-en"), "--file", str(sentences)], sentences),
    ):
        before = kept.read_bytes()
        assert main([*argv, *([] if "--output" in argv else ["--output", str(kept)])]) == 2
        assert "would be written over" in capsys.readouterr().err
        assert kept.read_bytes() == before


def test_lines_end_with_line_feeds_alone(tmp_path: Path) -> None:
    text = "\ufeffa\rb\r\nc\u2028d\n\ne\x85f"
    assert split_lines(text) == ["a\rb", "c\u2028d", "", "e\x85f"]
    (tmp_path / "file").write_bytes(text.encode())
    assert list(file_lines(tmp_path / "file")) == split_lines(text)
    assert split_lines("") == []


def test_a_written_file_keeps_its_mode_and_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    with written_file(file) as out:
        out.write("new")
        assert file.read_text() == "old"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o640)
    with written_file(os.devnull) as out:
        out.write("nothing")
