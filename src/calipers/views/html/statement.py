"""What a report says, on the page: title, alerts, headline, tables and notes."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats.number_text import mean_text, percent, rate_text
from calipers.views.line import Line
from calipers.views.report_table import Cell, Count, Labels, Measured, Missing, Named, ReportColumn, Table
from calipers.views.statement import Reading, Statement
from calipers.views.text import fit

from .markup import Markup, element, join
from .plots import mean_plot, rate_plot, share_bar
from .records import shown_value

_NOTED = 300
"""Characters of one entry of the run's metadata."""
_LABELS = 12
"""Labels of one evaluator that have a bar."""
_LISTED = 4
"""Labels of one evaluator in its row."""
_TONES = {"bad": " bad", "warn": " warn"}
_STRONG = {"strong", "alert", "caution"}
_WIDE = 2000
"""Cells of a row of a sentence, which wraps wherever the page ends."""
DOT = " · "
"""What separates facts on one line."""


def sentence(line: Line) -> Markup:
    """A line of the statement with its strong parts set off."""
    return join(
        element("strong", part.cut(_WIDE)) if part.tone in _STRONG else part.cut(_WIDE) for part in line
    )


def plain_sentence(line: Line) -> str:
    """A line of the statement as text."""
    return "".join(part.cut(_WIDE) for part in line)


def sentences(lines: Iterable[Line], kind: str) -> Markup:
    """Lines of the statement, a paragraph each."""
    return join(element("p", sentence(line), class_=kind) for line in lines)


def heading(says: Statement, title: str | None) -> Markup:
    """What was run, on what, how much and for how long."""
    report = says.report
    name = element("bdi", fit(report.name, 200))
    dataset = None if report.dataset_name is None else element("bdi", fit(report.dataset_name, 200))
    run = name if dataset is None else join([name, element("span", " on ", class_="on"), dataset])
    facts: list[Markup] = []
    if title is not None:
        facts.append(run)
    facts += [element("span", fact) for fact in says.facts]
    if report.started_at is not None:
        facts.append(element("time", _moment(report.started_at), datetime=report.started_at))
    return join(
        [
            element("h1", run if title is None else element("bdi", title)),
            element("p", join(facts, DOT), class_="facts"),
            _metadata(report),
        ]
    )


def _moment(started_at: str) -> str:
    """A time to the minute; any other text as it is."""
    try:
        moment = datetime.fromisoformat(started_at)
    except ValueError:
        return fit(started_at, 40)
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname() or ''}".rstrip()


def _metadata(report: Report) -> Markup:
    if not report.metadata:
        return Markup("")
    pairs: list[Markup] = []
    for key, value in report.metadata.items():
        shown = shown_value(value, _NOTED)
        text = shown.get("text", shown.get("json", ""))
        pairs.append(element("div", element("dt", str(key)), element("dd", fit(text, _NOTED))))
    return element("dl", *pairs, class_="pairs")


def alerts(says: Statement) -> Markup:
    """What the numbers below do not show: an early end, tasks and evaluators that did not finish, no pass rate."""
    found = [*says.alerts, *([] if says.no_headline is None else [says.no_headline])]
    paragraphs = [element("p", sentence(line)) for line in found]
    return element("div", *paragraphs, class_="alerts", role="alert") if paragraphs else Markup("")


def headline(says: Statement) -> Markup:
    """The share of cases that passed, with its interval; under repeats also pass@k and pass^k."""
    found = says.headline
    if found is None:
        return Markup("")
    value, ends = rate_text(found.rate.value, found.rate.interval)
    lines = [
        element("p", found.what, class_="what"),
        element(
            "p",
            element("span", value, class_=f"value {found.tone}"),
            " ",
            element("span", ends, class_="ends"),
        ),
        element("p", found.how, class_="how"),
    ]
    if says.corrected:
        lines.append(sentences(says.corrected, "what"))
    if found.left_out is not None:
        lines.append(element("p", found.left_out, class_="how"))
    if found.unanswered is not None:
        lines.append(sentences(found.unanswered.lines, "how"))
    figure = element("div", rate_plot(found.rate, width=440, height=34), _percent_scale(), class_="scaled")
    readings = _readings(found.readings) if found.readings else Markup("")
    if found.no_repeats is not None:
        readings = join([readings, element("p", found.no_repeats, class_="how")])
    return element(
        "section",
        element("h2", "Pass rate", class_="unseen"),
        element("div", *lines, class_="claim"),
        element("div", figure, readings, class_="drawn"),
        class_="headline",
    )


def _percent_scale() -> Markup:
    return element(
        "div",
        *(element("span", f"{share} %") for share in (0, 25, 50, 75, 100)),
        class_="scale",
        aria_hidden="true",
    )


def _readings(readings: Iterable[Reading]) -> Markup:
    rows: list[Markup] = []
    for name, estimate, meaning in readings:
        assert estimate is not None
        value, ends = rate_text(estimate.value, estimate.interval)
        rows.append(
            element(
                "tr",
                element("th", name, scope="row"),
                element("td", value, class_="number"),
                element("td", ends, class_="ends"),
                element("td", meaning, class_="quiet"),
            )
        )
    return element("table", element("tbody", *rows), class_="repeats")


