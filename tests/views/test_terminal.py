import re
from contextlib import redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from calipers import Case, Dataset
from calipers.data.record import Failure
from calipers.errors import InvalidOptionError
from calipers.report import Incomplete
from calipers.report.analysis import Aggregate, ConfusionMatrix, ScalarResult, TableResult
from calipers.scoring.scoring import BlockedLoop
from calipers.views.terminal import print_report, render_report, report_text

ALL_PASS = """\
answer on capitals
4 cases · 1.5 s · seed 7

Passed 4 of 4 cases   100.0 %  [51.0, 100.0]   95 % Wilson interval

Evaluator       Kind        Result  [95 % interval]  0 %      100 %  n
EqualsExpected  assertion  100.0 %  [51.0, 100.0]           ├─────●  4
similarity      score        0.925  [0.865, 0.959]                   4

Task time  p50 250 ms · longest 250 ms · p90 needs 36 cases
Metrics    tokens 115 · (means per case)

[low, high] is a 95 % interval (Wilson; Wilson with an effective sample size):
with fresh cases of the same kind, 95 % of such intervals would contain the true
value. Those of scores are approximate: they go by the spread that was seen.
"""


def test_a_report_where_all_passed(records):
    report = records.report(
        *(
            records.case(
                f"case-{i}",
                records.result("EqualsExpected", True),
                records.result("similarity", 0.9 + 0.05 * (i % 2)),
                metrics={"tokens": 100 + 10 * i},
            )
            for i in range(4)
        )
    )
    assert report_text(report) == ALL_PASS


MIXED = """\
answer on capitals
5 cases · 1.5 s · seed 7

INCOMPLETE: interrupted by Ctrl-C after 5 of 9 attempts (2 attempts begun and
given up)
1 of 5 tasks failed and counts as not passed: TimeoutError (1)
1 evaluator failure counts as not passed: Judge (1)

Passed 2 of 5 cases   40.0 %  [11.8, 76.9]   95 % Wilson interval

Evaluator       Kind        Result  [95 % interval]    n  errors  task failed
EqualsExpected  assertion   60.0 %  [23.1, 88.2]       5                    1
tone            label      polite 75.0 %, rude 25.0 %  4                    1
Judge           assertion   60.0 %  [23.1, 88.2]       5       1            1

Tasks that failed: 1 of 5
✗ spain  250 ms
    inputs    'question spain'
    TimeoutError: the task exceeded task_timeout=30 s

Did not pass: 2 of 5
✗ france  250 ms · tone rude
    inputs    'question france'
    expected  'Paris'
    got       'Lyon'
    EqualsExpected: expected 'Paris', got 'Lyon'
✗ italy  250 ms · tone polite
    inputs    'question italy'
    got       'answer italy'
    Judge (evaluator failed): RuntimeError: overloaded

Task time  p50 250 ms · longest 250 ms · p90 needs 36 cases · (finished tasks)

Note: evaluator 'Judge' blocked the event loop 3 times, longest 1.2 s: make it
async, or pass evaluator_timeout=... to run it in a thread

[low, high] is a 95 % interval (Wilson): with fresh cases of the same kind, 95 %
of such intervals would contain the true value.
"""


def test_a_report_where_all_sorts_of_things_went_wrong(records):
    def judged(name, held, tone, **fields):
        reason = None if held else "expected 'Paris', got 'Lyon'"
        results = [records.result("EqualsExpected", held, reason), records.result("tone", tone)]
        if "evaluator_failures" not in fields:
            results.append(records.result("Judge", True))
        return records.case(name, *results, **fields)

    report = records.report(
        judged("germany", True, "polite"),
        judged("france", False, "rude", expected_output="Paris", output="Lyon"),
        judged(
            "italy", True, "polite", evaluator_failures=(records.broken("Judge", "RuntimeError: overloaded"),)
        ),
        judged("poland", True, "polite"),
        records.failure(
            "spain",
            "TimeoutError: the task exceeded task_timeout=30 s",
            not_run=("EqualsExpected", "tone", "Judge"),
        ),
        incomplete=Incomplete("interrupted", "interrupted by Ctrl-C after 5 of 9 attempts"),
        unfinished=2,
        blocked={"Judge": BlockedLoop(3, 1.2)},
    )
    assert report_text(report) == MIXED


REPEATED_AT_40 = """\
answer on capitals
3 cases · 6 attempts · 1.5 s · seed 7

Passed 5 of 6 attempts at 3 cases
83.3 %  [31.0, 98.2]
95 % Wilson interval
  pass@2  100.0 %  [43.9, 100.0]
    at least one of 2 attempts passes
  pass^2   66.7 %  [20.8, 93.9]
    all 2 attempts pass

Evaluator   Result  [95 % interval]  n
ok          83.3 %  [31.0, 98.2]     6
"""


