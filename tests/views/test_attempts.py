import pytest
from rich.cells import cell_len

from calipers import Case, Dataset, EvaluationReason, ToolCall, Trace
from calipers.views.terminal import print_report, report_text


def section(report, title: str, **options) -> list[str]:
    """The lines of the section whose title begins so."""
    text = report_text(report, **options)
    found = [part for part in text.split("\n\n") if part.startswith(title)]
    return found[0].splitlines()[1:] if found else []


@pytest.fixture
def report(records):
    return records.report(
        records.case("good", records.result("ok", True), records.result("length", 0.5)),
        records.case("unjudged", records.result("tone", "polite")),
        records.case(
            "bad",
            records.result("ok", False, "expected 'Paris', got 'Lyon'"),
            records.result("graded", False, score=0.25),
            records.result("bare", False),
            records.result("length", 2.5),
            inputs="capital of France?",
            expected_output="Paris",
            has_expected_output=True,
            output="Lyon",
        ),
        records.case(
            "broken",
            evaluator_failures=(
                records.broken("Judge", "RuntimeError: overloaded", "Traceback:\n  there\nRuntimeError: x"),
            ),
        ),
        records.failure("failed", "TimeoutError: late", tries=3, error_stacktrace="Traceback:\n  here"),
    )


BAD = [
    "✗ bad  250 ms · length 2.5",
    "    inputs    'capital of France?'",
    "    expected  'Paris'",
    "    got       'Lyon'",
    "    ok: expected 'Paris', got 'Lyon'",
    "    graded: score 0.25",
    "    bare: did not hold",
]
BROKEN = [
    "✗ broken  250 ms",
    "    inputs    'question broken'",
    "    got       'answer broken'",
    "    Judge (evaluator failed): RuntimeError: overloaded",
]
FAILED = [
    "✗ failed  250 ms",
    "    inputs    'question failed'",
    "    after 3 tries: TimeoutError: late",
]


def test_by_default_only_what_did_not_pass_is_listed(report):
    assert section(report, "Did not pass: 2 of 5") == [*BAD, *BROKEN]
    assert section(report, "Tasks that failed: 1 of 5") == FAILED
    assert "good" not in report_text(report)


def test_all_attempts_on_request(report):
    assert section(report, "Attempts", include_cases=True) == [
        "✓ good  250 ms · length 0.5",
        "· unjudged  250 ms · tone polite",
        *BAD,
        *BROKEN,
        *FAILED,
    ]


def test_values_asked_for_by_name_are_shown_of_every_attempt(report):
    lines = section(report, "Attempts", include_input=True, include_output=True, include_cases=None)
    assert lines[:3] == [
        "✓ good  250 ms · length 0.5",
        "    inputs    'question good'",
        "    got       'answer good'",
    ]
    assert set(FAILED) <= set(lines)


def test_values_can_be_hidden_one_by_one(report):
    lines = section(report, "Did not pass", include_input=False, include_expected_output=False)
    assert lines[:3] == [BAD[0], BAD[3], BAD[4]]


def test_metadata_durations_and_failures_are_shown_as_asked(report):
    report.cases[0].metadata = {"level": 1}
    lines = section(report, "Attempts", include_metadata=True, include_durations=False)
    assert lines[:2] == ["✓ good  length 0.5", "    metadata  {'level': 1}"]
    assert "Task time" not in report_text(report, include_durations=False)
    assert "250 ms · 500 ms in all" in report_text(report, include_total_duration=True)
    without = report_text(report, include_errors=False, include_evaluator_failures=False)
    assert "Tasks that failed" not in without
    assert "Judge (evaluator failed)" not in without
    assert "1 of 5 tasks failed" in without  # it is counted all the same


def test_the_table_of_evaluators_can_be_left_out(report):
    assert "Evaluator " in report_text(report)
    assert "Evaluator " not in report_text(report, include_averages=False)


def test_a_traceback_can_be_asked_for_in_two_words(report):
    assert report_text(report, include_error_stacktrace=True) == report_text(report, include_tracebacks=True)


def test_a_report_renders_as_text_and_prints_against_a_baseline(report, capsys):
    assert report.render(width=90, include_cases=False) == report_text(report, width=90, include_cases=False)
    report.print(baseline=report, width=90)
    printed = capsys.readouterr().out
    assert "answer #2 against answer #1" in printed
    assert report.render(baseline=report, width=90) == printed


def test_none_on_request(report):
    assert "✗" not in report_text(report, include_cases=False)


