"""The label page in a real browser: one key, one decision; with a thumb; and no answer is lost."""

import re

import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.stores import HumanLabel, SqliteStore
from calipers.stores.label_queue import LabelQueue
from calipers.testing import ServedViewer

from .conftest import until

QUESTION = "kind"
PAGE = f"/label?run=latest&question={QUESTION}"


def kind(output):
    return EvaluationReason(value="please" in output, reason="REASON of the VERDICT")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "runs.db"
    with SqliteStore(path) as store:
        cases = [
            Case(name=f"case {n}", inputs=f"question {n}", expected_output="EXPECTED", metadata={"m": "META"})
            for n in range(6)
        ]
        Dataset(name="talks", cases=cases, evaluators=[kind]).evaluate_sync(
            lambda inputs: f"answer to {inputs}, please", store=store, name="talk", progress=False
        )
    return path


@pytest.fixture
def viewer(path):
    with ServedViewer(path) as served:
        yield served


@pytest.fixture
def desk(visit, viewer):
    """The desk, at which Ann labels."""

    def opened(address=PAGE, *, person="ann", viewer=viewer, **options):
        page = visit(viewer, "/label", **options)
        page.evaluate("name => localStorage.setItem('calipers:person', name)", person)
        page.goto(viewer.url + address)
        page.locator("main .label-attempt, main .label-end, main .label-start").first.wait_for()
        return page

    return opened


def order_of(path, person="ann"):
    with SqliteStore(path) as store:
        queue = LabelQueue(store, store.run("latest"), QUESTION, person)
        names = {each.position: each.case_name for each in store.attempts(queue.run.id, parts=False)}
        return [names[each.position] for each in queue.left()]


def labels(path):
    with SqliteStore(path) as store:
        found = store.labels()
    return {each.case: (each.value, each.note) for each in sorted(found, key=lambda each: each.at)}


def shown(page):
    return page.locator(".label-name").inner_text()


def saved(page):
    page.get_by_text("All answers are saved.").wait_for()


# ---------------------------------------------------------------------- keys


def test_one_key_is_one_decision_and_the_next_case_comes_by_itself(desk, path):
    order = order_of(path)
    page = desk()
    for at, key in enumerate(["y", "n", "p", "x", "1", "2"]):
        assert shown(page) == order[at]
        page.keyboard.press(key)
    page.get_by_text("Nothing is left to label.").wait_for()
    saved(page)
    assert [labels(path)[name][0] for name in order] == [True, False] * 3


def test_the_keys_stand_on_the_buttons(desk):
    page = desk()
    bar = page.locator(".label-bar")
    buttons = [" ".join(each.split()) for each in bar.locator("button").all_inner_texts()]
    assert buttons == ["yes y", "no n", "Undo u", "Note c", "Skip s"]
    scale = desk(f"{PAGE.replace(QUESTION, 'how')}&scale=1-10")
    texts = [" ".join(each.split()) for each in scale.locator(".label-answer").all_inner_texts()]
    assert texts == [*(f"{n} {n}" for n in range(1, 10)), "10 0"]
    assert desk(f"{PAGE.replace(QUESTION, 'which')}&choices=good,bad").locator(".label-answer").count() == 2


def test_undo_skip_and_notes(desk, path):
    order = order_of(path)
    page = desk()
    page.keyboard.press("y")
    page.keyboard.press("u")
    page.get_by_text("You said yes and took it back.").wait_for()
    assert shown(page) == order[0]
    page.keyboard.press("c")
    page.keyboard.type("so so, n y")
    page.keyboard.press("Enter")
    page.keyboard.press("n")
    page.keyboard.press("s")
    page.keyboard.press("y")
    saved(page)
    until(lambda: labels(path), lambda found: len(found) == 2)
    assert labels(path) == {order[0]: (False, "so so, n y"), order[2]: (True, "")}
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    assert shown(page) == order[1]
    until(lambda: labels(path), lambda found: len(found) == 1)


def test_a_note_stays_when_an_answer_of_the_server_comes_while_it_is_written(desk, path):
    page = desk()
    page.keyboard.press("y")
    saved(page)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        page.keyboard.press("u")
        page.keyboard.press("c")
        page.keyboard.type("so so")
    saved(page)
    page.keyboard.type(", but right")
    page.keyboard.press("Enter")
    page.keyboard.press("y")
    saved(page)
    until(lambda: labels(path), lambda found: list(found.values()) == [(True, "so so, but right")])


def test_a_note_that_is_left_stays_as_it_was_and_its_letters_are_no_decisions(desk, path):
    page = desk()
    page.keyboard.press("c")
    page.keyboard.type("yes no")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    saved(page)
    until(lambda: labels(path), lambda found: list(found.values()) == [(True, "")])


