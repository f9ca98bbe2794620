"""The four special tokens that every vocabulary of the zoo begins with, and the end-of-sentence template."""

from tokenizers import Tokenizer, processors

# In the order of their ids: 0, 1, 2, 3.
SPECIAL_TOKENS: dict[str, str] = {
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
}


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
