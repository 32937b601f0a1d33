"""Attempts at one case that came to the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall, Trace
from calipers.views.repeats import alike, name_of


def repeats(records, *reasons, of=None, case="chat", **fields):
    """Attempts at one case, each failed for its reason; `None` for one that passed."""
    return [
        records.case(
            f"{case} [{number}/{of or len(reasons)}]",
            records.result("ok", reason is None, reason),
            source_case_name=case,
            **({"output": "hello"} | fields),
        )
        for number, reason in enumerate(reasons, 1)
    ]


def names(attempts):
    return [name_of(group) for group in alike(attempts)]


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        (["no"] * 6, ["chat [1-6/6]"]),
        (["no", "no", "never", "no"], ["chat [1-2, 4/4]", "chat [3/4]"]),
        (["no", None, "no"], ["chat [1, 3/3]", "chat [2/3]"]),
        ([None, None], ["chat [1/2]", "chat [2/2]"]),
        (["a", "b"], ["chat [1/2]", "chat [2/2]"]),
        (
            ["no", None] * 5,
            ["chat [1/10] (and 4 more attempts like this)", *(f"chat [{n}/10]" for n in range(2, 11, 2))],
        ),
    ],
    ids=["all", "some", "apart", "passed", "different", "many gaps"],
)
def test_attempts_that_failed_in_the_same_way_are_together(records, reasons, shown):
    assert names(repeats(records, *reasons)) == shown


@pytest.mark.parametrize(
    "other",
    [
        {"output": "bye"},
        {"output": ["hello"]},
        {"output": "'hello'"},
        {"trace": Trace(tool_calls=[ToolCall("search")])},
        {"source_case_name": "another"},
        {"source_case_name": None},
    ],
    ids=["output", "type of output", "output as it is printed", "calls", "case", "not repeated"],
)
def test_attempts_that_differ_in_what_came_of_them_are_apart(records, other):
    (first,) = repeats(records, "no", of=2)
    fields = {"output": "hello", "source_case_name": "chat"} | other
    second = records.case("chat [2/2]", records.result("ok", False, "no"), **fields)
    assert [len(group) for group in alike([first, second])] == [1, 1]


def test_time_and_scores_do_not_tell_attempts_apart(records):
    first, second = repeats(records, "no", "no")
    second.task_duration = 9.0
    second.results = (*second.results, records.result("length", 3))
    assert names([first, second]) == ["chat [1-2/2]"]


def test_failed_tasks_are_alike_by_their_error(records):
    failures = [
        records.failure(f"a [{number}/3]", message, source_case_name="a")
        for number, message in enumerate(["E: x", "E: y", "E: x"], 1)
    ]
    assert names(failures) == ["a [1, 3/3]", "a [2/3]"]


def test_attempts_of_which_nothing_was_asserted_are_alike_by_what_was_said_instead(records):
    def unjudged(number, reason, score):
        return records.case(
            f"a [{number}/3]",
            records.result("length", score),
            skipped=(records.skip("trace", reason),),
            source_case_name="a",
            output="same",
        )

    assert names([unjudged(1, "no", 1), unjudged(2, "no", 1), unjudged(3, "no", 2)]) == [
        "a [1-2/3]",
        "a [3/3]",
    ]
    assert names([unjudged(1, "no", 1), unjudged(2, "other", 1)]) == ["a [1/3]", "a [2/3]"]


@pytest.mark.parametrize("title", ["chat", "chat [x/2]", f"chat [{'9' * 5000}/2]", "other [1/2]"])
def test_names_of_another_form_are_not_guessed_at(records, title):
    attempts = repeats(records, "no", "no")
    attempts[0].name = title
    assert names(attempts) == [f"{title} (and 1 more attempt like this)"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), max_size=20))
def test_every_attempt_is_in_one_group_and_cases_keep_their_order(records, tried):
    attempts = [
        records.case(
            f"{case} [{number}/20]",
            records.result("ok", reason is None, reason),
            source_case_name=case,
            output=1,
        )
        for number, (case, reason) in enumerate(tried, 1)
    ]
    groups = list(alike(attempts))
    assert sorted(id(record) for group in groups for record in group) == sorted(map(id, attempts))
    for group in groups:
        assert len({(record.source_case_name, record.results[0].reason) for record in group}) == 1
    seen = list(dict.fromkeys(group[0].source_case_name for group in groups))
    assert seen == list(dict.fromkeys(case for case, _ in tried))
