"""Which cases of a run people should label next, so that what a judge says can be corrected with few labels.

Cases are put into strata by what the judge said of them (for scores: the lower, middle or upper third) and by whether that is in doubt:
attempts at the case were judged differently, or jurors differ. `calipers.stats.choose_next` draws from
them, with known probabilities, and `calipers.gate.corrected_mean` puts the labels together by the same strata.

- The case is the unit. Of a repeated case one attempt is drawn at random.
- A case whose every task failed needs no person: it has not passed.
- Jurors are the other columns of the evaluator whose column is called `vote` (`calipers.judges.Jury`).
- What is in doubt is a stratum of its own only where it holds enough cases; else it counts with the others of the same verdict.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random
from typing import NamedTuple

from calipers.comparison.case_pairs import RunCase, attempt_number, cases_of
from calipers.comparison.columns import ColumnKey, Columns
from calipers.data.record import ReportCase
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats.stratified import choose_next

from .paired_runs import column_of

VOTE = "vote"
"""What the column of a jury is called, beside those of its jurors."""
_SMALLEST = 5
"""Cases that a stratum of doubtful ones has to have."""


class CaseStratum(NamedTuple):
    """What the judge said of some cases."""

    verdict: str
    """`passed` or `failed`; of scores `low`, `middle` or `high`; `no task` where every task failed."""
    in_doubt: bool = False
    """Whether attempts or jurors differ."""


class Chosen(NamedTuple):
    """An attempt to label."""

    case: str
    """The name of its case."""
    attempt: int
    """Which attempt at the case, from 1."""
    probability: float
    """With which the case was drawn, of those of its stratum that had no label by then."""


@dataclass(frozen=True)
class Strata:
    """The cases of a run that a judge judged, by stratum."""

    by_case: dict[str, CaseStratum]
    """By the name of the case; cases that the judge skipped are not there."""
    means: dict[str, float]
    """What the judge gave to each of them, on average over its attempts."""

    @property
    def without_task(self) -> list[str]:
        """Cases whose every task failed."""
        return [name for name, stratum in self.by_case.items() if stratum == WITHOUT_TASK]

    def joined(self, labelled: Sequence[str]) -> dict[str, CaseStratum]:
        """The strata, where doubtful cases of which none has a label count with the others of their verdict, and the reverse."""
        have = {self.by_case[name] for name in labelled}
        return {
            name: stratum if stratum in have else stratum._replace(in_doubt=not stratum.in_doubt)
            for name, stratum in self.by_case.items()
        }


WITHOUT_TASK = CaseStratum("no task")
_EXPECTED = {"passed": 1.0, "failed": 0.0, "low": 1 / 6, "middle": 0.5, "high": 5 / 6, "no task": 0.0}


def strata_of(run: Columns, key: ColumnKey) -> Strata:
    """The strata of the cases that a judge judged: the same when labels are drawn and when they are put together.

    Args:
        run: that was judged.
        key: of the judge's column: assertions or scores.
    """
    makers = run.by_key[key].evaluators
    is_vote = key[0] == VOTE or key[0].endswith(f".{VOTE}")
    others = [
        each
        for each, column in run.by_key.items()
        if each[1] == key[1] and is_vote and column.evaluators == makers
    ]
    means = {case.name: fsum(values) / len(values) for case in run.cases if (values := run.scores(case, key))}
    ranked = sorted(means.values())
    thirds = [ranked[len(ranked) * part // 3] for part in (1, 2)] if ranked else []
    found = {
        case.name: _stratum(case, means[case.name], run, key, others, thirds)
        for case in run.cases
        if case.name in means
    }
    sizes = Counter(found.values())
    small = {stratum for stratum, size in sizes.items() if stratum.in_doubt and size < _SMALLEST}
    by_case = {
        name: stratum._replace(in_doubt=False) if stratum in small else stratum
        for name, stratum in found.items()
    }
    return Strata(by_case, means)


def choose_labels(
    report: Report,
    judge: str,
    labels: Mapping[str, float],
    count: int,
    *,
    seed: int,
) -> list[Chosen]:
    """Up to `count` attempts of a run that are worth labelling next, in random order.

    Args:
        report: the run.
        judge: the name of the judge's column: assertions or scores.
        labels: what people said so far, by the name of the case; 0 and 1 for assertions. Of a case with several labels their mean.
        count: attempts to choose, each at a case without a label.
        seed: of the draw.

    Raises:
        InvalidOptionError: the report has no such judge, or the labels are numbers where the judge passes or fails.
    """
    run = Columns(cases_of(report))
    key = judge_column(run, judge)
    wrong = next((label for label in labels.values() if not 0 <= label <= 1), None)
    if key[1] == "assertion" and wrong is not None:
        raise InvalidOptionError(
            f"the judge {judge!r} passes or fails, and people answered by numbers such as {wrong:g}: ask them for yes or no"
        )
    strata = strata_of(run, key)
    names = list(strata.by_case)
    place = {name: index for index, name in enumerate(names)}
    ends = [*strata.means.values(), *labels.values()]
    low, high = (0.0, 1.0) if key[1] == "assertion" else (min(ends, default=0.0), max(ends, default=1.0))
    width = (high - low) or 1.0
    known = {place[name]: 0.0 for name in strata.without_task}
    known |= {place[name]: (label - low) / width for name, label in labels.items() if name in place}
    draw = Random(seed)  # noqa: S311 - the seed has to repeat the draw
    drawn = choose_next(
        [strata.by_case[name] for name in names],
        known,
        count,
        seed=draw.getrandbits(64),
        expected={stratum: expected_label(stratum) for stratum in strata.by_case.values()},
    )
    attempts = {
        case.name: [attempt_number(each)[0] for each in case.attempts if isinstance(each, ReportCase)]
        for case in run.cases
    }
    return [
        Chosen(names[each.place], draw.choice(attempts[names[each.place]]), each.probability)
        for each in drawn
    ]


def has_judge(report: Report, name: str) -> bool:
    """Whether a report has one column of this name that labels can correct: of assertions or scores."""
    key = column_of(Columns(cases_of(report)), name)
    return key is not None and key[1] != "label"


def case_weights(run: Columns, key: ColumnKey, labelled: Sequence[str]) -> dict[str, float]:
    """How many cases each labelled one stands for, by name: the size of its stratum over the labels in it."""
    found = strata_of(run, key)
    known = [name for name in labelled if name in found.by_case]
    strata = found.joined(known)
    sizes, drawn = Counter(strata.values()), Counter(strata[name] for name in known)
    return {name: sizes[strata[name]] / drawn[strata[name]] for name in known}


def judge_column(run: Columns, judge: str) -> ColumnKey:
    """The column of a judge; the error names those that there are."""
    key = column_of(run, judge)
    if key is None or key[1] == "label":
        there = ", ".join(repr(name) for name, kind in run.by_key if kind != "label") or "none"
        raise InvalidOptionError(
            f"the report has no one column {judge!r} of assertions or scores; there are {there}"
        )
    return key


def expected_label(stratum: CaseStratum) -> float:
    """What labels of a stratum will be on average, as a guess: a judge errs on a tenth of its cases, and on a quarter of doubtful ones."""
    error = 0.25 if stratum.in_doubt else 0.1
    said = _EXPECTED[stratum.verdict]
    return said * (1 - error) + (1 - said) * error


def _stratum(
    case: RunCase,
    mean: float,
    run: Columns,
    key: ColumnKey,
    others: Sequence[ColumnKey],
    thirds: Sequence[float],
) -> CaseStratum:
    if not any(isinstance(each, ReportCase) for each in case.attempts):
        return WITHOUT_TASK
    if key[1] != "assertion":
        return CaseStratum("low" if mean < thirds[0] else "middle" if mean < thirds[1] else "high")
    said = {*run.scores(case, key)}
    for other in others:
        said.update(run.scores(case, other, judged=True))
    return CaseStratum("passed" if mean >= 0.5 else "failed", in_doubt=len(said) > 1)
