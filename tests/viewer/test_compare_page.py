"""Comparing in a real browser: the verdict first, then why; flips one by one; and one case in two runs."""

import json
import re

import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.agents import ToolCall, Trace
from calipers.data.trace import Turn, TurnType
from calipers.stores import SqliteStore
from calipers.testing import ServedViewer

from .conftest import in_thread

PAGE = "/compare?a=old&b=new"
CASES = 40


def right(output, expected_output):
    said = json.loads(output)["amount"]
    return EvaluationReason(
        said == expected_output, "" if said == expected_output else f"paid {said} <b>euros</b>"
    )


def brief(output):
    return len(output) < 100


def agent(wrong):
    """Pays half of what it should where `wrong` says so, since it asked for another policy."""

    def task(inputs):
        is_wrong = inputs["n"] in wrong
        amount = inputs["n"] // 2 if is_wrong else inputs["n"]
        turns = [
            Turn(turn_type=TurnType.USER_MESSAGE, content=inputs["asked"]),
            Turn(tool_call=ToolCall("find_order", {"order": inputs["n"]}, output="found")),
            Turn(
                tool_call=ToolCall(
                    "get_policy", {"fare": "basic" if is_wrong else "flex"}, output="<i>pay</i>"
                )
            ),
            Turn(tool_call=ToolCall("pay", {"amount": amount}, output="done")),
        ]
        return Trace(turns=turns, output_text=json.dumps({"amount": amount, "reply": f"Paid {amount}"}))

    return task


def keep(store, name, wrong, *, evaluators=(right, brief), cases=range(2, CASES), asked="Pay for order"):
    made = [
        Case(name=f"order {n}", inputs={"n": n, "asked": f"{asked} {n}"}, expected_output=n, tags=("even" if n % 2 == 0 else "odd",))
        for n in cases
    ]  # fmt: skip
    Dataset(name="orders", cases=made, evaluators=list(evaluators)).evaluate_sync(
        agent(wrong), store=store, name=name, progress=False
    )


WRONG_OLD = {2, 3, 4}
WRONG_NEW = {4, *range(6, 30, 2)}
BROKEN = sorted(WRONG_NEW - WRONG_OLD)


@pytest.fixture(scope="module")
def store_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("compared") / "runs.db"

    def fill():
        with SqliteStore(path) as store:
            keep(store, "old", WRONG_OLD)
            keep(store, "new", WRONG_NEW)
            keep(store, "other", {5}, cases=range(4, CASES + 2))

    in_thread(fill)
    return path


@pytest.fixture
def compared(viewer, visit):
    """A page of a comparison, once its numbers are there."""

    def opened(address=PAGE, **options):
        page = visit(viewer, address, **options)
        page.locator(".verdict").wait_for()
        return page

    return opened


def words(locator):
    return " ".join(locator.inner_text().split())


# ---------------------------------------------------------------------- what is said


def test_the_verdict_stands_first_in_three_lines(compared):
    page = compared()
    assert page.get_by_role("heading", level=1).inner_text() == "new against old"
    lines = page.locator(".verdict > p").all_inner_texts()
    assert len(lines) == 3
    assert lines[0].strip() == "Worse"
    assert re.fullmatch(
        r"Pass rate 92\.1 % → 65\.8 %: worse by 26\.3 points, 95 % interval .* on 38 cases", lines[1]
    )
    assert lines[2] == "Keep the baseline; look at the 12 cases that broke first"


def test_each_evaluator_has_its_difference_with_a_word_a_shape_and_a_drawing(compared):
    page = compared()
    table = page.get_by_role("table", name="Evaluators")
    row = table.get_by_role("row").filter(has_text="right")
    assert "worse by 26.3 points" in row.inner_text()
    assert row.locator(".glyph-worse").count() == 1
    assert row.locator(".mark.change-worse").count() >= 1
    same = table.get_by_role("row").filter(has_text="brief")
    assert same.locator(".glyph-unclear").count() == 1
    assert page.get_by_role("table", name="By tag").get_by_role("row").filter(has_text="even").locator(".glyph-worse").count() == 1  # fmt: skip


def test_an_evaluator_leads_to_the_flips_in_which_it_changed_its_mind(compared):
    page = compared()
    page.get_by_role("link", name="12 to fail").click()
    page.wait_for_url("**q=eval.right*")
    page.get_by_text("12 found").wait_for()
    assert page.locator(".flip").count() == 12