def measures(says: Statement) -> Markup:
    """How long the tasks took, what they and their judges cost, and the metrics they recorded."""
    rows = [
        element(
            "div", element("dt", measure.head), element("dd", DOT.join(map(plain_sentence, measure.facts)))
        )
        for measure in (says.times, *says.costs, says.metrics)
        if measure is not None
    ]
    return element("dl", *rows, class_="measures") if rows else Markup("")


# ---------------------------------------------------------------------- tables


def summary_section(says: Statement) -> Markup:
    """One row per evaluator, and how the labels are spread."""
    if not says.evaluators.rows:
        return Markup("")
    return element(
        "section",
        element("h2", "Evaluators", id="evaluators"),
        _table(says, says.evaluators, "summary"),
        _label_figures(says.summaries),
        aria_labelledby="evaluators",
    )


def slice_section(says: Statement) -> Markup:
    """One row per tag: its pass rate with the interval drawn, and the number of its cases."""
    if not says.tags.rows:
        return Markup("")
    return element(
        "section",
        element("h2", "Tags", id="tags"),
        _table(says, says.tags, "summary tags"),
        element("p", says.tags.note, class_="note") if says.tags.note else Markup(""),
        aria_labelledby="tags",
    )


def _table(says: Statement, table: Table, kind: str) -> Markup:
    has_scores = any(not measured.is_rate for measured in table.measured)
    heads = [head for column in table.columns for head in _heads(column, table, has_scores=has_scores)]
    rows = [
        element(
            "tr",
            *(
                drawn
                for column, cell in zip(table.columns, row, strict=True)
                for drawn in _cells(says, column, cell, has_scores=has_scores)
            ),
        )
        for row in table.rows
    ]
    return element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_=kind)


def _heads(column: ReportColumn[Any], table: Table, *, has_scores: bool) -> Iterator[Markup]:
    match column.kind:
        case "name":
            yield element("th", column.title, scope="col")
        case "text":
            yield element("th", column.title, scope="col", class_="kind")
        case "count":
            yield element("th", column.title, scope="col", class_="number")
        case "result":
            yield element("th", column.title, scope="col", class_="number")
            yield element("th", f"[{table.interval_title}]", scope="col", class_="ends")
            # Scores have scales of their own: then each drawing says where its scale begins and ends, and the head cannot.
            scale = "" if has_scores else _scale()
            yield element("th", scale, scope="col", class_="drawing", aria_label="drawn")


def _cells(says: Statement, column: ReportColumn[Any], cell: Cell, *, has_scores: bool) -> Iterator[Markup]:
    match cell:
        case Named():
            yield element("th", element("bdi", fit(cell.name + cell.suffix, 200)), scope="row")
        case Measured():
            text = rate_text if cell.is_rate else mean_text
            value, ends = text(cell.estimate.value, cell.estimate.interval)
            yield element("td", value, class_="number value")
            yield element("td", ends, class_="ends")
            if cell.is_rate:
                plot = rate_plot(cell.estimate, labelled=has_scores)
            else:
                plot = mean_plot(cell.estimate, says.scores(cell))
            yield element("td", plot, class_="drawing")
        case Labels():
            yield element("td", _labels(cell.counts), colspan=3, class_="labels")
        case Missing():
            tone = "bad" if cell.lost else "quiet"
            yield element("td", element("span", cell.text, class_=tone), colspan=3, class_="labels")
        case Count():
            tone = _TONES.get(cell.tone, "") if cell.shown else ""
            yield element("td", cell.shown, class_=f"number{tone}", data_label=column.title)
        case str():
            # On a narrow screen there is no head: all but the kind, which says what it is, have their title beside them.
            label = None if column.title == "Kind" else column.title
            yield element("td", cell, class_="kind", data_label=label)


def _scale() -> Markup:
    return element("span", element("span", "0 %"), element("span", "100 %"), class_="scale")


def _labels(labels: Mapping[str, int]) -> Markup:
    """The most frequent labels with their shares, on one line."""
    total = sum(labels.values())
    shown = [
        join([element("bdi", fit(label, 40)), f" {percent(count / total)}"])
        for label, count in labels.items()
    ]
    if len(shown) > _LISTED:
        shown = [*shown[:_LISTED], join([f"{len(labels) - _LISTED:,} more"])]
    return join(shown, ", ")


def _label_figures(summaries: Mapping[str, Summary]) -> Markup:
    """How often each label was given, as bars."""
    figures: list[Markup] = []
    for name, summary in summaries.items():
        if not summary.labels:
            continue
        total = sum(summary.labels.values())
        rows = [
            element(
                "tr",
                element("th", element("bdi", fit(label, 200)), scope="row"),
                element("td", share_bar(count / total), class_="drawing"),
                element("td", f"{count:,}", class_="number"),
                element("td", percent(count / total), class_="number"),
            )
            for label, count in list(summary.labels.items())[:_LABELS]
        ]
        left = len(summary.labels) - _LABELS
        more = element("p", f"… and {left:,} more", class_="note") if left > 0 else Markup("")
        table = element("table", element("tbody", *rows), class_="bars")
        figures.append(element("figure", element("figcaption", element("bdi", name)), table, more))
    return element("div", *figures, class_="figures") if figures else Markup("")
