"""Claims and verdicts in words: the list of all, and what came out of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hf_attention_zoo.evaluation.terminal_columns import columns_of, filled_up
from hf_attention_zoo.history.claim import Claim, Exact
from hf_attention_zoo.history.kept_results import KEPT, OtherExperiment, Results, read_results, results_file
from hf_attention_zoo.history.verdict import HOLDS, IN_PART, MOST_SEEDS, NOT_HERE, UNDECIDED, PartVerdict

NOT_RUN = "not run"
OLDER = "not run: the package's results are of an older experiment"
KOREAN = {
    HOLDS: "성립한다",
    IN_PART: "일부 성립한다",
    NOT_HERE: "여기서는 성립하지 않는다",
    UNDECIDED: "이 규모에서는 판정할 수 없다",
    NOT_RUN: "아직 실행하지 않음",
    OLDER: "아직 실행하지 않음: 패키지에 있는 결과는 이전 실험의 것이다",
}
HEADS = {
    "en": ("claim", "paper", "in a few words", "time", "verdict so far"),
    "ko": ("번호", "논문", "내용", "시간", "지금까지의 판정"),
}
WORDS = {
    "en": {
        "times": "time: of one core for all seeds, measured on {machines}",
        "estimated": "; ~ is estimated",
        "verdicts": "verdict: of the results that come with the package, unless a file of yours is named",
        "how": "attention-zoo reproduce {first} runs {first} and says what was measured, --all runs all, "
        "--help tells more",
        "printed": "in the paper",
        "measured": "measured",
        "quick": "a smoke run: everything works; nothing is decided",
        "verdict": "verdict with {seeds}",
        "picture": "picture",
        "results": "results",
    },
    "ko": {
        "times": "시간: 모든 시드를 코어 하나로 돌린 시간이며, {machines}에서 쟀다",
        "estimated": ". ~는 어림값이다",
        "verdicts": "판정: 따로 파일 이름이 없으면 패키지에 들어 있는 결과의 판정이다",
        "how": "attention-zoo reproduce {first} --language ko는 {first}을(를) 실행하고 측정한 값을 보여 준다. "
        "--all은 모두 실행하고, --help는 도움말을 보여 준다",
        "printed": "논문의 수치",
        "measured": "측정",
        "quick": "맛보기 실행: 모두 작동한다. 판정은 하지 않는다",
        "verdict": "{seeds}의 판정",
        "picture": "그림",
        "results": "결과",
    },
}


def said(verdict: str, language: str = "en") -> str:
    """A verdict in a language."""
    return KOREAN[verdict] if language == "ko" else verdict


def duration(minutes: float, language: str = "en") -> str:
    """Minutes as "4 min", less than one as "27 s"."""
    number, units = (60 * minutes, ("s", "초")) if minutes < 0.995 else (minutes, ("min", "분"))
    whole = max(1, round(number))
    return f"{whole}{units[1]}" if language == "ko" else f"{whole} {units[0]}"


def some_seeds(count: int, language: str = "en") -> str:
    """So many seeds."""
    return f"시드 {count}개" if language == "ko" else f"{count} seed{'s' if count != 1 else ''}"


def tell_unit(number: str, arm: str, seed: int, minutes: float, language: str = "en") -> str:
    """That one arm with one seed is done."""
    return f"{number} {arm}, {'시드' if language == 'ko' else 'seed'} {seed}: {duration(minutes, language)}"


@dataclass
class Listed:
    """What the list says of one claim.

    Attributes:
        claim: the claim.
        kept: the results that come with the package, if they are of this experiment.
        older: whether there are some of an older experiment.
        own: the results in the user's folder, where at least one seed is whole.
        refused: why a file in that folder is not read.
    """

    claim: Claim
    kept: Results | None = None
    older: bool = False
    own: Results | None = None
    refused: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, claim: Claim, folder: Path, kept: Path = KEPT) -> Listed:
        """Look at what there is of a claim.

        Args:
            folder: of the user's results.
            kept: of those that come with the package.
        """
        found = cls(claim)
        try:
            found.kept = read_results(results_file(kept, claim.number), claim)
        except OtherExperiment:
            found.older = True
        try:
            own = read_results(results_file(folder, claim.number), claim)
        except ValueError as refused:
            found.refused.append(str(refused))
        else:
            found.own = own if own and own.seeds() else None
        return found

    def time(self, language: str) -> str:
        """Minutes or seconds of one core for all seeds: measured, or as the claim's file estimates."""
        if self.kept:
            return duration(self.kept.made["minutes"], language)
        return "~" + duration(self.claim.minutes * self.claim.seeds, language)

    def verdict(self, folder: Path, language: str) -> str:
        """The verdict so far, and the file of the user that it is from."""
        if self.own:
            file = results_file(folder, self.claim.number)
            seeds = some_seeds(len(self.own.seeds()), language)
            return f"{said(self.own.verdict().verdict, language)} ({seeds}, {file})"
        return said(self.kept.verdict().verdict if self.kept else OLDER if self.older else NOT_RUN, language)


