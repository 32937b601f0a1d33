"""Everyone can use each page: WCAG 2.2 A and AA by axe in both themes on phone and desktop, the keyboard alone, zoom, system colours."""

from functools import cache
from importlib.resources import files

import pytest

from calipers.stores import SqliteStore, open_store
from calipers.testing import ServedViewer

from .conftest import in_thread, settled
from .walk import PAGES, PERSON, keep_walked

LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]

VIOLATIONS = """
async (options) => {
  const found = await axe.run(document, { runOnly: options, resultTypes: ["violations"] });
  return found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 120)).join(", ")}`);
}
"""
"""What axe-core has to say."""

SAME_IDS = """
() => {
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
}
"""
"""Ids that more than one element has."""

FOCUS = """
() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const name = `${element.tagName}.${element.className}: ${(element.getAttribute("aria-label") ?? element.textContent).trim().slice(0, 40)}`;
  const rings = [element, element.closest("label"), element.parentElement].filter(Boolean).flatMap((each) => [getComputedStyle(each), getComputedStyle(each, "::after")]);
  const isRinged = rings.some((style) => (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || (style.content !== "none" && parseFloat(style.borderTopWidth) >= 2));
  const box = (element.closest("svg") ?? element).getBoundingClientRect();
  const x = Math.min(Math.max(box.left + Math.min(box.width / 2, 40), 1), innerWidth - 2), y = Math.min(Math.max(box.top + Math.min(box.height / 2, 12), 1), innerHeight - 2);
  const above = document.elementFromPoint(x, y);
  const isInSight = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const isFree = above !== null && (element.contains(above) || above.contains(element) || getComputedStyle(element).pointerEvents === "none" || element.closest("label")?.contains(above));
  return { name, isSeen: isRinged && isInSight && isFree, why: `ring ${isRinged}, in sight ${isInSight}, free ${isFree}: ${above?.outerHTML.slice(0, 80)}` };
}
"""
"""Where the keyboard is, and whether that can be seen: it has a ring, is in the window, and nothing lies over it."""


@cache
def axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def walked_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walked")

    def keep():
        with SqliteStore(folder / "runs.db") as store:
            keep_walked(store, folder)

    in_thread(keep)
    return folder / "runs.db"


@pytest.fixture(scope="module")
def walked(walked_store):
    with ServedViewer(walked_store) as served:
        yield served


@pytest.fixture
def walk(walked, visit):
    """Opens pages of the walk, one after the other, in one window."""
    return walking(walked, visit)


def walking(walked, visit):
    page = visit(walked, "/label")
    page.watch.allowed.append("404")
    page.evaluate("name => localStorage.setItem('calipers:person', name)", PERSON)

    def opened(name, **size):
        page.set_viewport_size({"width": 1280, "height": 900, **size})
        page.goto(walked.url + PAGES[name].path)
        page.locator(PAGES[name].ready).first.wait_for()
        settled(page)
        PAGES[name].do(page)
        return page

    opened.page = page
    return opened


