"""One call for every architecture: each row of the registry names the function that aligns its model."""

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from hf_attention_zoo.alignment.results.aligned import Alignment
from hf_attention_zoo.alignment.results.head_alignment import HeadAlignment
from hf_attention_zoo.alignment.results.seq2seq_alignment import align_seq2seq
from hf_attention_zoo.registry import list_architectures, load_object


def align(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Any, **options: Any
) -> list[Alignment] | list[HeadAlignment]:
    """The attention of a model's predictions, aligned with its tokens; of a captioner, with regions of its pictures.

    For translation models, those of transformers included, the options are those of `align_seq2seq`: `targets`,
    `num_beams`, `batch_size`, `kind`, `layer`, `head`, `shift`, `truncation` and the keywords of `generate`.

    ```python
    (alignment,) = align(model, tokenizer, ["Guten Tag"], num_beams=5)
    alignment.weights          # (target tokens, source tokens); rows sum to 1, but for local-p
    alignment.plot("tag.png")

    (heads,) = align(model, tokenizer, ["Guten Tag"], kind="encoder", layer=4, head="all")  # a Transformer's
    heads.weights              # (heads, source tokens, source tokens)
    heads.plot("heads.png", token="Tag")

    (seen,) = align(captioner, processor, ["koala.jpg"], num_beams=5)  # a processor in the place of the tokenizer
    seen.weights               # (tokens, rows, columns) of the grid of regions
    seen.plot("koala.png")
    align(captioner, processor, ["koala.jpg"], annotations=[cache["koala.jpg"]])  # regions of your own, (L, D)
    ```

    Raises:
        ValueError: there is no alignment for this kind of model, or an option or a text is wrong.
    """
    model_type = getattr(getattr(model, "config", None), "model_type", None)
    for row in list_architectures():
        if row.model_type == model_type and row.aligner is not None:
            return load_object(row.aligner)(model, tokenizer, texts, **options)
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        return align_seq2seq(model, tokenizer, texts, **options)
    raise ValueError(
        f"{type(model).__name__} has no attention from a target to a source; align() takes "
        f"sequence-to-sequence models and: {', '.join(row.model_type for row in list_architectures() if row.aligner)}"
    )