def list_claims(claims: Sequence[Claim], folder: Path, language: str = "en") -> str:
    """A table: number, paper, claim, time, verdict so far; below it what the columns mean and which files are refused.

    Args:
        folder: of the user's results.
    """
    words = WORDS[language]
    found = [Listed.of(claim, folder) for claim in claims]
    rows = [HEADS[language]]
    for one in found:
        title = one.claim.title.ko if language == "ko" else one.claim.title.en
        rows.append(
            (one.claim.number, one.claim.paper, title, one.time(language), one.verdict(folder, language)),
        )
    widths = [max(columns_of(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*map(filled_up, row[:4], widths), row[4]]) for row in rows]
    machines = "; ".join(dict.fromkeys(one.kept.made["hardware"] for one in found if one.kept))
    below = [words["times"].format(machines=machines)] if machines else []
    if below and not all(one.kept for one in found):
        below[0] += words["estimated"]
    below += [words["verdicts"], words["how"].format(first=claims[0].number)]
    return "\n".join([*lines, "", *(message for one in found for message in one.refused), *below])


def tell_claim(results: Results, language: str = "en") -> str:
    """What came out: the claim, what the paper prints, what was measured, each part and its size, the verdict."""
    claim, words = results.claim, WORDS[language]
    title, statement = (getattr(text, language) for text in (claim.title, claim.statement))
    lines = [f"{claim.number} {title} ({claim.paper})", statement]
    if results.quick:
        return "\n".join([*lines, words["quick"]])
    verdict = results.verdict()
    lines += [f"{words['printed']}: {'; '.join(claim.printed)}", f"{words['measured']}: {claim.metric}"]
    lines += [
        f"  {said(part.verdict, language)}: {part.part.said}: {tell_part(part, language)}" for part in verdict.parts
    ]
    seeds = some_seeds(len(results.seeds()), language)
    return "\n".join([*lines, f"{words['verdict'].format(seeds=seeds)}: {said(verdict.verdict, language)}"])


def tell_part(part: PartVerdict, language: str = "en") -> str:
    """The size of a part: mean difference, interval, and how many seeds would decide it."""
    korean, count = language == "ko", len(part.differences)
    if isinstance(part.part, Exact):
        right = sum(number == 1 for number in part.differences)
        return f"{some_seeds(count, 'ko')} 중 {right}개" if korean else f"{right} of {some_seeds(count)}"
    if part.low is None:
        return f"{part.mean:+.3g} ({some_seeds(1, language) if korean else 'one seed'})"
    interval = "95 % 구간" if korean else "95 % interval"
    joined = "~" if korean else "to"
    size = f"{part.mean:+.3g} ({interval} {part.low:+.3g} {joined} {part.high:+.3g})"
    if part.verdict != UNDECIDED:
        return size
    if part.seeds_needed:
        decided = (
            f"시드 {part.seeds_needed}개면 판정할 수 있다" if korean else f"{part.seeds_needed} seeds would decide"
        )
    else:
        decided = f"시드 {MOST_SEEDS}개로도 판정할 수 없다" if korean else f"not even {MOST_SEEDS} seeds would decide"
    return f"{size}, {decided}"
