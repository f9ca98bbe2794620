"""Making a padded batch out of tokenised pairs.

`transformers.DataCollatorForSeq2Seq` does all that our models need: sources padded by the tokenizer, labels padded
with -100 so that padding never enters the loss, decoder inputs made by the model. The class below fixes the arguments
and leaves out what cannot be padded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import DataCollatorForSeq2Seq

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

IGNORED_LABEL = -100


class Seq2SeqCollator(DataCollatorForSeq2Seq):
    """Pads `{"input_ids", "attention_mask", "labels"}` rows to the longest of the batch, each side for itself.

    Args:
        tokenizer: pads the sources (its padding side and pad id hold).
        model: makes `decoder_input_ids` from the labels. Left out, the model does so itself in `forward`; label
            smoothing by the trainer needs it here, as the trainer takes the labels away.

    A batch has `input_ids` and `attention_mask` of shape (batch, source) and `labels` (and `decoder_input_ids`) of
    shape (batch, target). Other columns, such as texts, are left out: they cannot be padded.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel | None = None) -> None:
        super().__init__(tokenizer, model=model, padding=True, label_pad_token_id=IGNORED_LABEL, return_tensors="pt")

    def __call__(self, features: list[dict[str, Any]], return_tensors: str | None = None) -> Any:
        kept = {*self.tokenizer.model_input_names, "labels"}
        rows = [{name: value for name, value in row.items() if name in kept} for row in features]
        if not rows or "input_ids" not in rows[0]:
            found = sorted(features[0]) if features else "no rows"
            raise ValueError(
                f"the batch has {found}, not tokenised pairs: tokenise the data to input_ids and labels first"
            )
        return super().__call__(rows, return_tensors)