def test_a_repeated_run_on_a_narrow_page(records):
    report = records.report(
        *(
            records.case(f"{case} [{i}/2]", records.result("ok", held), source_case_name=case)
            for case, runs in (("a", (True, True)), ("b", (True, False)), ("c", (True, True)))
            for i, held in enumerate(runs, 1)
        ),
        repeat=2,
    )
    shown = report_text(report, width=40)
    assert shown.startswith(REPEATED_AT_40)
    assert "✗ b [2/2]  250 ms\n" in shown


def test_a_report_from_the_front_door_prints(capsys):
    dataset = Dataset(
        cases=[Case(name=word, inputs=word, expected_output=word.upper()) for word in ("a", "b", "ß")],
        evaluators=[lambda output, expected_output: output == expected_output],
    )
    report = dataset.evaluate_sync(str.capitalize, progress=False, seed=1)
    report.print(width=80, include_cases=True)
    shown = capsys.readouterr().out
    assert "Passed 2 of 3 cases   66.7 %  [20.8, 93.9]" in shown
    assert "✗ ß" in shown


def test_an_empty_report_says_that_nothing_was_measured(records):
    assert report_text(records.report()) == (
        "answer on capitals\n0 cases · 1.5 s · seed 7\n\nNo cases ran: nothing was measured.\n"
    )


def test_thousands_of_failures_make_a_short_page(records):
    report = records.report(
        *(records.case(f"case-{i}", records.result("ok", False)) for i in range(5000)),
        *(records.failure(f"failed-{i}") for i in range(5000)),
    )
    assert len(report_text(report).splitlines()) < 200


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"include_cases": "all"}, "include_cases must be True, False or 'failed', got 'all'"),
        *(
            (
                {"max_cases": given},
                f"max_cases must be a whole number from 0, or None, got {given!r}",
            )
            for given in (-1, "x", 1.5, float("nan"), True)
        ),
        ({"confidence": 95}, "0.95 for 95%"),
    ],
)
def test_options_that_cannot_be_are_refused(records, options: dict, problem: str):
    with pytest.raises(ValueError, match=re.escape(problem)):
        render_report(records.report(), **options)


def test_refusals_are_of_the_library_s_own_kind(records):
    with pytest.raises(InvalidOptionError):
        print_report(records.report(), include_cases="all")
    with pytest.raises(TypeError, match="colour"):
        report_text(records.report(), colour=True)


# ---------------------------------------------------------------------- hostile text

NASTY = [
    "[red]x[/red]",
    "[link=https://example.org]x[/link]",
    "[/]",
    ":smile:",
    "\x1b[31m",
    "\x1b]8;;https://example.org\x1b\\",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\r\n",
    "\t",
    "\u202e",
    "\u2066",
    "\u200d",
    "\u0301" * 20,
    "\ud800",
    "x" * 300,
    "日本" * 60,
    "❤\ufe0f",
    "%s{}{0}\\",
]

hostile = st.lists(st.sampled_from(NASTY) | st.text(st.characters(), max_size=20), max_size=6).map("".join)


def report_full_of(records, text: str):
    """A report with the text in every place where a user, a model or an error may put one."""
    failure = Failure(error_type=text, error_message=text, error_stacktrace=text)
    broken = records.broken(text, text, text)
    return records.report(
        records.case(
            f"a{text}",
            records.result(f"ok{text}", False, text),
            records.result(f"label{text}", text),
            records.result(f"score{text}", 0.5, text),
            inputs=text,
            expected_output=[text],
            output={text: text},
            metrics={text: 1},
            evaluator_failures=(broken,),
            skipped=(records.skip(text, text),),
            teardown_failure=failure,
        ),
        records.failure(text, text, inputs=text, error_stacktrace=text, not_run=(text,)),
        name=text,
        dataset_name=text,
        metadata={text: text},
        incomplete=Incomplete("other", text),
        blocked={text: BlockedLoop(1, 0.5)},
        analyses=[
            ScalarResult(title=text, value=1.0, unit=text, note=text),
            ConfusionMatrix(
                title=text,
                class_labels=["a", text],
                matrix=[[1, 2], [3, 4]],
                unanswered=[0, 1],
                accuracy=0.5,
                n=11,
            ),
            TableResult(title=text, columns=["a", text], rows=[[text, 1], [None, text]]),
            Aggregate(title=text, data={text: text}),
        ],
        report_evaluator_failures=[broken],
    )


EVERYTHING = {"include_cases": True, "include_tracebacks": True}
CONTROL = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
SGR = re.compile(r"\x1b\[([0-9;]*)m")
OUR_CODES = {"", "0", "1", "2", "31", "32", "33", "36"}


def printed(report, width: int, **console) -> str:
    file = StringIO()
    Console(file=file, width=width, legacy_windows=False, **console).print(
        render_report(report, **EVERYTHING)
    )
    return file.getvalue()


@settings(max_examples=min(60, settings().max_examples))
@given(text=hostile, width=st.integers(1, 130))
def test_hostile_text_cannot_leave_its_place(records, text: str, width: int):
    shown = report_text(report_full_of(records, text), width=width, **EVERYTHING)
    assert not CONTROL.search(shown)
    assert all(cell_len(line) <= width for line in shown.splitlines())


