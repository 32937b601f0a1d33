"""The cases of a report, each with its attempts and its content, and which of two reports' cases are the same.

A case is the same in both reports if its content is: inputs, expected output (none at all differs from an expectation of
`None`) and metadata, all as plain data, so that a report in memory and one from a file agree. Of several cases with the same content,
those of the same name belong together, then the others in their order. A case with no content at all is known by its name.

What has the same name and another content is *changed*: it is not the same case, and is never paired unless the caller
vouches for the names (`pair_by="name"`). A case that was attempted under a fault of the agent's tools is a case of its own, and is only
the same as one under the same fault.
"""

import copy
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from calipers.data.argument_checks import check_choice
from calipers.data.context import EvaluatorContext
from calipers.data.jsonable import plain, safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure, counted_tags, name_results, told_calls
from calipers.data.result_names import Names
from calipers.errors import InvalidOptionError
from calipers.identity.fingerprint import raw_digest
from calipers.identity.value_bytes import written
from calipers.report.report import Report

Record: TypeAlias = ReportCase | ReportCaseFailure
Part: TypeAlias = Literal["inputs", "expected output", "metadata"]
"""A part of a case's content."""
PairBy: TypeAlias = Literal["content", "name"]
"""What makes two cases the same."""

CaseContent: TypeAlias = tuple[tuple[bytes, ...], bool]
"""A digest of each part of a case's content, in the order of `Part`, and whether there is any content at all."""

_ABSENT = b"-"
_REPEAT = re.compile(r"\[(\d+)/(\d+)\]\Z")
"""What a repeat adds to the name of its case."""


@dataclass(slots=True)
class RunCase:
    """One case of a report, with all attempts at it."""

    name: str
    content: tuple[bytes, ...]
    """A digest of each part, in the order of `Part`."""
    has_content: bool
    cluster: str | None
    tags: tuple[str, ...]
    """In whose slices it counts."""
    fault: str | None = None
    """The fault of the agent's tools under which it was attempted; `None`: none."""
    attempts: list[Record] = field(default_factory=list)


class ChangedCase(msgspec.Struct, frozen=True):
    """Two cases of one name that are not the same case."""

    name: str
    parts: tuple[Part, ...]
    """What differs."""


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of two reports are the same."""

    by: PairBy
    pairs: int
    """Cases that both have."""
    renamed: int = 0
    """Those of them with another name in each."""
    changed: tuple[ChangedCase, ...] = ()
    """Not paired: the same name, another content."""
    baseline_only: tuple[str, ...] = ()
    """Cases that the candidate lacks."""
    candidate_only: tuple[str, ...] = ()
    """Cases that the baseline lacks."""

    @property
    def left_out(self) -> int:
        """Cases, of either report, that have no partner."""
        return 2 * len(self.changed) + len(self.baseline_only) + len(self.candidate_only)


Pair: TypeAlias = tuple[RunCase, RunCase]
"""The same case in the baseline and in the candidate."""


def check_report(report: object, what: str) -> None:
    """Refuse what is not a report, such as the name of a run or of a file; the error says how to get one."""
    if not isinstance(report, Report):
        raise InvalidOptionError(
            f"{what} must be a Report, got {safe_repr(report):.200}: Dataset.evaluate returns one, "
            "calipers.views.formats.read_report reads one from a file, and open_store(...).report(name) from a store"
        )


def cases_of(report: Report, contents: Mapping[str, CaseContent] | None = None) -> list[RunCase]:
    """The cases of a report, which has to keep every attempt; those whose every attempt failed come last.

    Args:
        report: to read.
        contents: of its cases by name, where the attempts were read without what they were given.
    """
    totals = report.totals
    if totals is not None and totals.counts.attempts != len(report.cases) + len(report.failures):
        raise InvalidOptionError(
            f"the report {report.name!r} keeps {len(report.cases) + len(report.failures):,} of "
            f"{totals.counts.attempts:,} attempts, and a comparison needs all: run with keep='all', or compare the stored run"
        )
    found: dict[str, RunCase] = {}
    records: list[Record] = [*report.cases, *report.failures]
    for record in records:
        name = record.source_case_name or record.name
        case = found.get(name)
        if case is None:
            content = case_content(record) if contents is None else contents[name]
            case = found[name] = _case(name, record, *content)
        case.attempts.append(record)
    return list(found.values())


def without_faults(cases: Iterable[RunCase]) -> list[RunCase]:
    """The cases that were attempted as they are, under no fault of the agent's tools."""
    return [case for case in cases if case.fault is None]


