"""One report of all shards of a run: what the undivided run would have said.

The order in which the shards are given does not matter. The run began when the first
shard began, and took until the last one ended. Of the caller's notes, those that all shards have are kept.

Shards that are not of one run, and a shard that is there twice, are refused with all that is wrong. If shards are missing, or one of them
ended early, the report is `incomplete`.

Report evaluators look at whole reports, so they have looked at no shard. They look at the merged report if they are given; else each of them
counts as failed (`NotAnalysed`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.jsonable import safe_repr
from calipers.data.record import ReportCase, ReportCaseFailure, name_results
from calipers.data.result import EvaluatorFailure, EvaluatorSpec
from calipers.errors import InvalidOptionError, ShardsError
from calipers.process.loop import run_sync
from calipers.scoring.evaluator_plan import make_plan
from calipers.scoring.scoring import BlockedLoop

from .incomplete import Incomplete, after_attempts
from .report import Report
from .report_evaluator import names_of_analysts, run_report_evaluators
from .shard import ShardFacts

NOT_ANALYSED: Final = "NotAnalysed"
"""The type of the failure of a report evaluator that has not looked at a merged report."""
_SHOWN: Final = 5
"""Reports that a message names."""


class _Part(NamedTuple):
    label: str
    report: Report
    facts: ShardFacts

    @property
    def records(self) -> list[Any]:
        return [*self.report.cases, *self.report.failures]


def merge_shards(
    reports: Iterable[Report],
    *,
    labels: Sequence[str] = (),
    evaluators: Sequence[Any] = (),
    report_evaluators: Sequence[Any] | None = None,
) -> Report:
    """One report of the reports of shards.

    ```python
    whole = merge_shards([read_report(path) for path in paths])
    ```

    Args:
        reports: of the shards, in any order.
        labels: what messages call them; default: their places.
        evaluators: those of the dataset, some of which may look at whole reports too.
        report_evaluators: those of the dataset, which look at the merged report; `None`: they are not given.

    Raises:
        ShardsError: they are not shards of one run, or not all of each is there; the message lists all of it.
    """
    found = list(reports)
    names = list(labels) or [f"report {number}" for number in range(1, len(found) + 1)]
    if not found or len(names) != len(found):
        raise InvalidOptionError(
            f"merge_shards takes the reports of shards, and a label for each or none, got {len(found)} and {len(names)}"
        )
    parts = _parts(found, names)
    _check_one_run(parts)
    merged = _merged(sorted(parts, key=lambda part: part.facts.shard.number))
    known = (part.facts.not_analysed for part in parts)
    wanted = next((names for names in known if names is not None), ())
    if report_evaluators is None:
        merged.report_evaluator_failures = [_not_analysed(name) for name in wanted]
        return merged
    plan = make_plan(evaluators)
    if (given := tuple(names_of_analysts(report_evaluators, plan))) != wanted:
        raise _refusal(
            [
                f"the report evaluators of the run are {_listed(wanted)}, and those that were given are {_listed(given)}"
            ]
        )
    run_sync(lambda: run_report_evaluators(merged, report_evaluators, plan))
    return merged


def _refusal(problems: Sequence[str]) -> ShardsError:
    lines = "\n".join(f"- {each}" for each in problems)
    return ShardsError(f"these are not the shards of one run:\n{lines}", problems)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _not_analysed(name: str) -> EvaluatorFailure:
    return EvaluatorFailure(
        name=name,
        error_type=NOT_ANALYSED,
        error_message=f"{NOT_ANALYSED}: it has not looked at the merged report",
        error_stacktrace="",
        source=EvaluatorSpec(name),
    )


# ---------------------------------------------------------------------- whether they are of one run


def _parts(reports: Sequence[Report], labels: Sequence[str]) -> list[_Part]:
    problems: list[str] = []
    parts: list[_Part] = []
    for label, report in zip(labels, reports, strict=True):
        facts = report.shard
        if facts is None:
            problems.append(f"{label} is of a whole run, and not of a shard")
            continue
        part = _Part(label, report, facts)
        parts.append(part)
        problems += _incoherent(part)
    if problems:
        raise _refusal(problems)
    return parts


def _incoherent(part: _Part) -> Iterator[str]:
    """What is wrong with the report of a shard in itself."""
    report, shard = part.report, part.facts.shard
    made = report.counts().attempts
    if report.totals is not None and made != len(part.records):
        yield (
            f"{part.label} has {len(part.records):,} of the {made:,} attempts of its shard: name the run in its store, or write the "
            "file as jsonl or with --include-cases all"
        )
        return
    places = [record.position for record in part.records]
    strays = [place for place in places if place is None or not shard.has(place // report.repeat)]
    if strays or len(set(places)) < len(places):
        yield f"{part.label} is damaged: its attempts are not those of shard {shard.number} of {shard.of}"


def _check_one_run(parts: Sequence[_Part]) -> None:
    problems = [problem for name, value in _SAME for problem in _differences(parts, name, value)]
    by_number: dict[int, list[str]] = {}
    for part in parts:
        by_number.setdefault(part.facts.shard.number, []).append(part.label)
    if not problems:  # of another run, or another division, a number says nothing
        problems += [
            f"shard {number} is there {'twice' if len(labels) == 2 else f'{len(labels)} times'}: {', '.join(labels)}"
            for number, labels in sorted(by_number.items())
            if len(labels) > 1
        ]
    if problems:
        raise _refusal(problems)


_SAME: Final[tuple[tuple[str, Callable[[_Part], Any]], ...]] = (
    ("number of shards", lambda part: part.facts.shard.of),
    ("name of the run", lambda part: part.report.name),
    ("dataset", lambda part: part.report.dataset_name or ""),
    ("number of repeats", lambda part: part.report.repeat),
    ("seed", lambda part: part.report.seed),
    ("number of attempts of the whole run", lambda part: part.facts.total),
    ("content of the dataset", lambda part: part.facts.dataset),
    ("version of the task", lambda part: part.facts.task),
    ("list of evaluators", lambda part: _listed(list(part.facts.evaluators))),
    (
        "list of report evaluators",
        lambda part: None if part.facts.not_analysed is None else _listed(part.facts.not_analysed),
    ),
)
"""What the shards of one run have in common; `None` is not known, and equals anything."""


def _differences(parts: Sequence[_Part], name: str, value: Callable[[_Part], Any]) -> Iterator[str]:
    groups: dict[Any, list[str]] = {}
    for part in parts:
        if (found := value(part)) is not None:
            groups.setdefault(found, []).append(part.label)
    if len(groups) > 1:
        said = "; ".join(f"{safe_repr(found):.60} in {_some(labels)}" for found, labels in groups.items())
        yield f"the {name} differs: {said}"
    elif name == "list of evaluators":
        for evaluator in parts[0].facts.evaluators:
            yield from _differences(
                parts,
                f"version of the evaluator {evaluator}",
                lambda part, evaluator=evaluator: part.facts.evaluators[evaluator],  # type: ignore[misc]
            )


def _some(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    return f"{', '.join(labels[:_SHOWN])}{more}"


# ---------------------------------------------------------------------- one report


def _merged(parts: Sequence[_Part]) -> Report:
    first, reports = parts[0].report, [part.report for part in parts]
    records: list[Any] = sorted(
        (record for part in parts for record in part.records), key=lambda record: record.position
    )
    records = [msgspec.structs.replace(record, position=None) for record in records]
    cases = [record for record in records if isinstance(record, ReportCase)]
    name_results(cases)
    return Report(
        name=first.name,
        cases=cases,
        failures=[record for record in records if isinstance(record, ReportCaseFailure)],
        dataset_name=first.dataset_name,
        metadata=_metadata(reports),
        repeat=first.repeat,
        seed=first.seed,
        started_at=min((report.started_at for report in reports if report.started_at), default=None),
        duration=_duration(reports),
        incomplete=_lacking(parts, len(records)),
        unfinished=sum(report.unfinished for report in reports),
        blocked=blocked_in_all(reports),
        unread_expectations=dict(sum((Counter(report.unread_expectations) for report in reports), Counter())),
        prices=list(dict.fromkeys(price for report in reports for price in report.prices)),
    )


def blocked_in_all(reports: Iterable[Report]) -> dict[str, BlockedLoop]:
    """What held an event loop in any of some runs."""
    blocked: dict[str, BlockedLoop] = {}
    for report in reports:
        for name, held in report.blocked.items():
            total = blocked.setdefault(name, BlockedLoop(is_async=held.is_async))
            total.count += held.count
            total.longest = max(total.longest, held.longest)
    return blocked


def _metadata(reports: Sequence[Report]) -> dict[str, Any] | None:
    """What all of them note."""
    first, *others = [report.metadata or {} for report in reports]
    shared = {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }
    return shared or (None if all(report.metadata is None for report in reports) else {})


def _duration(reports: Sequence[Report]) -> float | None:
    """Seconds from the beginning of the first to the end of the last; `None` if that is not known of all."""
    begun = [report.started_at for report in reports]
    took = [report.duration for report in reports]
    if None in begun or None in took:
        return None
    moments = [datetime.fromisoformat(str(at)).timestamp() for at in begun]
    ends = [moment + float(seconds or 0.0) for moment, seconds in zip(moments, took, strict=True)]
    return max(ends) - min(moments)


def _lacking(parts: Sequence[_Part], made: int) -> Incomplete | None:
    """What of the run is not there."""
    of = parts[0].facts.shard.of
    there = {part.facts.shard.number for part in parts}
    missing = [number for number in range(1, of + 1) if number not in there]
    total = next((part.facts.total for part in parts if part.facts.total is not None), None)
    found = [
        msgspec.structs.replace(
            part.report.incomplete,
            reason=f"shard {part.facts.shard.number} of {of}: {part.report.incomplete}",
        )
        for part in parts
        if part.report.incomplete is not None and not part.report.came_to_end
    ]
    if missing:
        some = ", ".join(map(str, missing[:20])) + (" and more" if len(missing) > 20 else "")
        what = (
            f"shard {some} of {of} is missing" if len(missing) == 1 else f"shards {some} of {of} are missing"
        )
        found.append(Incomplete("shard", f"{what}, {after_attempts(made, total)}"))
    elif not found and total is not None and made != total:
        found.append(Incomplete("cut", f"attempts are missing, {after_attempts(made, total)}"))
    return Incomplete.together(found)
