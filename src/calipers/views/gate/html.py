"""A verdict as one self-contained HTML file, without scripts: every rule with its interval drawn against the limit."""

from collections.abc import Iterator
from typing import Final

from calipers.gate.verdict import Finding, Outcome, Verdict
from calipers.views.comparison.html import span_svg
from calipers.views.html.markup import Content, Markup, element, join, static_page
from calipers.views.text import fit

from .statement import GLYPHS, MEETS, MISSES, NEXT, by_gravity, facts_of, span_of

_TONES: Final[dict[Outcome, str]] = {"PASS": "good", "FAIL": "bad", "WORSE": "bad", "INCONCLUSIVE": "warn"}
_NAME, _TEXT = 200, 1000
"""Cells of a name, and of a sentence."""


def verdict_html(verdict: Verdict) -> str:
    """The verdict as the text of one HTML file; rules that failed come first."""
    return static_page(
        f"{verdict.outcome}: {verdict.run}",
        element("div", *_content(verdict), class_="top"),
        brand="Calipers gate",
    )


def _content(verdict: Verdict) -> Iterator[Content]:
    against: list[Content] = []
    if verdict.baseline is not None:
        against = [element("span", " against ", class_="on"), fit(verdict.baseline, _NAME)]
    yield element(
        "h1",
        element("span", f"{GLYPHS[verdict.outcome][0]} {verdict.outcome}", class_=_TONES[verdict.outcome]),
        ": ",
        fit(verdict.run, _NAME),
        *against,
    )
    yield element("p", join([element("span", fact) for fact in facts_of(verdict)], " · "), class_="facts")
    yield element("p", element("strong", NEXT[verdict.outcome]))
    scale = element("span", element("span", MISSES), element("span", MEETS), class_="scale")
    heads: tuple[tuple[Content, str | None], ...] = (
        ("Outcome", None),
        ("What", None),
        ("Rule", None),
        (scale, "drawing"),
        ("Found", None),
        ("Next", None),
    )
    head = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in heads))
    rows = [_row(finding) for finding in by_gravity(verdict)]
    table = element("table", element("thead", head), element("tbody", *rows), class_="summary")
    yield element("section", element("h2", "Rules"), element("div", table, class_="scroller"))
    for note in verdict.notes:
        yield element("p", element("strong", "Note: "), fit(note, _TEXT), class_="warning")
    yield element(
        "p",
        "Each interval is drawn on a scale of its own, with the limit in the middle and the good side to the right.",
        class_="note",
    )


def _row(finding: Finding) -> Markup:
    span = span_of(finding)
    drawn: Content = "" if span is None else span_svg(span, label=f"{finding.rule}: {finding.said}")
    return element(
        "tr",
        element("td", f"{GLYPHS[finding.outcome][0]} {finding.outcome}", class_=_TONES[finding.outcome]),
        element("th", fit(finding.subject, _NAME), scope="row"),
        element("td", fit(finding.rule, _TEXT)),
        element("td", drawn, class_="drawing"),
        element("td", fit(finding.said, _TEXT)),
        element("td", fit(finding.advice or "", _TEXT)),
    )
