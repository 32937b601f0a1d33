"""Annotations and job summaries of GitHub Actions, where a model's text must never become a command."""

import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calipers.report import Incomplete
from calipers.report.summary import tally
from calipers.views.github import add_step_summary, command, commands_off, report_annotations
from calipers.views.markdown import report_markdown

TEXT = st.text(st.characters(exclude_categories=()))
HOSTILE = [
    "::set-output name=token::stolen",
    "x\n::set-output name=token::stolen",
    "x\r::add-mask::x",
    "x\r\n  ::stop-commands::t",
    "%0A::error::x",
    "##[add-mask]x",
    "a::b,c=d",
    "\u2028::error::x",
    "\x85::error::x",
]


def obeyed(log):
    """The commands that the runner finds in a log: name, properties and message, by its own rules."""
    found = []
    for line in log.split("\n"):
        text = line.lstrip()
        if text.startswith("::") and "::" in text[2:]:
            info, _, message = text[2:].partition("::")
            name, _, rest = info.partition(" ")
            pairs = [pair.partition("=") for pair in rest.split(",") if pair]
            found.append((name, {key: undone(value) for key, _, value in pairs}, undone(message)))
        elif "##[" in text:
            found.append(("##[", {}, text))
    return found


def undone(text):
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def test_each_attempt_that_did_not_pass_is_an_error_and_the_pass_rate_a_notice(records):
    report = records.report(
        records.case("france", records.result("right", True)),
        records.case("peru", records.result("right", False, "expected 'Lima'"), expected_output="Lima"),
        records.failure("chile", "TimeoutError: slow", tries=3),
    )
    assert report_annotations(report).splitlines() == [
        "::error title=chile::after 3 tries: TimeoutError: slow%0Ainputs: 'question chile'",
        "::error title=peru::right: expected 'Lima'%0Ainputs: 'question peru'%0Aexpected: 'Lima'%0Agot: 'answer peru'",
        "::notice title=answer on capitals::Passed 1 of 3 cases · 33.3 %25 [6.1, 79.2] · 95 %25 Wilson interval",
    ]


def test_errors_can_point_at_a_file(records):
    report = records.report(records.case("a", records.result("x", False)))
    found = obeyed(report_annotations(report, file="data/a,b:c%.yaml", line=12))
    assert found[0][:2] == ("error", {"file": "data/a,b:c%.yaml", "line": "12", "title": "a"})
    assert found[1][0] == "notice"
    assert "file" not in found[1][1]


def test_a_run_without_failures_is_one_notice(records):
    found = obeyed(report_annotations(records.report(records.case("a", records.result("x", True)))))
    assert [name for name, _, _ in found] == ["notice"]


def test_what_is_wrong_with_the_run_comes_first(records):
    report = records.report(
        records.case("a", records.result("x", False)),
        incomplete=Incomplete("interrupted", "interrupted\nby Ctrl-C"),
    )
    name, properties, message = obeyed(report_annotations(report))[0]
    assert (name, properties) == ("error", {"title": "the run as a whole"})
    assert message == "INCOMPLETE: interrupted\\nby Ctrl-C"


def test_an_empty_run_is_an_error(records):
    assert obeyed(report_annotations(records.report()))[0][2] == "No cases ran: nothing was measured."


@pytest.mark.parametrize(("failed", "shown", "told"), [(10, 10, False), (11, 10, True), (500, 10, True)])
def test_github_shows_ten_errors_so_ten_are_given_and_the_others_counted(records, failed, shown, told):
    report = records.report(*(records.case(str(n), records.result("x", False)) for n in range(failed)))
    found = obeyed(report_annotations(report))
    assert [name for name, _, _ in found] == ["error"] * shown + ["notice"]
    assert (f"{failed - shown} attempt" in found[-1][2]) is told


def test_problems_of_the_run_count_among_the_ten(records):
    broken = [records.broken(f"r{n}", "E: x") for n in range(4)]
    failed = [records.failure(str(n)) for n in range(20)]
    found = obeyed(report_annotations(records.report(*failed, report_evaluator_failures=broken)))
    assert [name for name, _, _ in found] == ["error"] * 10 + ["notice"]
    assert "14 attempts more did not pass." in found[-1][2]


def test_attempts_that_are_not_kept_are_counted(records):
    cases = [records.case(str(n), records.result("x", n == 0)) for n in range(5)]
    found = obeyed(report_annotations(records.report(cases[1], totals=tally(cases, []).totals())))
    assert [name for name, _, _ in found] == ["error", "notice"]
    assert "3 attempts more did not pass." in found[-1][2]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_becomes_no_command(records, text):
    check_nothing_is_obeyed(records, text)


