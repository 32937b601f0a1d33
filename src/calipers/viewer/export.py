"""`GET /export.csv?of=…`: every table of the viewer as a file for spreadsheets, sent as it is made.

The rows are those of the answer that the page shows, all of them, with the numbers and the ends of their intervals in columns of their own. Cells
are made safe as in `calipers.views.csv_file`: text of a model does not become a formula.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from calipers.comparison.case_pairs import PairBy
from calipers.stats import Estimate
from calipers.stats.interval import Interval
from calipers.views.csv_file import table_lines

from .api_call import ApiCall
from .case_selection import Selection, select, window
from .compare_answer import compare_answer
from .deadline import current_deadline
from .download import Download
from .failure_groups import failure_groups
from .judges import disagreements_of
from .refusal import Refusal
from .run_filter import RunFilter
from .run_list import RunList, sorted_rows
from .slices import slices
from .trend import MOST, trend_answer
from .viewed_store import ViewedStore
from .wire import CaseRow, CompareAnswer, FlipRow, RunRow

CSV: Final = "text/csv; charset=utf-8"
_AT_ONCE: Final = 500
"""Cases that are made into rows at once."""
_FLIPS: Final = 200
"""Flips that are asked for at once."""
_PATIENCE: Final = 60.0
"""Seconds to wait until all attempts of a run have been read."""


def run_table(viewed: ViewedStore, *, q: str = "", sort: str = "") -> Download:
    """The runs that meet a filter."""
    wanted = RunFilter.read(q)
    rows = sorted_rows((row for row in viewed.kept(RunList).rows(viewed) if wanted.matches(row)), sort)
    titles = [
        *(
            "id",
            "name",
            "dataset",
            "state",
            "started_at",
            "ended_at",
            "seconds",
            "attempts",
            "total",
            "cases",
        ),
        *("failures", "repeat", *_ends("rate"), "cost", "cost_is_a_lower_bound", "task", "task_version"),
        *("commit", "files_differ_from_commit", "evaluators", "seed", "gate", "incomplete"),
    ]
    return _file("runs", titles, map(_run, rows))


def _run(row: RunRow) -> list[Any]:
    cost = row.cost
    return [
        *(row.id, row.name, row.dataset, row.state, row.started_at, row.ended_at, row.seconds),
        *(row.attempts, row.total, row.cases, row.failures, row.repeat, *_numbers(row.rate)),
        *((None, None) if cost is None else (cost.dollars, cost.at_least)),
        *(row.task, row.task_version, row.commit, row.dirty if row.commit else None),
        *(
            ", ".join(row.evaluators),
            row.seed,
            None if row.gate is None else row.gate.outcome,
            row.incomplete,
        ),
    ]


def case_table(viewed: ViewedStore, *, run: str, q: str = "", sort: str = "") -> Download:
    """The cases of a run that meet a filter, all of them."""
    name, selection = _selected(viewed, run, q, sort)
    columns = [column.name for column in selection.index.columns()]
    titles = [
        *("name", "id", "mark", "passed", "failed", "errored", "unjudged", "why", "input", "output"),
        *("expected", "seconds", "cost", "tokens", "tags", "labels_of_people"),
        *(f"value.{column}" for column in columns),
    ]
    return _file(f"{name}-cases", titles, map(_case, _cases(selection)))


def _cases(selection: Selection) -> Iterator[CaseRow]:
    for start in range(0, selection.total, _AT_ONCE):
        yield from window(selection, start, _AT_ONCE)


def _case(row: CaseRow) -> list[Any]:
    return [
        *(row.name, row.id, row.mark, *(row.marks.count(mark) for mark in "pfeu"), row.why, row.input),
        *(row.output, row.expected, row.seconds, row.cost, row.tokens, ", ".join(row.tags), row.labelled),
        *row.values,
    ]


def slice_table(viewed: ViewedStore, *, run: str, by: str, evaluator: str = "", q: str = "") -> Download:
    """A run cut by a field."""
    name, selection = _selected(viewed, run, q)
    found = slices(selection, by, evaluator=evaluator or None, deadline=current_deadline())
    if found.timed_out:
        raise Refusal("too_slow", f"cutting the run by {by!r} took too long: narrow it down with a filter")
    titles = ["value", "cases", *_ends("estimate"), *_ends("difference"), "adjusted_p", "differs", "filter"]
    rows = (
        [
            *(None if each.is_missing else each.value, each.cases, *_numbers(each.estimate)),
            *(
                each.difference,
                *_bounds(each.difference_interval),
                each.adjusted_p,
                each.differs,
                each.filter,
            ),
        ]
        for each in found.slices
    )
    return _file(f"{name}-by-{by}", titles, rows)


def group_table(viewed: ViewedStore, *, run: str, q: str = "") -> Download:
    """Failures of a run that are alike."""
    name, selection = _selected(viewed, run, q)
    found = failure_groups(selection, deadline=current_deadline())
    titles = ["evaluator", "said", "mark", "cases", "share", "example", "filter"]
    rows = (
        [each.evaluator, each.said, each.mark, each.cases, each.share, each.example_name, each.filter]
        for each in found.groups
    )
    return _file(f"{name}-failures", titles, rows)


def trend_table(viewed: ViewedStore, *, dataset: str, evaluator: str = "") -> Download:
    """The trend of a dataset."""
    found = trend_answer(viewed, dataset=dataset, evaluator=evaluator, limit=MOST)
    titles = ["run", "name", "started_at", "state", "commit", "task_version", *_ends("estimate"), "cost"]
    rows = (
        [
            *(each.run, each.name, each.started_at, each.state, each.commit, each.task_version),
            *(*_numbers(each.estimate), None if each.cost is None else each.cost.dollars),
            "; ".join(each.break_before),
        ]
        for each in found.points
    )
    return _file(f"{dataset}-trend", [*titles, "not_comparable_with_the_one_before"], rows)


def difference_table(
    viewed: ViewedStore,
    *,
    a: str,
    b: str,
    c: str = "",
    d: str = "",
    e: str = "",
    f: str = "",
    candidate: int = 1,
    pair_by: PairBy = "content",
    these_cases: bool = False,
    lower: list[str] | None = None,
) -> Download:
    """What differs between the first run and the one at the place `candidate`, column by column, as where all of them are compared."""
    found = compare_answer(
        viewed,
        a=a,
        b=b,
        c=c,
        d=d,
        e=e,
        f=f,
        of=candidate,
        limit=0,
        pair_by=pair_by,
        these_cases=these_cases,
        lower=lower,
    )
    pair = _compared(found).pairs[candidate - 1]
    titles = ["name", "kind", "baseline", "candidate", *_ends("difference"), "scale"]
    titles += ["p", "p adjusted", "mark", "sentence"]
    all_rows = [*([pair.rate] if pair.rate else []), *pair.evaluators, *pair.measures, *pair.slices]
    rows = (
        [
            *(each.name, each.kind, *(*each.values, "", "")[:2], each.difference, *_bounds(each.interval)),
            *(each.scale, each.p_value, each.adjusted_p, each.mark, each.sentence),
        ]
        for each in all_rows
    )
    return _file("differences", titles, rows)


def flip_table(
    viewed: ViewedStore,
    *,
    a: str,
    b: str,
    c: str = "",
    d: str = "",
    e: str = "",
    f: str = "",
    candidate: int = 1,
    q: str = "",
    pair_by: PairBy = "content",
    these_cases: bool = False,
    lower: list[str] | None = None,
) -> Download:
    """The cases that pass in the first run only, or only in the one at the place `candidate`."""

    def page(after: str) -> CompareAnswer:
        return _compared(
            compare_answer(
                viewed,
                a=a,
                b=b,
                c=c,
                d=d,
                e=e,
                f=f,
                of=candidate,
                q=q,
                after=after,
                limit=_FLIPS,
                pair_by=pair_by,
                these_cases=these_cases,
                lower=lower,
            )
        )

    first = page("")  # here, so that what cannot be compared is refused before anything is sent
    titles = [
        "case",
        "way",
        "baseline_marks",
        "candidate_marks",
        "evaluators",
        "baseline_gave",
        "candidate_gave",
    ]
    return _file("flips", [*titles, "traces_part_at", "chance"], _flips(first.flips, page, first.next))


def _compared(answer: CompareAnswer) -> CompareAnswer:
    """The answer, if the comparison is there."""
    if answer.reading is not None:
        reading = answer.reading
        said = f": {reading.failed}" if reading.failed else ""
        raise Refusal(
            "busy",
            f"the runs have yet to be compared: {reading.read:,} of {reading.of:,} attempts have been read{said}",
        )
    return answer


def _flips(
    first: Sequence[FlipRow], page: Callable[[str], CompareAnswer], after: str | None
) -> Iterator[list[Any]]:
    yield from map(_flip, first)
    while after is not None:
        found = page(after)
        yield from map(_flip, found.flips)
        after = found.next


def _flip(row: FlipRow) -> list[Any]:
    return [
        *(row.name, row.way, *(*row.marks, "", "")[:2], ", ".join(each.name for each in row.assertions)),
        *(*row.outputs, "", "")[:2],
        *(row.parting, row.noise),
    ]


def disagreement_table(viewed: ViewedStore, *, judge: str, question: str = "") -> Download:
    """The cases on which a judge and people disagree."""
    rows = (
        [each.name, each.run_name, each.repeat, each.judge_said, each.people_said, each.reason, each.note]
        for each in disagreements_of(viewed, judge, question)
    )
    titles = ["case", "run", "attempt", "judge_said", "people_said", "reason", "note"]
    return _file("disagreements", titles, rows)


_PATH: Final = "/export.csv"
TABLES: Final[Mapping[str, ApiCall]] = {
    "runs": ApiCall("GET", _PATH, run_table),
    "cases": ApiCall("GET", _PATH, case_table),
    "slices": ApiCall("GET", _PATH, slice_table),
    "groups": ApiCall("GET", _PATH, group_table),
    "trend": ApiCall("GET", _PATH, trend_table),
    "differences": ApiCall("GET", _PATH, difference_table),
    "flips": ApiCall("GET", _PATH, flip_table),
    "disagreements": ApiCall("GET", _PATH, disagreement_table),
}
"""What can be exported, by the name that `of` has."""


class ExportCall(ApiCall):
    """The call that every table has in common: `of` says which, and the rest are the parameters of that."""

    def __init__(self) -> None:
        """The call."""
        super().__init__("GET", _PATH, run_table, seconds=_PATIENCE)

    @override
    def answer(
        self,
        viewed: ViewedStore,
        path: Mapping[str, str],
        query: Sequence[tuple[str, str]],
        body: bytes = b"",
    ) -> Any:
        of = [value for name, value in query if name == "of"]
        if len(of) != 1 or of[0] not in TABLES:
            raise Refusal("bad_request", f"of must be one of {', '.join(TABLES)}, got {', '.join(of)!r:.100}")
        return TABLES[of[0]].answer(viewed, path, [each for each in query if each[0] != "of"], body)


# ---------------------------------------------------------------------- parts of tables


def _selected(viewed: ViewedStore, run: str, q: str, sort: str = "") -> tuple[str, Selection]:
    """The name of a run, and its cases that meet a filter, all of which have been read."""
    info = viewed.find_run(run)
    index = viewed.index(info.id, patience=_PATIENCE)
    if index.state.state == "reading":
        raise Refusal(
            "busy",
            f"only {index.state.read:,} of {index.state.of:,} attempts have been read so far: try again later",
        )
    selection = select(index, q, sort=sort, deadline=current_deadline())
    if selection.searched < 1:
        raise Refusal("too_slow", "searching all texts took too long: narrow the filter down")
    return info.name, selection


def _file(name: str, titles: Iterable[str], rows: Iterable[Iterable[Any]]) -> Download:
    return Download(table_lines(titles, rows), media_type=CSV, name=f"{name}.csv")


def _ends(title: str) -> tuple[str, str, str]:
    return title, f"{title}_low", f"{title}_high"


def _numbers(estimate: Estimate | None) -> list[float | None]:
    return [None, None, None] if estimate is None else [estimate.value, *_bounds(estimate.interval)]


def _bounds(interval: Interval | None) -> list[float | None]:
    return [None, None] if interval is None else [interval.low, interval.high]
