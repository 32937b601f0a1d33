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
