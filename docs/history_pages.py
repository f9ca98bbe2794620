"""The pages on the claims of the papers, from the claims' files and the results that are kept, in two languages."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURES = HERE / "pictures" / "history"

WORDS = {
    "en": {
        "title": "The claims of the papers, run again",
        "about": "Each claim has one file that says what was claimed, how it is tried and which outcome would refute "
        "it. One rule makes the verdict: a difference over seeds, with its 95 % interval by Student's t, lies on the "
        "claimed side of zero, on the other, or on both. Models and data are small, so that everybody can run them "
        "again: `attention-zoo reproduce` lists the claims, `attention-zoo reproduce A1` runs one. A verdict is about "
        "these sizes.",
        "head": "| | claim | paper | in the paper | here | verdict |\n|---|---|---|---|---|---|",
        "printed": "In the paper",
        "tried": "How it is tried",
        "metric": "Measured",
        "equal": "Equal between the arms",
        "refuted": "It would be refuted if",
        "found": "Found",
        "apart": "How much data each translator needs is a [comparison](../comparisons.md#how-much-data) of its own.",
        "time": "of one core",
    },
    "ko": {
        "title": "논문의 주장, 다시 실행해 보기",
        "about": "주장마다 파일이 하나씩 있고, 그 안에 무엇을 주장했는지, 어떻게 시험하는지, "
        "어떤 결과가 나오면 반박되는지가 적혀 있습니다. 판정 규칙은 모두 같습니다. "
        "시드별 차이와 그 95 % 신뢰 구간(t 분포)이 0의 주장된 쪽에 있는지, 반대쪽에 있는지, 양쪽에 걸치는지 봅니다. "
        "누구나 다시 돌려 볼 수 있도록 모델과 데이터를 작게 만들었으므로, 판정은 이 규모에 대한 것입니다. "
        "`attention-zoo reproduce --language ko`는 목록을 보여 주고, "
        "`attention-zoo reproduce A1`은 하나를 실행합니다.",
        "head": "| | 주장 | 논문 | 논문의 수치 | 여기서 | 판정 |\n|---|---|---|---|---|---|",
        "printed": "논문의 수치",
        "tried": "데이터",
        "metric": "측정",
        "equal": "조건을 맞춘 것",
        "refuted": "반박되는 결과",
        "found": "결과",
        "apart": "번역 모델마다 데이터가 얼마나 필요한지는 "
        "[따로 비교한 쪽](../../results/comparisons.md#how-much-data)에 있습니다.",
        "time": "코어 하나 기준",
    },
}


def history_page(language: str, picture_folder: str) -> str:
    """All claims: a table, then each with its protocol, what came out and its picture.

    Args:
        language: "en" or "ko".
        picture_folder: where `A1.png` and its like lie, as seen from the page.
    """
    from hf_attention_zoo.history.claim import Claim
    from hf_attention_zoo.history.kept_results import KEPT, Results, read_results, results_file
    from hf_attention_zoo.history.table import CLAIMS, load_claim
    from hf_attention_zoo.history.telling import NOT_RUN, duration, said, some_seeds, tell_part

    words = WORDS[language]

    def text(pair: object) -> str:
        return str(getattr(pair, language))

    def label(claim: Claim) -> str:
        return f"claim-{language}-{claim.number.lower()}"

    def row(claim: Claim, results: Results | None) -> str:
        verdict = results.verdict() if results else None
        first = verdict.parts[0] if verdict else None
        here = f"{first.part.said}: {tell_part(first, language)}" if first else said(NOT_RUN, language)
        cells = [
            f"[{claim.number}](#{label(claim)})",
            text(claim.title),
            claim.paper,
            claim.printed[0] if claim.printed else "",
            here,
            said(verdict.verdict if verdict else NOT_RUN, language),
        ]
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def section(claim: Claim, results: Results | None) -> str:
        parts = [f"({label(claim)})=\n## {claim.number} {text(claim.title)}", f"**{text(claim.statement)}**"]
        parts.append(f"{claim.paper}. {words['printed']}: " + "; ".join(claim.printed) + ".")
        parts.append(
            "\n".join(
                f"- *{words[name]}*: {value}."
                for name, value in (
                    ("tried", claim.data),
                    ("equal", claim.equal),
                    ("metric", claim.metric),
                    ("refuted", claim.refuted_by),
                )
            )
        )
        if results is None:
            return "\n\n".join([*parts, said(NOT_RUN, language) + "."])
        verdict = results.verdict()
        listed = "\n".join(
            f"- {said(part.verdict, language)}: {part.part.said}: {tell_part(part, language)}"
            for part in verdict.parts
        )
        parts.append(f"{words['found']}: **{said(verdict.verdict, language)}**\n\n{listed}")
        if (PICTURES / f"{claim.number}.png").is_file():
            parts.append(f"![{claim.number}]({picture_folder}/{claim.number}.png)")
        parts.append(results.filled(claim.seen, language))
        made = results.made
        parts.append(
            f"`attention-zoo reproduce {claim.number}` · {some_seeds(len(results.seeds()), language)} · "
            f"{words['time']}: {duration(made['minutes'], language)} · {made['hardware']}"
        )
        return "\n\n".join(part for part in parts if part)

    found = [(claim, read_results(results_file(KEPT, claim.number), claim)) for claim in map(load_claim, CLAIMS)]
    table = "\n".join([words["head"], *(row(*one) for one in found)])
    head = [f"# {words['title']}", words["about"], words["apart"]]
    return "\n\n".join([*head, table, *(section(*one) for one in found)]) + "\n"
