"""A report as JUnit XML: valid, with counts that agree, whatever the text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from calipers.data.record import Failure
from calipers.report import Incomplete
from calipers.report.summary import tally
from calipers.views.junit import report_junit

SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).parents[1] / "samples" / "junit.xsd")))
TEXT = st.text(st.characters(exclude_categories=()))


def parsed(text):
    """The suite, of a file that is valid and whose counts agree with what it holds."""
    document = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False, no_network=True))
    assert SCHEMA.validate(document), SCHEMA.error_log
    (suite,) = document
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(attribute)) == len(suite.findall(f"testcase/{tag}"))
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    for attribute in ("tests", "failures", "errors", "time"):
        assert document.get(attribute) == suite.get(attribute)
    return suite


def outcomes(suite):
    """Of each test case: the tag of what is in it besides its output, or None."""
    tags = [
        [child.tag for child in case if not child.tag.startswith("system")]
        for case in suite.findall("testcase")
    ]
    return {
        case.get("name"): next(iter(found), None)
        for case, found in zip(suite.findall("testcase"), tags, strict=True)
    }


def properties(suite):
    return {each.get("name"): each.get("value") for each in suite.find("properties")}


GOLDEN = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="answer" tests="3" failures="1" errors="1" time="1.500000">
  <testsuite name="capitals" tests="3" failures="1" errors="1" time="1.500000" skipped="0" timestamp="2026-01-02T02:04:05">
    <properties>
      <property name="seed" value="7" />
      <property name="repeat" value="1" />
      <property name="attempts" value="3" />
      <property name="passed" value="1" />
      <property name="pass_rate" value="0.3333333333" />
      <property name="pass_rate.low" value="0.06149194472" />
      <property name="pass_rate.high" value="0.7923403992" />
      <property name="result.right" value="0.5" />
      <property name="result.right.low" value="0.09453120573" />
      <property name="result.right.high" value="0.9054687943" />
      <property name="metadata.commit" value="&quot;4f2a91c&quot;" />
    </properties>
    <testcase classname="answer" name="france" time="0.250000">
      <system-out>inputs: 'question france'
got: 'answer france'
metric tokens: 1,200</system-out>
    </testcase>
    <testcase classname="answer" name="peru" time="0.250000">
      <failure message="right: expected 'Lima' &amp; &lt;nothing&gt; else" type="assertion">right: expected 'Lima' &amp; &lt;nothing&gt; else</failure>
      <system-out>inputs: 'question peru'
expected: 'Lima'
got: 'answer peru'</system-out>
    </testcase>
    <testcase classname="answer" name="chile" time="0.250000">
      <error message="after 2 tries: TimeoutError: slow" type="TimeoutError">after 2 tries: TimeoutError: slow
Traceback (most recent call last):
  File "task.py", line 1</error>
      <system-out>inputs: 'question chile'</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""


def test_a_report_as_a_ci_server_reads_it(records):
    report = records.report(
        records.case("france", records.result("right", True), metrics={"tokens": 1200}),
        records.case(
            "peru", records.result("right", False, "expected 'Lima' & <nothing> else"), expected_output="Lima"
        ),
        records.failure(
            "chile",
            "TimeoutError: slow",
            tries=2,
            error_stacktrace='Traceback (most recent call last):\n  File "task.py", line 1\n',
        ),
        metadata={"commit": "4f2a91c"},
        started_at="2026-01-02T03:04:05.678+01:00",
    )
    text = report_junit(report)
    parsed(text)
    assert text == GOLDEN


def test_a_failure_an_error_and_a_skip_are_three_things(records):
    broken = (records.broken("Judge", "ValueError: bad", "Traceback of Judge"),)
    suite = parsed(
        report_junit(
            records.report(
                records.case("passed", records.result("x", True)),
                records.case("failed", records.result("x", False, "no")),
                records.case("broken", records.result("x", True), evaluator_failures=broken),
                records.case("both", records.result("x", False, "no"), evaluator_failures=broken),
                records.case("mute", records.result("s", 0.5), skipped=(records.skip("x", "no answer"),)),
                records.failure("crashed"),
            )
        )
    )
    assert outcomes(suite) == {
        "passed": None,
        "failed": "failure",
        "broken": "error",
        "both": "error",
        "mute": "skipped",
        "crashed": "error",
    }
    both = suite.find("testcase[@name='both']/error")
    assert both.get("message") == "x: no (and 1 more)"
    assert both.get("type") == "ValueError"
    assert both.text == "x: no\nJudge (evaluator failed): ValueError: bad\nTraceback of Judge"
    mute = suite.find("testcase[@name='mute']/skipped")
    assert (mute.get("message"), mute.text) == ("nothing was asserted", "x skipped: no answer")
    assert "s: 0.5" in suite.findtext("testcase[@name='mute']/system-out")


def test_a_clean_up_that_failed_is_told_and_changes_no_outcome(records):
    torn = Failure(error_type="OSError", error_message="OSError: busy", error_stacktrace="Traceback")
    suite = parsed(
        report_junit(records.report(records.case("a", records.result("x", True), teardown_failure=torn)))
    )
    assert outcomes(suite) == {"a": None}
    said = "clean-up failed (the judgement stands): OSError: busy\nTraceback"
    assert suite.findtext("testcase/system-err") == said


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"incomplete": Incomplete("interrupted", "interrupted by Ctrl-C")},
            "INCOMPLETE: interrupted by Ctrl-C",
        ),
        ({"cases": []}, "No cases ran: nothing was measured."),
        ({"report_evaluator_failures": True}, "Report evaluator 'Curve' failed: ValueError: flat"),
    ],
    ids=["cut short", "empty", "report evaluator"],
)
def test_a_run_with_something_wrong_is_never_green(records, fields, message):
    if "report_evaluator_failures" in fields:
        fields = {"report_evaluator_failures": [records.broken("Curve", "ValueError: flat")]}
    report = records.report(records.case("a", records.result("x", True)))
    for name, value in fields.items():
        setattr(report, name, value)
    suite = parsed(report_junit(report))
    assert suite.find("testcase[@name='the run as a whole']/error").get("message") == message


@pytest.mark.parametrize(
    ("dropped", "outcome"),
    [((True, True), None), ((True, False), "failure"), ((None, None), "skipped"), ((None, True), None)],
    ids=str,
)
def test_attempts_that_are_not_kept_are_one_test_case(records, dropped, outcome):
    cases = [records.case("kept", records.result("x", False))]
    for n, passed in enumerate(dropped):
        cases.append(records.case(str(n), records.result("x", 0.5 if passed is None else passed)))
    report = records.report(cases[0], totals=tally(cases, []).totals())
    suite = parsed(report_junit(report))
    assert outcomes(suite) == {"kept": "failure", "2 attempts that the report does not keep": outcome}
    assert properties(suite)["attempts"] == "3"


def test_a_run_that_passed_and_kept_nothing_is_no_empty_run(records):
    totals = tally([records.case("a", records.result("x", True))], []).totals()
    suite = parsed(report_junit(records.report(totals=totals)))
    assert outcomes(suite) == {"1 attempt that the report does not keep": None}


def test_the_numbers_are_properties(records):
    found = properties(
        parsed(
            report_junit(
                records.report(
                    records.case("a", records.result("x", True), records.result("colour", "red")),
                    records.case("b", records.result("x", True), records.result("colour", "red")),
                    seed=0,
                    repeat=2,
                    metadata={"model": {"name": "m", "size": 7}},
                )
            )
        )
    )
    assert found["seed"] == "0"
    assert found["repeat"] == "2"
    assert float(found["pass_rate"]) == 1.0
    assert 0 < float(found["pass_rate.low"]) < 1
    assert found["result.colour.red"] == "2"
    assert found["metadata.model"] == '{"name":"m","size":7}'


def test_tags_are_properties_of_a_test_case_and_their_pass_rates_of_the_suite(records):
    report = records.report(
        records.case("a", records.result("x", True), tags=("easy", "de")),
        records.failure("b", not_run=("x",), tags=("de",)),
    )
    suite = parsed(report_junit(report))
    first = suite.find("testcase[@name='a']")
    assert [(each.get("name"), each.get("value")) for each in first.find("properties")] == [
        ("tag", "easy"),
        ("tag", "de"),
    ]
    found = properties(suite)
    assert (found["slice.de"], found["slice.de.cases"]) == ("0.5", "2")
    assert float(found["slice.easy.low"]) < 0.3, "one case proves little"


def test_a_run_whose_times_are_not_known_adds_up_those_of_its_tasks(records):
    report = records.report(records.case("a"), records.failure("b"), duration=None, started_at=None)
    suite = parsed(report_junit(report))
    assert suite.get("time") == "0.500000"
    assert suite.get("timestamp") is None


@pytest.mark.parametrize("started_at", ["yesterday", "", "2026-01-02", "2026-01-02T03:04:05"])
def test_a_time_that_cannot_be_read_or_has_no_zone_is_left_out(records, started_at):
    assert (
        parsed(report_junit(records.report(records.case("a"), started_at=started_at))).get("timestamp")
        is None
    )


def test_control_characters_are_shown_and_lines_kept(records):
    case = records.case(
        "bell\x07", records.result("x", False, "a\x00b\nc\x1b[31md\ufffe\x85e"), output="\x1b]0;owned\x07"
    )
    suite = parsed(report_junit(records.report(case)))
    assert suite.find("testcase").get("name") == "bell\\x07"
    assert suite.findtext("testcase/failure") == "x: a\\x00b\nc\\x1b[31md\\ufffe\ne"
    assert "\\x1b]0;owned" in suite.findtext("testcase/system-out")


def test_long_text_is_cut_and_a_long_traceback_keeps_its_end(records):
    stack = "\n".join(f"frame {number}" for number in range(1_000))
    report = records.report(
        records.failure("a", "E: " + "x" * 10**6, error_stacktrace=stack),
        records.case("b", output="y" * 10**6),
    )
    text = report_junit(report)
    assert len(text) < 20_000
    found = parsed(text).findtext("testcase[@name='a']/error").splitlines()
    assert found[0] == "… 801 lines left out"
    assert found[-1] == "frame 999"


@given(
    texts=st.lists(TEXT, min_size=1, max_size=4),
    value=TEXT,
    kind=st.sampled_from(["pass", "fail", "label", "broken", "failure"]),
)
def test_whatever_the_text_it_is_valid_and_the_counts_agree(records, texts, value, kind):
    made = {
        "pass": lambda text: records.case(
            text, records.result(value, True, text), inputs=text, metrics={value: 1}
        ),
        "fail": lambda text: records.case(text, records.result(value, False, text), output={text: value}),
        "label": lambda text: records.case(
            text, records.result(value, text), skipped=(records.skip(text, value),)
        ),
        "broken": lambda text: records.case(text, evaluator_failures=(records.broken(value, text, text),)),
        "failure": lambda text: records.failure(text, value, error_type=text, error_stacktrace=text),
    }[kind]
    report = records.report(
        *map(made, texts),
        name=value,
        dataset_name=texts[0],
        metadata={value: texts},
        incomplete=Incomplete("other", texts[-1]),
    )
    suite = parsed(report_junit(report))
    assert len(suite.findall("testcase")) == len(texts) + 1
