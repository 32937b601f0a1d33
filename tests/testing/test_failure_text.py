import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason, Skipped, ToolCall, Trace
from calipers.evaluators import EqualsExpected
from calipers.testing import ScriptedTask
from calipers.testing.failure_text import attempt_lines, attempts_lines, diff_lines

EQUAL = (EqualsExpected(),)


def record_of(output, *, expected=None, evaluators=EQUAL, name="the case"):
    case = Case(
        name=name, inputs="the question", **({} if expected is None else {"expected_output": expected})
    )
    report = Dataset(cases=[case], evaluators=evaluators).evaluate_sync(
        ScriptedTask([output]), progress=False
    )
    return [*report.cases, *report.failures][0]


def test_an_attempt_that_did_not_pass_shows_what_was_tried_expected_given_and_said():
    assert attempt_lines(record_of("Paris", expected="Lima")) == [
        "the case: did not pass EqualsExpected",
        "  inputs    'the question'",
        "  expected  'Lima'",
        "  got       'Paris'",
        "  EqualsExpected: expected 'Lima', got 'Paris'",
    ]


def test_without_an_expectation_none_is_shown():
    def refuses(output):
        return EvaluationReason(False, "I do not like it")

    assert attempt_lines(record_of("Paris", evaluators=[refuses])) == [
        "the case: did not pass refuses",
        "  inputs    'the question'",
        "  got       'Paris'",
        "  refuses: I do not like it",
    ]


def test_long_texts_are_compared_line_by_line():
    expected = "\n".join(f"line {number}" for number in range(20))
    lines = attempt_lines(record_of(expected.replace("line 7\n", "line seven\n"), expected=expected))
    assert lines[2:9] == [
        "  expected (-) and got (+):",
        "    @@ -6,5 +6,5 @@",
        "     line 5",
        "     line 6",
        "    -line 7",
        "    +line seven",
        "     line 8",
    ]


@pytest.mark.parametrize(
    ("expected", "output", "lines"),
    [
        ("short", "text", []),
        ("one\ntwo", "one\nthree", ["@@ -1,2 +1,2 @@", " one", "-two", "+three"]),
        ("a\r\nb", "a\nb", ["@@ -1,2 +1,2 @@", r"-a\r", "+a", " b"]),
        ("a\nb", "a\n\x1b[31mb", ["@@ -1,2 +1,2 @@", " a", "-b", r"+\x1b[31mb"]),
        ("x\n" * 100_000, "y\n" * 100_000, []),
        ([1, 2], [1, 3], []),
    ],
    ids=["short", "lines", "line ends", "escape", "huge", "short list"],
)
def test_a_diff_is_made_where_it_helps(expected, output, lines):
    assert diff_lines(expected, output) == lines


def test_structures_are_spread_over_lines_to_be_compared():
    def order(customer):
        return {"items": [f"item {number}" for number in range(9)], "customer": customer, "express": False}

    lines = diff_lines(order("Ann"), order("Bob"))
    assert "- 'customer': 'Ann'," in lines
    assert "+ 'customer': 'Bob'," in lines
    assert not any("item 3" in line for line in lines)


def test_a_long_diff_and_a_long_line_are_cut():
    lines = diff_lines("\n".join("ab" * 500), "\n".join("cd" * 500))
    assert len(lines) == 41
    assert lines[-1].startswith("… and ")
    assert max(map(len, diff_lines("a\n" + "b" * 5_000, "a\n" + "c" * 5_000))) <= 100


def test_objects_that_cannot_be_printed_do_not_hide_the_failure():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert diff_lines([Broken()] * 20, ["x"] * 20)
    assert any("whose repr failed" in line for line in attempt_lines(record_of(Broken(), expected="Lima")))


def test_a_failed_task_shows_where_in_the_users_code_it_failed():
    lines = attempt_lines(record_of(ValueError("no idea"), expected="Lima"))
    assert lines[0] == "the case: the task failed: ValueError: no idea"

    def agent(question):
        raise ValueError("no idea")

    report = Dataset(cases=[Case(inputs="x")], evaluators=[EqualsExpected()]).evaluate_sync(
        agent, progress=False
    )
    lines = attempt_lines(report.failures[0])
    assert any(__file__ in line for line in lines)
    assert any("raise ValueError" in line for line in lines)
    assert not any("workers.py" in line for line in lines), "frames of the library do not help"


