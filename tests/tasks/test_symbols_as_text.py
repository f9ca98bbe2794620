"""Special tokens that stand in texts: text where files are read, symbols in calls and pipelines."""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import run_kinds
from datasets import Dataset
from datasets.fingerprint import Hasher
from transformers import AutoTokenizer

from hf_attention_zoo import get_architecture, list_architectures
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.text_encoding import symbols_as_text
from hf_attention_zoo.folders.saved_model import load_checkpoint
from hf_attention_zoo.registry import load_object
from hf_attention_zoo.tasks.captions.examples import encode_captions
from hf_attention_zoo.tasks.choices.examples import encode_choices
from hf_attention_zoo.tasks.labels.examples import encode_labelled
from hf_attention_zoo.tasks.questions.training import QuestionTask
from hf_attention_zoo.tasks.running_text.bidirectional_words import BidirectionalWordsObjective, WholeWords, WordTable
from hf_attention_zoo.tasks.running_text.examples import Phase
from hf_attention_zoo.tasks.running_text.rows import DocumentSource
from hf_attention_zoo.tasks.running_text.token_store import TokenStore, encode_sentences, identity_of
from hf_attention_zoo.tasks.tags.examples import encode_tagged
from hf_attention_zoo.tasks.translation.evaluation import negative_log_likelihood
from hf_attention_zoo.tasks.translation.examples import encode_pairs
from hf_attention_zoo.tasks.translation.phrase_scoring import score
from hf_attention_zoo.tokenization.own_backend import OwnBackend
from hf_attention_zoo.tokenization.word_character_tokenizer import SENTENCE_MARKS

TEXTS = ["a small cat sat on a mat", "the cat </s> and <pad> and <S> and [MASK] sat", "< / s pad S > [ MASK ]"]
# What a tokenizer of an architecture can be trained as, beyond its defaults.
CHOICES: dict[str, tuple[Any, ...]] = {
    "kind": ("word", "subword", "symbols"),
    "splitting": ("spaces",),
    "text_packages": (False,),
    "task_format": (True,),
    "lowercase": (True, False),
    "shared": (False,),
}
CARDS = Path(__file__).parents[2] / "model_cards"


# The tokenizers of all architectures, each with the Auto classes of those that it serves.
SERVED: dict[str, set[str]] = {}
for row in list_architectures():
    SERVED.setdefault(row.tokenizer, set()).update(set(row.models) - {"AutoModel"})
ALL = pytest.mark.parametrize("name", SERVED, ids=lambda name: name.partition(":")[2])


def variants(name: str) -> Iterator[Any]:
    """What a tokenizer can be trained as, on little text."""
    train = load_object(name).train
    known = inspect.signature(train).parameters
    given = {option: (None, *values) for option, values in CHOICES.items() if option in known}
    for values in product(*given.values()):
        options = {option: value for option, value in zip(given, values, strict=True) if value is not None}
        texts = [TEXTS * 3] * (2 if "target_texts" in known else 1)
        try:
            yield train(*texts, vocab_size=100, **options)
        except ValueError as error:
            assert "is not known" in str(error)  # readers of one language have no symbols


@pytest.fixture(scope="module")
def tokenizers() -> Callable[[str], list[Any]]:
    """Where the class of a tokenizer is -> small ones of all its kinds."""
    return cache(lambda name: list(variants(name)))


def of(model_type: str) -> str:
    """Where the class of an architecture's tokenizer is."""
    return get_architecture(model_type).tokenizer


def symbols_of(tokenizer: Any) -> dict[str, int]:
    """All that a tokenizer cuts out of texts as a symbol, the unknown word among it."""
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    return {token.content: number for number, token in added.items() if token.special}


def flat(ids: Any) -> list[int]:
    return [number for one in ids for number in flat(one)] if isinstance(ids, list) else [ids]


def special_ids(tokenizer: Any, ids: Any) -> list[int]:
    """Those of the ids that are symbols; an unknown word is none."""
    return [one for one in flat(ids) if one in set(symbols_of(tokenizer).values()) - {tokenizer.unk_token_id}]


@ALL
def test_a_symbol_is_text_for_readers_of_files_and_a_symbol_in_calls(
    name: str, tokenizers: Callable[[str], list[Any]]
) -> None:
    for tokenizer in tokenizers(name):
        reader, added = symbols_as_text(tokenizer), special_ids(tokenizer, tokenizer("cat sat")["input_ids"])
        sides = ("text", "text_target") if hasattr(tokenizer, "target_vocab_size") else ("text",)
        for symbol, number in symbols_of(tokenizer).items():
            for text, side in product((f"cat {symbol} sat", f"cat{symbol}sat {symbol.upper()}", symbol), sides):
                called = tokenizer(**{side: text})["input_ids"]
                assert number in flat(called), (text, tokenizer)
                read = [reader(**{side: text})["input_ids"]]
                read.append(tokenizer(**{side: text}, split_special_tokens=True)["input_ids"])
                read.append(reader(**{side: [text]})["input_ids"][0])
                assert read[0] == read[1] == read[2] and special_ids(tokenizer, read[0]) == added, (text, tokenizer)
                assert tokenizer(**{side: text})["input_ids"] == called, "the next call is as before"
                assert not tokenizer.backend_tokenizer.encode_special_tokens