def test_all_reasons_are_shown_on_request_also_of_scores_labels_and_what_passed():
    def graded(output):
        return {
            "fine": EvaluationReason(True, "it is fine"),
            "score": EvaluationReason(0.5, "half of it"),
            "tone": EvaluationReason("warm", "it says please"),
            "odd": EvaluationReason(output != "b", "looked at twice"),
            "bare": True,
        }

    cases = [Case(name="a", inputs="a"), Case(name="b", inputs="b")]
    report = Dataset(cases=cases, evaluators=[graded]).evaluate_sync(str, progress=False)
    shown = section(report, "Attempts", include_reasons=True, include_durations=False, include_values=False)
    assert shown == [
        "✓ a  score 0.5 · tone warm",
        "    fine: it is fine",
        "    score: half of it",
        "    tone: it says please",
        "    odd: looked at twice",
        "✗ b  score 0.5 · tone warm",
        "    fine: it is fine",
        "    score: half of it",
        "    tone: it says please",
        "    odd: looked at twice",
    ]
    failed = section(report, "Did not pass", include_durations=False, include_values=False)
    assert failed == ["✗ b  score 0.5 · tone warm", "    odd: looked at twice"]


def test_a_reason_that_repeats_do_not_share_is_not_shown_for_all_of_them():
    count = iter(range(9))

    def graded(output):
        return {
            "score": EvaluationReason(0.5, f"take {next(count)}"),
            "ok": False,
            "tone": EvaluationReason("warm", "please"),
        }

    report = Dataset(cases=[Case(name="a", inputs="a")], evaluators=[graded]).evaluate_sync(
        str, repeat=2, progress=False, max_concurrency=1
    )
    shown = section(report, "Attempts", include_reasons=True, include_durations=False, include_values=False)
    assert shown == [
        "✗ a [1-2/2]  2 attempts · score 0.5 · tone warm",
        "    ok: did not hold",
        "    tone: please",
    ]


def test_values_and_reasons_can_be_left_out(report):
    shown = section(report, "Did not pass", include_values=False, include_reasons=False)
    assert shown == [
        "✗ bad  250 ms · length 2.5",
        "    ok",
        "    graded",
        "    bare",
        "✗ broken  250 ms",
        "    Judge (evaluator failed)",
    ]


def test_tracebacks_on_request(report):
    shown = section(report, "Did not pass", include_tracebacks=True)
    assert shown[-3:] == ["        Traceback:", "          there", "        RuntimeError: x"]
    assert section(report, "Tasks that failed", include_tracebacks=True)[-1] == "          here"


def test_the_tools_an_agent_called_stand_below_what_came_of_it(records):
    trace = Trace(
        tool_calls=[
            ToolCall("find", {"to": "OSL"}),
            ToolCall("book", success=False, error="no\x1b[31m seats"),
        ]
    )
    report = records.report(
        records.case("a", records.result("ok", False), trace=trace),
        records.case("b", records.result("ok", True), trace=trace),
        records.failure("c", trace=trace),
        records.case("d", records.result("ok", False), trace=Trace()),
    )
    called = r"    called    find(to='OSL'); book() failed: no\x1b[31m seats"
    text = report_text(report)
    assert text.count("called") == 2, "not of what passed, nor of who called nothing"
    assert section(report, "Did not pass")[3] == section(report, "Tasks that failed")[2] == called
    assert "called" not in report_text(report, include_values=False)


def test_many_calls_take_two_lines_at_most(records):
    trace = Trace(tool_calls=[ToolCall(f"tool_{i}", {"argument": "x" * 30}) for i in range(19)])
    report = records.report(records.case("a", records.result("ok", False), trace=trace))
    shown = section(report, "Did not pass")
    start = next(i for i, line in enumerate(shown) if "called" in line)
    assert "ok: did not hold" in shown[start + 3] or "ok: did not hold" in shown[start + 2]
    assert all(len(line) <= 80 for line in shown)


def test_an_expectation_of_none_is_an_expectation(records):
    said = records.case("a", records.result("ok", False), has_expected_output=True)
    unsaid = records.case("b", records.result("ok", False))
    assert "    expected  None" in section(records.report(said), "Did not pass")
    assert "    expected  None" not in section(records.report(unsaid), "Did not pass")


def test_long_lists_are_cut_and_say_so(records):
    report = records.report(*(records.case(f"case-{i}", records.result("ok", False)) for i in range(47)))
    shown = section(report, "Did not pass: 47 of 47")
    assert sum(line.startswith("✗") for line in shown) == 20
    assert shown[-1] == "… and 27 more (max_cases=None shows all)"
    assert sum(line.startswith("✗") for line in section(report, "Did not pass", max_cases=None)) == 47
    assert section(report, "Did not pass", max_cases=0) == ["… and 47 more (max_cases=None shows all)"]