def test_equal_tracebacks_are_shown_once():
    def agent(question):
        raise ValueError("no idea")

    dataset = Dataset(cases=[Case(inputs=n) for n in range(3)], evaluators=[EqualsExpected()])
    report = dataset.evaluate_sync(agent, progress=False)
    shown: set[str] = set()
    for tracebacks in 1, 0:
        lines = attempts_lines(report.failures, shown=shown)
        assert sum("raise ValueError" in line for line in lines) == tracebacks
        assert lines.count("    (same traceback as in an earlier failure)") == 3 - tracebacks


def test_a_failed_evaluator_is_told_from_one_that_did_not_agree():
    def crashes(output):
        raise KeyError("answer")

    lines = attempt_lines(record_of("Paris", evaluators=[crashes]))
    assert lines[0] == "the case: did not pass crashes (failed)"
    assert "  crashes: the evaluator failed: KeyError: 'answer'" in lines
    assert any('raise KeyError("answer")' in line for line in lines)


def test_an_attempt_of_which_nothing_was_asserted_says_why():
    def similarity(output):
        return 0.25

    lines = attempt_lines(record_of("Paris", evaluators=[similarity, lambda output: Skipped("no opinion")]))
    assert lines[0] == "the case: nothing was asserted"
    assert lines[-2:] == [
        "  function: skipped: no opinion",
        "  similarity: score 0.25, which passes or fails nothing",
    ]
    assert attempt_lines(record_of("Lima", expected="Lima"))[0] == "the case: passed"


def test_many_evaluators_and_many_attempts_are_cut_with_a_count():
    def refuse(number):
        def evaluator(output):
            return False

        evaluator.__name__ = f"judge {number}"
        return evaluator

    record = record_of("x", evaluators=[refuse(number) for number in range(5)])
    assert attempt_lines(record)[0] == "the case: did not pass judge 0, judge 1, judge 2, 2 more"
    assert attempts_lines([record] * 8, most=2)[-1] == "… and 6 more attempts"


@given(st.text(), st.text(), st.text(min_size=1))
def test_whatever_a_model_says_each_line_is_one_printable_line(expected, output, name):
    for line in attempt_lines(record_of(output, expected=expected or "x", name=name)):
        assert line.isprintable()


def test_a_reason_of_several_lines_stands_below_the_evaluator():
    def calls(output):
        return EvaluationReason(False, "1 of 2 calls\n~ book(city='Rome')\n    city: \x1b[31m")

    assert attempt_lines(record_of("Paris", evaluators=[calls]))[-4:] == [
        "  calls:",
        "    1 of 2 calls",
        "    ~ book(city='Rome')",
        r"        city: \x1b[31m",
    ]


def test_many_lines_of_a_reason_are_cut_and_say_so():
    def calls(output):
        return EvaluationReason(False, "\n".join(map(str, range(50))))

    assert attempt_lines(record_of("Paris", evaluators=[calls]))[-2:] == ["    18", "    … (31 more lines)"]


def test_the_error_of_an_evaluator_may_have_several_lines():
    def judge(output):
        raise ValueError("two problems:\nfirst")

    lines = attempt_lines(record_of("Paris", evaluators=[judge]))
    at = lines.index("  judge: the evaluator failed:")
    assert lines[at + 1 : at + 3] == ["    ValueError: two problems:", "    first"]


def test_the_tools_that_an_agent_called_are_shown():
    trace = Trace(
        tool_calls=[ToolCall("search", {"q": "capital"}), ToolCall("book", success=False, error="full")]
    )
    record = record_of("Paris", expected="Lima")
    record.trace = trace
    assert attempt_lines(record)[3:5] == [
        "  got       'Paris'",
        "  called    search(q='capital'); book() failed: full",
    ]
    lost = record_of(ValueError("boom"))
    lost.trace = trace
    assert attempt_lines(lost)[2].startswith("  called    search(")


def test_repeated_attempts_that_came_to_the_same_are_told_once():
    case = Case(name="chat", inputs=1, expected_output="yes")
    dataset = Dataset(cases=[case], evaluators=EQUAL)
    report = dataset.evaluate_sync(lambda inputs: "no", repeat=9, progress=False)
    lines = attempts_lines(report.cases)
    assert lines[0] == "chat [1-9/9]: did not pass EqualsExpected"
    assert len(lines) == 5
