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


def test_two_presses_lead_from_the_list_to_what_a_version_changed(desk, visit):
    page = visit(desk, "/runs")
    page.get_by_role("link", name="desk v2").click()
    page.get_by_role("link", name="Compare with desk v1").click()
    assert page.locator(".verdict-what").inner_text().strip() != ""
    flip = page.locator(".flip").first
    assert "filed under" in flip.inner_text()