@ALL
def test_offsets_and_words_of_a_symbol_that_is_text_are_its_own(
    name: str, tokenizers: Callable[[str], list[Any]]
) -> None:
    for tokenizer in tokenizers(name):
        if hasattr(tokenizer, "sentences_of") or hasattr(tokenizer, "bag"):
            continue  # documents have no offsets, and bags no ids of unknown words
        reader = symbols_as_text(tokenizer)
        for symbol in symbols_of(tokenizer):
            text = f"a cat {symbol} sat, cat{symbol}sat"
            encoded = reader(text, return_offsets_mapping=True, return_special_tokens_mask=True)
            rows = zip(encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True)
            spans = [span for span, special in rows if not special]
            assert spans == sorted(set(spans))
            covered = {place for start, end in spans for place in range(start, end)}
            assert {place for place, letter in enumerate(text) if letter != " "} <= covered, (text, spans)
            words = ["a", symbol, "cat"]
            places = [place for place in reader(words, is_split_into_words=True).word_ids() if place is not None]
            assert places == sorted(places) and set(places) == {0, 1, 2}


def pairs(tokenizer: Any, text: str) -> Any:
    made = encode_pairs(Dataset.from_dict({"source": [text], "target": [text]}), tokenizer)
    return [made["input_ids"][0], made["labels"][0]]


def labels(tokenizer: Any, text: str) -> Any:
    pair = {"text_pair": [text]} if "token_type_ids" in tokenizer.model_input_names else {}
    return encode_labelled(Dataset.from_dict({"text": [text], **pair, "label": [0]}), tokenizer)["input_ids"][0]


def tags(tokenizer: Any, text: str) -> Any:
    words = text.split()
    made = encode_tagged(Dataset.from_dict({"words": [words], "tags": [list(range(len(words)))]}), tokenizer)
    assert [tag for tag in made["labels"][0] if tag >= 0] == list(range(len(words)))
    return made["input_ids"][0]


def questions(tokenizer: Any, text: str) -> Any:
    rows = {"question": [text], "context": [text], "answers": [[text.split()[1]]], "starts": [[text.index(" ") + 1]]}
    plan: Any = SimpleNamespace(data=SimpleNamespace(doc_stride=64))
    task: Any = SimpleNamespace(longest=300, plan=plan)
    made = QuestionTask.encoded(task, Dataset.from_dict(rows), tokenizer)
    assert 0 < made["start_positions"][0] <= made["end_positions"][0]
    return made["input_ids"][0]


def choices(tokenizer: Any, text: str) -> Any:
    return encode_choices(tokenizer, [text], [[text, "cat"]])[0]["input_ids"]


def captions(tokenizer: Any, text: str) -> Any:
    rows: Any = SimpleNamespace(captions=[[text]], names=["one"])
    return encode_captions(rows, tokenizer, [0], "pixel_values", every_caption=True)[0].labels


def running_text(tokenizer: Any, text: str) -> Any:
    return encode_sentences(tokenizer, [text])


ENCODERS: dict[str, Callable[[Any, str], Any]] = {
    "AutoModelForSeq2SeqLM": pairs,
    "AutoModelForSequenceClassification": labels,
    "AutoModelForTokenClassification": tags,
    "AutoModelForQuestionAnswering": questions,
    "AutoModelForMultipleChoice": choices,
    "AutoModelForImageTextToText": captions,
    "AutoModelForCausalLM": running_text,
    "AutoModelForPreTraining": running_text,
    "AutoModelForMaskedLM": running_text,
    "AutoModelForNextSentencePrediction": running_text,
}


@ALL
def test_rows_of_every_task_have_no_symbol_but_those_that_the_encoding_adds(
    name: str, tokenizers: Callable[[str], list[Any]]
) -> None:
    for tokenizer in tokenizers(name):
        for encode in {ENCODERS[auto] for auto in SERVED[name]}:
            if getattr(tokenizer, "task_format", False) and encode is running_text:
                continue
            plain = special_ids(tokenizer, encode(tokenizer, "cat cat sat"))
            found = encode(tokenizer, f"cat {' '.join(symbols_of(tokenizer))} sat")
            assert special_ids(tokenizer, found) == plain, (encode, tokenizer)


def test_encoded_rows_are_known_by_how_symbols_were_read(tokenizers: Callable[[str], list[Any]]) -> None:
    for name in SERVED:
        tokenizer = tokenizers(name)[0]
        before = Hasher.hash(tokenizer)
        assert Hasher.hash(symbols_as_text(tokenizer)) != before
        symbols_as_text(tokenizer)("a cat")
        tokenizer("a </s> cat", split_special_tokens=True)
        assert Hasher.hash(tokenizer) == before


