import pytest

from calipers import Case, Dataset
from calipers.evaluators import EqualsExpected
from calipers.pytest_plugin.merged_reports import Run, read_runs, report_of_all, report_of_test, runs_by_test
from calipers.report import Incomplete
from calipers.testing import ScriptedTask

COUNTRIES = ("France", "Peru", "Chad")


def report_of(*countries, answers=None, name="agent", cluster=None, **options):
    """What a run over these countries says; by default each is answered well."""
    dataset = Dataset(
        name="capitals",
        cases=[Case(name=c, inputs=c, expected_output=c.lower(), cluster=cluster) for c in countries],
        evaluators=[EqualsExpected()],
    )
    task = ScriptedTask(answers or {c: c.lower() for c in countries})
    return dataset.evaluate_sync(task, name=name, progress=False, **options)


def marked(test, country, position=0, **options):
    """A run of the test of one case."""
    item = f"{test[:-1]}-{country}]" if test.endswith("]") else f"{test}[{country}]"
    return Run(test, item, position, report_of(country, **options), {country: (position, item)})


def inline(test, *countries, position=0, **options):
    return Run(test, test, position, report_of(*countries, **options))


def test_runs_are_read_back_in_the_order_of_the_tests():
    data = [
        {"test": "t", "item": f"t[{c}]", "position": p, "report": report_of(c).to_dict()}
        for p, c in reversed(list(enumerate(COUNTRIES)))
    ]
    assert [run.item for run in read_runs(data)] == [f"t[{c}]" for c in COUNTRIES]


def test_the_cases_of_a_test_are_one_report_that_says_what_a_run_over_all_would_say():
    (members,) = runs_by_test([marked("t", c) for c in COUNTRIES]).values()
    report = report_of_test(members, seed=9)
    whole = report_of(*COUNTRIES)
    assert [record.name for record in report.cases] == list(COUNTRIES)
    assert report.pass_rate() == whole.pass_rate()
    assert report.summaries() == whole.summaries()
    assert (report.name, report.dataset_name, report.seed, report.repeat) == ("agent", "capitals", 9, 1)


def test_tests_tasks_and_parameters_are_reports_of_their_own():
    runs = [
        marked("t[a]", "France"),
        marked("t[b]", "France"),
        inline("u", "France", name="one"),
        inline("u", "France", name="two"),
    ]
    assert list(runs_by_test(runs)) == ["t[a]", "t[b]", "u (one)", "u (two)"]


def test_a_second_attempt_at_a_case_is_a_repeat():
    runs = [marked("t", "France"), marked("t", "France", answers=["wrong"]), marked("t", "Peru")]
    for report in (report_of_test(runs, seed=0), report_of_all(runs, name="all", seed=0)):
        names = [record.name for record in report.cases]
        assert len(set(names)) == 3
        assert names[1] == names[0] + "_2"
        rate = report.pass_rate()
        assert (rate.value, rate.n_units, rate.n_observations) == (0.75, 2, 3)
        assert report.repeat == 2


def test_in_the_report_of_all_attempts_are_named_for_their_tests():
    runs = [marked("a.py::t", "France", repeat=2), inline("a.py::u", "France", "Peru")]
    report = report_of_all(runs, name="all", seed=4)
    assert [(record.name, record.source_case_name) for record in report.cases] == [
        ("a.py::t[France] [1/2]", "a.py::t[France]"),
        ("a.py::t[France] [2/2]", "a.py::t[France]"),
        ("a.py::u France", None),
        ("a.py::u Peru", None),
    ]
    assert (report.name, report.seed, report.repeat) == ("all", 4, 2)
    assert report.pass_rate().n_units == 3
    assert report.pass_rate().n_clusters is None


def test_a_case_under_several_parameters_counts_as_one_source():
    several = [marked(f"t[{model}]", country) for model in "ab" for country in COUNTRIES]
    report = report_of_all(several, name="all", seed=0)
    assert {record.cluster for record in report.cases} == {f"t {country}" for country in COUNTRIES}
    assert report.pass_rate().n_clusters == 3
    assert report.pass_rate().interval.low == pytest.approx(report_of(*COUNTRIES).pass_rate().interval.low)
    named = report_of_all(
        [marked(f"t[{model}]", "France", cluster="mine") for model in "ab"], name="all", seed=0
    )
    assert {record.cluster for record in named.cases} == {"mine"}


def test_nothing_that_the_reports_of_the_runs_say_is_lost():
    first, second = marked("t", "France"), inline("u", "Peru", answers={"Peru": ValueError("no")})
    first.report.incomplete, first.report.unfinished = Incomplete("interrupted", "interrupted"), 2
    report = report_of_all([first, second], name="all", seed=0)
    assert str(report.incomplete) == "t[France]: interrupted"
    assert report.unfinished == 2
    assert [failure.name for failure in report.failures] == ["u Peru"]
    assert report.duration == pytest.approx(first.report.duration + second.report.duration)
    assert report.started_at == min(first.report.started_at, second.report.started_at)
    assert first.report.cases[0].name == "France", "the parts stay as they were"


def test_no_runs_are_an_empty_report():
    report = report_of_all([], name="all", seed=0)
    assert (report.cases, report.repeat, report.incomplete, report.pass_rate(None)) == ([], 1, None, None)
    assert runs_by_test([]) == {}
