"""What a run under faults says as a whole: every number is of the attempts without faults, and those under faults stand apart."""

from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Case, Dataset, Report, increment_eval_metric
from calipers.agents import tool, with_faults
from calipers.cli.evaluation_outcome import compare, judge, parse_threshold
from calipers.cli.exits import NOTHING
from calipers.comparison import accept_traces, check_drift, compare_reports
from calipers.comparison.case_pairs import find_case
from calipers.evaluators import EqualsExpected
from calipers.gate import Policy, Rules, StopWhenDecided, judge_run
from calipers.stats import rate
from calipers.stores import open_store
from calipers.testing import assert_rate
from calipers.views.formats import read_report, write_report
from calipers.views.github import report_annotations
from calipers.views.html.document import report_html
from calipers.views.junit import report_junit
from calipers.views.markdown import report_markdown
from calipers.views.statement import Statement

ITEMS = ["desk", "chair", "lamp", "table", "shelf", "rug", "mirror", "stool"]


@tool
def price(item: str) -> dict:
    return {"item": item, "price": 10 * len(item)}


def naive(item):
    return price(item)["price"]


def careful(item):
    """Tries again, and accepts no answer without a price."""
    for _ in range(20):
        try:
            return price(item)["price"]
        except (RuntimeError, KeyError):
            continue
    return None


def worse(item):
    return price(item)["price"] if len(item) != 5 else -1


def shop(items=ITEMS):
    cases = [Case(name=item, inputs=item, expected_output=10 * len(item)) for item in items]
    return Dataset(cases=cases, evaluators=[EqualsExpected()])


def run(faults, task=naive, dataset=None, **options):
    report = with_faults(dataset or shop(), faults).evaluate_sync(task, seed=1, progress=False, **options)
    assert not report.report_evaluator_failures
    return report


@given(st.sampled_from([naive, careful, worse]), st.sampled_from(["error@0.5", "lying,error", "latency:0"]))
@settings(max_examples=8, deadline=None)
def test_every_number_of_a_run_is_of_the_attempts_without_faults(agent, faults):
    report, alone = (
        run(faults, agent, repeat=2),
        shop().evaluate_sync(agent, seed=1, repeat=2, progress=False),
    )
    assert report.pass_rate() == alone.pass_rate()
    assert report.summaries().keys() == alone.summaries().keys()
    assert report.summaries()["EqualsExpected"].estimate == alone.summaries()["EqualsExpected"].estimate
    assert report.pass_at_k(2) == alone.pass_at_k(2)
    assert report.pass_hat_k(2, evaluator="EqualsExpected") == alone.pass_hat_k(2)
    assert report.durations().count == alone.durations().count == 16
    assert (report.counts().cases, report.counts().passed) == (8, alone.counts().passed)
    faulty = report.under_faults()
    assert alone.under_faults() is None
    assert report.counts().attempts == 16 + faulty.attempts
    assert faulty.attempts == 16 * (1 + faults.count(","))
    records = [*report.cases, *report.failures]
    assert faulty.passed == sum(bool(each.passed) for each in records if each.fault is not None)
    assert faulty.pass_rate.n_observations == faulty.attempts
    assert msgspec.structs.asdict(report.without_faults().pass_rate()) == msgspec.structs.asdict(
        alone.pass_rate()
    )
    again = Report.from_dict(report.with_totals().to_dict())
    assert (again.pass_rate(), again.under_faults()) == (report.pass_rate(), faulty)


def test_a_kept_run_and_its_files_say_the_same_as_the_report(tmp_path):
    report = run("error,lying", store=tmp_path / "runs.db")
    with open_store(tmp_path / "runs.db") as store:
        stored = store.report(report.reuse.run)
        totals = store.totals(report.reuse.run)
    assert [case.fault for case in stored.cases] == [case.fault for case in report.cases]
    for found in (stored, written(report, tmp_path / "report.jsonl")):
        assert found.pass_rate() == report.pass_rate()
        assert found.under_faults() == report.under_faults()
        assert found.slices() == report.slices()
    assert (totals.pass_rate, totals.under_faults) == (report.pass_rate(), report.under_faults())


def written(report, path):
    write_report(report, path)
    return read_report(path)