def test_encoded_text_of_a_store_is_known_by_how_symbols_were_read(
    tmp_path: Path, tokenizers: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text.txt").write_text("a cat sat </s>\n")
    documents = DocumentSource(str(tmp_path / "text.txt"))
    for name in ("bert2018", "gpt2018", "elmo"):
        now = identity_of(documents, tokenizers(of(name))[0])
        monkeypatch.setattr("hf_attention_zoo.tasks.running_text.token_store.READING", "as before")
        assert identity_of(documents, tokenizers(of(name))[0]) != now
        monkeypatch.undo()


def test_boundaries_in_running_text_are_words_and_boundaries_around_it_are_boundaries(
    tmp_path: Path, tokenizers: Callable[[str], list[Any]]
) -> None:
    for tokenizer in tokenizers(of("elmo")):
        words = WholeWords(tokenizer)
        (split,) = words.split(["the <S> </S> cat"])
        assert "".join(split) == "the<S></S>cat"
        table = WordTable.of(split, tokenizer, symbols_as_text=True)
        assert not set(table.characters.flatten().tolist()) & set(SENTENCE_MARKS.values())
        assert tokenizer.words_of(table.characters.tolist()) == split
        assert not {tokenizer.bos_token_id, tokenizer.eos_token_id} & set(table.labels.tolist())
        objective = BidirectionalWordsObjective(get_architecture("elmo"), batching="contiguous")
        settings: dict[str, Any] = {"seed": 0, "batch_size": 1, "phases": [Phase(20)], "cache_dir": tmp_path}
        stream = objective.dataset([["the <S> </S> cat"], ["a cat"]], tokenizer, **settings)
        streams = next(iter(stream.descriptions(0, len(split) + 5)))
        numbers = stream.labels[list(streams.forwards)].tolist()
        assert sorted(number for number in numbers if number < 2) == [0, 0, 1, 1]
        assert isinstance(stream.store, TokenStore)


def test_a_symbol_in_the_texts_of_a_vocabulary_takes_no_id_from_its_symbol(
    tokenizers: Callable[[str], list[Any]],
) -> None:
    for name in SERVED:
        for tokenizer in tokenizers(name):
            own = list(dict.fromkeys(tokenizer.own_tokens.values()))
            assert [tokenizer.get_vocab()[token] for token in own] == sorted(tokenizer.get_vocab()[t] for t in own)
            assert sorted(tokenizer.get_vocab().values()) == list(range(len(tokenizer)))


@pytest.mark.parametrize("kind", run_kinds.KINDS)
def test_every_training_encodes_its_files_so(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[bool, Any]] = []
    encode, words = OwnBackend._encode_plus, run_kinds._words

    def noted(self: Any, text: Any, *args: Any, split_special_tokens: bool | None = None, **kwargs: Any) -> Any:
        read.append((self._reads_symbols_as_text(split_special_tokens), text))
        return encode(self, text, *args, split_special_tokens=split_special_tokens, **kwargs)

    def with_symbols(rng: random.Random) -> list[str]:
        return [*words(rng), rng.choice(["</s>", "[MASK]", "<pad>", "<S>", "_delimiter_"])]

    monkeypatch.setattr(run_kinds, "_words", with_symbols)
    data = run_kinds.write_data(kind, tmp_path / "data")
    monkeypatch.setattr(OwnBackend, "_encode_plus", noted)
    more = ["--max_steps", "1", "--eval_strategy", "steps", "--eval_steps", "1"]
    run_kinds.run(kind, data, tmp_path / "run", *more)
    assert all(as_text for as_text, _ in read), [text for as_text, text in read if not as_text]
    assert read or kind == "elmo", "its words go by their characters"


def test_commands_on_lines_read_symbols_as_text_and_calls_and_pipelines_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CARDS / next(path.name for path in sorted(CARDS.glob("rnnsearch*")))
    model, tokenizer = load_checkpoint(folder)
    plain = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.split_special_tokens and not plain.split_special_tokens
    sources, targets = ["a </s> b", "c"], ["d </s> e", "f <pad>"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in zip(sources, targets, strict=True)))
    assert main(["score", str(folder), str(tmp_path / "pairs.tsv")]) == 0
    shown = [float(line.split("\t")[2]) for line in capsys.readouterr().out.splitlines()]
    assert shown == pytest.approx(score(model, symbols_as_text(plain), sources, targets), abs=1e-5)
    assert shown[0] != pytest.approx(score(model, plain, sources, targets)[0], abs=1e-3)
    total, count = negative_log_likelihood(model, plain, sources, targets)
    assert total == pytest.approx(-sum(shown), abs=1e-3) and count > 6
    assert json.loads((folder / "tokenizer_config.json").read_text()).get("split_special_tokens") is None