@pytest.mark.parametrize("part", [0, 1])
def test_each_page_meets_the_guidelines(walk, part):
    for name in list(PAGES)[part::2]:
        page = walk(name)
        page.evaluate(
            "() => document.querySelectorAll('main details:not(.menu)').forEach((each) => (each.open = true))"
        )
        page.evaluate(axe())
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            page.emulate_media(color_scheme="light")
            found = page.evaluate(VIOLATIONS, {"type": "tag", "values": LEVELS})
            page.emulate_media(color_scheme="dark")
            found += page.evaluate(VIOLATIONS, {"type": "rule", "values": ["color-contrast"]})
            assert found == [], (name, width)
            assert page.locator("h1").count() == page.locator("main").count() == 1
            assert page.evaluate(SAME_IDS) == [], name
        for width in (640, 320):  # 200 %, and the narrowest there is
            page.set_viewport_size({"width": width, "height": 450})
            settled(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


def test_axe_finds_what_is_wrong(walk):
    page = walk("judges")
    page.evaluate(axe())
    page.evaluate("""() => {
        const poor = document.querySelector("main").appendChild(document.createElement("button"));
        const grey = document.querySelector("main").appendChild(document.createElement("p"));
        grey.textContent = "grey on white";
        grey.style.color = "#aaaaaa";
    }""")
    found = page.evaluate(VIOLATIONS, {"type": "tag", "values": LEVELS})
    assert [each.partition(":")[0] for each in found] == ["button-name", "color-contrast"]


def test_the_focus_is_seen_wherever_tab_leads(walk):
    for name in PAGES:
        page = walk(name, height=600)
        page.locator("body").press("Tab")
        places = []
        for _ in range(30):
            found = page.evaluate(FOCUS)
            if found is None:
                break
            assert found["isSeen"], (name, found)
            places.append(found["name"])
            page.keyboard.press("Tab")
        assert len(set(places)) > 5, (name, places)


def key(page, *names):
    """Press keys, and see after each where the focus is: seen, or on the page as a whole."""
    for name in names:
        page.keyboard.press(name)
        settled(page)
        found = page.evaluate(FOCUS)
        assert found is None or found["isSeen"] or found["name"].startswith("H1"), (name, found)


def heading(page, name):
    page.get_by_role("heading", name=name, level=1, exact=True).wait_for()
    settled(page)


def test_the_worst_failure_its_trace_a_comparison_and_a_label_without_a_mouse(walk, walked):
    without_a_mouse(walk, walked)


def test_the_same_without_a_mouse_over_postgresql(postgresql_url, visit, tmp_path):
    def keep():
        with open_store(postgresql_url) as store:
            keep_walked(store, tmp_path)

    in_thread(keep)
    with ServedViewer(postgresql_url) as served:
        without_a_mouse(walking(served, visit), served)


def without_a_mouse(walk, walked):
    """From the list of runs to a failure, its trace, a comparison and a label, by keys."""
    page = walk("runs")
    for _ in range(4):  # the fifth run is of the agent with tools
        key(page, "j")
    key(page, "j", "Enter")
    heading(page, "agent with tools")
    key(page, "g", "c")
    heading(page, "Cases")
    page.locator("[role=row][data-row]").first.wait_for()
    key(page, "j", "f")
    row = page.evaluate("document.activeElement.dataset.row")
    assert row
    key(page, "Enter")
    page.get_by_role("heading", level=1, name="order").wait_for()
    settled(page)
    key(page, "2")
    page.get_by_role("region", name="The chosen step").wait_for()
    key(page, "e", "]", "[")
    assert (
        "failed" in page.locator(".waterfall-row.selected").inner_text()
        or page.locator(".waterfall-row.selected.failed").count()
    )
    key(page, "Escape")
    heading(page, "Cases")
    page.locator(f"[data-row='{row}']:focus").wait_for()
    key(page, "o")
    page.get_by_role("complementary", name="The case at a glance").wait_for()
    key(page, "Escape")
    page.get_by_role("complementary", name="The case at a glance").wait_for(state="detached")
    page.locator(f"[data-row='{row}']:focus").wait_for()
    key(page, "Escape")
    heading(page, "agent with tools")
    key(page, "Escape")
    heading(page, "Runs")
    page.locator("[data-row='walk-4'] .row-link:focus").wait_for()
    key(page, "j", "x", "j", "j", "x", "c")
    page.get_by_text("desk v3 against desk v1").or_(
        page.get_by_text("desk v1 against desk v3")
    ).first.wait_for()
    page.locator(".flip").first.wait_for()
    page.locator("summary", has_text="Options").focus()
    key(page, "Enter")
    page.get_by_text("Ask about these cases only").wait_for()
    key(page, "Tab", "Escape")
    page.get_by_text("Ask about these cases only").wait_for(state="detached")
    page.locator("summary:focus", has_text="Options").wait_for()
    key(page, "j", "Enter")
    page.locator("h1:focus").wait_for()
    assert "/compare/" in page.url
    page.goto(walked.url + PAGES["label-desk"].path)
    page.locator(".label-attempt").wait_for()
    settled(page)
    before = page.locator(".label-name").inner_text()
    key(page, "y")
    page.get_by_text("All answers are saved.").wait_for()
    assert page.locator(".label-name").inner_text() != before
    key(page, "u")
    page.get_by_text("All answers are saved.").wait_for()
    assert page.locator(".label-name").inner_text() == before


def test_keys_of_one_letter_do_nothing_once_they_are_off(walk):
    page = walk("case")
    page.evaluate("() => localStorage.setItem('calipers:keys', 'off')")
    page = walk("case")
    before = page.url
    for letter in ["2", "3", "4", "j", "k", "f", "e", "r", "d", "t", "y", "g", "l", "]", "[", "x", "c", "o"]:
        page.keyboard.press(letter)
    settled(page)
    assert page.url == before
    key(page, "Escape")
    heading(page, "Cases")
    page.evaluate("() => localStorage.removeItem('calipers:keys')")


def test_the_system_chooses_motion_and_colours(walk):
    page = walk("run")
    page.emulate_media(reduced_motion="reduce", forced_colors="active", color_scheme="dark")
    assert page.evaluate("() => document.getAnimations().length") == 0
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("a[href], button, h1, th, td, .mark")].filter((each) => each.checkVisibility() && each.textContent + each.tagName !== "").filter((each) => {
            const style = getComputedStyle(each), ground = getComputedStyle(each.closest("a.main-button, button") ?? document.body).backgroundColor;
            return style.color === ground;
        }).map((each) => each.outerHTML.slice(0, 100))"""
    )
    assert hidden == []
    current = page.locator(".shell-pages a[aria-current]").evaluate(
        "e => getComputedStyle(e).borderBottomColor"
    )
    other = page.locator(".shell-pages a:not([aria-current])").first.evaluate(
        "e => getComputedStyle(e).borderBottomColor"
    )
    assert current != other