def test_skipped_attempts_come_again_when_they_are_asked_for(desk, path):
    page = desk()
    for key in "sysyyy":
        page.locator(".label-attempt").wait_for()
        page.keyboard.press(key)
    page.get_by_text("2 attempts skipped.").wait_for()
    page.get_by_role("button", name="Show them again").click()
    page.locator(".label-attempt").wait_for()
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.get_by_text("You labelled 6 attempts.").wait_for()
    assert len(labels(path)) == 6


def test_where_someone_stopped_they_go_on(desk, path):
    order = order_of(path)
    page = desk()
    page.keyboard.press("y")
    page.keyboard.press("y")
    saved(page)
    page.reload()
    page.locator(".label-attempt").wait_for()
    assert shown(page) == order[2]
    assert page.locator(".label-progress .number").inner_text() == "2 of 6"
    page.keyboard.press("u")
    page.get_by_text("You said yes and took it back.").wait_for()
    assert shown(page) == order[1], "an answer of before can be taken back"


# ---------------------------------------------------------------------- a thumb, a reader


def test_it_works_with_a_thumb(desk, path):
    order = order_of(path)
    page = desk(width=390, height=780, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    for button in page.locator(".label-bar button").all():
        box = button.bounding_box()
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= 780
        assert box["y"] > 780 / 2, "within the reach of a thumb"
    page.get_by_role("button", name="yes").tap()
    page.get_by_role("button", name="no", exact=True).tap()
    page.get_by_role("button", name="Undo").tap()
    assert shown(page) == order[1]
    saved(page)
    until(lambda: labels(path), lambda found: found == {order[0]: (True, "")})


def test_a_long_attempt_leaves_the_answers_in_sight(visit, tmp_path):
    path = tmp_path / "long.db"
    with SqliteStore(path) as store:
        Dataset(name="d", cases=[Case(name="c", inputs="word " * 5000)], evaluators=[]).evaluate_sync(
            lambda inputs: inputs, store=store, progress=False
        )
    with ServedViewer(path) as served:
        page = visit(served, PAGE, width=320, height=600)
        page.locator(".label-attempt").wait_for()
        box = page.get_by_role("button", name="yes").bounding_box()
        assert 0 < box["y"] < 600
        assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_a_screen_reader_hears_what_was_decided_and_what_comes(desk, path):
    order = order_of(path)
    page = desk()
    page.keyboard.press("y")
    page.get_by_text(f"yes to {order[0]}. Next: {order[1]}, 2 of 6").wait_for(state="attached")
    assert page.get_by_role("group", name=f"Answer: {QUESTION}").get_by_role("button").count() == 2
    assert page.get_by_role("button", name="yes").get_attribute("aria-keyshortcuts") == "y 1 p"


# ---------------------------------------------------------------------- blind


def test_nothing_that_others_said_reaches_the_browser(desk, path, viewer):
    with SqliteStore(path) as store:
        run = store.run("latest").id
        store.add_labels(
            [
                HumanLabel(run=run, position=n, case=f"case {n}", question=QUESTION, person="bob", value=True, at="", note="NOTE")
                for n in range(6)
            ]
        )  # fmt: skip
    page = desk("/label")
    bodies = []
    page.on("response", lambda found: bodies.append(found) if "/api/" in found.url else None)
    page.goto(viewer.url + PAGE)
    page.locator(".label-attempt").wait_for()
    for key in "ynsu":
        page.keyboard.press(key)
    saved(page)
    said = page.content() + "".join(each.text() for each in bodies if each.status == 200)
    assert "question" in said
    for secret in ("VERDICT", "REASON", "NOTE", "META"):
        assert secret not in said, secret


# ---------------------------------------------------------------------- nothing is lost


def test_answers_given_without_a_server_are_kept_and_sent_when_it_is_there_again(desk, path):
    order = order_of(path)
    page = desk()
    page.watch.allowed.append("Failed to load resource")
    page.context.set_offline(True)
    page.keyboard.press("y")
    page.keyboard.press("n")
    page.get_by_text("Not saved yet: 2 answers. They are kept in this browser and sent again.").wait_for()
    assert labels(path) == {}
    assert shown(page) == order[2], "the person goes on"
    page.context.set_offline(False)
    saved(page)
    assert labels(path) == {order[0]: (True, ""), order[1]: (False, "")}


def test_answers_that_wait_outlive_the_page(desk, path, viewer):
    order = order_of(path)
    page = desk()
    page.watch.allowed.append("Failed to load resource")
    page.route(
        "**/api/v1/label", lambda route: route.abort() if route.request.method == "PUT" else route.continue_()
    )
    page.keyboard.press("y")
    page.get_by_text("Not saved yet: 1 answer").wait_for()
    page.close()
    again = page.context.new_page()
    page.watch.on(again)
    again.goto(viewer.url + PAGE)
    again.locator(".label-attempt").wait_for()
    saved(again)
    until(lambda: labels(path), lambda found: found == {order[0]: (True, "")})
    until(lambda: shown(again), lambda name: name == order[1])


def test_undo_takes_back_what_was_not_sent_yet(desk, path):
    order = order_of(path)
    page = desk()
    page.watch.allowed.append("Failed to load resource")
    page.context.set_offline(True)
    page.keyboard.press("y")
    page.get_by_text("Not saved yet").wait_for()
    page.keyboard.press("u")
    assert shown(page) == order[0]
    page.context.set_offline(False)
    page.keyboard.press("n")
    saved(page)
    until(lambda: labels(path), lambda found: found == {order[0]: (False, "")})


def test_a_second_window_that_answers_otherwise_is_told_and_both_answers_are_there(desk, path, viewer):
    order = order_of(path)
    page = desk()
    page.watch.allowed.append("409")
    other = page.context.new_page()
    page.watch.on(other)
    other.goto(viewer.url + PAGE)
    other.locator(".label-attempt").wait_for()
    page.keyboard.press("y")
    saved(page)
    other.bring_to_front()
    other.keyboard.press("n")
    alert = other.get_by_role("alert")
    alert.wait_for()
    assert re.search(
        rf"Not saved: no to {order[0]}\. ann answered 'yes' to this at \d\d:\d\d UTC, in another window",
        alert.inner_text(),
    )
    assert labels(path)[order[0]] == (True, ""), "nothing is written over"
    assert "All answers are saved" not in other.locator("main").inner_text()
    other.get_by_role("button", name="Write over it").click()
    until(lambda: labels(path)[order[0]], lambda found: found == (False, ""))
    assert other.get_by_role("alert").count() == 0


def test_what_is_there_can_be_kept(desk, path, viewer):
    page = desk()
    page.watch.allowed.append("409")
    other = page.context.new_page()
    page.watch.on(other)
    other.goto(viewer.url + PAGE)
    other.locator(".label-attempt").wait_for()
    page.keyboard.press("y")
    saved(page)
    other.bring_to_front()
    other.keyboard.press("n")
    other.get_by_role("button", name="Keep what is there").click()
    until(lambda: other.get_by_role("alert").count(), lambda count: count == 0)
    assert [value for value, _ in labels(path).values()] == [True]


def test_two_people_label_the_same_attempts(desk, path):
    order = order_of(path)
    ann, bob = desk(), desk(person="bob")
    for page, key in ((ann, "y"), (bob, "n")):
        assert shown(page) == order[0]
        page.keyboard.press(key)
        saved(page)
    with SqliteStore(path) as store:
        found = until(store.labels, lambda some: len(some) == 2)
    assert {(each.person, each.value) for each in found} == {("ann", True), ("bob", False)}


def test_a_viewer_that_only_looks_takes_no_answer(desk, path):
    with ServedViewer(path, read_only=True) as served:
        page = desk(viewer=served)
        assert page.get_by_role("button", name="yes").is_disabled()
        page.keyboard.press("y")
        page.get_by_text("This viewer only looks").wait_for()
    assert labels(path) == {}


# ---------------------------------------------------------------------- beginning


def test_a_question_is_asked_by_a_form_and_listed_afterwards(desk, path):
    page = desk("/label?run=none") if False else desk()
    page.goto(page.url.partition("/label")[0] + "/label")
    page.get_by_role("heading", name="Ask a question").wait_for()
    assert page.get_by_label("Your name").input_value() == "ann"
    page.locator("input[name=question]").fill("How good?")
    page.get_by_label("on a scale").check()
    page.get_by_role("button", name="Begin").click()
    page.locator(".label-attempt").wait_for()
    assert page.locator(".label-answer").count() == 5
    page.keyboard.press("4")
    saved(page)
    page.goto(page.url.partition("/label")[0] + "/label")
    row = page.get_by_role("row").filter(has_text="How good?")
    assert "1 of 6" in row.inner_text()
    assert "ann 1" in row.inner_text()
    row.get_by_role("link", name="How good?").click()
    page.locator(".label-attempt").wait_for()
    assert page.locator(".label-answer").count() == 5, "the scale is the one of before"


def test_a_draw_stays_the_same_when_the_page_is_opened_again(desk, path):
    page = desk(f"{PAGE}&count=3")
    assert page.locator(".label-progress .number").inner_text() == "0 of 3"
    page.keyboard.press("y")
    saved(page)
    name = shown(page)
    page.reload()
    page.locator(".label-attempt").wait_for()
    assert page.locator(".label-progress .number").inner_text() == "1 of 3"
    assert shown(page) == name