def attempt_number(record: Record) -> tuple[int, int]:
    """Which of how many attempts at its case this is: 2 and 3 of `name [2/3]`. A name that does not tell is that of the only one."""
    found = None if record.source_case_name is None else _REPEAT.search(record.name)
    return (1, 1) if found is None else (int(found[1]), int(found[2]))


def named_alike(reports: Sequence[Report]) -> list[Report]:
    """The reports, where a key that has its evaluator's name before it in one of them has it in all."""
    cases = [case for report in reports for case in report.cases]
    shared = {result.key for case in cases for result in case.results if result.key is not None}
    shared |= {skip.key for case in cases for skip in case.skipped if skip.key is not None}
    if not shared:
        return list(reports)
    # Those that the evaluator's name before a key may look like.
    dotted = {result.evaluator for case in cases for result in case.results if "." in result.evaluator}
    found = [msgspec.structs.replace(report, cases=[*map(copy.copy, report.cases)]) for report in reports]
    for report in found:
        name_results(report.cases, Names(dotted, shared=shared))
    return found


def pair_cases(
    baseline: Iterable[RunCase], candidate: Iterable[RunCase], *, by: PairBy = "content"
) -> tuple[list[Pair], Pairing]:
    """The cases that two reports share, in the baseline's order, and what became of the others."""
    check_choice("pair_by", by, get_args(PairBy))
    left, right = {case.name: case for case in baseline}, {case.name: case for case in candidate}
    partner: dict[str, RunCase] = {
        name: right[name]
        for name, case in left.items()
        if name in right
        and case.fault == right[name].fault
        and (by == "name" or case.content == right[name].content)
    }
    renamed = 0
    if by == "content":
        taken = set(partner)
        waiting: defaultdict[tuple[str | None, tuple[bytes, ...]], list[RunCase]] = defaultdict(list)
        for case in reversed(right.values()):
            if case.has_content and case.name not in taken:
                waiting[case.fault, case.content].append(case)
        for name, case in left.items():
            if name not in partner and waiting.get((case.fault, case.content)):
                partner[name] = waiting[case.fault, case.content].pop()
                renamed += 1
    matched = {case.name for case in partner.values()}
    alone = [name for name in left if name not in partner]
    alone_too = [name for name in right if name not in matched]
    changed = [name for name in alone if name in right and name not in matched]
    pairing = Pairing(
        by=by,
        pairs=len(partner),
        renamed=renamed,
        changed=tuple(ChangedCase(name, _differing(left[name], right[name])) for name in changed),
        baseline_only=tuple(name for name in alone if name not in changed),
        candidate_only=tuple(name for name in alone_too if name not in changed),
    )
    return [(case, partner[name]) for name, case in left.items() if name in partner], pairing


def find_case(
    baseline: Report, candidate: Report, name: str, *, by: PairBy = "content"
) -> tuple[RunCase | None, RunCase | None]:
    """The case of a name as both reports have it; by its name in the candidate, else in the baseline.

    Of two cases with this name and another content, both are given; of a case that one report lacks, `None` for that one.
    """
    left, right = cases_of(baseline), cases_of(candidate)
    pairs, _ = pair_cases(left, right, by=by)
    for place in (1, 0):
        for pair in pairs:
            if pair[place].name == name:
                return pair
    old, new = ({case.name: case for case in side} for side in (left, right))
    if name not in old and name not in new:
        near = get_close_matches(name, [*new, *old], n=3)
        hint = (
            f"did you mean {' or '.join(map(repr, dict.fromkeys(near)))}?"
            if near
            else "calipers show lists a run's cases"
        )
        raise InvalidOptionError(f"no case of these runs is called {name!r}; {hint}")
    return old.get(name), new.get(name)


def case_content(attempt: Record | EvaluatorContext) -> CaseContent:
    """The content of an attempt's case."""
    expected = _ABSENT
    if attempt.has_expected_output:
        expected = _digest(attempt.expected_output)
    calls: Any = attempt.expected_tool_calls
    if calls is not None:
        expected += _digest(told_calls(calls) if isinstance(attempt, EvaluatorContext) else calls)
    has_content = expected != _ABSENT or attempt.inputs is not None or attempt.metadata is not None
    return (_digest(attempt.inputs), expected, _digest(attempt.metadata)), has_content


def _case(name: str, record: Record, content: tuple[bytes, ...], has_content: bool) -> RunCase:
    return RunCase(
        name=name,
        content=content,
        has_content=has_content,
        cluster=record.cluster,
        tags=counted_tags(record),
        fault=record.fault,
    )


def _digest(value: object) -> bytes:
    return raw_digest(written(plain(value)))


def _differing(one: RunCase, two: RunCase) -> tuple[Part, ...]:
    return tuple(part for part, a, b in zip(get_args(Part), one.content, two.content, strict=True) if a != b)