@given(text=TEXT)
@example(text="\n\n::error::")
def test_whatever_the_text_it_becomes_no_command(records, text):
    check_nothing_is_obeyed(records, text)


def check_nothing_is_obeyed(records, text):
    broken = (records.broken(text, text),)
    report = records.report(
        records.case(text, records.result(text, False, text), inputs=text, output=text, expected_output=text),
        records.case(text, evaluator_failures=broken),
        records.failure(text, text),
        name=text,
        dataset_name=text,
        incomplete=Incomplete("other", text),
    )
    log = report_annotations(report, file=text)
    found = obeyed(log)
    assert [name for name, _, _ in found] == ["error"] * 4 + ["notice"]
    assert len(log.splitlines()) == 5, "nor a line of its own, by any reader's idea of a line"
    assert all(set(properties) <= {"title", "file"} for _, properties, _ in found)


def test_a_command_is_escaped_as_github_undoes_it():
    line = command("error", "50 %\r\nnext: a, b", title="a:b,c%", file=None)
    assert line == "::error title=a%3Ab%2Cc%25::50 %25%0D%0Anext: a, b"
    assert obeyed(line) == [("error", {"title": "a:b,c%"}, "50 %\r\nnext: a, b")]
    assert command("endgroup", "") == "::endgroup::"


# ---------------------------------------------------------------------- the job's summary


def test_the_report_is_added_to_the_summary_of_the_job(records, tmp_path):
    report = records.report(records.case("a", records.result("x", True)))
    path = tmp_path / "summary.md"
    path.write_text("# before\n")
    assert add_step_summary(report, environ={"GITHUB_STEP_SUMMARY": str(path)}) is True
    assert path.read_text(encoding="utf-8") == "# before\n\n" + report_markdown(report)


def test_a_summary_that_is_not_there_yet_is_begun(records, tmp_path):
    path = tmp_path / "summary.md"
    assert add_step_summary(records.report(), environ={"GITHUB_STEP_SUMMARY": str(path)}) is True
    assert "No cases ran" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("environ", [{}, {"GITHUB_STEP_SUMMARY": ""}])
def test_elsewhere_nothing_is_written(records, environ, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert add_step_summary(records.report(), environ=environ) is False
    assert not list(Path(tmp_path).iterdir())


def test_a_summary_that_would_be_too_large_for_github_is_left_as_it_is(records, tmp_path):
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (2**20 - 100))
    assert add_step_summary(records.report(), environ={"GITHUB_STEP_SUMMARY": str(path)}) is False
    assert path.stat().st_size == 2**20 - 100


# ---------------------------------------------------------------------- what others print


def test_what_is_printed_while_commands_are_off_cannot_turn_them_on_again():
    out = io.StringIO()
    with commands_off(out, environ={"GITHUB_ACTIONS": "true"}):
        out.write("::set-output name=a::b")
    (stop, _, token), _, (resume, _, _) = obeyed(out.getvalue())
    assert stop == "stop-commands"
    assert resume == token
    assert len(token) == 32
    again = io.StringIO()
    with commands_off(again, environ={"GITHUB_ACTIONS": "true"}):
        pass
    assert token not in again.getvalue()


def test_commands_come_back_after_an_error():
    out = io.StringIO()
    with pytest.raises(KeyError), commands_off(out, environ={"GITHUB_ACTIONS": "true"}):
        raise KeyError
    assert len(obeyed(out.getvalue())) == 2


def test_outside_github_nothing_is_printed(capsys):
    with commands_off(environ={}):
        print("text")
    assert capsys.readouterr().out == "text\n"


def test_standard_output_is_where_it_is_printed_by_default(capsys):
    with commands_off(environ={"GITHUB_ACTIONS": "true"}):
        print("text")
    assert obeyed(capsys.readouterr().out)[0][0] == "stop-commands"


def test_a_reason_of_several_lines_is_shown_as_lines(records):
    report = records.report(records.case("a", records.result("calls", False, "1 of 2\n~ book()\n::error::x")))
    (error, *_) = obeyed(report_annotations(report))
    assert error[2].startswith("calls:\n  1 of 2\n  ~ book()\n  ::error::x\ninputs: ")


def test_the_notice_names_evaluators_that_gave_no_result(records):
    report = records.report(records.case("a", skipped=(records.skip("Path", "no\ntrace"),)))
    ((name, _, message),) = obeyed(report_annotations(report))
    assert name == "notice"
    assert message.endswith("\nPath: skipped in the only attempt: no\\ntrace")