def test_the_slice_of_a_tag_is_of_the_clean_attempts_and_that_of_a_fault_of_those_under_it():
    dataset = shop()
    for case in dataset.cases[:4]:
        case.tags = ("first",)
    slices = run("lying,latency:0", dataset=dataset).slices()
    assert {tag: (each.attempts, each.passed) for tag, each in slices.items()} == {
        "fault=none": (8, 8),
        "fault=lying": (8, 0),
        "fault=latency:0": (8, 8),
        "first": (4, 4),
    }


def test_a_tag_of_your_own_that_looks_like_a_fault_takes_nothing_from_the_headline():
    dataset = shop()
    for case in dataset.cases[:4]:
        case.tags = ("fault=mine",)
    report = dataset.evaluate_sync(naive, progress=False)
    assert report.pass_rate().n_units == 8
    assert report.under_faults() is None
    for case in dataset.cases:
        case.tags, case.metadata = (), {"fault": "mine"}
    assert dataset.evaluate_sync(naive, progress=False).sliced_by("fault").pass_rate().n_units == 8


def test_the_headline_is_the_rate_without_faults_and_the_rate_under_them_stands_below():
    report = run("lying", worse)
    says = Statement(report)
    assert says.headline.what == "Passed 4 of 8 cases without faults"
    assert says.headline.rate == rate([(1, 1)] * 4 + [(0, 1)] * 4)
    assert says.headline.left_out is None
    (below,) = says.headline.readings
    assert (below.name, below.estimate.value) == ("under faults", 0)
    assert below.meaning.startswith("0 of 8 attempts")
    assert says.facts[:2] == ["8 cases", "16 attempts, 8 of them under faults"]
    for text in (report.render(width=160), report_markdown(report), report_html(report)):
        assert "Passed 4 of 8 cases without faults" in text
        assert "under faults" in text


def test_a_run_of_which_every_attempt_is_under_a_fault_has_no_rate_and_says_so():
    faulty = with_faults(shop(), "lying,error")
    faulty.cases = [case for case in faulty.cases if case.fault is not None]
    report = faulty.evaluate_sync(naive, seed=1, progress=False)
    assert report.pass_rate(None) is None
    assert report.without_faults().cases == []
    says = Statement(report)
    assert says.headline is None
    assert "".join(part.text for part in says.no_headline).startswith(
        "No pass rate: every attempt was made under a fault of tools. Under faults: 0.0 % [0.0, "
    )
    with pytest.raises(AssertionError, match="nothing was asserted"):
        assert_rate(report, at_least=0.1)
    verdict = judge_run(report, Policy(pass_rate=Rules(at_least=0.1)))
    assert verdict.outcome == "FAIL"
    assert any("every attempt was made under a fault" in finding.said for finding in verdict.findings)
    assert [complaint.code for complaint in judge(report, None, allow_errors=True)] == [NOTHING]


def test_a_task_that_crashes_under_a_fault_is_told_apart_from_one_that_crashes_without():
    report = run("error", lambda item: price(item)["price"] if item != "desk" else 1 / 0)
    alerts = ["".join(part.text for part in line) for line in Statement(report).alerts]
    assert alerts == [
        "1 of 8 tasks failed and counts as not passed: ZeroDivisionError (1)",
        "8 of 8 tasks under faults failed and count as not passed there: RuntimeError (7), ZeroDivisionError (1)",
    ]
    said = [str(complaint.message) for complaint in judge(report, [])]
    assert said == ["9 of 16 tasks did not finish, 8 of them under faults of tools"]


def test_the_exit_code_and_thresholds_go_by_the_attempts_without_faults():
    report = run("lying")
    threshold = parse_threshold("0.9")
    assert judge(report, None) == []
    assert judge(report, compare([threshold], report)) == []
    assert judge(report, compare([parse_threshold("EqualsExpected=0.9")], report)) == []
    worst = run("latency:0", worse)
    assert [each.message for each in judge(worst, None)] == ["4 of 8 cases did not pass"]
    assert [each.message for each in judge(worst, compare([threshold], worst))] == [
        "the pass rate is 0.5, which is below 0.9"
    ]


