"""One case of two runs, side by side."""

import io

import pytest
from rich.console import Console

from calipers import Case, Dataset
from calipers.comparison.case_pairs import find_case
from calipers.data.trace import ToolCall, Trace, Turn
from calipers.errors import InvalidOptionError
from calipers.evaluators import Contains, EqualsExpected
from calipers.views.comparison.side_by_side import Sided, case_rows, case_traces, print_case


def graded(output):
    return 0.5


def run(task, wanted="c", name="c", **options):
    case = Case(
        name=name, inputs="see\nsaw", expected_output="c", metadata={"k": 1}, evaluators=[Contains(wanted)]
    )
    other = Case(name="other", inputs=2)
    data = Dataset(name="d", cases=[case, other], evaluators=[EqualsExpected(), graded])
    return data.evaluate_sync(task, progress=False, **options)


def rows(one, two, name="c"):
    before, after = find_case(one, two, name)
    return {row.title: row[1:] for row in case_rows(Sided("one", before), Sided("two", after))}


def crash(inputs):
    raise ValueError("no")


def test_a_case_shows_what_it_asks_what_came_and_what_was_said():
    found = rows(run(lambda _: "c"), run(lambda _: "d"))
    assert list(found) == [
        "inputs",
        "expected",
        "metadata",
        "output",
        "Contains",
        "EqualsExpected",
        "graded",
        "task time",
    ]
    assert found["inputs"] == (["see", "saw"], ["see", "saw"])
    assert found["output"] == (["c"], ["d"])
    assert found["Contains"] == (["✓"], ["✗ expected 'c' in 'd'"])
    assert found["graded"] == (["0.5"], ["0.5"])


def test_the_calls_that_a_case_expects_are_shown():
    case = Case(name="c", inputs=1, expected_tool_calls=[ToolCall("find", {"to": "Oslo"}), ToolCall("book")])
    report = Dataset(cases=[case]).evaluate_sync(lambda _: "c", progress=False)
    assert rows(report, report)["expected calls"] == (["find(to='Oslo'); book()"],) * 2


def test_another_evaluator_of_the_case_is_shown_with_its_arguments():
    found = rows(run(lambda _: "c"), run(lambda _: "c", wanted="x"))
    assert found["Contains"] == (
        ["Contains(value='c')", "✓"],
        ["Contains(value='x')", "✗ expected 'x' in 'c'"],
    )


def test_repeats_failures_and_skips_are_shown():
    found = rows(run(lambda _: "c", repeat=2), run(crash, repeat=2))
    assert (found["output 1"], found["output 2"]) == ((["c"], ["task failed: ValueError: no"]),) * 2
    assert found["Contains"] == (["✓", "✓"], ["not asked: the task failed"] * 2)
    found = rows(run(lambda _: "c"), run(lambda _: "c"), "other")
    assert found["EqualsExpected"][0] == ["skipped: the case states no expected output"]
    assert "expected" not in found


def test_a_case_is_found_under_either_name_and_where_one_run_lacks_it():
    one, two = run(lambda _: "c"), run(lambda _: "c", name="renamed")
    for name in ("c", "renamed"):
        assert [case.name for case in find_case(one, two, name)] == ["c", "renamed"]
    less = Dataset(name="d", cases=[Case(name="other", inputs=3)], evaluators=[graded])
    short = less.evaluate_sync(lambda _: "c", progress=False)
    assert find_case(one, short, "c")[1] is None
    assert [case.name for case in find_case(one, short, "other")] == ["other", "other"]  # another content
    with pytest.raises(
        InvalidOptionError, match="no case of these runs is called 'rename'; did you mean 'renamed'"
    ):
        find_case(one, two, "rename")


@pytest.mark.parametrize("width", [30, 60, 120])
def test_hostile_text_moves_no_cursor_and_no_line_is_wider_than_the_page(width):
    hostile = "\x1b[31m[bold]\u202e" + "x" * 300
    one, two = run(lambda _: hostile), run(lambda _: "c")
    before, after = find_case(one, two, "c")
    file = io.StringIO()
    print_case(Sided("one", before), Sided("two", after), console=Console(file=file, width=width))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert all(line.isprintable() for line in lines)
    assert "[bold]" in file.getvalue().replace("\n", "").replace(" ", "")


def agent(*calls):
    def task(inputs):
        return Trace(output_text="d", turns=[Turn(tool_call=call) for call in calls], records_calls=True)

    return task


def test_the_steps_of_two_agents_stand_side_by_side_with_the_values_that_differ():
    find = ToolCall("find")
    before, after = find_case(
        run(agent(find, ToolCall("book", {"n": 1}))),
        run(agent(find, ToolCall("cancel"), ToolCall("book"))),
        "c",
    )
    found = case_traces(Sided("one", before), Sided("two", after))
    assert [tuple(row) for row in found.rows] == [
        ("", ["1 find()"], ["1 find()"]),
        ("≠", [], ["2 cancel()"]),
        ("≠", ["2 book(n=1)", "   arguments.n: 1"], ["3 book()"]),
    ]
    assert found.lines == ["trace: parts at step 2: extra call of cancel()"]


def test_a_trace_that_is_missing_is_said():
    before, after = find_case(run(agent(ToolCall("find"))), run(lambda _: "c"), "c")
    found = case_traces(Sided("one", before), Sided("two", after))
    assert found == (["trace: not compared: this attempt of two left none"], [])
    assert case_traces(Sided("two", after), Sided("two", after)) == ([], [])


def test_of_traces_that_are_too_long_to_be_aligned_it_is_said_where_they_part():
    same = [ToolCall("find", {"n": n}) for n in range(2)]
    one, two = (same + [ToolCall(name, {"n": n}) for n in range(1_001)] for name in ("book", "cancel"))
    before, after = find_case(run(agent(*one)), run(agent(*two)), "c")
    found = case_traces(Sided("one", before), Sided("two", after))
    assert [tuple(row) for row in found.rows] == [
        ("", ["1 find(n=0)"], ["1 find(n=0)"]),
        ("", ["2 find(n=1)"], ["2 find(n=1)"]),
        ("≠", ["3 book(n=0)"], []),
        ("≠", [], ["3 cancel(n=0)"]),
    ]
    assert found.lines == [
        "trace: parts at step 3: cancel(n=0) instead of book(n=0)",
        "trace: not aligned from there on: 1,003 and 1,003 steps are too many",
    ]
