"""The top of the page: what was run, what went wrong with the run, and the share of cases that passed."""

from datetime import datetime

from calipers.report.report import Report
from calipers.stats import Estimate
from calipers.stats.number_text import METHODS, confidence_text, plural, rate_text, seconds
from calipers.views import headline as terminal_headline
from calipers.views.outcome import count_dropped
from calipers.views.text import fit

from .markup import Markup, element, join
from .plots import rate_plot
from .sentences import WIDE, sentence
from .values import shown_value

_NOTED = 300
"""Characters of one entry of the run's metadata."""
DOT = " · "
"""What separates facts on one line."""


def heading(report: Report, title: str | None) -> Markup:
    """What was run, on what, how much and for how long."""
    name = element("bdi", fit(report.name, 200))
    dataset = None if report.dataset_name is None else element("bdi", fit(report.dataset_name, 200))
    run = name if dataset is None else join([name, element("span", " on ", class_="on"), dataset])
    facts: list[Markup] = []
    if title is not None:
        facts.append(run)
    counts = report.counts()
    facts.append(element("span", plural(counts.cases, "case")))
    if report.repeat > 1:
        facts.append(element("span", plural(counts.attempts, "attempt")))
    if report.duration is not None:
        facts.append(element("span", seconds(report.duration)))
    facts.append(element("span", f"seed {report.seed}"))
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
    """A time to the minute; what is no time as it is."""
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


def alerts(report: Report, rate: Estimate | None, *, confidence: float) -> Markup:
    """What keeps the numbers below from saying all: an early end, tasks and evaluators that did not finish."""
    found = [sentence(line) for line in terminal_headline.alerts(WIDE, report)]
    if rate is None:
        found += [sentence(line) for line in terminal_headline.headline(WIDE, report, confidence=confidence)]
    return (
        element("div", *(element("p", one) for one in found), class_="alerts", role="alert")
        if found
        else join([])
    )


def silent(report: Report) -> Markup:
    """The evaluators that gave no result at all because they were skipped, with the commonest reason."""
    return join(
        element("p", sentence(line), class_="warning") for line in terminal_headline.silent(WIDE, report)
    )


def headline(report: Report, rate: Estimate | None, *, confidence: float) -> Markup:
    """The share of cases that passed, with its interval; under repeats also of one that passes ever, and always."""
    if rate is None:
        return Markup("")
    counts = report.counts()
    if rate.n_observations == rate.n_units:
        what = f"Passed {counts.passed:,} of {plural(rate.n_units, 'case')}"
    else:
        what = f"Passed {counts.passed:,} of {plural(rate.n_observations, 'attempt')} at {plural(rate.n_units, 'case')}"
    value, ends = rate_text(rate.value, rate.interval)
    tone = "good" if rate.value == 1 else "mixed" if rate.value else "bad"
    lines = [
        element("p", what, class_="what"),
        element(
            "p", element("span", value, class_=f"value {tone}"), " ", element("span", ends, class_="ends")
        ),
        element("p", _how(rate), class_="how"),
    ]
    left_out = counts.attempts - rate.n_observations
    if left_out:
        note = f"Left out: {plural(left_out, 'attempt')} of which nothing was asserted."
        lines.append(element("p", note, class_="how"))
    lines += [
        element("p", sentence(line), class_="how")
        for line in terminal_headline.readings(WIDE, report, confidence=confidence)
    ]
    figure = element("div", rate_plot(rate, width=440, height=34), _percent_scale(), class_="scaled")
    has_repeats = report.repeat > 1 and not count_dropped(report)
    repeats = _repeats(report, confidence=confidence) if has_repeats else Markup("")
    return element(
        "section",
        element("h2", "Pass rate", class_="unseen"),
        element("div", *lines, class_="claim"),
        element("div", figure, repeats, class_="drawn"),
        class_="headline",
    )


def _how(rate: Estimate) -> str:
    if rate.interval is None:
        how = "no interval: one cluster of cases" if rate.n_clusters == 1 else "no interval"
    else:
        method = METHODS[rate.interval.method].partition(" with ")[0]
        how = f"{confidence_text(rate.interval.confidence)} {method} interval"
    if rate.n_clusters is not None and rate.n_clusters > 1:
        how += f", {rate.n_clusters:,} clusters"
    return how


def _percent_scale() -> Markup:
    return element(
        "div",
        *(element("span", f"{share} %") for share in (0, 25, 50, 75, 100)),
        class_="scale",
        aria_hidden="true",
    )


def _repeats(report: Report, *, confidence: float) -> Markup:
    k = report.repeat
    try:
        any_of = report.pass_at_k(k, None, confidence=confidence)
        all_of = report.pass_hat_k(k, None, confidence=confidence)
    except ValueError:  # some case has fewer attempts that something was asserted of
        return element("p", f"No pass@{k} and pass^{k}: not every case has {k} attempts.", class_="how")
    rows: list[Markup] = []
    for name, estimate, meaning in (
        (f"pass@{k}", any_of, f"at least one of {k} attempts passes"),
        (f"pass^{k}", all_of, f"all {k} attempts pass"),
    ):
        if estimate is not None:
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
