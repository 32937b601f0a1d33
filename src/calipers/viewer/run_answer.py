"""`GET /runs/{run}`: what a run says as a whole.

Everything is the `Statement` of its report without attempts, which is made of what the store has counted: the numbers are those of
`calipers show` and of the report files.
"""

from collections.abc import Iterator
from itertools import chain
from time import monotonic, sleep
from typing import Final

import msgspec

from calipers.report.attempt_filter import field_text
from calipers.report.report import Report
from calipers.stats.number_text import plural
from calipers.stores.run_info import RunInfo
from calipers.stores.run_report import bare_report, not_all_judged
from calipers.stores.standings import standings
from calipers.stores.store import Store
from calipers.views.line import Line, Part
from calipers.views.outcome import run_problems
from calipers.views.statement import Headline as SaidHeadline
from calipers.views.statement import Reading, Statement

from .charts import chart
from .drawn_table import Range, drawn_table, estimate_cell, wire_line
from .index_builder import PARTS
from .label_corrections import LabelCorrections
from .run_counter import RunCounter
from .run_index import RunIndex
from .run_rows import run_row
from .viewed_store import ViewedStore
from .wire import DrawnTable, Headline, IndexState, RunAnswer, RunRow, WirePart

PATIENCE: Final = 0.1
"""Seconds that the index of the run is waited for: the numbers do not need it."""
_AT_ONCE: Final = 2_000
"""Attempts up to which a run is counted for this answer."""
_COUNT_SECONDS: Final = 0.5
"""Seconds that the counting of a longer one is waited for."""


def run_answer(viewed: ViewedStore, run: str) -> RunAnswer:
    """What a run says as a whole."""
    with viewed.reading() as store:
        info = store.run(run)
        revision = store.revision(info.id)
        look = next((look for look in store.looks() if look.run == info.id), None)
        report = counted_report(viewed, store, info)
    index = viewed.index(info.id, patience=PATIENCE)
    if report is None:
        return _not_counted(run_row(info, look=look), info, revision, index)
    corrections = viewed.kept(LabelCorrections).of(viewed, info, revision)
    report.analyses = [*report.analyses, *(corrections or ())]
    says = Statement(report)
    is_settled = corrections is not None
    row = run_row(info, totals=report.totals, look=look)
    return RunAnswer(
        run=row,
        revision=revision,
        facts=says.facts,
        alerts=[wire_line(line) for line in _alerts(says)],
        headline=None if says.headline is None else _headline(says.headline),
        no_headline=None if says.no_headline is None else wire_line(says.no_headline),
        evaluators=drawn_table(says.evaluators, ranges_of(info)),
        slices=_fields(says, index),
        tags=drawn_table(says.tags) if says.tags.rows else None,
        notes=[wire_line(line) for line in _notes(says)],
        measures=[
            (measure.head, [wire_line(fact) for fact in measure.facts])
            for measure in (says.times, *says.costs, says.metrics)
            if measure is not None
        ],
        charts=[chart(analysis) for analysis in report.analyses],
        index=index.state if is_settled else _unsettled(index),
        has_sound=bool((index.bits & PARTS["sound"]).any()),
        faults=report.under_faults() is not None,
    )


def counted_report(viewed: ViewedStore, store: Store, info: RunInfo) -> Report | None:
    """The report of a run without its attempts; `None` while a long one is counted for the first time, in the background.

    The counts of a run in flight may be some seconds old.
    """
    if info.totals is not None or info.attempts <= _AT_ONCE:
        return store.report(info.id, keep="none")
    counter = viewed.kept(RunCounter)
    progress = next((run for run in store.progress() if run.id == info.id), None)
    if progress is None:  # it was deleted just now
        return None
    counter.want(viewed, [progress])
    end = monotonic() + _COUNT_SECONDS
    while (counted := counter.of(progress)) is None and monotonic() < end:
        sleep(_COUNT_SECONDS / 20)
    if counted is None:
        return None
    report = bare_report(info)
    report.totals = counted.totals
    report.incomplete = report.incomplete or not_all_judged(report, counted.unjudged)
    report.passports = standings(store, info.evaluators)
    return report


def _not_counted(row: RunRow, info: RunInfo, revision: str, index: RunIndex) -> RunAnswer:
    """What can be said of a run that was not counted yet."""
    going_on = (
        "the run goes on, and is counted when it ends" if info.status == "running" else "the numbers follow"
    )
    text = f"{plural(info.attempts, 'attempt')} to count: {going_on}."
    return RunAnswer(
        run=row,
        revision=revision,
        facts=[plural(info.attempts, "attempt")],
        alerts=[],
        headline=None,
        no_headline=[WirePart(text=text, tone="strong")],
        evaluators=DrawnTable(columns=[], rows=[]),
        slices=index.slice_fields(),
        notes=[],
        measures=[],
        charts=[],
        index=_unsettled(index),
        has_sound=bool((index.bits & PARTS["sound"]).any()),
    )


def _unsettled(index: RunIndex) -> IndexState:
    """The state of an index where the answer will be another one without any change of the run."""
    return msgspec.structs.replace(
        index.state, state="reading" if index.state.state == "ready" else index.state.state
    )


def ranges_of(info: RunInfo) -> dict[str, Range]:
    """Between what the scores of the run's evaluators can lie, as far as they declare it."""
    return {
        one.name: one.spec.score_range
        for one in info.evaluators
        if one.spec.score_range is not None and not one.superseded
    }


def _headline(said: SaidHeadline) -> Headline:
    return Headline(
        what=said.what,
        estimate=said.rate,
        text=said.number,
        how=said.how,
        tone=said.tone,
        readings=[[each.name, _reading(each), each.meaning] for each in said.readings],
    )


def _reading(reading: Reading) -> str:
    return "" if reading.estimate is None else estimate_cell(reading.estimate, is_rate=True).text


def _alerts(says: Statement) -> Iterator[Line]:
    """What the numbers do not show; the last are report evaluators that failed."""
    yield from says.alerts
    failed = says.report.report_evaluator_failures
    for problem in run_problems(says.report)[-len(failed) :] if failed else ():
        yield (Part(problem, "bad", rows=3),)


def _notes(says: Statement) -> Iterator[Line]:
    """What has to be known beside the numbers."""
    yield from says.corrected
    if (headline := says.headline) is not None:
        for text in (headline.left_out, headline.no_repeats):
            if text is not None:
                yield (Part(text),)
        if headline.unanswered is not None:
            yield from headline.unanswered.lines
    yield from chain(says.silent, says.warnings, says.footnotes)


def _fields(says: Statement, index: RunIndex) -> list[str]:
    """Fields by which the run can be cut; while it is being read, as far as its counts tell them."""
    if index.state.state != "reading":
        return index.slice_fields()
    labels = [field_text("label", name) for name, summary in says.summaries.items() if summary.labels]
    return [*(["tag"] if says.report.slices() else []), *labels]
