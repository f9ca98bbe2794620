"""Penn brackets: what is read, cleaned and written, and how broken files are refused."""

from pathlib import Path

import pytest

from hf_attention_zoo.tasks.parsing.bracket_trees import Tree, clean, escaped, read_tree_files, read_trees, surface

PENN = """
( (S
    (NP-SBJ-1 (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (VP (VBN said)
        (S
          (NP-SBJ (-NONE- *-1) )
          (VP (TO to)
            (VP (VB be)
              (NP-PRD
                (NP (NN chairman) )
                (PP (IN of)
                  (NP (NNP Elsevier) (-LRB- -LRB-) (NNP N.V.) (-RRB- -RRB-) ))))))))
    (. .) ))
"""


def test_a_tree_over_many_lines_is_read_and_cleaned() -> None:
    (tree,) = read_trees(PENN)
    assert tree.label == "TOP"
    assert tree.words()[4] == "*-1"
    cleaned = clean(tree)
    assert str(cleaned) == (
        "(S (NP (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (VP (VBN said) (S (VP (TO to) (VP (VB be) (NP (NP (NN chairman)) "
        "(PP (IN of) (NP (NNP Elsevier) (-LRB- -LRB-) (NNP N.V.) (-RRB- -RRB-))))))))) (. .))"
    )


def test_traces_and_functions_can_be_kept() -> None:
    (tree,) = read_trees(PENN)
    assert "(NP-SBJ (-NONE- *-1))" in str(clean(tree, keep_traces=True, keep_functions=True))
    assert "NP-PRD" in str(clean(tree, keep_functions=True)) and "-NONE-" not in str(clean(tree, keep_functions=True))


@pytest.mark.parametrize(
    ("label", "kept"),
    [("NP-SBJ", "NP"), ("NP=2", "NP"), ("ADVP|PRT", "ADVP"), ("S-NOM-SBJ", "S"), ("WHNP", "WHNP"), ("-X", "-X")],
)
def test_function_tags_are_cut_from_phrases_only(label: str, kept: str) -> None:
    cleaned = clean(Tree(label, (Tree("NN-X", word="dog"),)))
    assert str(cleaned) == f"({kept} (NN-X dog))"


def test_every_kind_of_root_goes() -> None:
    for text in ("((S (NN a)))", "( (S (NN a)))", "(TOP (S (NN a)))", "(ROOT (S1 (S (NN a))))"):
        assert [str(clean(tree)) for tree in read_trees(text)] == ["(S (NN a))"]
    (two,) = read_trees("(ROOT (S (NN a)) (NP (NN b)))")
    assert str(clean(two)) == "(TOP (S (NN a)) (NP (NN b)))"
    (word,) = read_trees("(ROOT (VB Go))")
    assert str(clean(word)) == "(TOP (VB Go))"


def test_a_tree_of_traces_alone_is_nothing() -> None:
    assert clean(next(read_trees("(S (NP (-NONE- *)))"))) is None


def test_several_trees_stand_in_one_file_and_writing_reads_back(tmp_path: Path) -> None:
    text = "(S (NN a)) (S (NN b))\n(NP\n(NN c))"
    trees = list(read_trees(text))
    assert [tree.words() for tree in trees] == [["a"], ["b"], ["c"]]
    (tmp_path / "a.mrg").write_text("\n".join(map(str, trees)))
    assert list(read_tree_files([tmp_path / "a.mrg"])) == trees
    assert list(read_trees("  \n")) == []


def test_depth_is_no_limit() -> None:
    deep = "(X " * 5000 + "(NN a)" + ")" * 5000
    (tree,) = read_trees(deep)
    assert str(tree) == deep
    assert str(clean(tree)) == deep


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a)", "opened in line 1 is never closed"),
        ("(S (NN a)))", "line 1 of the text: a bracket is closed that was not opened"),
        ("(S\n(NP the dog))", "line 2 of the text: the word 'dog' has no bracket"),
        ("(S (NN a) b)", "the word 'b' has no bracket"),
        ("(S (NN a (NP b)))", "behind the word 'a'"),
        ("(S (NP))", "'NP' is empty"),
        ("()", "is empty"),
        ("hello (S (NN a))", "'hello' stands outside brackets"),
        ("( (S (NN a)) b)", "the word 'b' has no bracket"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        list(read_trees(text))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file"):
        list(read_tree_files([tmp_path / "none.mrg"]))
    (tmp_path / "latin.mrg").write_bytes("(S (NN é))".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8"):
        list(read_tree_files([tmp_path / "latin.mrg"]))


def test_escaped_brackets_come_back() -> None:
    assert [surface(word) for word in ("-LRB-", "1\\/2", "dog", "-RCB-")] == ["(", "1/2", "dog", "}"]
    assert [escaped(word) for word in ("(", "a(b)", "]", "dog")] == ["-LRB-", "a-LRB-b-RRB-", "-RSB-", "dog"]
