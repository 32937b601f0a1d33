"""The page of a run leads on: to its failures, to the run before it, and says the same as the list."""

import re

import pytest

from calipers.stores import SqliteStore


@pytest.fixture
def run_page(visit, desk, desk_store):
    """Opens the page of a run by its name."""

    def opened(name, **size):
        with SqliteStore(desk_store) as store:
            info = next(run for run in store.runs() if run.name == name)
        page = visit(desk, f"/runs/{info.id}", **size)
        page.get_by_role("heading", name="Evaluators").wait_for()
        return page

    return opened


def test_one_press_compares_a_run_with_the_one_of_its_dataset_before_it(run_page):
    page = run_page("desk v3")
    page.get_by_role("link", name="Compare with desk v2").click()
    page.get_by_role("heading", name="desk v3 against desk v2", level=1).wait_for()


def test_the_first_run_of_a_dataset_has_none_before_it(run_page):
    page = run_page("desk v1")
    page.get_by_role("link", name=re.compile("Look at")).wait_for()
    page.wait_for_load_state("networkidle")
    assert page.get_by_role("link", name=re.compile("Compare with")).count() == 0


@pytest.mark.parametrize("width", [1280, 1100, 390])
def test_what_went_wrong_leaves_every_column_in_sight_or_can_be_moved(run_page, width):
    page = run_page("desk v1", width=width)
    table = page.get_by_role("group", name="What went wrong")
    table.locator("tbody tr").first.wait_for()
    hidden = table.evaluate("each => each.scrollWidth - each.clientWidth")
    assert width < 1000 or hidden <= 0
    assert table.locator("tbody th").first.bounding_box()["width"] > 100


def test_an_interval_has_both_ends_as_on_the_command_line(run_page, visit, desk):
    page = run_page("desk v1")
    (told,) = re.findall(r"\[[\d., ]+\]", page.locator(".headline-number").inner_text())
    page.goto(desk.url + "/runs")
    row = page.locator("tr", has=page.get_by_role("link", name="desk v1"))
    assert row.locator(".estimate-ends").inner_text() == told


def test_on_a_phone_what_was_measured_stands_beside_the_name(run_page):
    page = run_page("desk v1", width=390)
    table = page.get_by_role("group", name="Evaluators")
    assert table.locator("thead th").all_inner_texts()[:2] == ["Evaluator", "Result"]
    number = table.locator("tbody tr").first.locator(".estimate > span").last.bounding_box()
    assert number["x"] + number["width"] <= 390


def test_three_presses_lead_from_the_list_to_the_reason_of_the_worst_failure(desk, visit):
    page = visit(desk, "/runs")
    page.get_by_role("link", name="desk v1").click()
    page.get_by_role("group", name="What went wrong").locator("tbody a").first.click()
    page.get_by_role("heading", name="Cases", level=1).wait_for()
    page.locator("[role=row][data-row] a").first.click()
    assert "expected" in page.get_by_role("region", name="Why").inner_text()


def test_three_keys_lead_from_the_list_to_the_worst_failure(desk, visit):
    page = visit(desk, "/runs")
    page.locator(".row-link").first.wait_for()
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    worst = page.get_by_role("link", name="Show the worst")
    worst.wait_for()
    address = worst.get_attribute("href")
    page.keyboard.press("f")
    page.get_by_role("region", name="Why").wait_for()
    assert page.url == desk.url + address


def test_on_a_phone_what_went_wrong_is_read_without_moving_it(run_page):
    page = run_page("desk v1", width=390)
    table = page.get_by_role("group", name="What went wrong")
    table.locator("tbody tr").first.wait_for()
    assert table.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    first = table.locator("tbody tr").first.inner_text()
    assert "filed under" in first
    assert "cases" in first
    assert "%" in first


def test_a_table_of_cases_shows_the_words_of_an_input_and_a_phone_opens_its_row(run_page, desk):
    page = run_page("desk v1")
    page.keyboard.press("Enter")
    row = page.locator("[role=row][data-row]").first
    row.wait_for()
    assert "question: Order 1000 was late: what about refund?" in row.inner_text()
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator(".narrow-case").first.click()
    page.get_by_role("region", name="Why").wait_for()


def test_a_view_of_a_case_stands_below_its_name(run_page):
    page = run_page("desk v1")
    page.get_by_role("link", name="Show the worst").click()
    page.get_by_role("region", name="Why").wait_for()
    page.keyboard.press("3")
    view = page.locator(".case-view .in-out")
    view.wait_for()
    assert page.locator(".in-out").count() == 1
    assert view.bounding_box()["y"] > page.locator(".views").bounding_box()["y"]


def test_two_presses_lead_from_the_list_to_what_a_version_changed(desk, visit):
    page = visit(desk, "/runs")
    page.get_by_role("link", name="desk v2").click()
    page.get_by_role("link", name="Compare with desk v1").click()
    assert page.locator(".verdict-what").inner_text().strip() != ""
    flip = page.locator(".flip").first
    assert "filed under" in flip.inner_text()
