"""What a notebook shows for a report, a comparison, a verdict, a trace and a rollout that a cell ends with.

It is a page of the HTML view that needs no script, in a frame of its own: the notebook's style does not reach the page, the page's does
not reach the notebook, and whatever the page holds, the frame runs no script. Its first sentence stands above the frame, for viewers
that leave frames out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from calipers.comparison.comparison import Comparison
from calipers.data.trace import Trace, Turn
from calipers.gate.verdict import Verdict
from calipers.report.report import Report
from calipers.stats.number_text import plural, seconds

from .comparison.html import comparisons_html
from .comparison.statement import lead
from .gate.html import verdict_html
from .gate.statement import facts_of
from .html.document import kept, top, without_script
from .html.markup import Content, Markup, element, lines, static_page, text
from .html.records import TURNS, VALUE, embedded_turn, shown_value
from .html.statement import plain_sentence
from .outcome import count_dropped
from .statement import Statement
from .text import fit
from .trace_statement import trace_facts, trace_statement
from .transcript import rollout_transcript
from .waterfall import statement_svg

_FLIPS = 50
_NAME, _SAID = 200, 600
"""Cells of a name, and of the sentence above a frame."""
_BROWSE = "To browse the attempts: write_html(report, 'report.html')."
_LOW, _TALL = 160, 640
"""Pixels of a frame, at least and at most; the reader may pull it longer."""
_HEIGHTS = {"<h1": 60, "<h2": 60, "<tr": 34, "<p": 26, "<svg": 12, "<li": 40}
"""Pixels that an element takes, about."""


def report_cell(report: Report) -> str:
    """A report: its numbers, and the attempts that did not pass."""
    report = report.with_totals()
    says = Statement(report)
    found = says.headline
    said = list(map(plain_sentence, says.alerts))
    if found is not None:
        said.append(f"{found.what} {found.number} {found.how}")
    elif says.no_headline is not None:
        said.append(plain_sentence(says.no_headline))
    page = static_page(
        report.name,
        element("div", top(says), class_="top"),
        kept(report),
        without_script(
            report, _BROWSE if count_dropped(report) else f"{_BROWSE} As a table: report.to_pandas()."
        ),
        brand="Calipers report",
    )
    return _framed(page, f"{fit(report.name, _NAME)}: {' '.join(' '.join(said).split())}")


def comparison_cell(comparison: Comparison) -> str:
    """A comparison, with the first cases that changed."""
    page = comparisons_html([comparison], max_flips=_FLIPS)
    labels = f"{comparison.candidate.label} against {comparison.baseline.label}"
    return _framed(page, f"{labels}: {'. '.join(lead(comparison))}")


def verdict_cell(verdict: Verdict) -> str:
    """The verdict of a gate, rule by rule."""
    said = " · ".join(facts_of(verdict))
    return _framed(verdict_html(verdict), f"{verdict.outcome}: {verdict.run}: {said}")


def trace_cell(trace: Trace) -> str:
    """A trace, turn by turn."""
    says = trace_statement(trace, max_steps=TURNS)
    facts = [plural(len(trace.turns), "turn"), *trace_facts(trace)[1:]]
    name = fit(trace.agent_name or trace.model or "Trace", _NAME)
    said = " · ".join(facts)
    page = static_page(
        name,
        element("h1", name),
        element("p", said, class_="facts"),
        statement_svg(replace(says, title="", facts=())) if says.extent_ms is not None else "",
        _table(("Turn", "What", "Said, asked or given", "Answered"), _turn_rows(trace.turns)),
        _more(len(trace.turns)),
        brand="Calipers trace",
    )
    return _framed(page, f"{name}: {said}")


def rollout_cell(rollout: Any) -> str:
    """A rollout as its transcript."""
    talk = rollout_transcript(rollout)
    if talk is None:
        return text(repr(rollout))
    branches = {turn.branch for turn in talk.turns}
    facts = [plural(len(talk.turns), "turn")]
    facts += [plural(len(branches), "conversation")] if len(branches) > 1 else []
    facts += [f"ended: {fit(talk.stopped, _NAME)}"] if talk.stopped else []
    rows = [
        element(
            "tr",
            element(
                "th", f"{turn.number}" if turn.branch is None else f"{turn.branch}.{turn.number}", scope="row"
            ),
            element("td", _value(turn.asked), class_="text"),
            element("td", *_done(turn.done), class_="text"),
            element("td", _value(turn.answered), class_="text"),
            element("td", ", ".join(turn.facts)),
        )
        for turn in talk.turns[:TURNS]
    ]
    said = " · ".join(facts)
    page = static_page(
        "Rollout",
        element("h1", "Rollout"),
        element("p", said, class_="facts"),
        element("p", _value(talk.opening)) if talk.opening else "",
        _table(("Turn", talk.asker.capitalize(), "Done", talk.answerer.capitalize(), "Judged"), rows),
        _more(len(talk.turns)),
        brand="Calipers rollout",
    )
    return _framed(page, f"Rollout: {said}")


# ---------------------------------------------------------------------- parts


def _framed(page: str, said: str) -> str:
    """A page in a frame that runs no script and is as high as the page, as far as one can tell."""
    height = min(_TALL, _LOW + sum(pixels * page.count(tag) for tag, pixels in _HEIGHTS.items()))
    style = f"width:100%;height:{height}px;border:0;resize:vertical;overflow:auto"
    frame = f'<iframe sandbox="" srcdoc="{escape(page)}" style="{style}" title="Calipers"></iframe>'
    return f"<div><p>{text(fit(said, _SAID))}</p>{frame}</div>"


def _table(heads: Sequence[str], rows: Sequence[Markup]) -> Markup:
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    return element(
        "div",
        element("table", element("thead", head), element("tbody", *rows), class_="grid"),
        class_="scroller",
    )


def _more(count: int) -> Content:
    return element("p", f"… and {plural(count - TURNS, 'more turn')}", class_="note") if count > TURNS else ""


def _turn_rows(turns: Sequence[Turn]) -> list[Markup]:
    rows: list[Markup] = []
    for number, turn in enumerate(turns[:TURNS], 1):
        shown = embedded_turn(turn, VALUE)
        name = f": {shown['name']}" if "name" in shown else ""
        took = f" ({seconds(shown['seconds'])})" if shown.get("seconds") else ""
        given = [shown[key] for key in ("content", "asked", "arguments") if key in shown]
        answered = [shown["output"]] if "output" in shown else []
        failed = [{"text": f"failed: {shown.get('error', '')}".rstrip(": ")}] if shown.get("failed") else []
        rows.append(
            element(
                "tr",
                element("th", str(number), scope="row"),
                element("td", f"{str(shown['kind']).replace('_', ' ')}{name}{took}"),
                element("td", *map(_shown, given), class_="text"),
                element("td", *map(_shown, [*answered, *failed]), class_="text"),
            )
        )
    return rows


def _done(turns: Sequence[Turn]) -> Iterator[Markup]:
    for turn in turns:
        shown = embedded_turn(turn, VALUE)
        yield element("div", f"{shown.get('name', shown['kind'])}{' failed' if shown.get('failed') else ''}")


def _value(value: Any) -> Markup:
    return _shown(shown_value(value, VALUE))


def _shown(value: dict[str, Any]) -> Markup:
    whole = str(value.get("text", value.get("json", "")))
    cut = f"… ({value['length']:,} characters)" if "length" in value else ""
    return element("div", lines(whole + cut))
