"""`GET /compare`: runs against the first of them: the verdict, the differences with their intervals, and the cases that flipped.

What is said is what `calipers compare` says (`calipers.views.comparison.statement`). Of the flips a page is told at a time: what their attempts gave is read for
these alone, as far as there is time.
"""

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from calipers.comparison.case_pairs import PairBy
from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison
from calipers.comparison.flips import Flip, FlippedTraces, told
from calipers.data.record import ReportCase
from calipers.data.result_names import Names
from calipers.errors import StoreTimeoutError
from calipers.report.attempt_filter import parse_filter, without_comparison
from calipers.stats.number_text import plural
from calipers.stores.packing import Record, unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.comparison import statement as say
from calipers.views.comparison.trace_words import difference_lines
from calipers.views.transcript import shown_output

from .case_id import case_id
from .case_selection import select
from .compare_runs import CompareOptions, FlipPlace, FoundPair, run_labels
from .comparisons import Comparisons, Making
from .deadline import current_deadline
from .refusal import Refusal
from .run_rows import run_row
from .shown_value import shown_value
from .viewed_store import ViewedStore
from .wire import (
    CompareAnswer,
    ComparedPair,
    ComparedRun,
    CompareReading,
    DifferenceRow,
    FlipRow,
)

MOST_FLIPS: Final = 100
"""Flips of one answer."""
_NAMED: Final = 100
_OUTPUT: Final = 300
"""Characters of what an attempt gave."""
_READING: Final = 3.0
"""Seconds that are spent on reading what attempts gave."""
_PATIENCE: Final = 3.0
"""Seconds that a filter waits for the index of its run."""
_WAYS: Final = {"worse": "broken", "better": "fixed"}
"""Words of the filter for the ways of a flip."""


def compare_answer(
    viewed: ViewedStore,
    *,
    a: str,
    b: str,
    c: str = "",
    d: str = "",
    e: str = "",
    f: str = "",
    of: int = 1,
    q: str = "",
    after: str = "",
    limit: int = 50,
    pair_by: PairBy = "content",
    these_cases: bool = False,
    lower: list[str] | None = None,
) -> CompareAnswer:
    """Runs against the first of them."""
    runs = compared_runs(viewed, [a, b, *filter(None, (c, d, e, f))])
    if not 0 < of < len(runs):
        raise Refusal("bad_request", f"of must be from 1 to {len(runs) - 1}, got {of}")
    options = CompareOptions(pair_by=pair_by, these_cases=these_cases, lower_is_better=tuple(lower or []))
    making = viewed.kept(Comparisons).of(viewed, runs, options)
    rows = compared_rows(runs)
    if making.found is None:
        return CompareAnswer(
            runs=rows,
            reading=reading_of(making),
            pairs=[],
            of=of,
            flips=[],
            flips_total=0,
            next=None,
            paired_by=pair_by,
            these_cases=these_cases,
        )
    pair = making.found[of - 1]
    chosen = chosen_flips(viewed, runs[of], pair, q)
    begin = _place(after)
    page = chosen.flips[begin : begin + max(0, min(limit, MOST_FLIPS))]
    flips, left_out = _flip_rows(viewed, (runs[0], runs[of]), page, pair.shared_keys)
    left_out += [chosen.left_out] if chosen.left_out else []
    end = begin + len(page)
    return CompareAnswer(
        runs=rows,
        reading=None,
        pairs=[_pair(each.comparison, place) for place, each in enumerate(making.found, start=1)],
        of=of,
        flips=flips,
        flips_total=len(chosen.flips),
        next=str(end) if end < len(chosen.flips) else None,
        paired_by=pair_by,
        these_cases=these_cases,
        left_out=left_out,
        timed_out=bool(left_out),
    )


def compared_runs(viewed: ViewedStore, names: Sequence[str]) -> list[RunInfo]:
    """The runs of these names, each another one."""
    found: dict[str, RunInfo] = {}
    for name in names:
        run = viewed.find_run(name)
        if run.id in found:
            raise Refusal("bad_request", f"{name!r} is the run {run.id} again: name runs that differ")
        found[run.id] = run
    return list(found.values())


