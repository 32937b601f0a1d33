"""The tables of evaluators and of tags: one row each, with its interval drawn; and how labels are spread."""

from collections.abc import Mapping, Sequence

from calipers.report.report import Report
from calipers.report.summary import Summary
from calipers.stats import Estimate
from calipers.stats.number_text import confidence_text, mean_text, percent, rate_text
from calipers.views.outcome import count_dropped, no_result
from calipers.views.slices import shown_slices
from calipers.views.text import fit

from .markup import Content, Markup, element, join
from .plots import mean_plot, rate_plot, share_bar

_COUNTS = {"count": "n", "failures": "errors", "skipped": "skipped", "task_failures": "task failed"}
"""The counts of a summary; those but the first are shown only where some evaluator has any."""
_LABELS = 12
"""Labels of one column that are shown."""


def summary_section(report: Report, summaries: Mapping[str, Summary], *, confidence: float) -> Markup:
    """One row per summary; counts of errors, skips and failed tasks only where there are any."""
    if not summaries:
        return Markup("")
    counts = [
        field for field in _COUNTS if field == "count" or any(getattr(s, field) for s in summaries.values())
    ]
    has_scores = any(
        summary.graded is not None or (summary.estimate is not None and summary.kind != "assertion")
        for summary in summaries.values()
    )
    head = element(
        "tr",
        element("th", "Evaluator", scope="col"),
        element("th", "Kind", scope="col", class_="kind"),
        element("th", "Result", scope="col", class_="number"),
        element("th", f"[{confidence_text(confidence)} interval]", scope="col", class_="ends"),
        # Scores have scales of their own: then each drawing says where its scale begins and ends, and the head cannot.
        element("th", "" if has_scores else _scale(), scope="col", class_="drawing", aria_label="drawn"),
        *(element("th", _COUNTS[field], scope="col", class_="number") for field in counts),
    )
    rows: list[Markup] = []
    for name, summary in summaries.items():
        rows.append(_row(report, name, summary, counts, labelled=has_scores))
        if (graded := summary.graded) is not None:
            rows.append(
                element(
                    "tr",
                    _name(f"{name}, graded"),
                    element("td", "score", class_="kind"),
                    *_measured(graded, is_rate=False, values=_graded(report, summary)),
                    *(_graded_count(graded, field) for field in counts),
                )
            )
    return element(
        "section",
        element("h2", "Evaluators", id="evaluators"),
        element("table", element("thead", head), element("tbody", *rows), class_="summary"),
        _label_figures(summaries),
        aria_labelledby="evaluators",
    )


def slice_section(report: Report, *, confidence: float) -> Markup:
    """One row per tag: its pass rate with the interval drawn, and the number of its cases."""
    found = shown_slices(report, confidence=confidence)
    if not found.slices:
        return Markup("")
    head = element(
        "tr",
        element("th", "Tag", scope="col"),
        element("th", "Passed", scope="col", class_="number"),
        element("th", f"[{confidence_text(confidence)} interval]", scope="col", class_="ends"),
        element("th", _scale(), scope="col", class_="drawing", aria_label="drawn"),
        element("th", "cases", scope="col", class_="number"),
    )
    rows: list[Markup] = []
    for one in found.slices:
        assert one.pass_rate is not None
        count = element("td", f"{one.pass_rate.n_units:,}", class_="number", data_label="cases")
        rows.append(element("tr", _name(one.tag), *_measured(one.pass_rate, is_rate=True, values=[]), count))
    return element(
        "section",
        element("h2", "Tags", id="tags"),
        element("table", element("thead", head), element("tbody", *rows), class_="summary tags"),
        element("p", f"… {found.note}", class_="note") if found.note else Markup(""),
        aria_labelledby="tags",
    )


def _scale() -> Markup:
    return element("span", element("span", "0 %"), element("span", "100 %"), class_="scale")


def _row(report: Report, name: str, summary: Summary, counts: Sequence[str], *, labelled: bool) -> Markup:
    if summary.labels:
        measured = [element("td", _labels(summary.labels), colspan=3, class_="labels")]
    elif summary.estimate is None:
        tone = "bad" if summary.failures or summary.task_failures else "quiet"
        measured = [
            element("td", element("span", no_result(summary), class_=tone), colspan=3, class_="labels")
        ]
    else:
        is_rate = summary.kind == "assertion"
        values = [] if is_rate else _scores(report, summary)
        measured = _measured(summary.estimate, is_rate=is_rate, values=values, labelled=labelled)
    return element(
        "tr",
        _name(name),
        element("td", summary.kind if summary.count else "", class_="kind"),
        *measured,
        *(_count(summary, field) for field in counts),
    )


def _name(name: str) -> Markup:
    return element("th", element("bdi", fit(name, 200)), scope="row")


def _measured(
    estimate: Estimate, *, is_rate: bool, values: Sequence[float], labelled: bool = False
) -> list[Markup]:
    """Value, interval and drawing; `labelled` says that the drawing of a rate has to name the ends of its scale."""
    value, ends = (rate_text if is_rate else mean_text)(estimate.value, estimate.interval)
    plot = rate_plot(estimate, labelled=labelled) if is_rate else mean_plot(estimate, values)
    return [
        element("td", value, class_="number value"),
        element("td", ends, class_="ends"),
        element("td", plot, class_="drawing"),
    ]


def _count(summary: Summary, field: str) -> Markup:
    count: int = getattr(summary, field)
    if field == "count" and summary.estimate is not None:
        # What a rate is over: also the attempts that count as not passed because something failed.
        count = summary.estimate.n_observations
    tone = "" if field == "count" or not count else " warn" if field == "skipped" else " bad"
    shown: Content = f"{count:,}" if count or field == "count" else ""
    return element("td", shown, class_=f"number{tone}", data_label=_COUNTS[field])


def _graded_count(graded: Estimate, field: str) -> Markup:
    """How many scores a mean is over; whatever else is counted stands in the row of the assertion."""
    shown = f"{graded.n_observations:,}" if field == "count" else ""
    return element("td", shown, class_="number", data_label=_COUNTS[field])


def _labels(labels: Mapping[str, int]) -> Markup:
    """The most frequent labels with their shares, on one line."""
    total = sum(labels.values())
    shown = [
        join([element("bdi", fit(label, 40)), f" {percent(count / total)}"])
        for label, count in labels.items()
    ]
    if len(shown) > 4:
        shown = [*shown[:4], join([f"{len(labels) - 4:,} more"])]
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


def _scores(report: Report, summary: Summary) -> list[float]:
    """All scores of a column; none where the report keeps only some, which could mislead."""
    return [
        float(result.value)
        for case in ([] if count_dropped(report) else report.cases)
        for result in case.results
        if result.name == summary.name and not isinstance(result.value, bool | str)
    ]


def _graded(report: Report, summary: Summary) -> list[float]:
    return [
        result.score
        for case in ([] if count_dropped(report) else report.cases)
        for result in case.results
        if result.name == summary.name and result.kind == summary.kind and result.score is not None
    ]
