"""BLEU and chrF of the validation split, as the Trainer's `compute_metrics`."""

from typing import Any

import numpy as np

from hf_attention_zoo.metrics.scoring import corpus_bleu, corpus_chrf


class TranslationMetrics:
    """Scores generated ids against the raw reference texts (not against decoded labels, whose unknown words would
    match). The order and number of predictions must be that of the references."""

    measures = ("bleu", "chrf")

    def __init__(self, tokenizer: Any, references: list[str], language: str | None = None) -> None:
        self.tokenizer = tokenizer
        self.references = references
        self.language = language

    def __call__(self, prediction: Any) -> dict[str, float]:
        """`prediction.predictions` (N, T) ids, padded with -100 or the padding id -> bleu, chrf, words written."""
        ids = np.asarray(prediction.predictions)
        if len(ids) != len(self.references):
            raise ValueError(
                f"{len(ids)} translations for {len(self.references)} references: each sentence must be scored once"
            )
        ids = np.where(ids < 0, self.tokenizer.pad_token_id, ids)
        translations = [text.strip() for text in self.tokenizer.batch_decode(ids, skip_special_tokens=True)]
        return {
            "bleu": round(corpus_bleu(translations, self.references, language=self.language).value, 4),
            "chrf": round(corpus_chrf(translations, self.references).value, 4),
            "generated_tokens": float(generated_lengths(ids, self.tokenizer).mean()),
        }


def generated_lengths(ids: np.ndarray, tokenizer: Any) -> np.ndarray:
    """How many tokens each row has that were generated, its end symbol among them: (N, T) -> (N).

    The start symbol in front is given, and what follows the end fills up the row.
    """
    made = ids[:, 1:]
    ends = made == tokenizer.eos_token_id
    after_end = (ends.cumsum(axis=1) - ends) > 0
    fill = made == tokenizer.pad_token_id
    return (~after_end & (~fill | ends)).sum(axis=1)
