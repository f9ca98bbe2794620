"""The special tokens with which the vocabularies of the zoo begin, and the end-of-sentence template."""

from tokenizers import Tokenizer, processors

# In the order of their ids: 0, 1, 2, 3.
SPECIAL_TOKENS: dict[str, str] = {
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
}

# BERT's, in the order of their ids where a vocabulary is learnt here.
WORD_PIECE_TOKENS: dict[str, str] = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}

# GPT's, and the symbols of its task formats.
BYTE_PAIR_TOKENS: dict[str, str] = {"unk_token": "<unk>", "pad_token": "<pad>"}
TASK_TOKENS: dict[str, str] = {"start": "_start_", "delimiter": "_delimiter_", "extract": "_classify_"}


def end_sentences_with_eos(backend: Tokenizer) -> None:
    """Make `backend` append `</s>` to every sentence; truncation then shortens the words and keeps the mark.

    `<s>` is not added: it is the decoder's start token, which the model puts in front of the shifted labels.
    """
    eos = SPECIAL_TOKENS["eos_token"]
    backend.post_processor = processors.TemplateProcessing(
        single=f"$A {eos}",
        pair=f"$A {eos} $B {eos}",
        special_tokens=[(eos, backend.token_to_id(eos))],
    )