def compared_rows(runs: Sequence[RunInfo]) -> list[ComparedRun]:
    """The runs as rows, each with its letter."""
    return [
        ComparedRun(label=chr(ord("A") + place), name=name, run=run_row(run))
        for place, (run, name) in enumerate(zip(runs, run_labels(runs), strict=True))
    ]


def reading_of(making: Making) -> CompareReading:
    """How far a comparison is."""
    return CompareReading(read=min(making.read, making.of), of=making.of, failed=making.failed)


def _place(after: str) -> int:
    if not after:
        return 0
    if not after.isdecimal():
        raise Refusal("bad_request", f"after must be the `next` of an earlier answer, got {after!r:.50}")
    return int(after)


# ---------------------------------------------------------------------- what is said of two runs


def _pair(found: Comparison, place: int) -> ComparedPair:
    """What is said of a run against the first one."""
    changed, apart = say.differing_cases(found)
    counts = {way: sum(flip.way == way for flip in found.flips) for way in ("broken", "fixed", "moved")}
    return ComparedPair(
        candidate=place,
        lead=list(say.lead(found)),
        outcome=found.conclusion.outcome,
        facts=say.summary_lines(found),
        rate=None if found.pass_rate is None else difference_row(found.pass_rate),
        evaluators=[_evaluator_row(each, found.flips) for each in found.evaluators],
        measures=[difference_row(each) for each in found.measures],
        measures_note=say.times_note(found) or "",
        slices=[difference_row(each) for each in found.slices],
        labels=[(each.name, say.label_text(each)) for each in found.labels],
        warnings=say.notes(found),
        differing=[*changed, *apart][:_NAMED],
        differing_total=len(changed) + len(apart),
        unpaired=[
            (side.label, len(names), list(names[:_NAMED]))
            for side, names in (
                (found.baseline, found.pairing.baseline_only),
                (found.candidate, found.pairing.candidate_only),
            )
        ],
        paired=found.pairing.pairs,
        flips=counts,
        moved_to_fail=sum(flip.way == "moved" and flip.is_for_the_worse for flip in found.flips),
        flip_notes=say.flip_notes(found),
        footnote=say.footnote(found),
    )


def _evaluator_row(change: Change, flips: Sequence[Flip]) -> DifferenceRow:
    """A column of an evaluator, with the flips in which it changed its mind."""
    said = [each for flip in flips for each in flip.assertions if each.name == change.name]
    return msgspec.structs.replace(
        difference_row(change),
        broken=sum(each.baseline is True for each in said),
        fixed=sum(each.candidate is True for each in said),
    )


def difference_row(change: Change) -> DifferenceRow:
    """A column of two runs, as `calipers compare` tells it."""
    text, ends = say.difference_text(change)
    values = [say.value_text(change, each) for each in (change.baseline, change.candidate)]
    sentence = say.sentence(change)
    return DifferenceRow(
        name=change.name,
        kind=change.kind,
        values=values,
        sentence=sentence,
        mark=change.outcome,
        difference=change.difference,
        interval=change.interval,
        scale=change.scale,
        better=change.better,
        text=text,
        ends=ends,
        p=say.p_values_text(change),
        adjusted="" if change.adjusted_p == change.p_value else say.p_text(change.adjusted_p),
        p_value=change.p_value,
        adjusted_p=change.adjusted_p,
        smallest=change.smallest,
        cases=change.candidate_cases,
        notes=list(filter(None, [change.warning, say.lost_text(change)])),
        spoken=f"{change.name}: {values[0]}, then {values[1]}: {sentence}",
    )


# ---------------------------------------------------------------------- flips


class ChosenFlips(NamedTuple):
    """The flips that meet a filter, in their order."""

    flips: list[tuple[Flip, FlipPlace]]
    left_out: str = ""
    """What could not be searched in time."""


