"""The HTML report and the page of the viewer draw the same run with the same marks, intervals and colours."""

import pytest

from calipers.stores import SqliteStore
from calipers.views.html import write_html
from calipers.views.html.plots import rate_plot

PARTS = """(svg) => [...svg.querySelectorAll("*")].filter((each) => each.tagName !== "title" && each.tagName !== "g").map((each) => [
  each.tagName, Object.fromEntries([...each.attributes].map(({ name, value }) => [
    name, /^-?[0-9.]+$/.test(value) ? Math.round(1e3 * value) / 1e3 : value]))])"""
COLOURS = """(names) => names.map((name) => getComputedStyle(document.querySelector(name)).color)"""


@pytest.fixture
def both(browse, browser, store_path, viewer, tmp_path):
    """The second run, in which some cases failed, in the viewer and as a report."""
    contexts = []

    def opened(scheme="light"):
        with SqliteStore(store_path) as store:
            info = next(run for run in store.runs() if run.name == "second")
            path = write_html(store.report(info.id), tmp_path / "report.html")
        context = browser.new_context(color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.goto(path.as_uri())
        return browse(viewer, f"/runs/{info.id}/cases", scheme=scheme), page

    yield opened
    for context in contexts:
        context.close()


def test_a_mark_has_one_shape_and_one_colour(both):
    for scheme in ("light", "dark"):
        viewed, written = both(scheme)
        marks = [f"svg.mark-{name}" for name in ("pass", "fail")]
        for name in marks:
            viewed.locator(name).first.wait_for()
            drawn = [page.locator(name).first.evaluate(PARTS) for page in (viewed, written)]
            assert drawn[0] == drawn[1]
            assert drawn[0]
        assert viewed.evaluate(COLOURS, marks) == written.evaluate(COLOURS, marks)


def test_an_interval_is_drawn_the_same(browse, browser, store_path, viewer):
    with SqliteStore(store_path) as store:
        info = next(run for run in store.runs() if run.name == "second")
        rate = store.report(info.id).pass_rate()
    viewed = browse(viewer, f"/runs/{info.id}")
    glyph = viewed.locator(".estimate svg.glyph").first
    glyph.wait_for()
    viewed_parts = glyph.evaluate(PARTS)
    page = browser.new_page()
    page.set_content(rate_plot(rate, width=int(glyph.get_attribute("width")), height=14))
    written_parts = page.locator("svg").evaluate(PARTS)
    page.close()
    assert written_parts == viewed_parts
    assert [name for name, _ in viewed_parts] == ["line", "path", "rect", "circle"]


@pytest.fixture
def sorted_desk(browse, browser, desk, desk_store, tmp_path):
    """A run that was kept and its report, each opened."""
    with SqliteStore(desk_store) as store:
        info = next(run for run in store.runs() if run.name == "long")
        path = write_html(store.report(info.id), tmp_path / "report.html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    yield browse(desk, f"/runs/{info.id}?by=meta.lang"), page
    context.close()


def cells(section, *columns):
    """The text of some columns of the first table in a section."""
    rows = section.locator("table").first.locator("tbody tr").all()
    return [[" ".join(row.locator("th, td").nth(at).inner_text().split()) for at in columns] for row in rows]


def test_a_run_is_cut_in_the_same_slices_with_the_same_numbers(sorted_desk):
    viewed, written = (
        page.locator("section").filter(has=page.get_by_role("heading", name="Slices")) for page in sorted_desk
    )
    viewed.get_by_role("combobox").first.wait_for()
    written.get_by_role("combobox").first.select_option("meta.lang")
    viewed.locator("tbody tr").first.wait_for()
    columns = 0, 1, 4
    assert cells(written, *columns) == cells(viewed, *columns)
    assert [row[0] for row in cells(viewed, 0)] == ["en", "fr", "de"]
    drawn = [
        [glyph.evaluate(PARTS) for glyph in section.locator("tbody svg").all()]
        for section in (viewed, written)
    ]
    assert [len(parts) for parts in drawn] == [6, 6], "an estimate and a difference in each row"
    for one, other in zip(*drawn, strict=True):
        assert [name for name, _ in one] == [name for name, _ in other]
        for (_, wanted), (_, found) in zip(one, other, strict=True):
            numbers = {key: value for key, value in wanted.items() if isinstance(value, float | int)}
            assert {key: found[key] for key in numbers} == pytest.approx(numbers, abs=0.01)


def test_failures_are_grouped_the_same(sorted_desk):
    viewed, written = (
        page.locator("section").filter(has=page.get_by_role("heading", name="What went wrong"))
        for page in sorted_desk
    )
    viewed.locator("tbody tr").first.wait_for()
    found = cells(written, *range(6))
    assert found == cells(viewed, *range(6))
    assert found[0][1] == "right"
    assert found[0][4] == "meta.lang:en"
