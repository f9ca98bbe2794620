"""`attention-zoo neighbours FOLDER WORD --text TEXT --text TEXT --dataset DATASET`."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from hf_attention_zoo.cli.command_parser import CommandParser
from hf_attention_zoo.flags import FIRST


def build_parser() -> CommandParser:
    """The flags of `attention-zoo neighbours`."""
    parser = CommandParser(
        "neighbours",
        description="Show which words of a collection stand nearest to one word in each of several texts, by ELMo's "
        "contextual vectors: one word in two contexts has two kinds of neighbours. The first line shows those that it "
        "has without context.",
    )
    parser.add_argument("folder", help="folder of the model (or Hub id)")
    parser.add_argument("word", help="a word as it stands in the texts")
    parser.add_argument("--text", action="append", required=True, help="a text with the word; give several")
    parser.add_argument("--dataset", required=True, help="the collection: running text as for `pretrain`")
    parser.add_argument("--split", default="train", help="default: train")
    parser.add_argument("--max_texts", "--max-texts", type=int, default=2000, help="sentences of the collection")
    parser.add_argument("--with_word", "--with-word", action="store_true", help="only sentences that have the word")
    parser.add_argument("--other_words", "--other-words", action="store_true", help="leave out the word itself")
    parser.add_argument("--layer", default="-1", help="0 (no context), 1, 2, ..., -1 (the last, default) or mix")
    parser.add_argument("--count", type=int, default=3, help="neighbours of each text")
    parser.add_argument("--cache", help="safetensors file to keep the vectors of the collection in")
    parser.add_argument("--output", help="write the table as .json, too")
    parser.flags_by_group(
        {FIRST: ("--text", "--dataset", "--split", "--layer", "--count", "--output")}, rest="how words are found"
    )
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the sub-command; returns the exit code."""
    options = build_parser().parse_args(argv)

    from hf_attention_zoo.alignment.results.context_neighbours import (
        NeighbourIndex,
        neighbour_table,
        static_neighbours,
    )
    from hf_attention_zoo.cli.quiet_libraries import silence_libraries
    from hf_attention_zoo.data.contextual_vectors import ContextualVectors
    from hf_attention_zoo.folders.wholeness import loading
    from hf_attention_zoo.tasks.running_text.rows import read_documents

    silence_libraries()
    with loading(options.folder):
        vectors = ContextualVectors(options.folder, cache=options.cache)
    sentences = (line for document in read_documents(options.dataset, split=options.split) for line in document)
    if options.with_word:
        sentences = (line for line in sentences if options.word in vectors.words_of(line))
    texts = list(islice(sentences, options.max_texts))
    layer = options.layer if options.layer == "mix" or not options.layer.lstrip("-").isdigit() else int(options.layer)
    index = NeighbourIndex(vectors, texts, layer)
    rows = [index.nearest(text, options.word, options.count, options.other_words) for text in options.text]
    alone = static_neighbours(vectors, texts, options.word)
    print(f"{options.word} without context: " + ", ".join(f"{word} {cosine:.2f}" for word, cosine in alone))
    print(neighbour_table(rows))
    if options.cache:
        print(f"vectors kept in {vectors.save()}")
    if options.output:
        table = [{"word": row.word, "text": row.text, "nearest": [vars(one) for one in row.found]} for row in rows]
        Path(options.output).write_text(json.dumps(table, ensure_ascii=False, indent=1), encoding="utf-8")
        print(f"written to {options.output}")
    return 0
