"""What a judge and people said of the same cases.

It comes from a file of labels, from another run in which both have a column, or from the run that is looked at, where people have a
column or a file that names its cases.

Ratings are compared as categories: `true` in a CSV file is the `true` of JSON, and 4.0 is 4. Where the judge says only yes or no,
in one word each, people may write it in another: `yes`, `true`, `pass`, `passed`, `good` and `1` are the same, and so are their
opposites. Of a repeated case, the first attempt counts, since attempts at one case are no independent evidence.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from calipers.comparison.case_pairs import Record, RunCase, cases_of, pair_cases
from calipers.comparison.columns import Columns
from calipers.comparison.evaluator_changes import ComparedEvaluators
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.report.report import Report
from calipers.stats import Interval, VarianceComponents, cases_needed, clopper_pearson, cohen_kappa
from calipers.stats.bounded import cases_to_clear
from calipers.stats.distributions import student_t_quantile

from .label_file import JUDGE, Label, Rating, read_label_file
from .policy import HumanAgreement
from .wording import plural

_ByCase: TypeAlias = dict[str, dict[int, Rating]]
"""By the name of a case and the number of an attempt at it, what people said."""
ReadRun = Callable[[str], Report]
"""Finds the run that a policy names."""

_WORDS = (
    ("true", "false"),
    ("yes", "no"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("good", "bad"),
    ("1", "0"),
)
"""What says yes, and what says no."""
_YES, _NO = (frozenset(words) for words in zip(*_WORDS, strict=True))


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The agreement of a judge with people."""

    judge: list[str]
    human: list[str]
    by: Literal["kappa", "share"]

    @property
    def n(self) -> int:
        """Cases that both rated."""
        return len(self.judge)

    @property
    def same(self) -> int:
        """Cases on which both say the same."""
        return sum(a == b for a, b in zip(self.judge, self.human, strict=True))

    @property
    def value(self) -> float | None:
        """Kappa, or the share; `None` if it is not defined."""
        if not self.n:
            return None
        if self.by == "share":
            return self.same / self.n
        found = cohen_kappa(self.judge, self.human)
        return None if found is None else found.value

    def interval(self, confidence: float) -> Interval | None:
        """Of kappa, or of the share."""
        if self.by == "share":
            return clopper_pearson(self.same, self.n, confidence=confidence)
        found = cohen_kappa(self.judge, self.human, confidence=confidence) if self.n else None
        return None if found is None else found.interval

    def why_open(self, human: str) -> tuple[str, str] | None:
        """Why these ratings tell nothing, and what to do; `None` if they tell something.

        Where one side gave the same answer every time, kappa is 0 or undefined however well both agree.

        Args:
            human: the column of what people said.
        """
        if not self.n:
            return (
                f"there is no case with both a rating of the judge and one of people ({human!r})",
                "label some cases that the judge has judged: 50 of each kind are a beginning",
            )
        judge, people = set(self.judge), set(self.human)
        if len(judge) > 1 < len(people) and not judge & people:
            return (
                f"the judge says {_named(judge)} and people say {_named(people)}: no answer is in common",
                "write both in the same words",
            )
        if self.by == "kappa" and (len(people) == 1 or len(judge) == 1):
            who, said = ("people", people) if len(people) == 1 else ("the judge", judge)
            all_alike = f"{who} said {_named(said)} of all {plural(self.n, 'case')}"
            return (
                f"{all_alike}, which leaves kappa undefined, or 0 whatever the other says (both agree on {self.same:,})",
                "label cases of another kind, too, some that are good and some that are not; or set share instead of kappa",
            )
        return None

    def needed(self, limit: float, confidence: float) -> int | None:
        """Labels that would tell the agreement from the limit."""
        interval, value = self.interval(confidence), self.value
        if interval is None or value is None or abs(value - limit) < 1e-9:
            return None
        if self.by == "share":
            return _labels_to_clear(value, limit, confidence)
        found = cohen_kappa(self.judge, self.human)
        if interval.method == "clopper-pearson" and found is not None:  # nobody disagreed
            share = 1 - (1 - limit) * found.chance_disagreement
            return _labels_to_clear(1.0, max(0.0, share), confidence)
        # The upper end is the value and its error times t, unless it is cut off at 1; the lower one that of log(1 - kappa).
        apart = 1 - value
        reach = interval.high - value if interval.high < 1 else apart * log((1 - interval.low) / apart)
        error, distance = reach / -student_t_quantile((1 - confidence) / 2, self.n - 1), limit - value
        if value > limit:
            error, distance = error / apart, log((1 - limit) / apart)
        try:
            return cases_needed(distance, VarianceComponents(self.n * error**2, 0.0), confidence=confidence)
        except ValueError:  # the distance is too small beside the spread for any plan
            return None


