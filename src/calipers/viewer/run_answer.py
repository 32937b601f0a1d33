"""`GET /runs/{run}`: what a run says as a whole.

Everything is the `Statement` of its report without attempts, which is made of what the store has counted: the numbers are those of
`calipers show` and of the report files.
"""

from collections.abc import Iterator
from itertools import chain

from calipers.stores.run_info import RunInfo
from calipers.views.line import Line, Part
from calipers.views.outcome import run_problems
from calipers.views.statement import Headline as SaidHeadline
from calipers.views.statement import Reading, Statement

from .charts import chart
from .drawn_table import Range, drawn_table, estimate_cell, wire_line
from .run_rows import run_row
from .viewed_store import ViewedStore
from .wire import Headline, IndexState, RunAnswer


def run_answer(viewed: ViewedStore, run: str) -> RunAnswer:
    """What a run says as a whole."""
    with viewed.reading() as store:
        info = store.run(run)
        revision = store.revision(info.id)
        report = store.report(info.id, keep="none")
        info.totals = report.totals  # counted just now, perhaps
    says = Statement(report)
    return RunAnswer(
        run=run_row(info),
        revision=revision,
        facts=says.facts,
        alerts=[wire_line(line) for line in _alerts(says)],
        headline=None if says.headline is None else _headline(says.headline),
        no_headline=None if says.no_headline is None else wire_line(says.no_headline),
        evaluators=drawn_table(says.evaluators, ranges_of(info)),
        slices=_fields(says),
        tags=drawn_table(says.tags) if says.tags.rows else None,
        notes=[wire_line(line) for line in _notes(says)],
        measures=[
            (measure.head, [wire_line(fact) for fact in measure.facts])
            for measure in (says.times, *says.costs, says.metrics)
            if measure is not None
        ],
        charts=[chart(analysis) for analysis in report.analyses],
        index=_index(info),
        has_sound="synthesize_seconds" in (report.metrics() if report.counts().attempts else {}),
        faults=report.under_faults() is not None,
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


def _fields(says: Statement) -> list[str]:
    """Fields by which the run can be cut, as far as its counts tell them."""
    labels = [f"label.{name}" for name, summary in says.summaries.items() if summary.labels]
    return [*(["tag"] if says.report.slices() else []), *labels]


def _index(info: RunInfo) -> IndexState:
    return IndexState(state="ready", read=info.attempts, of=info.attempts)
