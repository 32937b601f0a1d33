"""A stored run, judged by several processes: the same as by one."""

from pathlib import Path

import pytest

from calipers import Budget, Case, Dataset, Evaluator
from calipers.errors import InvalidOptionError
from calipers.stores import MemoryStore, open_store, score_again

COUNT = 2500
"""Attempts: more than a process is given at once."""
FINISHED = sum(number % 7 != 3 for number in range(COUNT))
IMPORTABLE = Path(__file__).parent / "importable"


def task(inputs):
    if inputs % 7 == 3:
        raise ValueError("three")
    return inputs


@pytest.fixture
def evaluators(monkeypatch):
    monkeypatch.syspath_prepend(str(IMPORTABLE))
    import judging_evaluators

    return judging_evaluators


@pytest.fixture
def stored(tmp_path):
    """The path of a store with a run of which some attempts failed."""
    path = tmp_path / "runs.db"
    Dataset(
        cases=[Case(name=str(number), inputs=number) for number in range(COUNT)], name="numbers"
    ).evaluate_sync(task, progress=False, store=path)
    return path


def told(report):
    return {
        case.name: {name: result.value for name, result in {**case.assertions, **case.scores}.items()}
        for case in report.cases
    }


def test_several_processes_say_the_same_as_one(stored, evaluators, tmp_path):
    sign = str(tmp_path / "sign")
    report = score_again(
        stored, evaluators=[evaluators.Shared(sign), evaluators.Awaited()], keep="all", processes=2
    )
    assert told(report) == {
        str(number): {"even": number % 2 == 0, "Awaited": number / 2}
        for number in range(COUNT)
        if number % 7 != 3
    }
    assert {case.labels["where"].value for case in report.cases} == {"here", "elsewhere"}
    assert report.incomplete is None
    assert report.reuse is not None
    assert (report.reuse.attempts_reused, report.reuse.cells_computed, report.reuse.notes) == (
        FINISHED,
        2 * FINISHED,
        [],
    )


def test_what_they_judged_is_not_judged_again(stored, evaluators):
    given = [evaluators.Awaited()]
    score_again(stored, evaluators=given, processes=2)
    again = score_again(stored, evaluators=given, processes=2)
    assert again.reuse is not None
    assert (again.reuse.cells_computed, again.reuse.cells_reused) == (0, FINISHED)


def test_the_share_of_a_process_that_ended_is_judged_here(stored, evaluators, tmp_path):
    report = score_again(
        stored, evaluators=[evaluators.Deadly(str(tmp_path / "sign"))], keep="all", processes=2
    )
    assert len(report.cases) == FINISHED
    assert all(case.assertions["Deadly"].value for case in report.cases)
    assert report.reuse is not None
    assert report.reuse.cells_computed == FINISHED
    [note] = report.reuse.notes
    assert note.startswith("another process did not judge its share, so it was judged here: it ended")


def test_evaluators_that_cannot_be_sent_are_refused(stored):
    class Local(Evaluator):
        def evaluate(self, ctx):
            return True

    with pytest.raises(
        InvalidOptionError, match=r"cannot be sent to other processes .* leave out processes="
    ):
        score_again(stored, evaluators=[Local()], processes=2)


def test_a_store_in_memory_is_of_one_process(evaluators):
    with MemoryStore() as store:
        Dataset(cases=[Case(inputs=1)]).evaluate_sync(task, progress=False, store=store)
        with pytest.raises(InvalidOptionError, match="in an SQLite file alone"):
            score_again(store, evaluators=[evaluators.Awaited()], processes=2)


def test_a_budget_is_of_one_process(stored, evaluators):
    with pytest.raises(InvalidOptionError, match="a budget is kept by one process"):
        score_again(stored, evaluators=[evaluators.Awaited()], processes=2, budget=Budget(cost=1.0))


def test_the_run_is_whole_when_it_is_opened_again(stored, evaluators, tmp_path):
    score_again(stored, evaluators=[evaluators.Shared(str(tmp_path / "sign"))], processes=2)
    with open_store(stored) as store:
        report = store.report(store.run("latest").id)
    assert len(report.cases) == FINISHED
    assert all("even" in case.assertions for case in report.cases)