def _labels_to_clear(share: float, limit: float, confidence: float) -> int | None:
    """Labels after which the interval of a share lies on its side of the limit, four times in five."""
    shape = [(1.0, share), (0.0, 1 - share)]
    if share < limit:
        shape, limit = [(1 - value, part) for value, part in shape], 1 - limit
    return cases_to_clear(shape, limit, confidence=confidence)


class Labelled(NamedTuple):
    """What people said, beside what the judge said of the same."""

    judge: list[str]
    human: list[str]
    by_case: dict[str, list[Rating]] | None
    """By the name of a case of the run that is looked at, what people said of its attempts; `None` if the labels are of other cases."""
    stale: str | None
    """Why the labels do not count for this run: they are of another judge. `None` if they do."""
    blank: int = 0
    """Lines of the file without a label."""

    @property
    def left_out(self) -> str | None:
        """That lines have no label, in words; `None` if all have one."""
        if not self.blank:
            return None
        return f"{plural(self.blank, 'line')} of the labels {'has' if self.blank == 1 else 'have'} no label and count as unlabelled"


def read_labels(wanted: HumanAgreement, judge: str, run: Columns, read_run: ReadRun | None) -> Labelled:
    """What the judge and people said.

    Args:
        wanted: where the labels are.
        judge: the name of the judge's column.
        run: the run that is looked at.
        read_run: finds a run by what the policy calls it.

    Raises:
        InvalidOptionError: nobody can find the run, the judge would be compared with itself, or a label is neither yes nor no where
            the judge says true or false.
        DatasetFileError: a line of the file cannot be read, or names what the run does not have.
        OSError: the file cannot be read.
    """
    if wanted.human == (JUDGE if wanted.labels is not None else judge):
        raise InvalidOptionError(
            f"human: {wanted.human!r} is the judge itself, which always agrees: name the column of what people said"
        )
    if wanted.labels is not None:
        lines, blank = read_label_file(Path(wanted.labels), wanted.human)
        pairs = [(line.judge, line.human) for line in lines if line.judge is not None]
        if len(pairs) == len(lines):
            return _labelled(pairs, blank=blank)
        if pairs:
            raise DatasetFileError(
                f"{str(wanted.labels)!r}: some lines have what the judge said and others only a case: use one kind"
            )
        by_case = _by_case(lines, run)
        return _labelled(_pairs(run, judge, by_case), by_case, blank=blank)
    if wanted.run is None:
        by_case = _by_column(run, wanted.human)
        return _labelled(_pairs(run, judge, by_case), by_case)
    if read_run is None:
        raise InvalidOptionError(f"agreement with the run {wanted.run!r}: pass read_run=, which finds it")
    labelled = Columns(cases_of(read_run(wanted.run)))
    differs = _how_it_differs(labelled, run, judge)
    if differs is not None:
        differs = differs.replace("the baseline", "the labelled run").replace("the candidate", "this one")
    return _labelled(_pairs(labelled, judge, _by_column(labelled, wanted.human)), stale=differs)


def _labelled(
    pairs: Iterable[tuple[Rating, Rating]],
    by_case: _ByCase | None = None,
    stale: str | None = None,
    blank: int = 0,
) -> Labelled:
    rated = list(pairs)
    judge, human = ([_category(pair[side]) for pair in rated] for side in (0, 1))
    answers = set(judge)
    if answers <= {"true", "false"}:
        human = ["true" if yes_or_no(label) else "false" for _, label in rated]
    elif answers <= _YES | _NO and max(len(answers & _YES), len(answers & _NO)) == 1:
        yes, no = next(pair for pair in _WORDS if answers.intersection(pair))
        human = [yes if each in _YES else no if each in _NO else each for each in human]
        judge = [yes if each in _YES else no for each in judge]
    of_cases = None if by_case is None else {name: list(labels.values()) for name, labels in by_case.items()}
    return Labelled(judge, human, of_cases, stale, blank)