def chosen_flips(viewed: ViewedStore, candidate: RunInfo, pair: FoundPair, q: str) -> ChosenFlips:
    """The flips that meet a filter.

    Args:
        viewed: the store.
        candidate: the run of which cases have to meet all terms but those of `flip`.
        pair: that run against the first one.
        q: the filter.

    Raises:
        FilterError: it is not a filter.
    """
    flips = list(zip(pair.comparison.flips, pair.places, strict=True))
    wanted = parse_filter(q)
    for term in wanted.only("flip").terms:
        ways = {_WAYS.get(value.text.lower(), value.text.lower()) for value in term.values}
        flips = [each for each in flips if ("any" in ways or each[0].way in ways) is not term.is_negated]
    rest = wanted.without("flip")
    if not rest.terms or not flips:
        return ChosenFlips(flips)
    index = viewed.index(candidate.id, patience=_PATIENCE)
    found = select(index, without_comparison(rest), deadline=current_deadline())
    inside = found.chosen
    numbers = [(each, index.case_named(each[0].case)) for each in flips]
    known = [each for each, number in numbers if number is not None and inside[number]]
    if found.searched < 1 or index.state.state == "reading":
        return ChosenFlips(known, "cases that meet the filter: there was no time to search them all")
    return ChosenFlips(known)


def _flip_rows(
    viewed: ViewedStore,
    runs: tuple[RunInfo, RunInfo],
    page: Sequence[tuple[Flip, FlipPlace]],
    shared: Sequence[str],
) -> tuple[list[FlipRow], list[str]]:
    """Flips with what their attempts gave, and what there was no time for."""
    rows: list[FlipRow] = []
    traces = FlippedTraces()
    with viewed.reading() as store:
        records = _Records(store, runs, shared)
        for flip, place in page:
            read = records.read(place)
            outputs: list[str] = []
            if read is not None:
                flip = told(flip, *read, traces)  # noqa: PLW2901 - the same flip, with more of it
                outputs = [_gave(record) for record in read]
            rows.append(
                FlipRow(
                    case=case_id(flip.case),
                    name=flip.case,
                    way=flip.way,
                    marks=[place.baseline_marks, place.candidate_marks],
                    counts=say.flip_text(flip),
                    assertions=list(flip.assertions),
                    outputs=outputs,
                    parting=_parting(flip),
                    noise=flip.noise,
                    basis=flip.basis,
                )
            )
    late = sum(not row.outputs for row in rows)
    left_out = (
        [f"what the attempts at {plural(late, 'case')} gave: it is long, and there was no time to read it"]
        if late
        else []
    )
    return rows, left_out


def _parting(flip: Flip) -> str:
    if flip.trace is None or flip.trace.first is None:
        return ""
    return difference_lines(flip.trace)[0]


def _gave(record: Record) -> str:
    """The beginning of what an attempt gave, or why its task failed."""
    if not isinstance(record, ReportCase):
        return record.error_message[:_OUTPUT]
    return shown_value(shown_output(record)).text[:_OUTPUT]


class _Records:
    """Reads the attempts of flips, as long as there is time."""

    def __init__(self, store: Store, runs: tuple[RunInfo, RunInfo], shared: Sequence[str]) -> None:
        deadline = current_deadline()
        seconds = _READING if deadline is None else min(_READING, deadline.left / 2)
        self._until = monotonic() + seconds
        self._store = store
        self._runs = [(run, Names(run.columns, shared=shared)) for run in runs]

    def read(self, place: FlipPlace) -> tuple[Record, Record] | None:
        """The two attempts of a flip; `None` if there is no time left, or one of them is gone."""
        if monotonic() >= self._until:
            return None
        try:
            found = [
                next(self._at(run, at), None) for run, at in enumerate((place.baseline, place.candidate))
            ]
        except StoreTimeoutError:
            self._until = 0.0
            return None
        one, two = found
        return None if one is None or two is None else (one, two)

    def _at(self, run: int, position: int) -> Iterator[Record]:
        info, names = self._runs[run]
        for attempt, cells in self._store.judged_at(info.id, [position]):
            yield unpack(attempt, cells, info.evaluators, names=names)
