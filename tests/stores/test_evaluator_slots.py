"""Which evaluators a run has after it was scored, resumed, or both."""

import signal

import pytest

from calipers import Case, Dataset
from calipers.stores import MemoryStore, score_again


def press_ctrl_c_twice():
    """The first one ends the run, the second one everything."""
    for _ in range(2):
        signal.raise_signal(signal.SIGINT)


def double(inputs):
    if inputs == 9:
        raise ValueError("nine")
    return inputs * 2


def even(output):
    return output % 4 == 0


def large(output):
    return output > 1


def agrees(results):
    return "even" in results


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


def dataset(*evaluators):
    cases = [Case(name=str(n), inputs=n) for n in (0, 1, 2, 9)]
    return Dataset(name="d", cases=cases, evaluators=list(evaluators))


def evaluated(store, *evaluators, **options):
    return dataset(*evaluators).evaluate_sync(double, store=store, progress=False, **options)


def changed(name, function):
    """Another evaluator under a name that is taken."""
    function.__name__ = name
    return function


def values(report, name):
    return [case.assertions[name].value if name in case.assertions else None for case in report.cases]


def test_what_was_scored_survives_that_the_run_is_resumed(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large])
    report = evaluated(store, even, resume=run)
    assert values(report, "large") == values(store.report(run), "large") == [False, True, True]
    assert (report.reuse.cells_computed, report.reuse.notes) == (0, [])
    assert report.failures[0].not_run == store.report(run).failures[0].not_run == ("even", "large")
    assert store.report(run).to_dict()["cases"] == report.to_dict()["cases"]


def test_what_was_scored_survives_that_an_evaluator_of_the_run_changes(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large, agrees])
    report = evaluated(store, changed("even", lambda output: output == 0), resume=run)
    for each in (report, store.report(run)):
        assert values(each, "even") == [True, False, False]
        assert values(each, "large") == [False, True, True]
        assert values(each, "agrees") == [None, None, None], "it had looked at what even said before"
    assert any(
        "agrees was added by scoring the run, and has not judged 3 of" in n for n in report.reuse.notes
    )
    assert store.run(run).columns == ["large", "agrees", "even"]


def test_attempts_that_are_made_anew_are_not_judged_yet_and_it_is_said(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large])
    store.remove_attempts(run, [1])
    report = evaluated(store, even, resume=run)
    assert values(report, "large") == values(store.report(run), "large") == [False, None, True]
    [note] = report.reuse.notes
    assert "has not judged 1 of its attempts" in note
    assert values(score_again(store, run, evaluators=[large], keep="all"), "large") == [False, True, True]


def test_an_attempt_that_was_not_judged_by_all_has_not_passed_and_the_report_is_incomplete(store):
    def fine(output):
        return True

    def small(output):
        return output < 4

    run = evaluated(store, fine).reuse.run
    score_again(store, run, evaluators=[small])
    store.remove_attempts(run, [1])
    resumed = evaluated(store, fine, resume=run)
    for report in (resumed, *(store.report(run, keep=keep) for keep in ("all", "failed", "none"))):
        assert report.counts().passed == 1
        assert report.counts().failed_evaluators == {"small": 1}
        assert str(report.incomplete) == (
            "not all is judged: evaluator small has judged 2 of 3 attempts; score the run with it again"
        )
    assert [case.passed for case in resumed.cases] == [True, False, False]
    assert store.run(run).status == "finished"
    for report in (score_again(store, run, evaluators=[small]), store.report(run)):
        assert (report.counts().passed, report.incomplete) == (2, None)


def test_attempts_to_which_a_scoring_did_not_come_have_not_passed(store):
    def stops(output):
        if output == 2:
            press_ctrl_c_twice()
        return True

    run = evaluated(store, large).reuse.run
    with pytest.raises(KeyboardInterrupt):
        score_again(store, run, evaluators=[stops], max_concurrency=1)
    for keep in ("all", "none"):
        report = store.report(run, keep=keep)
        assert report.counts().passed == 0
        assert report.incomplete is not None
    report = score_again(store, run, drop=["stops"])
    assert (report.counts().passed, report.incomplete) == (2, None)


def test_that_judgements_are_lacking_is_not_kept_with_what_a_report_is_stored_with(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large])
    store.remove_attempts(run, [1])
    evaluated(store, even, resume=run)
    store.finish_run(run, report=store.report(run))
    assert store.report(run).incomplete is not None
    assert score_again(store, run, evaluators=[large]).incomplete is None


def test_an_evaluator_that_had_nothing_to_say_has_judged(store):
    def silent(output):
        return {}

    run = evaluated(store, large).reuse.run
    report = score_again(store, run, evaluators=[silent])
    assert (report.incomplete, report.counts().failed_evaluators) == (None, {})


def test_a_judge_that_becomes_one_of_the_runs_own_is_not_asked_again(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large])
    report = evaluated(store, even, large, resume=run)
    assert (report.reuse.cells_computed, store.run(run).columns) == (0, ["even", "large"])
    for each in (report, store.report(run)):
        assert [len(case.results) for case in each.cases] == [2, 2, 2]


def test_one_of_the_runs_own_takes_the_place_of_another_that_scored_it_under_its_name(store):
    run = evaluated(store, even).reuse.run
    score_again(store, run, evaluators=[large])
    report = evaluated(store, even, changed("large", lambda output: output > 3), resume=run)
    for each in (report, store.report(run)):
        assert [len(case.results) for case in each.cases] == [2, 2, 2]
        assert values(each, "large") == [False, False, True]


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_a_run_never_shows_an_evaluator_beside_the_one_that_took_its_place(store, known):
    def falls(output):
        if output == 2:
            press_ctrl_c_twice()
        return False

    if not known:
        falls.__code__ = falls.__code__.replace(co_filename="<shell>")
    run = evaluated(store, even).reuse.run
    with pytest.raises(KeyboardInterrupt):
        evaluated(store, changed("even", falls), resume=run, max_concurrency=1)
    assert values(store.report(run), "even") in ([False, None, None], [None, None, None])


def test_an_evaluator_that_is_gone_is_no_column_any_more(store):
    run = evaluated(store, even, large).reuse.run
    report = evaluated(store, even, resume=run)
    assert store.run(run).columns == ["even"]
    assert report.reuse.notes == ["evaluator large is gone: its results are left out"]
    assert set(store.report(run).summaries()) == {"even"}
