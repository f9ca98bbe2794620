"""Unknown words are replaced by the source word that the right step attends to."""

import pytest
import torch
from small_luong import spread_luong

from hf_attention_zoo import TranslationTokenizer
from hf_attention_zoo.seq2seq.forced_attention import cross_attention
from hf_attention_zoo.seq2seq.source_text import encode_sources, pad_sources
from hf_attention_zoo.seq2seq.translating import decode_sequences

SOURCES = ["das haus ist sehr gross", "eine kleine katze sieht das haus"]


@pytest.fixture(scope="module")
def tokenizer() -> TranslationTokenizer:
    return TranslationTokenizer.train(
        SOURCES, ["the house is very big", "a small cat sees the house"], kind="word", vocab_size=40
    )


@pytest.mark.parametrize(
    ("score", "window", "shift"), [("general", "global", 1), ("dot", "local-p", 1), ("location", "global", 0)]
)
def test_word_is_that_of_the_step_that_reads_it_or_with_the_location_score_of_the_one_that_predicts_it(
    tokenizer: TranslationTokenizer, score: str, window: str, shift: int
) -> None:
    model = spread_luong(tokenizer, score, window, std=1.5)
    sentences = encode_sources(model, tokenizer, SOURCES, truncation=False)
    inputs = pad_sources(tokenizer, sentences, model.device)
    unknown = tokenizer.unk_token_id
    sequences = torch.tensor([[2, 5, unknown, 6, unknown, 3, 0], [2, unknown, 7, 4, 5, unknown, unknown]])
    texts = decode_sequences(model, tokenizer, inputs, sequences, sentences, {}, True)
    weights = cross_attention(model, inputs, sequences)  # one step more than words
    differ = False
    for row, source in enumerate(SOURCES):
        words = source.split()
        picked = []
        for place in (sequences[row, 1:] == unknown).nonzero()[:, 0].tolist():
            options = [words[weights[row, place + s, : len(words)].argmax()] for s in (0, 1)]
            differ |= options[0] != options[1]
            picked.append(options[shift])
        expected = iter(picked)
        ids = [i for i in sequences[row, 1:].tolist() if i not in (0, 3)]
        wanted = " ".join(
            next(expected) if i == unknown else tokenizer.convert_target_ids_to_tokens([i])[0].strip("▁") for i in ids
        )
        assert texts[row].split() == wanted.split()
    assert differ  # else the test would say nothing about the step
