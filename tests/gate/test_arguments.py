"""A name where a report or a policy belongs is refused, and the error says how to get one."""

from pathlib import Path

import pytest

from calipers import Case, Dataset
from calipers.comparison import compare_many, compare_reports
from calipers.errors import InvalidOptionError
from calipers.gate import Policy, Rules, StopWhenDecided, judge_run
from calipers.gate.plan import plan_from_pilot
from calipers.views.comparison import (
    comparisons_html,
    comparisons_json,
    comparisons_markdown,
    comparisons_text,
    print_comparisons,
    write_comparisons,
)


def ok(output: int) -> bool:
    return output > 0


CASES = [Case(name=f"c{number}", inputs=number) for number in range(4)]
REPORT = Dataset(name="numbers", cases=CASES, evaluators=[ok]).evaluate_sync(
    lambda number: number, progress=False
)
POLICY = Policy(evaluators={"ok": Rules(margin=0.05)})
REPORT_WAY = (
    r"must be a Report, got .*read_report reads one from a file, and open_store\(...\).report\(name\)"
)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (
            lambda: judge_run(REPORT, "gate.yaml"),
            r"got 'gate.yaml': Policy.from_file\('gate.yaml'\) reads one",
        ),
        (lambda: judge_run(REPORT, Path("gate.yaml")), r"Policy.from_file\(.*gate.yaml'\)\) reads one"),
        (lambda: judge_run(REPORT, {"min_cases": 3}), r"got \{'min_cases': 3\}: Policy.from_file reads one"),
        (lambda: judge_run("latest", POLICY), f"the run {REPORT_WAY}"),
        (lambda: judge_run(REPORT, POLICY, baseline="old"), f"the baseline {REPORT_WAY}"),
        (lambda: StopWhenDecided("gate.yaml"), "policy must be a Policy"),
        (lambda: StopWhenDecided(POLICY, "old"), f"the baseline {REPORT_WAY}"),
        (lambda: plan_from_pilot("latest", effect=0.05), f"the pilot {REPORT_WAY}"),
        (lambda: plan_from_pilot(REPORT, baseline="old", effect=0.05), f"the baseline {REPORT_WAY}"),
        (lambda: compare_reports(REPORT, "b.json"), f"what is compared {REPORT_WAY}"),
    ],
)
def test_a_name_in_place_of_what_it_names_is_refused_with_the_way_out(call, shown):
    with pytest.raises(InvalidOptionError, match=shown):
        call()


@pytest.mark.parametrize(
    "show",
    [
        comparisons_html,
        comparisons_json,
        comparisons_markdown,
        comparisons_text,
        print_comparisons,
        lambda comparisons: write_comparisons(comparisons, "json:-"),
    ],
    ids=["html", "json", "markdown", "text", "print", "write"],
)
def test_a_single_comparison_in_place_of_a_list_is_refused_with_the_way_out(show):
    with pytest.raises(InvalidOptionError, match=r"takes a list of comparisons, .*: write \[comparison\]"):
        show(compare_reports(REPORT, REPORT))
    with pytest.raises(InvalidOptionError, match=r"takes a list of comparisons, such as .* got Report"):
        show(REPORT)


def test_a_column_that_no_run_has_is_no_column_without_a_change():
    (found,) = compare_many([REPORT, REPORT])
    with pytest.raises(
        InvalidOptionError, match="no column 'okk' was compared; there are 'ok' in `evaluators`"
    ):
        found.change("okk")
    bare = Dataset(name="numbers", cases=CASES, evaluators=[lambda output: output >= 0])
    other = compare_reports(REPORT, bare.evaluate_sync(lambda number: number, progress=False))
    assert other.baseline_only == ("ok",)
    assert other.change("ok") is None
