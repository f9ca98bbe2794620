"""From trees to a trained parser and its scores, through the commands, with a model of a few units."""

import io
import json
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from hf_attention_zoo import TranslationTokenizer
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.tasks.parsing.bracket_trees import read_tree_files
from hf_attention_zoo.tasks.parsing.parse_sentences import parse, tree_symbols
from hf_attention_zoo.tasks.translation.evaluation import load_checkpoint

Captured = pytest.CaptureFixture[str]

TINY = [
    *("--config.embedding_size", "16", "--config.hidden_size", "24", "--config.attention_size", "16"),
    *("--config.maxout_size", "16", "--tokenizer.kind", "symbols", "--tokenizer.vocab_size", "120"),
    *("--use_cpu", "True", "--disable_tqdm", "True", "--report_to", "none", "--max_tokens_per_batch", "600"),
    *("--learning_rate", "0.01", "--max_steps", "12", "--eval_strategy", "epoch", "--save_strategy", "no"),
]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("treebank") / "made"
    assert main(["treebank", str(folder), "--generated", "80", "--max_words", "9"]) == 0
    return folder


@pytest.fixture(scope="module", params=["brackets", "slashes"])
def parser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, treebank: Path) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    data = folder / "data"
    trees = [arg for split in ("train", "validation") for arg in (f"--{split}", str(treebank / f"{split}.trees"))]
    assert main(["treebank", str(data), *trees, "--style", request.param]) == 0
    where = ["--dataset", str(data), "--output_dir", str(folder / "model"), "--recipe", "none"]
    assert main(["train", "rnnsearch", *where, *TINY]) == 0
    return folder / "model"


def test_the_folder_holds_pairs_and_gold_trees(treebank: Path) -> None:
    facts = json.loads((treebank / "treebank.json").read_text())
    assert {split: count["sentences"] for split, count in facts["splits"].items()} == {
        "train": 64,
        "validation": 8,
        "test": 8,
    }
    assert "made up" in facts["source"]
    rows = [json.loads(line) for line in (treebank / "test.jsonl").read_text().splitlines()]
    gold = list(read_tree_files([treebank / "test.trees"]))
    assert [row["source"].split() for row in rows] == [tree.words() for tree in gold]
    assert all(row["target"].startswith("(S") for row in rows)


def test_a_parser_is_trained_and_scored_by_commands(
    parser: Path, treebank: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = treebank / "test.trees"
    out, metrics = tmp_path / "out.trees", tmp_path / "metrics.json"
    assert main(["parse", str(parser), str(gold), "--output", str(out), "--metrics", str(metrics)]) == 0
    assert "bracketing F1" in capsys.readouterr().err
    figures = json.loads(metrics.read_text())
    assert figures["sentences"] == 8 and figures["errors"] == 0 and 0 <= figures["f1"] <= 100
    assert main(["parseval", str(gold), str(out), "--output", str(tmp_path / "again.json")]) == 0
    again = json.loads((tmp_path / "again.json").read_text())
    assert {name: figures[name] for name in again} == again

    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO("the dog slept .\n\nshe ( sang ) .\n"))
    assert main(["parse", str(parser), "-", "--num_beams", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1] == "" and "-LRB-" in lines[2]


def test_sentences_may_be_words_or_strings(parser: Path) -> None:
    model, tokenizer = load_checkpoint(parser)
    style, labels = tree_symbols(tokenizer)
    assert {"S", "NP", "VP"} <= labels and style in str(parser)
    both = parse(model, tokenizer, ["the dog slept .", ["the", "dog", "slept", "."], ""])
    assert both[0] == both[1] and both[0].tree.words() == ["the", "dog", "slept", "."]
    assert both[2].tree is None
    assert parse(model, tokenizer, [" "])[0].tree is None


def test_symbols_are_tokens_as_they_stand_and_survive_saving(tmp_path: Path) -> None:
    targets = ["(S (NP NN )NP )S", "(S , '' . )S"]
    made = TranslationTokenizer.train(
        ["the dog's ear", "x"], targets, kind="word", target_kind="symbols", vocab_size=40, target_vocab_size=40
    )
    made.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    for tokenizer in (made, loaded):
        ids = tokenizer(text_target=targets[1])["input_ids"]
        assert tokenizer.convert_target_ids_to_tokens(ids) == ["(S", ",", "''", ".", ")S", "</s>"]
        assert [
            tokenizer.decode(tokenizer(text_target=text)["input_ids"], skip_special_tokens=True) for text in targets
        ]
        assert tokenizer.decode(ids, skip_special_tokens=True) == targets[1]
    with pytest.raises(ValueError, match="differ; leave target_kind out"):
        TranslationTokenizer.train(["a"], ["b"], kind="word", target_kind="symbols", shared=True, vocab_size=9)
    with pytest.raises(ValueError, match="target_kind='bytes' is not known"):
        TranslationTokenizer.train(["a"], ["b"], target_kind="bytes")


def test_a_translator_is_no_parser() -> None:
    tokenizer = TranslationTokenizer.train(["a b"], ["c d"], kind="word", vocab_size=20)
    with pytest.raises(ValueError, match="does not write trees"):
        tree_symbols(tokenizer)
    with pytest.raises(ValueError, match="int has no target vocabulary"):
        tree_symbols(3)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "which trees?"),
        (["--generated", "5"], "at least 10"),
        (["--generated", "20", "--train", "x.mrg"], "in place of files"),
        (["--train", "/no/such.mrg"], "does not exist"),
        (["--train", "TREES", "--max_words", "1"], "no tree is left for the split train"),
    ],
)
def test_wrong_treebanks_are_refused(
    flags: list[str], message: str, treebank: Path, tmp_path: Path, capsys: Captured
) -> None:
    flags = [str(treebank / "train.trees") if flag == "TREES" else flag for flag in flags]
    assert main(["treebank", str(tmp_path / "out"), *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_of_trees_is_read_below_and_needs_some(treebank: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "wsj" / "00").mkdir(parents=True)
    assert main(["treebank", str(tmp_path / "a"), "--train", str(tmp_path / "wsj")]) == 2
    assert "holds no tree files" in capsys.readouterr().err
    (tmp_path / "wsj" / "00" / "one.mrg").write_text("( (S (NP-SBJ (NN a)) (VP (VB b) (-NONE- *))))\n( (-NONE- *))\n")
    assert main(["treebank", str(tmp_path / "a"), "--train", str(tmp_path / "wsj"), "--tags", "XX"]) == 0
    assert "left out 1 trees (empty)" in capsys.readouterr().out
    row = json.loads((tmp_path / "a" / "train.jsonl").read_text())
    assert row == {"source": "a b", "target": "(S (NP XX )NP (VP XX )VP )S"}


def test_scores_need_gold_trees(parser: Path, capsys: Captured) -> None:
    assert main(["parse", str(parser), "the dog", "--metrics", "m.json"]) == 2
    assert "needs gold trees" in capsys.readouterr().err