@settings(max_examples=min(60, settings().max_examples))
@given(text=hostile, width=st.integers(20, 130))
def test_in_colour_the_only_sequences_are_ours_and_the_text_is_the_same(records, text: str, width: int):
    report = report_full_of(records, text)
    shown = printed(report, width, force_terminal=True, color_system="truecolor")
    codes = {code for found in SGR.findall(shown) for code in found.split(";")}
    assert codes <= OUR_CODES
    bare = SGR.sub("", shown)
    assert not CONTROL.search(bare)
    plain = report_text(report, width=width, **EVERYTHING)
    assert [line.rstrip() for line in bare.split("\n")] == plain.split("\n")


@settings(max_examples=min(60, settings().max_examples))
@given(text=hostile, encoding=st.sampled_from(["ascii", "latin-1", "cp1252", "cp437"]))
def test_a_console_of_few_characters_shows_all_of_it(records, text: str, encoding: str):
    file = BytesIO()
    console = Console(file=TextIOWrapper(file, encoding=encoding, write_through=True), width=60)
    console.print(render_report(report_full_of(records, text), **EVERYTHING))
    shown = file.getvalue().decode(encoding)
    assert not CONTROL.search(shown)
    assert all(cell_len(line) <= 60 for line in shown.split("\n"))


@pytest.mark.parametrize("text", ["[red]x[/red]", ":smile:", "[link=https://example.org]x[/link]", "[/]"])
def test_markup_stays_what_was_written(records, text: str):
    shown = report_text(report_full_of(records, text), width=120, **EVERYTHING)
    assert f"{text} on {text}" in shown
    assert f"ok{text}: {text}" in shown


# ---------------------------------------------------------------------- where it is printed


def test_what_is_piped_is_plain_text(records, capsys):
    report = report_full_of(records, "x")
    print_report(report, width=80, **EVERYTHING)
    shown = capsys.readouterr().out
    assert shown == report_text(report, width=80, **EVERYTHING)
    on_a_screen = printed(report, 80, color_system=None)
    assert shown == "".join(line.rstrip() + "\n" for line in on_a_screen.splitlines())
    assert shown != on_a_screen, "a screen's lines are filled with blanks"


@settings(max_examples=min(30, settings().max_examples))
@given(text=hostile, width=st.integers(20, 130))
def test_what_is_piped_has_no_blanks_at_the_end_of_a_line(records, text: str, width: int):
    with redirect_stdout(StringIO()) as file:
        print_report(report_full_of(records, text), width=width, **EVERYTHING)
    shown = file.getvalue()
    assert shown.endswith("\n")
    assert all(line == line.rstrip() for line in shown.split("\n"))
    assert shown == report_text(report_full_of(records, text), width=width, **EVERYTHING)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("repeat", [1, 2])
def test_a_report_that_counted_once_looks_the_same(records, confidence: float, repeat: int):
    report = records.report(
        *(
            records.case(f"{case} [{i}/{repeat}]", records.result("ok", case != "b"), source_case_name=case)
            for case in "abc"
            for i in range(1, repeat + 1)
        ),
        records.failure("d", not_run=("ok",)),
        repeat=repeat,
    )
    for include_cases in (True, False, "failed"):
        options = {"confidence": confidence, "include_cases": include_cases}
        shown = report_text(report, **options)
        assert f"{confidence:.0%}".replace("%", " %") in shown
        assert report_text(report.with_totals(confidence=confidence), **options) == shown
        assert report_text(report.with_totals(), **options) == shown
    assert report.totals is None


def test_a_report_that_keeps_only_what_failed_is_shown_at_its_own_confidence_alone(records):
    report = records.report(*(records.case(f"{i}", records.result("ok", i > 0)) for i in range(3)))
    kept = msgspec.structs.replace(report.with_totals(), cases=report.cases[:1])
    assert "Passed 2 of 3 cases" in report_text(kept)
    with pytest.raises(InvalidOptionError, match=r"stay at confidence=0\.95, got 0\.8"):
        report_text(kept, confidence=0.8)


def test_no_colour_is_used_where_none_is_wanted(records, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_report(report_full_of(records, "x"), width=80)
    assert "31" in {code for found in SGR.findall(capsys.readouterr().out) for code in found.split(";")}
    monkeypatch.setenv("NO_COLOR", "1")
    print_report(report_full_of(records, "x"), width=80)
    assert {code for found in SGR.findall(capsys.readouterr().out) for code in found.split(";")} <= {
        "0",
        "1",
        "2",
    }


def test_text_is_free_of_colour_whatever_the_environment_says(records, monkeypatch: pytest.MonkeyPatch):
    report = report_full_of(records, "x")
    before = report_text(report)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "33")
    assert report_text(report) == before


def test_a_console_of_one_s_own_is_used_at_the_width_asked_for(records):
    file = StringIO()
    print_report(report_full_of(records, "x"), console=Console(file=file, width=100), width=50)
    shown = file.getvalue()
    assert max(len(line) for line in shown.splitlines()) <= 50