def yes_or_no(label: Rating) -> bool:
    """What a label says where the judge passes or fails.

    Raises:
        InvalidOptionError: it is neither.
    """
    category = _category(label)
    if category not in _YES | _NO:
        raise InvalidOptionError(
            f"the label {label!r} is neither yes nor no: write true or false where the judge passes or fails"
        )
    return category in _YES


def _attempt(record: Record) -> int:
    """The number of an attempt at its case: 2 of `name [2/3]`."""
    if record.source_case_name is None:
        return 1
    return int(record.name.rpartition("[")[2].partition("/")[0])


def _said_by(case: RunCase, column: str) -> dict[int, Rating]:
    """What a column says of the attempts at a case, by their number."""
    return {
        _attempt(record): result.value
        for record in case.attempts
        if isinstance(record, ReportCase)
        for result in record.results
        if result.name == column
    }


def _by_column(run: Columns, human: str) -> _ByCase:
    """What people said of the cases of a run, by a column of it."""
    found = {case.name: _said_by(case, human) for case in run.cases}
    return {name: said for name, said in found.items() if said}


def _by_case(lines: Sequence[Label], run: Columns) -> _ByCase:
    """What a file says of the cases of a run; each line is of an attempt that the run has."""
    cases = {case.name: {_attempt(each): each for each in case.attempts} for case in run.cases}
    found: _ByCase = {}
    for line in lines:
        record = cases.get(line.case, {}).get(line.attempt)
        if record is None:
            missing = (
                f"attempt {line.attempt} at {line.case!r}" if line.case in cases else f"case {line.case!r}"
            )
            raise DatasetFileError(f"{line.place}: the run has no {missing}: label cases of this run")
        given = record.output if isinstance(record, ReportCase) else None
        if line.output is not None and given is not None and _text(line.output) != _text(given):
            raise DatasetFileError(
                f"{line.place}: case {line.case!r} has another output in this run, so the label is not about it: label this run, "
                "or name the labelled one with run:"
            )
        of_case = found.setdefault(line.case, {})
        if line.attempt in of_case:
            raise DatasetFileError(f"{line.place}: case {line.case!r} is labelled twice: keep one label")
        of_case[line.attempt] = line.human
    return found


def _pairs(run: Columns, judge: str, by_case: _ByCase) -> Iterator[tuple[Rating, Rating]]:
    """What the judge and people said of the first attempt at each case that both have."""
    for case in run.cases:
        said, labels = _said_by(case, judge), by_case.get(case.name, {})
        first = min(said.keys() & labels.keys(), default=None)
        if first is not None:
            yield said[first], labels[first]


def _text(value: object) -> str:
    """An output as a file of labels may have it: text as it is, and anything else as JSON."""
    return (
        value.strip()
        if isinstance(value, str)
        else msgspec.json.encode(plain(value), order="sorted").decode()
    )


def _how_it_differs(labelled: Columns, run: Columns, judge: str) -> str | None:
    """How the judge differs between two runs, on any case; `None` if it looks the same.

    It is held against itself on the cases of both; on all, where none of these has its result in both. What people say of a judge
    that one case brings says nothing of another one, so a single case counts.
    """
    pairs, _ = pair_cases(labelled.cases, run.cases)
    found = ComparedEvaluators.of(pairs)
    if not found.has_results(judge):
        found = ComparedEvaluators.of((), labelled.cases, run.cases)
    both = (each for each in found.changed(judge) if each.baseline and each.candidate)
    return found.differing(judge) or next((f"on case {each.case!r}: {each}" for each in both), None)


def _category(value: Rating) -> str:
    text = str(value).strip().lower()
    whole, dot, part = text.partition(".")
    return whole if dot and whole.lstrip("-").isdigit() and not part.strip("0") else text


def _named(categories: set[str]) -> str:
    names = sorted(map(repr, categories))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