def test_a_flip_says_who_changed_its_mind_what_came_and_where_the_traces_part(compared):
    page = compared(f"{PAGE}&q=flip:worse")
    flip = page.locator(".flip").first
    text = words(flip)
    name = re.search(r"order (\d+)", text)
    n = int(name[1])
    assert n in BROKEN
    assert f"right → became paid {n // 2} <b>euros</b> Output" in text
    assert flip.locator("del").first.inner_text() == f"\N{MINUS SIGN}{n}"
    assert flip.locator("ins").first.inner_text() == f"+{n // 2}"
    assert "parts at step 3: get_policy(fare='flex') became get_policy(fare='basic')" in text
    assert flip.get_by_role("img", name="passed").count() >= 2, "both marks have a name"
    assert page.locator(".flip b").count() == 0, "what an evaluator said is text"


def test_flips_are_filtered_from_the_bar_and_by_one_press(compared):
    page = compared()
    assert page.locator(".flip").count() == 14
    page.get_by_role("button", name="2 fixed").click()
    page.get_by_text("2 found").wait_for()
    assert page.url.endswith("q=flip%3Abetter")
    page.keyboard.press("/")
    page.keyboard.type("flip:worse case:~1 -tag:odd")
    page.keyboard.press("Enter")
    page.get_by_text("5 found").wait_for()
    page.get_by_role("combobox", name="Filter").fill("flop:worse")
    page.keyboard.press("Enter")
    page.watch.allowed.append("400")
    page.get_by_role("alert").get_by_text("flop").wait_for()
    assert page.locator(".verdict").count() == 1, "the numbers stay"


def test_the_server_completes_the_filter_of_flips(compared):
    page = compared()
    page.keyboard.press("/")
    page.keyboard.type("flip:")
    offers = page.get_by_role("listbox").get_by_role("option")
    offers.first.wait_for()
    assert {"worse", "better"} <= {each.split()[0] for each in offers.all_inner_texts()}


def test_flips_are_walked_by_keys(compared):
    page = compared(f"{PAGE}&q=flip:worse")
    names = page.locator(".flip .row-link").all_inner_texts()
    for key in "jjk":
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.textContent") == names[0]
    assert page.locator(".flip.row-here .row-link").inner_text() == names[0]
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keys").inner_text()
    for what in ("next flip", "previous flip", "open the flip", "swap baseline and candidate"):
        assert what in listed


def test_more_flips_come_when_they_are_asked_for(visit, tmp_path):
    path = tmp_path / "many.db"

    def fill():
        with SqliteStore(path) as store:
            keep(store, "old", set(), cases=range(2, 80))
            keep(store, "new", set(range(2, 72)), cases=range(2, 80))

    in_thread(fill)
    with ServedViewer(path) as served:
        page = visit(served, PAGE)
        page.locator(".flip").nth(49).wait_for()
        assert page.locator(".flip").count() == 50
        page.get_by_role("button", name="Show 20 more").click()
        page.locator(".flip").nth(69).wait_for()
        assert len(set(page.locator(".flip .row-link").all_inner_texts())) == 70
        page.close()


# ---------------------------------------------------------------------- what must be known first


def test_what_could_not_be_paired_and_what_changed_stands_before_the_numbers(visit, tmp_path):
    path = tmp_path / "changed.db"

    def stricter(output, expected_output):
        return right(output, expected_output)

    stricter.__name__ = stricter.__qualname__ = "right"

    def fill():
        with SqliteStore(path) as store:
            keep(store, "old", {3}, cases=range(2, 22))
            keep(store, "new", {3}, cases=range(6, 24), evaluators=[stricter, brief])

    in_thread(fill)
    with ServedViewer(path) as served:
        page = visit(served, PAGE)
        box = page.get_by_role("region", name="Before you believe it")
        box.wait_for()
        assert "compared on the 16 cases that both have" in box.inner_text()
        assert "not the same evaluator" in box.inner_text()
        box.get_by_text("4 cases only in old").click()
        assert box.get_by_role("listitem").filter(has_text="order 5").is_visible()
        box.get_by_text("2 cases only in new").click()
        assert box.get_by_role("listitem").filter(has_text="order 23").is_visible()
        top = box.bounding_box()["y"]
        assert top < page.get_by_role("table", name="Evaluators").bounding_box()["y"]
        assert "not the same evaluator" in page.get_by_role("table", name="Evaluators").inner_text()
        page.close()