def test_long_reasons_wrap_in_their_indent_and_end_after_about_three_lines(records):
    report = records.report(records.case("a", records.result("Judge", False, "why " * 500)))
    shown = section(report, "Did not pass", width=60)[3:]
    assert len(shown) in {3, 4}
    assert all(line.startswith("    ") for line in shown)
    assert " ".join(line.strip() for line in shown).endswith("… (2,000 characters)")


def test_long_values_stay_on_one_line(records):
    report = records.report(records.case("a", records.result("ok", False), output="x" * 5000))
    shown = section(report, "Did not pass", width=100)
    assert shown[2].startswith("    got       'xxx")
    assert shown[2].endswith("… (5,000 characters)")
    assert len(shown) == 4


def test_a_reason_of_several_lines_stands_below_its_name(records):
    script = "✓ 1. search()\n- missing book(…)\nhostile \x1b[31m"
    report = records.report(records.case("bad", records.result("path", False, script)))
    assert section(report, "Did not pass")[-4:] == [
        "    path:",
        "      ✓ 1. search()",
        "      - missing book(…)",
        "      hostile \\x1b[31m",
    ]


def test_what_a_task_raised_in_several_lines_is_shown_in_them(records):
    raised = "ValidationError: 2 errors\na\n  not a number \x1b[31m\nb\n  is missing"
    report = records.report(records.failure("bad", raised))
    assert section(report, "Tasks that failed")[-5:] == [
        "    ValidationError: 2 errors",
        "    a",
        "      not a number \\x1b[31m",
        "    b",
        "      is missing",
    ]


def test_a_long_list_of_lines_is_cut_and_says_so(records):
    report = records.report(
        records.case("bad", records.result("path", False, "\n".join(map(str, range(50)))))
    )
    lines = section(report, "Did not pass")
    assert lines[-2:] == ["      18", "      … (31 more lines)"]


def test_a_long_line_of_a_reason_wraps_with_what_follows_deeper_and_is_cut_after_about_three_rows(records):
    reason = f"2 of 3 calls\n    city: expected 'Paris', got {'one two three ' * 4}end\n~ {'word ' * 100}"
    report = records.report(records.case("bad", records.result("calls", False, reason)))
    shown = section(report, "Did not pass", width=50)
    at = shown.index("    calls:") + 1
    assert shown[at : at + 4] == [
        "      2 of 3 calls",
        "          city: expected 'Paris', got one two",
        "            three one two three one two three one",
        "            two three end",
    ]
    rest = shown[at + 4 :]
    assert rest[0].startswith("      ~ word")
    assert all(line.startswith(" " * 8) for line in rest[1:])
    assert 3 <= len(rest) <= 4
    assert rest[-1].endswith("characters)")
    assert max(map(len, shown)) <= 50


@pytest.mark.parametrize("width", [20, 23, 40])
def test_lines_of_a_reason_fit_however_narrow_the_terminal_and_deep_their_indent(records, width):
    reason = "first\n" + " " * 60 + "名前" * 40
    report = records.report(records.case("bad", records.result("calls", False, reason)))
    lines = report_text(report, width=width).splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert "名前" in "".join(lines)


def test_repeats_that_failed_in_the_same_way_are_shown_once(records):
    attempts = [
        records.case(
            f"chat [{number}/7]",
            records.result("ok", number == 3, "too short"),
            records.result("length", 5),
            records.result("seconds", number),
            source_case_name="chat",
            inputs="hi",
            output="hello",
        )
        for number in range(1, 8)
    ]
    report = records.report(*attempts, repeat=7)
    assert section(report, "Did not pass") == [
        "✗ chat [1-2, 4-7/7]  6 attempts · 250 ms · length 5",
        "    inputs    'hi'",
        "    got       'hello'",
        "    ok: too short",
    ]


def test_the_limit_counts_equal_attempts_once_and_what_is_left_out_each(records):
    attempts = [
        records.case(
            f"{case} [{number}/3]", records.result("ok", False), source_case_name=case, output="same"
        )
        for case in "abc"
        for number in (1, 2, 3)
    ]
    shown = section(records.report(*attempts, repeat=3), "Did not pass", max_cases=2)
    assert [line for line in shown if line.startswith("✗")] == [
        "✗ a [1-3/3]  3 attempts · 250 ms",
        "✗ b [1-3/3]  3 attempts · 250 ms",
    ]
    assert shown[-1] == "… and 3 more (max_cases=None shows all)"


def test_how_to_lift_the_limit_is_said_in_the_words_of_the_caller(records, capsys):
    report = records.report(*(records.case(str(n), records.result("ok", False)) for n in range(2)))
    print_report(report, max_cases=1, no_limit="--all")
    assert "… and 1 more (--all shows all)" in capsys.readouterr().out
