"""Comparisons as one self-contained HTML file, without scripts: sentences, tables, and differences drawn as SVG."""

from collections.abc import Sequence

from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison, check_comparisons, ranks
from calipers.comparison.flips import Flip
from calipers.stats.number_text import confidence_text, percent, plural
from calipers.views.html.markup import Content, Markup, element, join, static_page
from calipers.views.html.plots import difference_plot
from calipers.views.text import fit

from . import statement as say
from .span_plot import Span, spans
from .trace_words import flip_lines

_TONES = {"better": "good", "worse": "bad", "unclear": "warn", "incomparable": "warn", "nothing": "warn"}
"""The class of an outcome that has a colour."""
_NAME = 200
_PLOT = 240
"""The width and height of a drawn difference, and the room at its sides."""
_GAVE = 500
"""Cells of what an attempt gave."""
_LISTED = 200
"""Changed cases that are listed."""


def comparisons_html(
    comparisons: Sequence[Comparison], *, title: str | None = None, max_flips: int | None = 500
) -> str:
    """Comparisons as the text of one HTML file.

    Args:
        comparisons: from `compare_many`, or `[compare_reports(...)]`.
        title: of the page; default: what was compared.
        max_flips: cases that flipped to list for each; `None` for no limit.
    """
    check_comparisons(comparisons)
    say.check_max_flips(max_flips)
    return static_page(
        title or ", ".join(_titles(comparisons)),
        _ranks(comparisons),
        _table("Pass rates", say.headlines(comparisons), comparisons[0].confidence)
        if len(comparisons) > 1
        else "",
        *(_section(comparison, max_flips) for comparison in comparisons),
        brand="Calipers comparison",
    )


def _ranks(comparisons: Sequence[Comparison]) -> Content:
    found = ranks(comparisons)
    if not found:
        return ""
    rows = [
        element(
            "tr",
            element("td", rank.text, class_="number"),
            element("th", element("bdi", fit(rank.label, _NAME)), scope="row"),
        )
        for rank in found
    ]
    return element(
        "section",
        element("h2", "Ranks"),
        element("table", element("tbody", *rows), class_="bars"),
        class_="top",
    )


def span_svg(span: Span, *, label: str) -> Markup:
    """A value and its interval around the middle, better to the right."""
    ends = None if span.low is None or span.high is None else (span.low, span.high)
    return difference_plot(span.value, ends, extent=1.0, words=label, width=_PLOT)


def _titles(comparisons: Sequence[Comparison]) -> list[str]:
    return [f"{each.candidate.label} against {each.baseline.label}" for each in comparisons]


def _section(comparison: Comparison, max_flips: int | None) -> Markup:
    facts = [element("span", fact) for fact in say.summary_lines(comparison)]
    return element(
        "div",
        element(
            "h1",
            fit(comparison.candidate.label, _NAME),
            element("span", " against ", class_="on"),
            fit(comparison.baseline.label, _NAME),
        ),
        element("p", join(facts, " · "), class_="facts"),
        _lead(comparison),
        _warnings(comparison),
        _flips(comparison, max_flips),
        _table("Evaluators", comparison.evaluators, comparison.confidence),
        _table("Tags", comparison.slices, comparison.confidence),
        _labels(comparison),
        _table("Times and metrics", comparison.measures, comparison.confidence),
        element("p", say.footnote(comparison), class_="note"),
        element("p", times, class_="note") if (times := say.times_note(comparison)) is not None else "",
        class_="top",
    )


def _warnings(comparison: Comparison) -> Content:
    items: list[Markup] = []
    for cases in say.differing_cases(comparison):
        items += [
            element("li", element("code", fit(name, _NAME)), f": {fit(differs, 1000)}")
            for name, differs in cases[:_LISTED]
        ]
        if len(cases) > _LISTED:
            items.append(element("li", f"… and {len(cases) - _LISTED:,} more"))
    shown = [
        element("p", element("strong", "Note: "), note, class_="warning") for note in say.notes(comparison)
    ]
    return join([*shown, element("ul", *items) if items else ""])


def _lead(comparison: Comparison) -> Content:
    """The conclusion in three lines, with the difference drawn."""
    lines = say.lead(comparison, show=lambda name: fit(name, _NAME))
    outcome, change = comparison.conclusion.outcome, comparison.pass_rate
    mark = say.LEAD_MARKS[outcome][0]
    drawn: Content = ""
    if change is not None:
        (span,) = spans([change])
        drawn = element(
            "div",
            _scale(),
            "" if span is None else span_svg(span, label=say.sentence(change)),
            element("p", say.p_values_text(change), class_="note"),
            class_="scaled",
        )
    return element(
        "div",
        element(
            "div",
            element("p", f"{mark} {lines[0]}", class_=f"value verdict {_TONES.get(outcome, 'mixed')}"),
            *(element("p", line) for line in lines[1:-1]),
            element("p", f"→ {lines[-1]}"),
            class_="claim",
        ),
        drawn,
        class_="headline lead",
    )


