"""A sentence through the lineage as one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_attention_zoo.alignment.drawing.column_html import head_maps
from hf_attention_zoo.alignment.drawing.html_view import alignment_fragment
from hf_attention_zoo.alignment.drawing.result_page import framed, numbers, result_page

if TYPE_CHECKING:
    from hf_attention_zoo.alignment.results.lineage import Lineage, LineageStop

# What each model brought, in a sentence or two.
ABOUT: dict[str, dict[str, str]] = {
    "rnn_encoder_decoder": {
        "en": "A recurrent network reads the sentence into one vector; a second one writes from it.",
        "ko": "순환 신경망 하나가 문장을 읽어 벡터 하나로 만들고, 다른 하나가 그 벡터를 보고 번역을 씁니다.",
    },
    "seq2seq_lstm": {
        "en": "Deep LSTMs, and the source read backwards, so that the first words stand close to each other.",
        "ko": "여러 층의 LSTM을 쓰고 원문을 거꾸로 읽어, 두 문장의 첫 단어들이 서로 가까워지게 합니다.",
    },
    "rnnsearch": {
        "en": "No single vector any more: before each word the decoder asks which source words matter now.",
        "ko": "이제 고정 길이 벡터 하나에 기대지 않습니다. 단어를 쓸 때마다 지금 중요한 원문 단어를 찾아봅니다.",
    },
    "luong": {
        "en": "Simpler scores, a window on the source, and what was attended to is fed into the next step.",
        "ko": "어텐션 스코어가 단순해지고, 원문의 일부만 볼 수 있으며, 본 내용이 다음 단계의 입력이 됩니다.",
    },
    "transformer2017": {
        "en": "No recurrence: attention alone, with several heads in every layer, also within each sentence.",
        "ko": "순환이 사라지고 어텐션만 남습니다. 층마다 여러 헤드가 있고, 문장 안에서도 서로를 봅니다.",
    },
}
TITLE = {"en": "One sentence through the lineage", "ko": "한 문장이 지나온 길"}
PIXELS = 512  # numbers of a vector that are shown


def lineage_page(lineage: Lineage, language: str | None = None) -> str:
    """The whole page; where no script runs, the translations and the alignments as tables."""
    about = {
        "en": f"“{lineage.text}” is translated by {len(lineage.stops)} models, oldest first. Step through the words "
        "in the order in which they were written.",
        "ko": f"모델 {len(lineage.stops)}개가 오래된 순서대로 같은 문장을 번역합니다: ‘{lineage.text}’ 번역한 단어를 "
        "처음부터 하나씩 따라가 보십시오.",
    }
    plain = "".join(alignment_fragment(stop.layers[0].mean()) for stop in lineage.stops if stop.layers)
    stops = [_stop(stop) for stop in lineage.stops]
    return result_page(TITLE, stops, about=about, plain=plain, language=language)


def lineage_fragment(lineage: Lineage) -> str:
    """The page in a frame, for a notebook."""
    return framed(lineage_page(lineage))


def _stop(stop: LineageStop) -> dict[str, Any]:
    row = stop.row
    return {
        "view": "translation",
        "title": f"{row.prefix} ({row.year})",
        "paper": f"{row.lead}: {row.title}",
        "about": ABOUT.get(row.model_type, ""),
        "said": stop.translation,
        "source": list(stop.source_tokens),
        "target": list(stop.target_tokens),
        "vector": None if stop.vector is None else numbers(stop.vector[:PIXELS]),
        "maps": [entry for layer in stop.layers for entry in head_maps(layer)],
    }
