"""The runs of a session as reports: one for each test, and one of everything.

Tests of one dataset are one report, under the name of the test without the case. In the report of everything an attempt
is called after its test. A case that was attempted under several parameters of a test (two models, say) is several cases
there, which stand or fall together: they share a cluster, so that the intervals do not pretend to more cases than there
were.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from calipers.data.record import ReportCase, ReportCaseFailure, name_results
from calipers.data.result_names import unique
from calipers.report.incomplete import Incomplete
from calipers.report.merged_shards import blocked_in_all
from calipers.report.report import Report
from calipers.stats.number_text import plural

Record = ReportCase | ReportCaseFailure


class Run(msgspec.Struct, frozen=True):
    """One evaluation, in the words of the test that made it."""

    test: str
    """The test, without the case."""
    item: str
    """The test with the case, as pytest names it."""
    position: int
    """The test's place among all tests."""
    report: Report
    items: dict[str, tuple[int, str]] = {}
    """By the names of cases: the tests that are each about one of them, by their places among all tests and their names."""
    id: str = ""
    """What tells it from the other runs of the session."""
    apart: str | None = None
    """The fixture because of which the cases of the test were attempted one after the other."""
    chosen: tuple[int, int] | None = None
    """How many cases of the test were selected to run, and of how many; `None` if all were."""

    @property
    def records(self) -> list[Record]:
        """Its attempts."""
        return [*self.report.cases, *self.report.failures]

    def position_of(self, record: Record) -> int:
        """The place of the test that an attempt belongs to."""
        return self.items.get(_case(record), (self.position, ""))[0]


def read_runs(data: Iterable[Mapping[str, Any]]) -> list[Run]:
    """Runs from plain data, in the order of the tests, whichever finished first."""
    runs = [Run(**{**one, "report": Report.from_dict(one["report"])}) for one in data]
    return sorted(runs, key=lambda run: run.position)


def runs_by_test(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each test; one that ran several tasks or datasets has an entry for each of these."""
    groups: dict[tuple[str, str, str | None], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.test, run.report.name, run.report.dataset_name), []).append(run)
    tests = Counter(test for test, _, _ in groups)
    found: dict[str, list[Run]] = {}
    for (test, name, _), members in groups.items():
        title = test if tests[test] == 1 else f"{test} ({name})"
        found[unique(title, set(found))] = members
    return found


def report_of_test(members: Sequence[Run], *, seed: int) -> Report:
    """The runs of one test as one report."""
    first = members[0].report
    report = _merged(members, [record for _, record in _in_order(members)], name=first.name, seed=seed)
    report.dataset_name = first.dataset_name
    return report


def report_of_all(runs: Sequence[Run], *, name: str, seed: int) -> Report:
    """Everything that a session measured, as one report; of a test of which some cases were chosen, it is incomplete."""
    tests: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for record in run.records:
            tests.setdefault((_function(run), _case(record)), set()).add(run.test)
    records = [
        _named_for_test(run, record, is_shared=len(tests[_function(run), _case(record)]) > 1)
        for run, record in _in_order(runs)
    ]
    report = _merged(runs, records, name=name, seed=seed)
    chosen = {
        Incomplete("chosen", f"{run.test}: {chosen_text(run.chosen)}"): None
        for run in runs
        if run.chosen is not None
    }
    ended = [report.incomplete] if report.incomplete else []
    report.incomplete = Incomplete.together([*ended, *chosen])
    return report


def chosen_text(chosen: tuple[int, int]) -> str:
    """That some cases were chosen."""
    return f"{chosen[0]:,} of {plural(chosen[1], 'case')}, chosen"


def _in_order(runs: Sequence[Run]) -> list[tuple[Run, Record]]:
    """The attempts in the order of the tests, however the runs were divided."""
    return sorted(
        ((run, record) for run in runs for record in run.records),
        key=lambda each: each[0].position_of(each[1]),
    )


def _function(run: Run) -> str:
    """The test without any parameters."""
    return run.test.partition("[")[0]


def _case(record: Record) -> str:
    return record.source_case_name or record.name


def _named_for_test(run: Run, record: Record, *, is_shared: bool) -> Record:
    case = _case(record)
    full = run.items[case][1] if case in run.items else f"{run.item} {case}"
    cluster = f"{_function(run)} {case}" if is_shared and record.cluster is None else record.cluster
    repeated = None if record.source_case_name is None else full
    name = full + record.name.removeprefix(case)  # ` [1/3]`, if it is one of several
    return msgspec.structs.replace(record, name=name, source_case_name=repeated, cluster=cluster)


def _merged(runs: Sequence[Run], records: Sequence[Record], *, name: str, seed: int) -> Report:
    """One report of the records, and of whatever else the reports of the runs say."""
    records = _told_apart(records)
    name_results([record for record in records if isinstance(record, ReportCase)])
    reports = [run.report for run in runs]
    attempts = Counter(map(_case, records))
    unread = sum((Counter(report.unread_expectations) for report in reports), Counter())
    ended_early = [
        msgspec.structs.replace(ended, reason=f"{run.item}: {ended}")
        for run in runs
        if (ended := run.report.incomplete) is not None
    ]
    return Report(
        name=name,
        cases=[record for record in records if isinstance(record, ReportCase)],
        failures=[record for record in records if isinstance(record, ReportCaseFailure)],
        analyses=[analysis for report in reports for analysis in report.analyses],
        report_evaluator_failures=[
            failure for report in reports for failure in report.report_evaluator_failures
        ],
        repeat=max(attempts.values(), default=1),
        seed=seed,
        started_at=min((report.started_at for report in reports if report.started_at), default=None),
        duration=sum(report.duration or 0.0 for report in reports),
        incomplete=Incomplete.together(ended_early),
        unfinished=sum(report.unfinished for report in reports),
        blocked=blocked_in_all(reports),
        unread_expectations=dict(unread),
    )


def _told_apart(records: Sequence[Record]) -> list[Record]:
    """The records under names that differ: a second attempt at a case is a repeat, whichever test made it."""
    taken: set[str] = set()
    again = {name for name, count in Counter(record.name for record in records).items() if count > 1}
    found: list[Record] = []
    for record in records:
        name = unique(record.name, taken)
        taken.add(name)
        if record.name in again:
            record = msgspec.structs.replace(record, name=name, source_case_name=_case(record))  # noqa: PLW2901
        found.append(record)
    return found