def _scale() -> Markup:
    return element("span", element("span", "worse"), element("span", "better"), class_="scale")


def _table(title: str, changes: Sequence[Change], confidence: float) -> Content:
    if not changes:
        return ""
    heads: tuple[tuple[Content, str | None], ...] = (
        ("Name", None),
        ("Baseline", "number"),
        ("Candidate", "number"),
        ("Difference", "number"),
        (f"[{confidence_text(confidence)} interval]", "ends"),
        (_scale(), "drawing"),
        ("p", "number"),
        ("adjusted", "number"),
        ("In words", None),
    )
    head = element("tr", *(element("th", text, scope="col", class_=kind) for text, kind in heads))
    rows = [_row(change, span) for change, span in zip(changes, spans(changes), strict=True)]
    table = element("table", element("thead", head), element("tbody", *rows), class_="summary")
    return element("section", element("h2", title), element("div", table, class_="scroller"))


def _row(change: Change, span: Span | None) -> Markup:
    value, ends = say.difference_text(change)
    notes = [note for note in (change.warning, say.lost_text(change)) if note]
    return element(
        "tr",
        element("th", fit(change.name, _NAME), scope="row"),
        element("td", say.value_text(change, change.baseline), class_="number", data_label="baseline"),
        element("td", say.value_text(change, change.candidate), class_="number", data_label="candidate"),
        element("td", value, class_="number value"),
        element("td", ends, class_="ends"),
        element("td", "" if span is None else span_svg(span, label=say.sentence(change)), class_="drawing"),
        element("td", say.p_text(change.p_value), class_="number", data_label="p"),
        element("td", say.p_text(change.adjusted_p), class_="number", data_label="adjusted"),
        element(
            "td",
            element(
                "span",
                f"{say.MARKS[change.outcome][0]} {say.sentence(change)}",
                class_=_TONES.get(change.outcome),
            ),
            *(element("p", element("strong", "Note: "), fit(note, 1000), class_="warning") for note in notes),
            class_="words",
        ),
    )


def _labels(comparison: Comparison) -> Content:
    parts: list[Content] = []
    for change in comparison.labels:
        head = element("tr", *(element("th", text) for text in ("baseline", "candidate", "cases")))
        rows = [
            element(
                "tr",
                element("td", fit(move.baseline, _NAME)),
                element("td", fit(move.candidate, _NAME)),
                element("td", f"{move.cases:,}", class_="number"),
            )
            for move in change.moves[:_LISTED]
        ]
        parts += [
            element("h2", fit(change.name, _NAME)),
            element("p", say.label_text(change)),
            element("p", change.warning, class_="warning") if change.warning else "",
            element(
                "div",
                element("table", element("thead", head), element("tbody", *rows), class_="grid"),
                class_="scroller",
            ),
        ]
    return join(parts)


def _flips(comparison: Comparison, most: int | None) -> Content:
    flips = comparison.flips
    if not flips:
        return ""
    shown = flips if most is None else flips[:most]
    items = [_flip(flip, lines) for flip, lines in zip(shown, flip_lines(shown), strict=True)]
    more = len(flips) - len(shown)
    return element(
        "section",
        element("h2", f"Flipped: {say.flip_counts(flips)}"),
        element("ul", *items, class_="flips"),
        element("p", f"… and {plural(more, 'more case')}", class_="note") if more else "",
        *(element("p", note, class_="note") for note in say.flip_notes(comparison)),
    )


def _flip(flip: Flip, lines: Sequence[tuple[str, str]]) -> Markup:
    """A case that flipped: how, by which evaluators, and what an attempt of each run gave and did."""
    facts = [say.flip_text(flip), *([say.named(flip.evaluators)] if flip.evaluators else [])]
    if flip.basis == "attempts":
        facts.append(f"by luck {percent(flip.noise)}")
    return element(
        "li",
        element("span", flip.way, class_={"broken": "bad", "fixed": "good", "moved": "warn"}[flip.way]),
        " ",
        element("strong", fit(flip.case, _NAME)),
        f" {fit(' · '.join(facts), _NAME)}",
        *(element("p", f"{word} ", element("code", fit(text, _GAVE))) for word, text in lines),
    )
