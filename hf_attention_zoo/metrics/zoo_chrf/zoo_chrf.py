"""`evaluate` module: corpus chrF (or chrF++) through sacreBLEU, with its signature."""

import datasets
import evaluate

from hf_attention_zoo.metrics.scoring import corpus_chrf

DESCRIPTION = """Corpus chrF on detokenised text, computed by sacreBLEU: the F-score of character n-grams. It needs no
tokeniser, so it is the same for every language and on every machine."""

CITATION = """@inproceedings{popovic-2015-chrf,
  title = {{chrF}: character n-gram {F}-score for automatic {MT} evaluation},
  author = {Popovi{\\'c}, Maja},
  booktitle = {Proceedings of the Tenth Workshop on Statistical Machine Translation},
  year = {2015}
}"""

KWARGS_DESCRIPTION = """Args:
    predictions: list of translations.
    references: list of reference translations, one each.
    word_order: 0 for chrF, 2 for chrF++.

Returns:
    score (percent) and signature.
"""


class ZooChrf(evaluate.Metric):
    """Corpus chrF with signature."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=KWARGS_DESCRIPTION,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            reference_urls=["https://github.com/mjpost/sacrebleu"],
        )

    def _compute(self, predictions: list[str], references: list[str], word_order: int = 0) -> dict[str, object]:
        result = corpus_chrf(predictions, references, word_order=word_order).as_dict()
        return {"score": result.pop("value"), **result}
