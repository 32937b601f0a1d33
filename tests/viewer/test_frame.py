"""The frame around every page of the viewer: where to go, keys, colours, what is refused, and the stream of news."""

import re

from calipers.stores import SqliteStore
from calipers.testing import ServedViewer

from .conftest import in_thread, keep_run


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


def test_a_store_without_runs_names_the_command_that_makes_one(tmp_path, visit):
    with SqliteStore(tmp_path / "runs.db"):
        pass
    with ServedViewer(tmp_path / "runs.db") as served:
        page = visit(served, "/runs")
        for path in ("/runs", "/label", "/compare"):
            page.goto(served.url + path)
            page.locator("pre", has_text="calipers run ").wait_for()
            assert "Mark two runs" not in page.locator("main").inner_text()
        page.close()


def test_a_run_that_is_deleted_while_it_is_looked_at_is_said_to_be_gone(tmp_path, visit):
    path = tmp_path / "runs.db"

    def kept(name):
        with SqliteStore(path) as store:
            return keep_run(store, name=name)

    def deleted(run):
        with SqliteStore(path) as store:
            store.delete_run(run)

    run = in_thread(lambda: kept("short lived"))
    with ServedViewer(path) as served:
        page = visit(served, f"/runs/{run}")
        other = page.context.new_page()
        other.goto(f"{served.url}/runs")
        other.get_by_text("live", exact=True).wait_for()
        in_thread(lambda: kept("another"))
        other.get_by_role("link", name="another").wait_for()  # what is deleted from now on is noticed
        in_thread(lambda: deleted(run))
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "deleted while you looked at it" in alert.inner_text()
        assert page.get_by_role("heading", name="short lived", level=1).count() == 1, "what was read stays"
        other.close()
        page.close()


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


def test_what_the_server_is_too_busy_for_is_asked_for_again(desk, visit):
    page = visit(desk, "/runs")
    page.get_by_role("link", name="desk v1").wait_for()
    page.watch.allowed += ["503"]
    asked = []

    def answer(route):
        asked.append(route.request.url)
        problem = {"code": "busy", "message": "much to read: try again", "at": None, "etag": None}
        if len(asked) > 1:
            route.continue_()
        else:
            route.fulfill(status=503, json={"error": problem})

    page.route(re.compile(r"/api/v1/runs/[^/]+$"), answer)
    page.get_by_role("link", name="desk v1").click()
    page.get_by_text("much to read: try again").wait_for()
    page.get_by_role("heading", name="desk v1", level=1).wait_for()
    page.get_by_text("much to read: try again").wait_for(state="detached")
    assert len(asked) >= 2


def test_the_name_in_the_address_is_the_only_one_that_is_kept(desk, visit):
    page = visit(desk, "/runs/latest")
    assert re.search(r"/runs/\d{8}-\d+-\w+$", page.url)