def test_a_long_comparison_says_how_far_it_is_and_then_what_came_of_it(viewer, visit, browser):
    page = visit(viewer, "/runs")
    is_read = []

    def answer(route):
        found = route.fetch().json()
        if not is_read and "after" not in route.request.url:
            found |= {"reading": {"read": 30, "of": 76, "failed": ""}, "pairs": [], "flips": []}
        route.fulfill(json=found)

    page.route("**/api/v1/compare?**", answer)
    page.evaluate(
        "() => { history.pushState(null, '', '/compare?a=old&b=new'); dispatchEvent(new Event('popstate')); }"
    )
    page.get_by_role("progressbar", name="30 of 76 attempts").wait_for()
    is_read.append(True)
    page.locator(".verdict").wait_for()
    page.close()


def test_a_comparison_that_failed_says_why(compared, visit, viewer):
    page = visit(viewer, f"{PAGE}&lower=nothing")
    page.get_by_role("alert").get_by_text(
        "no score or metric of these reports is called 'nothing'"
    ).wait_for()


# ---------------------------------------------------------------------- which runs


def test_the_address_gets_the_ids_of_the_runs_and_swapping_turns_everything_round(compared):
    page = compared()
    page.wait_for_url(re.compile(r"/compare\?a=\d{8}-[^&]+&b=\d{8}-"))
    page.keyboard.press("s")
    page.get_by_role("heading", name="old against new", level=1).wait_for()
    page.get_by_text("better by 26.3 points").first.wait_for()
    assert page.locator(".verdict-what").inner_text().strip() == "Better"


def test_a_third_run_can_be_added_looked_at_and_removed(compared):
    page = compared()
    page.get_by_text("Add a run").click()
    choice = page.get_by_label("Choose a run")
    choice.wait_for()
    choice.select_option(
        label=next(each for each in choice.locator("option").all_inner_texts() if each.startswith("other"))
    )
    page.get_by_role("heading", name="2 runs against old", level=1).wait_for()
    across = page.get_by_role("table", name="All runs against the baseline")
    across.wait_for()
    assert across.get_by_role("row").filter(has_text="right").locator(".glyph").count() == 2
    page.keyboard.press("2")
    page.wait_for_url("**of=2*")
    page.get_by_text("on the 36 cases that both have").first.wait_for()
    page.get_by_role("link", name="Do not compare other").click()
    page.get_by_role("heading", name="new against old", level=1).wait_for()
    assert "of=" not in page.url


def test_with_fewer_than_two_runs_the_page_says_how_to_choose_them(viewer, visit):
    page = visit(viewer, "/compare?a=old")
    page.get_by_role("heading", name="Choose two runs to compare").wait_for()
    assert "mark runs with x and press c" in page.locator("main").inner_text()
    assert "calipers compare BASELINE CANDIDATE" in page.locator("main").inner_text()
    assert page.get_by_role("button", name="Compare").is_disabled()
    for label, name in (("Baseline", "old"), ("Candidate", "new")):
        select = page.get_by_label(label)
        select.wait_for()
        found = next(each for each in select.locator("option").all_inner_texts() if each.startswith(name))
        select.select_option(label=found)
    page.get_by_role("button", name="Compare").click()
    page.locator(".verdict").wait_for()


def test_options_stand_in_the_address(compared):
    page = compared()
    page.get_by_text("Options").click()
    page.get_by_label("Ask about these cases only").check()
    page.wait_for_url("**these_cases=true*")
    page.get_by_label("Cases belong together").select_option("name")
    page.wait_for_url("**pair_by=name*")
    page.reload()
    page.locator(".verdict").wait_for()
    assert "about these cases" in page.locator(".compare-footnote").inner_text()


def test_tables_and_charts_can_be_saved(compared):
    page = compared(f"{PAGE}&q=flip:worse")
    page.watch.allowed.append("saved a file")
    for table, line in (("Evaluators", "pass rate"), ("flips", "order 6")):
        block = page.locator(".section", has=page.get_by_role("heading", name=table, exact=False)).first
        with page.expect_download() as saved:
            block.get_by_role("link", name="CSV").click()
        assert line in saved.value.path().read_text(encoding="utf-8")
    for heading in ("By tag", "Time and other measures"):
        block = page.locator(".section", has=page.get_by_role("heading", name=heading, exact=True)).last
        assert "of=differences" in block.get_by_role("link", name="CSV").get_attribute("href")
    page.get_by_text("As a chart").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    assert "<svg" in saved.value.path().read_text(encoding="utf-8")
