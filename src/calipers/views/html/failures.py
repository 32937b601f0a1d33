"""What went wrong: failures that are alike, the largest groups first, each with links to its cases.

The groups are those that the viewer shows, and so are the words. A link names a group or a slice by its place (`#find-g0+s1.2`): the page's
script shows the attempts that are in all of those which it names.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from calipers.report.failure_groups import (
    LOOKED_AT,
    MOST,
    Concentration,
    FailureGroup,
    concentrations,
    failure_groups,
)
from calipers.report.report import Report
from calipers.report.run_slices import FieldSlices
from calipers.stats.number_text import percent, plural
from calipers.views.outcome import Record, count_missed, missed, outcome_of
from calipers.views.text import fit

from .markup import Content, Markup, element
from .page_files import words
from .plots import mark

_FEW: Final = 6
"""Groups that are in sight at once."""
_SAID: Final = 200
"""Cells of what was said."""
_NAME: Final = 60


class SlicePlace(NamedTuple):
    """A slice that a page has, and how a link names it."""

    filter: str
    rows: Sequence[int]
    link: str


class Failures:
    """The groups of a page."""

    def __init__(self, report: Report, records: Sequence[Record], fields: Sequence[FieldSlices] = ()) -> None:
        """The failures among the records, which are in the order of the page, and the fields by which the page cuts them."""
        self.report = report
        self.records = records
        found = failure_groups(records)
        found.sort(key=lambda each: -len(each.examples))
        self.left_out = max(0, len(found) - MOST)
        self.groups = found[:MOST]
        self.slices = [
            SlicePlace(each.filter, each.rows, f"s{number}.{place}")
            for number, field in enumerate(fields)
            if not field.by.startswith("label.")
            for place, each in enumerate(field.slices)
            if not each.is_missing
        ]

    def data(self) -> list[dict[str, Any]]:
        """Each group with its attempts, for the page's script."""
        return [{"text": _text(group), "of": group.rows} for group in self.groups]

    def section(self) -> Markup:
        """The groups as a table; nothing if nothing failed."""
        says = words()["groups"]
        if not self.groups:
            return Markup("")
        heads = [
            element("th", says["said"], scope="col"),
            element("th", says["evaluator"], scope="col"),
            element("th", says["cases"], scope="col", class_="number"),
            element("th", says["share"], scope="col", title=says["shareAbout"], class_="number"),
            element("th", says["concentrated"], scope="col", title=says["concentratedAbout"]),
            element("th", says["example"], scope="col"),
        ]
        mostly = self._concentrations()
        has_any = any(mostly)
        if not has_any:
            del heads[4]
        missed_cases = {_case(record) for record in self.records if outcome_of(record) in {"failed", "error"}}
        rows = [
            self._row(number, group, mostly[number] if has_any else None, len(missed_cases))
            for number, group in enumerate(self.groups)
        ]
        head = element("thead", element("tr", *heads))
        tables = [element("table", head, element("tbody", *rows[:_FEW]), class_="summary groups")]
        if len(rows) > _FEW:
            more = says["all"].replace("{groups}", f"{len(rows):,}")
            rest = element("table", head, element("tbody", *rows[_FEW:]), class_="summary groups")
            tables.append(element("details", element("summary", more), rest))
        return element(
            "section",
            element(
                "h2",
                element("span", says["title"], id="causes"),
                " ",
                element("span", says["about"], class_="about"),
            ),
            *tables,
            self._notes(missed_cases),
            class_="causes",
            aria_labelledby="causes",
        )

    def _row(
        self, number: int, group: FailureGroup, mostly: Sequence[Concentration] | None, missed_cases: int
    ) -> Markup:
        says = words()["groups"]
        count = len(group.examples)
        share = count / max(missed_cases, 1)
        said = element("bdi", fit(group.said, _SAID)) if group.said else says["saidNothing"]
        first = group.examples[0]
        cells = [
            element(
                "th",
                mark("error" if group.did_not_finish else "fail"),
                " ",
                element("a", said, href=f"#find-g{number}", class_=None if group.said else "quiet"),
                scope="row",
            ),
            element(
                "td",
                element("bdi", fit(group.evaluator, _NAME)) if group.evaluator else says["task"],
                class_="kind",
            ),
            element("td", f"{count:,}", class_="number", data_label=says["cases"]),
            element("td", _bar(share), class_="number share"),
        ]
        if mostly is not None:
            chips: list[Content] = [self._chip(number, self.slices[each.place]) for each in mostly]
            label = says["concentrated"] if chips else None
            none = element("span", "\N{EN DASH}", class_="quiet")
            cells.append(element("td", *(chips or [none]), class_="chips", data_label=label))
        example = element("bdi", fit(_case(self.records[first]), _NAME))
        cells.append(
            element("td", element("a", example, href=f"#case-{first + 1}"), data_label=says["example"])
        )
        return element("tr", *cells)

    def _chip(self, number: int, found: SlicePlace) -> Markup:
        return element(
            "a", element("bdi", fit(found.filter, 32)), href=f"#find-g{number}+{found.link}", class_="badge"
        )

    def _concentrations(self) -> list[list[Concentration]]:
        """Where the largest groups are concentrated; of the others that is not asked."""
        looked_at = self.groups[:LOOKED_AT]
        case_of = [_case(record) for record in self.records]
        slices = [{case_of[row] for row in each.rows} for each in self.slices]
        groups = [{case_of[row] for row in group.examples} for group in looked_at]
        inside = [
            {place: shared for place, each in enumerate(slices) if (shared := len(group & each))}
            for group in groups
        ]
        found = concentrations(
            list(map(len, groups)), list(map(len, slices)), inside, cases=len(set(case_of))
        )
        return [*found, *([] for _ in self.groups[LOOKED_AT:])]

    def _notes(self, missed_cases: Iterable[str]) -> Markup:
        """What the table leaves out."""
        says = words()["groups"]
        grouped = {_case(self.records[row]) for group in self.groups for row in group.examples}
        notes: list[str] = []
        kept = len(missed(self.report))
        if kept < count_missed(self.report):
            notes.append(f"of the {kept:,} attempts that the report keeps")
        if self.left_out:
            notes.append(says["leftOut"].replace("{groups}", f"{self.left_out:,}"))
        if ungrouped := len(set(missed_cases) - grouped):
            notes.append(says["ungrouped"].replace("{cases}", plural(ungrouped, "case")))
        return element("p", " · ".join(notes), class_="note") if notes else Markup("")


def _case(record: Record) -> str:
    return record.source_case_name or record.name


def _text(group: FailureGroup) -> str:
    """`who: said`, for the list of what is shown."""
    said = fit(group.said, _SAID) or words()["groups"]["saidNothing"]
    return f"{group.evaluator or words()['groups']['task']}: {said}"


def _bar(share: float) -> Markup:
    """A share as a bar and in words."""
    # The policy of the page allows no style of an element: the length of a bar is an attribute of a shape.
    drawn = element(
        "svg",
        element("rect", class_="share-track", width=48, height=6, rx=3),
        element("rect", class_="share-bar", width=max(48 * share, 1.0), height=6, rx=3),
        viewBox="0 0 48 6",
        width=48,
        height=6,
        aria_hidden="true",
    )
    return element("span", drawn, " ", element("span", percent(share), class_="share-text"), class_="share")