def test_a_test_report_does_not_fail_for_what_faults_do_and_shows_it():
    found = ET.fromstring(report_junit(run("lying")))
    suite = found.find("testsuite")
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "0", "8")
    assert "did not pass under the fault lying" in suite.find(".//skipped").get("message")
    assert "::error" not in report_annotations(run("lying"))


def test_a_gate_counts_the_cases_without_faults_and_a_rule_for_a_fault_those_under_it():
    report = run("lying,latency:0")

    def outcome(**policy):
        verdict = judge_run(report, Policy(**{"min_cases": 2, **policy}))
        return verdict, verdict.outcome

    verdict, found = outcome(pass_rate=Rules(at_least=0.5))
    assert (found, verdict.cases) == ("PASS", 8)
    assert any("16 attempts were made under faults" in note for note in verdict.notes)
    assert outcome(min_cases=9, pass_rate=Rules(at_least=0.5))[1] == "INCONCLUSIVE"
    assert outcome(evaluators={"EqualsExpected": Rules(at_least=0.5)})[1] == "PASS"
    assert outcome(tags={"fault=latency:0": Rules(at_least=0.5)})[1] == "PASS"
    assert outcome(tags={"fault=lying": Rules(at_least=0.5)})[1] == "FAIL"
    crashes = run("error")
    assert (
        judge_run(crashes, Policy(max_task_failures=0.0, min_cases=2, pass_rate=Rules(at_least=0.5))).outcome
        == "PASS"
    )


def test_a_rule_that_ends_a_run_early_looks_at_the_attempts_without_faults():
    rule = StopWhenDecided(Policy(pass_rate=Rules(at_least=0.9), min_cases=1))
    report = with_faults(
        shop([item * times for item in ITEMS for times in range(1, 6)]), "lying"
    ).evaluate_sync(lambda _: None, seed=1, progress=False, stop_when=rule, max_concurrency=1)
    assert report.stopping.why == "decided: FAIL (pass rate: at least 90 %)"
    assert rule.cases < 40


def test_two_runs_are_compared_by_what_they_do_without_faults_and_by_each_fault_both_have():
    old, new = run("lying,error@0.9", careful), run("error@0.9,latency:0", naive)
    found = compare_reports(old, new)
    assert (found.pass_rate.baseline, found.pass_rate.candidate) == (1, 1)
    assert (found.baseline.cases, found.baseline.attempts, found.baseline.under_faults) == (8, 8, 16)
    assert found.pairing.pairs == 8
    assert found.pairing.left_out == 0
    assert [each.name for each in found.slices] == ["fault=error@0.9"]
    assert found.slices[0].difference < 0
    assert found.flips == ()
    assert any("16 attempts of" in warning for warning in found.warnings)
    plain = compare_reports(shop().evaluate_sync(naive, seed=1, progress=False), new)
    assert (plain.pairing.pairs, plain.pairing.left_out, plain.slices) == (8, 0, ())


def test_a_case_under_a_fault_is_never_paired_with_one_under_another():
    old, new = run("lying"), run("stale")
    assert find_case(old, new, "desk [stale]") == (None, find_case(old, new, "desk [stale]")[1])
    assert find_case(old, new, "desk")[0].name == "desk"


def test_accepted_traces_and_drift_are_those_of_the_attempts_without_faults():
    report = run("lying,latency:0")
    accepted = accept_traces(report).accepted
    assert [case.name for case in accepted.cases] == sorted(ITEMS)
    assert {each.state for each in check_drift(report, accepted).cases} == {"follows"}
    assert len(check_drift(report, accepted).cases) == 8


def test_report_evaluators_look_at_the_attempts_without_faults():
    seen = []
    dataset = shop()
    dataset.report_evaluators = [lambda report: seen.extend(report.cases) or []]
    run("lying", dataset=dataset)
    assert len(seen) == 8
    assert {each.fault for each in seen} == {None}


def test_what_was_spent_under_faults_was_spent():
    def asks(item):
        increment_eval_metric("cost", 0.5)
        return price(item)["price"]

    cost = run("lying", asks).costs().agent
    assert (cost.total, cost.attempts) == (8, 16)
    assert (cost.per_case.value, cost.per_case.n_units) == (0.5, 8)
