"""`GET /compare/{case}`: one case in two of the runs that are compared: what each gave, which evaluator changed its mind, and the flips around it.

What is said is what `calipers compare --case` says. It does not wait for the comparison of long runs: until that is there, a case is looked for by its name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from calipers.comparison.case_pairs import PairBy, Part, Record, cases_of, find_case, pair_cases
from calipers.comparison.evaluator_changes import written
from calipers.comparison.flips import Flip, flips_of
from calipers.data.record import ReportCase
from calipers.data.result_names import Names
from calipers.report.report import Report
from calipers.stores.packing import unpack
from calipers.stores.run_info import RunInfo
from calipers.stores.store import Store
from calipers.views.transcript import seen

from .attempt_parts import AttemptParts
from .attempt_view import attempt_view
from .case_answer import case_in, counts_of, part_value, sound_folders
from .case_id import case_id
from .case_selection import MARKS
from .compare_answer import chosen_flips, compared_rows, compared_runs, reading_of
from .compare_runs import CompareOptions, FoundPair
from .comparisons import Comparisons
from .index_builder import OUTCOMES, PARTS
from .refusal import Refusal
from .run_index import RunIndex
from .shown_value import shown_text
from .viewed_store import ViewedStore
from .wire import (
    AttemptBrief,
    AttemptView,
    CaseFlip,
    CaseInRun,
    CaseOutcome,
    CellJudgement,
    ComparedAttempt,
    ComparedCaseAnswer,
    ComparedColumn,
    CompareReading,
    ShownValue,
)

_ATTEMPTS: Final = 200
"""Attempts of a run that are listed."""
_CONFIDENCE: Final = 0.95
"""From which on a case that was repeated is broken or fixed, as in a comparison."""


def compared_case_answer(
    viewed: ViewedStore,
    case: str,
    *,
    a: str,
    b: str,
    c: str = "",
    d: str = "",
    e: str = "",
    f: str = "",
    of: int = 1,
    q: str = "",
    ra: int | None = None,
    rb: int | None = None,
    pair_by: PairBy = "content",
    these_cases: bool = False,
    lower: list[str] | None = None,
) -> ComparedCaseAnswer:
    """A case in the first run and in the one at the place `of`; `ComparedCaseAnswer` says what the parameters mean."""
    runs = compared_runs(viewed, [a, b, *filter(None, (c, d, e, f))])
    if not 0 < of < len(runs):
        raise Refusal("bad_request", f"of must be from 1 to {len(runs) - 1}, got {of}")
    options = CompareOptions(pair_by=pair_by, these_cases=these_cases, lower_is_better=tuple(lower or []))
    found, reading = _comparison(viewed, runs, options)
    pair = None if found is None else found[of - 1]
    places = _places(viewed, (runs[0], runs[of]), case, pair, pair_by)
    chosen = [
        None if each is None else each.chosen(wanted) for each, wanted in zip(places, (ra, rb), strict=True)
    ]
    with viewed.reading() as store:
        shown = [
            _shown(viewed, store, each, number, pair) for each, number in zip(places, chosen, strict=True)
        ]
    differing = _differing(shown, pair_by)
    one, two = places
    name = next(each.name for each in (two, one) if each is not None)
    around = _around(viewed, runs[of], pair, name, q)
    flip = around.flip or (None if one is None or two is None else _flip(name, one, two))
    parts = [each.parts for each in (shown if differing else reversed(shown)) if each is not None]
    given = parts if differing else parts[:1]
    return ComparedCaseAnswer(
        name=name,
        id=case_id(name),
        runs=compared_rows(runs),
        of=of,
        reading=reading,
        cases=_cases(viewed, runs, of, places, found, changed=bool(differing)),
        differing=list(differing),
        outcome=_outcome(one, two, flip, is_other=bool(differing)),
        counts=f"{one.passed} → {two.passed}" if one and two else "",
        flip=None if flip is None else _case_flip(flip, is_listed=around.flip is not None),
        inputs=[part_value(each, "input") for each in given],
        expected=[part_value(each, "expected") for each in given],
        expected_calls=[part_value(each, "expected_calls") for each in given],
        sides=[None if each is None else _attempt(each) for each in shown],
        rows=_columns(shown),
        previous=around.previous,
        next=around.next,
        at=around.at,
        flips=around.flips,
        left_out=[around.left_out] if around.left_out else [],
        timed_out=reading is not None or bool(around.left_out),
    )


def _comparison(
    viewed: ViewedStore, runs: Sequence[RunInfo], options: CompareOptions
) -> tuple[list[FoundPair] | None, CompareReading | None]:
    """The comparison of the runs as far as it is there, and else how far it is, or why there is none."""
    try:
        making = viewed.kept(Comparisons).of(viewed, runs, options)
    except Refusal as error:
        attempts = sum(run.attempts for run in runs)
        return None, CompareReading(read=0, of=attempts, failed=error.message)
    return making.found, None if making.found is not None else reading_of(making)


# ---------------------------------------------------------------------- where the case is


class _Place(NamedTuple):
    """A case in a run."""

    run: RunInfo
    read: RunIndex
    """What is known of the run."""
    name: str
    rows: list[int]
    """Its attempts, in order."""

    @property
    def held(self) -> list[bool]:
        """Whether each attempt passed."""
        return [bool(self.read.status[row] == 0) for row in self.rows]

    @property
    def passes(self) -> bool:
        """Whether most of them did."""
        return 2 * sum(self.held) > len(self.rows)

    @property
    def passed(self) -> str:
        """How many did."""
        return f"{sum(self.held)}/{len(self.rows)}"

    @property
    def positions(self) -> list[int]:
        """Where they stand in the run."""
        return [int(self.read.positions[row]) for row in self.rows]

    def chosen(self, wanted: int | None) -> int:
        """Which attempt is shown, from 1: the wanted one, else the first that came out as the case did."""
        if wanted is None:
            return 1 + self.held.index(self.passes)
        if not 0 < wanted <= len(self.rows):
            raise Refusal(
                "bad_request",
                f"the case was attempted {len(self.rows):,} times in run {self.run.name!r}: there is no attempt {wanted}",
            )
        return wanted


def _place(viewed: ViewedStore, run: RunInfo, case: str) -> _Place | None:
    """The case of an id in a run."""
    index, _ = case_in(viewed, run, case)
    number = index.number_of(case)
    if number is None:
        return None
    rows = index.rows_of(number)
    return _Place(run, index, index.peeks(rows[:1])[rows[0]].name, rows)


def _named(viewed: ViewedStore, run: RunInfo, name: str) -> _Place | None:
    """The case of a name in a run."""
    return _place(viewed, run, case_id(name))


def _places(
    viewed: ViewedStore,
    runs: tuple[RunInfo, RunInfo],
    case: str,
    pair: FoundPair | None,
    pair_by: PairBy,
) -> tuple[_Place | None, _Place | None]:
    """The case in both runs, as `calipers compare --case` finds it."""
    place = _place(viewed, runs[1], case) or _place(viewed, runs[0], case)
    if place is None:
        one, two = (f"{run.name!r} ({run.id})" for run in runs)
        raise Refusal("not_found", f"neither {one} nor {two} has a case of the id {case!r:.100}")
    name = place.name
    renamed: Mapping[str, str] = {} if pair is None else pair.renamed
    baseline = _report(viewed, runs[0], {name, renamed.get(name, name)})
    candidate = _report(viewed, runs[1], {name, *(new for new, old in renamed.items() if old == name)})
    found, found_too = find_case(baseline, candidate, name, by=pair_by)
    return (
        None if found is None else _named(viewed, runs[0], found.name),
        None if found_too is None else _named(viewed, runs[1], found_too.name),
    )


def _report(viewed: ViewedStore, run: RunInfo, names: Iterable[str]) -> Report:
    """A report of the first attempt at each of some cases."""
    places = [found for each in names if (found := _named(viewed, run, each)) is not None]
    first = sorted(each.positions[0] for each in places)
    with viewed.reading() as store:
        read = store.judged_at(run.id, first, traces=False)
        return _of_records(*(unpack(attempt, cells, run.evaluators) for attempt, cells in read))


def _of_records(*records: Record) -> Report:
    return Report(
        name="",
        cases=[each for each in records if isinstance(each, ReportCase)],
        failures=[each for each in records if not isinstance(each, ReportCase)],
    )


def _cases(
    viewed: ViewedStore,
    runs: Sequence[RunInfo],
    of: int,
    places: tuple[_Place | None, _Place | None],
    found: Sequence[FoundPair] | None,
    *,
    changed: bool,
) -> list[CaseInRun]:
    """The case in each run, with its attempts."""
    one, two = places
    first = next(each for each in places if each is not None).name
    cases: list[CaseInRun] = []
    for at, run in enumerate(runs):
        if at == 0:
            cases.append(_case_in_run(one))
        elif at == of:
            cases.append(_case_in_run(two, changed=changed))
        else:
            pair = None if found is None else found[at - 1]
            back = {} if pair is None else {old: new for new, old in pair.renamed.items()}
            other = _named(viewed, run, back.get(first, first))
            pairing = None if pair is None else pair.comparison.pairing
            is_other = pairing is not None and any(each.name == first for each in pairing.changed)
            cases.append(_case_in_run(other, changed=is_other))
    return cases


def _case_in_run(place: _Place | None, *, changed: bool = False) -> CaseInRun:
    if place is None:
        return CaseInRun(id="", name="", attempts=[], marks="")
    index, rows = place.read, place.rows
    peeks = index.peeks(rows[:_ATTEMPTS])
    seconds, known = index.numbers("duration")
    return CaseInRun(
        id=case_id(place.name),
        name=place.name,
        changed=changed,
        attempts=[
            AttemptBrief(
                position=int(index.positions[row]),
                mark=MARKS[int(index.outcome[row])],
                gave=peeks[row].output,
                why=peeks[row].why,
                seconds=float(seconds[row]) if known[row] else None,
            )
            for row in rows[:_ATTEMPTS]
        ],
        attempts_left_out=max(0, len(rows) - _ATTEMPTS),
        marks="".join(OUTCOMES[int(index.outcome[row])] for row in rows),
    )


# ---------------------------------------------------------------------- the two attempts


class _Shown(NamedTuple):
    """An attempt that is shown."""

    number: int
    """Which attempt at its case it is, from 1."""
    parts: AttemptParts
    record: Record
    """With what it was given and gave."""
    view: AttemptView


def _shown(
    viewed: ViewedStore, store: Store, place: _Place | None, number: int | None, pair: FoundPair | None
) -> _Shown | None:
    if place is None or number is None:
        return None
    run, position = place.run, place.positions[number - 1]
    counted = counts_of(viewed, store, run)
    shared = pair.shared_keys if pair is not None else () if counted is None else counted.shared_keys
    names = Names(run.columns, shared=shared)
    for attempt, cells in store.judged_at(run.id, [position], traces=False):
        parts = AttemptParts(attempt, cells, run, names)
        view = attempt_view(
            parts,
            judges=[one.name for one in run.evaluators if one.is_judge and not one.superseded],
            labels=(),
            has_trace=bool(place.read.bits[place.rows[number - 1]] & PARTS["trace"]),
            trace=None,
            folders=sound_folders(store),
        )
        return _Shown(number, parts, unpack(attempt, cells, run.evaluators, names=names), view)
    raise Refusal(
        "gone", f"the attempts at case {place.name!r} of run {run.id!r} were removed: reload the page"
    )


def _attempt(shown: _Shown) -> ComparedAttempt:
    view = shown.view
    return ComparedAttempt(
        number=shown.number,
        position=view.position,
        mark=view.mark,
        gave=_gave(shown),
        failed=view.error is not None,
        traceback=view.traceback,
        seconds=view.seconds,
        cost=view.cost,
        tokens_in=view.tokens_in,
        tokens_out=view.tokens_out,
        sounds=view.sounds,
        hearing=view.hearing,
        has_trace=view.has_trace,
    )


def _gave(shown: _Shown) -> ShownValue:
    """What an attempt gave, or why its task failed; a conversation line by line."""
    if shown.view.error is not None:
        return shown_text(shown.view.error, None)
    talk = seen(shown.record)[1] if shown.view.talk is not None else []
    return shown_text("\n".join(talk), None) if talk else shown.view.output


def _differing(shown: Sequence[_Shown | None], pair_by: PairBy) -> tuple[Part, ...]:
    """What differs between two cases of one name that are not the same case."""
    one, two = shown
    if one is None or two is None:
        return ()
    before, after = (cases_of(_of_records(each.record)) for each in (one, two))
    _, pairing = pair_cases(before, after, by=pair_by)
    return pairing.changed[0].parts if pairing.changed else ()


def _columns(shown: Sequence[_Shown | None]) -> list[ComparedColumn]:
    """What every evaluator said of both, those of another value first."""
    listed = [[] if each is None else each.view.judgements for each in shown]
    said = [{each.name: each for each in reversed(judgements)} for judgements in listed]
    makers = [_makers(each) for each in shown]
    found: list[ComparedColumn] = []
    for name in dict.fromkeys(each.name for judgements in reversed(listed) for each in judgements):
        wrote = [each.get(name, "") for each in makers]
        found.append(
            ComparedColumn(
                name=name,
                differs=_value(said[0].get(name)) != _value(said[1].get(name)),
                sides=[each.get(name) for each in said],
                makers=wrote if all(wrote) and wrote[0] != wrote[1] else [],
            )
        )
    return sorted(found, key=lambda row: not row.differs)


def _value(said: CellJudgement | None) -> Any:
    return None if said is None else (said.kind, said.mark, said.text)


def _makers(shown: _Shown | None) -> dict[str, str]:
    """The evaluators behind the results of an attempt, as they would be written, by the names of the results."""
    if shown is None or not isinstance(shown.record, ReportCase):
        return {}
    return {each.name: written(each.source) for each in shown.record.results}


# ---------------------------------------------------------------------- what became of it


def _flip(name: str, one: _Place, two: _Place) -> Flip | None:
    """The flip that the case is by its attempts alone."""
    held = [[float(each) for each in place.held] for place in (one, two)]
    return next(iter(flips_of([(name, held[0], held[1])], confidence=_CONFIDENCE)), None)


def _case_flip(flip: Flip, *, is_listed: bool) -> CaseFlip:
    is_known = is_listed or flip.basis == "attempts"
    return CaseFlip(
        way=flip.way,
        evaluators=list(flip.evaluators),
        noise=flip.noise if is_known else None,
        basis=flip.basis,
    )


def _outcome(one: _Place | None, two: _Place | None, flip: Flip | None, *, is_other: bool) -> CaseOutcome:
    if two is None:
        return "baseline"
    if one is None:
        return "candidate"
    if is_other:
        return "other"
    return flip.way if flip is not None else "passed" if two.passes else "failed"


class _Around(NamedTuple):
    """A case among the flips that meet a filter."""

    flip: Flip | None = None
    """Also where it does not meet the filter; `None` if it is no flip."""
    at: int | None = None
    flips: int | None = None
    previous: str | None = None
    next: str | None = None
    left_out: str = ""


def _around(viewed: ViewedStore, candidate: RunInfo, pair: FoundPair | None, name: str, q: str) -> _Around:
    """The flips around a case; nothing is known of them while the runs are being compared."""
    if pair is None:
        return _Around()
    chosen = chosen_flips(viewed, candidate, pair, q)
    names = [flip.case for flip, _ in chosen.flips]
    at = names.index(name) if name in names else None
    return _Around(
        flip=next((each for each in pair.comparison.flips if each.case == name), None),
        at=at,
        flips=len(names),
        previous=case_id(names[at - 1]) if at else None,
        next=case_id(names[at + 1]) if at is not None and at + 1 < len(names) else None,
        left_out=chosen.left_out,
    )
