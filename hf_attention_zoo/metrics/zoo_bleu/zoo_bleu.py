"""`evaluate` module: corpus BLEU through sacreBLEU, tokenised as the target language asks, with its signature."""

import datasets
import evaluate

from hf_attention_zoo.metrics.scoring import corpus_bleu

DESCRIPTION = """Corpus BLEU on detokenised text, computed by sacreBLEU. The target language chooses the tokeniser
(ko-mecab, ja-mecab, zh, otherwise 13a); where MeCab is missing, characters are counted and a note says so."""

CITATION = """@inproceedings{post-2018-call,
  title = {A Call for Clarity in Reporting {BLEU} Scores},
  author = {Post, Matt},
  booktitle = {Proceedings of the Third Conference on Machine Translation},
  year = {2018}
}"""

KWARGS_DESCRIPTION = """Args:
    predictions: list of translations.
    references: list of reference translations, one each.
    language: target language code, e.g. "ko".
    tokenize: name of a sacreBLEU tokeniser, in place of the language's.

Returns:
    score (percent), signature, brevity_penalty, and note where a fallback was used.
"""


class ZooBleu(evaluate.Metric):
    """Corpus BLEU with signature."""

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

    def _compute(
        self, predictions: list[str], references: list[str], language: str | None = None, tokenize: str | None = None
    ) -> dict[str, object]:
        result = corpus_bleu(predictions, references, language=language, tokenize=tokenize).as_dict()
        return {"score": result.pop("value"), **result}
