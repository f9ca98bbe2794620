"""The collator: padding of both sides, decoder inputs from the model, and a clear word for raw rows."""

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from hf_attention_zoo.data.collating import Seq2SeqCollator

ROWS = [
    {"input_ids": [5, 6, 3], "attention_mask": [1, 1, 1], "labels": [7, 3], "source": "text"},
    {"input_ids": [8, 3], "attention_mask": [1, 1], "labels": [9, 10, 11, 3], "source": "more"},
]


@pytest.fixture
def tokenizer():
    words = {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, "<unk>")), pad_token="<pad>")


class Shifter:
    def prepare_decoder_input_ids_from_labels(self, labels):
        starts = torch.full((len(labels), 1), 2)
        return torch.cat([starts, labels[:, :-1].masked_fill(labels[:, :-1] == -100, 0)], dim=1)


def test_each_side_is_padded_for_itself(tokenizer):
    batch = Seq2SeqCollator(tokenizer)([dict(row) for row in ROWS])
    assert batch["input_ids"].tolist() == [[5, 6, 3], [8, 3, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["labels"].tolist() == [[7, 3, -100, -100], [9, 10, 11, 3]]
    assert set(batch) == {"input_ids", "attention_mask", "labels"}


def test_the_model_makes_the_decoder_inputs(tokenizer):
    batch = Seq2SeqCollator(tokenizer, Shifter())(ROWS)
    assert batch["decoder_input_ids"].tolist() == [[2, 7, 3, 0], [2, 9, 10, 11]]


def test_raw_rows_are_refused(tokenizer):
    with pytest.raises(ValueError, match=r"\['source', 'target'\], not tokenised pairs"):
        Seq2SeqCollator(tokenizer)([{"source": "a", "target": "b"}])
