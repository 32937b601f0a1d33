"""The frame around every page of the viewer: where to go, keys, colours, what is refused, and the stream of news."""

import re

import pytest

from calipers.stores import SqliteStore
from calipers.testing import ServedViewer

from .conftest import in_thread, keep_run

CONTRASTS = """
() => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = channels(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0.9) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const box = element.getBoundingClientRect();
    if (!own || element instanceof SVGElement || box.width < 2 || box.height < 2 || element.closest(":disabled")) continue;
    const style = getComputedStyle(element);
    if (style.visibility === "hidden") continue;
    const [a, b] = [light(channels(style.color)), light(ground(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) poor.push(`${element.className || element.tagName}: ${contrast.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
  }
  return poor;
}
"""
"""Texts whose contrast with what is behind them is below 4.5."""

UNNAMED = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, [role=button], [role=slider], [role=grid], [role=listbox], table, svg[role=img]")]
  .filter((element) => element.checkVisibility())
  .filter((element) => {
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join("");
    const title = element.querySelector(":scope > title, :scope > caption")?.textContent ?? "";
    const by = (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("");
    return !(element.getAttribute("aria-label") || by || labels || title || element.textContent.trim() || element.querySelector("[aria-label]") || element.title);
  })
  .map((element) => element.outerHTML.slice(0, 120))
"""
"""Controls, tables and pictures that have no name for a reader of screens."""

SMALL = """
() => [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest("p, dd, td, th, [role=row], svg"))
  .map((element) => [element.closest("label") ?? element, element])
  .map(([target, element]) => [target.getBoundingClientRect(), element])
  .filter(([box]) => box.width > 2 && box.bottom > 0 && (box.width < 24 || box.height < 24))
  .map(([box, element]) => `${Math.round(box.width)} x ${Math.round(box.height)}: ${element.outerHTML.slice(0, 100)}`)
"""
"""Targets smaller than 24 pixels that do not stand in a text or in a row of a table."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["/runs", "/runs/latest", "/runs/latest/cases", "/datasets/support%20desk"])
def test_each_page_can_be_read_named_and_touched(desk, visit, path, width, scheme):
    page = visit(desk, path, width=width, scheme=scheme)
    page.wait_for_load_state("networkidle")
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate(SMALL) == []
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", ["/runs", "/runs/latest", "/runs/latest/cases", "/datasets/support%20desk"])
def test_no_page_is_wider_than_a_window_of_320_pixels(desk, visit, path):
    page = visit(desk, path, width=320)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_a_page_that_does_not_exist_says_so_and_leads_on(desk, visit):
    page = visit(desk, "/runs")
    page.evaluate("() => { history.pushState(null, '', '/nowhere'); dispatchEvent(new Event('popstate')); }")
    assert page.get_by_role("heading", level=1).inner_text() == "There is no such page."
    page.get_by_role("link", name="Go to the runs").click()
    page.get_by_role("link", name="desk v1").wait_for()


def test_a_run_that_does_not_exist_is_said_in_the_words_of_the_server(desk, visit):
    page = visit(desk, "/runs/nothing-like-it")
    page.watch.allowed.append("404")
    page.get_by_role("alert").get_by_text("nothing-like-it").wait_for()
    page.get_by_role("alert").get_by_role("link", name="Go to the runs").click()
    page.get_by_role("link", name="desk v1").wait_for()


def test_the_first_tab_leads_past_the_frame(desk, visit):
    page = visit(desk, "/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_a_page_that_is_gone_to_has_the_focus_and_its_own_title(desk, visit):
    page = visit(desk, "/runs")
    assert page.title() == "Runs \N{EN DASH} Calipers"
    page.get_by_role("link", name="desk v2").click()
    page.get_by_role("heading", name="desk v2", level=1).wait_for()
    assert page.evaluate("document.activeElement.textContent") == "desk v2"
    assert page.title() == "desk v2 \N{EN DASH} Calipers"
    page.go_back()
    page.get_by_role("heading", name="Runs", level=1).wait_for()


def test_all_keys_are_listed_and_those_of_one_letter_can_be_switched_off(desk, visit):
    page = visit(desk, "/runs")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert "go to the runs" in dialog.inner_text()
    page.keyboard.press("t")  # nothing works below a dialog
    assert page.evaluate("document.documentElement.dataset.theme") is None
    dialog.get_by_role("checkbox", name="Keys of one letter").uncheck()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") is None
    page.get_by_role("button", name="Keys").click()
    dialog.get_by_role("checkbox", name="Keys of one letter").check()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_keys_are_letters_while_someone_types(desk, visit):
    page = visit(desk, "/runs")
    page.keyboard.press("/")
    page.keyboard.type("gr t?")
    assert page.get_by_role("combobox", name="Filter").input_value() == "gr t?"
    assert page.get_by_role("dialog").count() == 0
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_two_letters_in_a_row_go_somewhere(desk, visit):
    page = visit(desk, "/runs/latest")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.get_by_role("heading", name="Cases", level=1).wait_for()
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.get_by_role("heading", name="Runs", level=1).wait_for()


def test_escape_goes_one_level_back(desk, visit):
    page = visit(desk, "/runs/latest/cases")
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="long", level=1).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Runs", level=1).wait_for()


def test_colours_are_those_of_the_system_until_someone_chooses(desk, visit):
    page = visit(desk, "/runs", scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Change to light colours").click()
    light = page.evaluate(ground)
    assert light == "rgb(255, 255, 255)" != dark
    page.reload()
    page.locator("h1").wait_for()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Change to dark colours").click()
    assert page.evaluate(ground) == dark


def test_a_store_that_is_only_read_is_marked(desk_store, visit):
    with ServedViewer(desk_store, read_only=True) as served:
        page = visit(served, "/runs")
        page.get_by_text("read-only").wait_for()
        page.close()


def test_tabs_share_one_stream_and_all_hear_of_a_new_run(tmp_path, visit):
    path = tmp_path / "runs.db"

    def run(name):
        with SqliteStore(path) as store:
            keep_run(store, name=name)

    in_thread(lambda: run("before"))
    with ServedViewer(path) as served:
        first = visit(served, "/runs")
        streams = []
        first.context.on("request", lambda request: "/events" in request.url and streams.append(request.url))
        first.get_by_text("live", exact=True).wait_for()
        second = first.context.new_page()
        second.goto(f"{served.url}/runs")
        second.get_by_text("live", exact=True).wait_for()
        in_thread(lambda: run("after"))
        for page in (first, second):
            page.get_by_role("link", name="after").wait_for()
        assert len(streams) <= 1
        first.close()
        second.get_by_text("live", exact=True).wait_for()
        second.close()


def test_a_server_that_ended_is_missed_and_found_again(desk_store, visit, tmp_path):
    with ServedViewer(desk_store) as served:
        page = visit(served, "/runs")
        page.watch.allowed += ["ERR_FAILED", "ERR_CONNECTION", "ERR_INTERNET", "Failed to load"]
        page.get_by_role("link", name="desk v1").wait_for()
        page.context.set_offline(True)
        page.get_by_role("link", name="desk v1").click()
        page.get_by_text("The server cannot be reached.").or_(
            page.get_by_text("could not be shown")
        ).first.wait_for()
        assert page.get_by_text("no connection").count() <= 1
        page.context.set_offline(False)
        page.close()


def test_the_name_in_the_address_is_the_only_one_that_is_kept(desk, visit):
    page = visit(desk, "/runs/latest")
    assert re.search(r"/runs/\d{8}-\d+-\w+$", page.url)
