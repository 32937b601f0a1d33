"""Stored attempts, judged again."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from calipers import Case, Dataset, Evaluator
from calipers.errors import InvalidOptionError, StoreError
from calipers.evaluators import EqualsExpected
from calipers.rollouts import GraphMetrics
from calipers.stores import MemoryStore, RunInfo, hide_matches, open_store, score_again, score_again_async


def task(inputs):
    if inputs == 3:
        raise ValueError("three")
    return {"double": inputs * 2}


task.version = "1"


def even(output):
    return output["double"] % 4 == 0


def large(output):
    return output["double"] > 3


@dataclass
class Above(Evaluator):
    limit: int
    judged: list[Any] = field(default_factory=list, compare=False)

    def evaluate(self, ctx):
        self.judged.append(ctx.inputs)
        return ctx.output["double"] > self.limit


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


def stored_run(store, count=5, evaluators=(even,), **options):
    data = Dataset(
        name="d", cases=[Case(name=str(n), inputs=n) for n in range(count)], evaluators=list(evaluators)
    )
    return data.evaluate_sync(task, progress=False, store=store, **options).reuse.run


def test_a_new_evaluator_becomes_a_column_of_the_run_and_the_task_is_not_called(store):
    run = stored_run(store)
    report = score_again(store, run, evaluators=[large], keep="all")
    assert [case.assertions["large"].value for case in report.cases] == [False, False, True, True]
    assert [case.assertions["even"].value for case in report.cases] == [True, False, True, True]
    assert (report.reuse.cells_computed, report.reuse.attempts_made) == (4, 0)
    assert len(report.failures) == 1
    assert set(store.report(run).summaries()) == {"even", "large"}
    assert store.run(run).status == "finished"


def test_evaluators_after_one_that_changed_the_output_judge_it_as_it_was(store):
    def emptied(output):
        return len(output) == 1 and output.clear() is None

    def empty(output):
        return not output

    run = stored_run(store, 2)
    report = score_again(store, run, evaluators=[emptied, empty], keep="all")
    assert [case.assertions["empty"].value for case in report.cases] == [False, False]
    assert [case.output for case in store.report(run).cases] == [{"double": 0}, {"double": 2}]
    assert report.reuse.notes == []
    data = Dataset(name="d", cases=[Case(name=str(n), inputs=n) for n in range(2)], evaluators=[empty])
    later = data.evaluate_sync(task, progress=False, store=store, reuse=True)
    assert later.reuse.attempts_made == 0
    assert [case.assertions["empty"].value for case in later.cases] == [False, False]


def test_an_evaluator_that_raises_is_asked_again_where_that_was_asked_for(store):
    calls = []

    def flaky(output):
        calls.append(output)
        if len(calls) % 2:
            raise ConnectionError
        return True

    run = stored_run(store, 2)
    retry = {"attempts": 2, "backoff": 0}
    report = score_again(store, run, evaluators=[flaky], retry_evaluators=retry, keep="all")
    assert [case.assertions["flaky"].metadata for case in report.cases] == [{"tries": 2}] * 2


def test_scoring_makes_no_store(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        score_again(tmp_path / "typo.db", evaluators=[even])
    assert list(tmp_path.iterdir()) == []


def test_what_has_been_judged_is_not_judged_again(store):
    run = stored_run(store)
    score_again(store, run, evaluators=[Above(3)])
    again = Above(3)
    report = score_again(store, run, evaluators=[again, even])
    assert again.judged == []
    assert (report.reuse.cells_computed, report.reuse.cells_reused) == (0, 8)


def test_another_evaluator_of_a_taken_name_stands_beside_the_first_under_a_name_of_its_own(store):
    run = stored_run(store, evaluators=[Above(3)])
    report = score_again(store, run, evaluators=[Above(5)], keep="all")
    assert set(report.summaries()) == {"Above", "Above_2"}
    [note] = report.reuse.notes
    assert note.startswith(
        "evaluator Above of the run is another one, so the new one is called Above_2, and both"
    )
    again = Above(5)
    score_again(store, run, evaluators=[again])
    assert again.judged == [], "it is the one called Above_2"


def test_an_evaluator_that_may_be_the_one_of_the_run_is_said_to_stand_beside_it(store):
    judge = eval("lambda output: True")  # it has no source
    judge.__name__ = "judge"
    run = stored_run(store, evaluators=[judge])
    report = score_again(store, run, evaluators=[judge])
    [note] = report.reuse.notes
    assert note.startswith("evaluator judge cannot be compared with the one in the run, so the new")
    assert "called judge_2, and both count; replace=True (--replace) puts it in its place (" in note


def test_a_better_evaluator_takes_the_place_of_the_one_that_had_its_name(store):
    run = stored_run(store, evaluators=[Above(3)])
    report = score_again(store, run, evaluators=[Above(5)], replace=True, keep="all")
    assert [case.assertions["Above"].value for case in report.cases] == [False, False, False, True]
    assert [len(case.results) for case in report.cases] == [1] * 4
    assert store.run(run).columns == ["Above"]
    again = Above(5)
    assert score_again(store, run, evaluators=[again], replace=True).reuse.cells_reused == 4
    back = score_again(store, run, evaluators=[Above(7)], replace=True)
    assert (back.reuse.cells_computed, store.run(run).columns) == (4, ["Above"])
    back = score_again(store, run, evaluators=[Above(5)], replace=True, keep="all")
    assert (back.reuse.cells_computed, again.judged) == (0, []), "what it said is kept"
    assert [case.assertions["Above"].value for case in back.cases] == [False, False, False, True]


@pytest.mark.parametrize("version", [None, "2"])
def test_in_a_report_that_was_added_an_evaluator_of_all_cases_can_be_replaced(store, version):
    class Careful(Above):
        def evaluate(self, ctx):
            if ctx.inputs == 0:
                raise ValueError("nothing")
            return super().evaluate(ctx)

    first = Careful(3)
    first.evaluator_version = version
    cases = [Case(name=str(n), inputs=n) for n in range(5)]
    report = Dataset(cases=cases, evaluators=[first]).evaluate_sync(task, progress=False)
    run = store.add_report(report).id
    assert store.report(run, keep="all").to_dict()["cases"] == report.to_dict()["cases"]
    report = score_again(store, run, evaluators=[Careful(5)], replace=True, keep="all")
    assert (store.run(run).columns, report.reuse.notes) == (["Careful"], [])
    assert [[each.value for each in case.results] for case in report.cases] == [[], [False], [False], [True]]
    assert (len(report.cases[0].evaluator_failures), report.failures[0].not_run) == (1, ("Careful",))


@pytest.mark.parametrize("added", [True, False])
def test_evaluators_of_single_cases_are_not_replaced_and_a_note_says_so(store, added):
    cases = [Case(name=str(n), inputs=n, evaluators=[Above(n)]) for n in range(2)]
    report = Dataset(cases=cases).evaluate_sync(task, progress=False, store=None if added else store)
    run = store.add_report(report).id if added else report.reuse.run
    report = score_again(store, run, evaluators=[Above(5)], replace=True)
    assert store.run(run).columns == ["Above", "Above_2"]
    assert "the new one is called Above_2, and both count" in report.reuse.notes[0]


def test_what_is_dropped_is_left_out_and_kept_for_its_return(store):
    run = stored_run(store, evaluators=[even])
    score_again(store, run, evaluators=[Above(3)])
    report = score_again(store, run, drop=["Above"], keep="all")
    for each in (report, store.report(run), store.report(run, keep="none")):
        assert set(each.summaries()) == {"even"}
    assert (store.run(run).columns, report.failures[0].not_run) == (["even"], ("even",))
    again = score_again(store, run, evaluators=[Above(3)], keep="all")
    assert (again.reuse.cells_computed, set(again.summaries())) == (0, {"even", "Above"})


def test_what_is_dropped_is_left_out_of_failed_attempts_that_not_all_evaluators_would_have_judged(store):
    cases = [Case(name="1", inputs=1, expected_output={"double": 2}), Case(name="3", inputs=3)]
    data = Dataset(cases=cases, evaluators=[EqualsExpected(), even, large])
    run = data.evaluate_sync(task, progress=False, store=store).reuse.run
    report = score_again(store, run, drop=["large"], keep="all")
    assert report.failures[0].not_run == ("even",)
    for each in (report, store.report(run), store.report(run, keep="none")):
        assert set(each.summaries()) == {"EqualsExpected", "even"}


def test_only_what_lacks_a_judgement_is_judged(store):
    run = stored_run(store)
    score_again(store, run, evaluators=[Above(3)])
    judge = Above(3)
    report = score_again(store, run, evaluators=[judge, large])
    assert judge.judged == []
    assert (report.reuse.cells_computed, report.reuse.cells_reused) == (4, 4)


def test_evaluators_see_the_results_that_are_stored_and_those_of_this_round(store):
    def sees(results):
        return "+".join(sorted(results))

    run = stored_run(store)
    report = score_again(store, run, evaluators=[large, sees], keep="all")
    assert {case.labels["sees"].value for case in report.cases} == {"even+large"}


def test_async_evaluators_wait_side_by_side(store):
    async def slow(output):
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0.01)
        waiting -= 1
        return True

    waiting = most = 0
    run = stored_run(store, count=3)
    score_again(store, run, evaluators=[slow])
    assert most > 1


def test_an_evaluator_that_fails_is_data(store):
    def broken(output):
        raise RuntimeError("no")

    report = score_again(store, stored_run(store, count=2), evaluators=[broken], keep="all")
    assert [case.evaluator_failures[0].error_message for case in report.cases] == ["RuntimeError: no"] * 2


@dataclass
class Moody(Evaluator):
    """Fails as long as a service is said to be down; it is the same evaluator all the while."""

    service: dict[str, bool] = field(default_factory=dict, compare=False)

    def evaluate(self, ctx):
        if self.service.get("down"):
            raise RuntimeError("out of money")
        return {} if ctx.inputs == 1 else True


def test_a_judgement_that_failed_is_made_again_and_one_that_said_nothing_is_not(store):
    run = stored_run(store, count=3)
    report = score_again(store, run, evaluators=[Moody({"down": True})], keep="all")
    assert [len(case.evaluator_failures) for case in report.cases] == [1, 1, 1]
    report = score_again(store, run, evaluators=[Moody()], keep="all")
    assert [len(case.evaluator_failures) for case in report.cases] == [0, 0, 0]
    assert [case.assertions.get("Moody") is None for case in report.cases] == [False, True, False]
    assert (report.reuse.cells_computed, report.reuse.cells_reused) == (3, 0)
    report = score_again(store, run, evaluators=[Moody()])
    assert (report.reuse.cells_computed, report.reuse.cells_reused) == (0, 3)


class Children(BaseModel):
    children: list[int]


class Turns:
    def compute_metrics(self, graph):
        return GraphMetrics(overall={"turns": len(graph.children)}, per_turn=[])

    def aggregate_metrics(self, all_metrics):
        return {"total": sum(metrics.overall["turns"] for metrics in all_metrics)}


def test_a_rollout_metric_is_combined_over_all_attempts(store):
    def rolls(inputs):
        return Children(children=[0] * inputs)

    data = Dataset(name="d", cases=[Case(inputs=1), Case(inputs=2)])
    run = data.evaluate_sync(rolls, progress=False, store=store).reuse.run
    report = score_again(store, run, evaluators=[Turns()], output_type=Children)
    assert report.analyses[0].data == {"total": 3}
    assert store.report(run).analyses[0].data == {"total": 3}
    again = score_again(store, run, evaluators=[Turns()], output_type=Children)
    assert (again.reuse.cells_computed, again.report_evaluator_failures) == (0, [])
    assert [analysis.data for analysis in again.analyses] == [{"total": 3}]


class Question(BaseModel):
    text: str


def kind(inputs, output):
    return f"{type(inputs).__name__} {type(output).__name__}"


@pytest.mark.parametrize(
    ("with_dataset", "with_type", "seen", "as_plain"),
    [
        (False, False, "dict dict", 1),
        (True, False, "Question dict", 1),
        (False, True, "dict Question", 1),
        (True, True, "Question Question", 0),
    ],
)
def test_objects_come_back_where_their_type_is_given(store, with_dataset, with_type, seen, as_plain):
    data = Dataset(name="d", cases=[Case(inputs=Question(text="a"))])
    run = data.evaluate_sync(lambda question: question, progress=False, store=store).reuse.run
    report = score_again(
        store,
        run,
        evaluators=[kind],
        dataset=data if with_dataset else None,
        output_type=Question if with_type else None,
        keep="all",
    )
    assert report.cases[0].labels["kind"].value == seen
    assert report.reuse.judged_as_plain == as_plain


def test_what_was_judged_as_plain_data_is_judged_again_once_more_of_it_can_be_made(store):
    data = Dataset(name="d", cases=[Case(inputs=Question(text="a"))])
    run = data.evaluate_sync(lambda question: question, progress=False, store=store).reuse.run

    def scored(**options):
        report = score_again(store, run, evaluators=[kind], keep="all", **options)
        return report.cases[0].labels["kind"].value, report.reuse.cells_computed

    assert scored() == ("dict dict", 1)
    assert scored() == ("dict dict", 0)
    assert scored(output_type=Question) == ("dict Question", 1)
    assert scored(output_type=Question) == ("dict Question", 0)
    assert scored() == ("dict Question", 0), "less is no reason to ask again"
    assert scored(output_type=Question, dataset=data) == ("Question Question", 1)
    assert scored(output_type=Question, dataset=data) == ("Question Question", 0)


def test_results_of_this_round_are_reused_by_later_runs(store):
    run = stored_run(store, evaluators=())
    score_again(store, run, evaluators=[large])
    data = Dataset(name="d", cases=[Case(name=str(n), inputs=n) for n in range(3)], evaluators=[large])
    report = data.evaluate_sync(task, progress=False, store=store, reuse=True)
    assert (report.reuse.attempts_made, report.reuse.cells_computed) == (0, 0)


def test_a_store_may_be_named_by_its_path_and_the_call_may_be_async(tmp_path):
    path = tmp_path / "runs.db"
    stored_run(path)
    report = asyncio.run(score_again_async(path, evaluators=[large], keep="none"))
    assert set(report.summaries()) == {"even", "large"}
    with open_store(path) as store:
        assert len(store.runs()) == 1


def test_a_run_that_another_process_writes_is_left_alone(store):
    run = store.begin_run(RunInfo(name="busy"))
    with pytest.raises(StoreError, match="still running"):
        score_again(store, run.id, evaluators=[large])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"evaluators": []}, (InvalidOptionError, "needs evaluators")),
        (
            {"evaluators": large},
            (InvalidOptionError, r"evaluators must be a list of evaluators, got"),
        ),
        (
            {"drop": "even"},
            (InvalidOptionError, "drop must be a list of texts that are not empty, got 'even'"),
        ),
        ({"drop": ["evn"]}, (InvalidOptionError, "no evaluator 'evn' to drop; there are: 'even'")),
        ({"evaluators": [large, large]}, (InvalidOptionError, "a name of its own")),
        ({"evaluators": [large], "run": "nothing"}, (StoreError, "nothing")),
        ({"evaluators": [large], "keep": "some"}, (InvalidOptionError, "keep must be")),
        ({"evaluators": [large], "evaluator_timeout": -1}, (InvalidOptionError, "evaluator_timeout")),
    ],
    ids=["none", "no list", "no list to drop", "nothing to drop", "twice", "no run", "keep", "timeout"],
)
def test_what_makes_no_sense_is_refused(store, options, error):
    stored_run(store)
    run = options.pop("run", "latest")
    with pytest.raises(error[0], match=error[1]):
        score_again(store, run, **options)


def test_a_name_that_single_cases_use_is_not_taken(store):
    cases = [Case(name=str(n), inputs=n, evaluators=[Above(n)]) for n in range(2)]
    Dataset(name="own", cases=cases).evaluate_sync(task, store=store, progress=False)
    for _ in range(2):
        report = score_again(store, evaluators=[Above(0)], keep="all")
        names = [[result.name for result in case.results] for case in report.cases]
        assert names == [["Above", "Above_2"]] * 2


class Meeting(MemoryStore):
    """A store in which two who add evaluators meet before either does."""

    def __init__(self):
        super().__init__()
        self.meeting = None

    def add_evaluators(self, run, evaluators, **options):
        if self.meeting is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                self.meeting.wait(5)
        return super().add_evaluators(run, evaluators, **options)


def test_two_who_score_at_once_get_a_column_each():
    with Meeting() as store:
        stored_run(store)
        store.meeting = threading.Barrier(2)

        def score(limit):
            score_again(store, evaluators=[Above(limit)])
            store.meeting.abort()

        threads = [threading.Thread(target=score, args=(limit,)) for limit in (0, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        case = store.report(store.run("latest").id).cases[0]
        assert sorted(result.name for result in case.results) == ["Above", "Above_2", "even"]
        assert len({str(result.source.arguments) for result in case.results if result.name != "even"}) == 2


# ---------------------------------------------------------------------- what a run would have given


def drawn(seed):
    return seed % 1000


def test_evaluators_are_given_the_seeds_that_a_run_gives_them(store):
    fresh = Dataset(name="d", cases=[Case(name=str(n), inputs=n) for n in range(3)], evaluators=[even, drawn])
    wanted = [case.scores["drawn"].value for case in fresh.evaluate_sync(task, progress=False, seed=3).cases]
    run = stored_run(store, count=3, seed=3)
    report = score_again(store, run, evaluators=[drawn], keep="all")
    assert [case.scores["drawn"].value for case in report.cases] == wanted
    again = fresh.evaluate_sync(task, progress=False, seed=3, store=store, reuse=True)
    assert (again.reuse.cells_computed, [case.scores["drawn"].value for case in again.cases]) == (0, wanted)


def setting(case):
    return f"{case.name} {list(case.tags)} {case.timeout}"


TAGGED = [
    Case(name="a", inputs=1, tags=["vip"], timeout=5),
    Case(name="b", inputs=1, tags=["std", "ü"]),
    Case(name="c", inputs=2),
]
SETTINGS = ["a ['vip'] 5", "b ['std', 'ü'] None", "c [] None"]


def settings_of(report):
    return [case.labels["setting"].value.replace("5.0", "5") for case in report.cases]


@pytest.mark.parametrize("with_dataset", [False, True], ids=["stored", "given"])
def test_evaluators_see_the_tags_and_the_timeout_of_each_case_also_of_those_of_equal_content(
    store, with_dataset
):
    data = Dataset(name="d", cases=TAGGED)
    data.evaluate_sync(task, progress=False, store=store)
    given = data if with_dataset else None
    report = score_again(store, evaluators=[setting], keep="all", dataset=given)
    assert settings_of(report) == SETTINGS
    assert (report.reuse.judged_as_plain, report.reuse.notes) == (0, [])


def test_tags_that_have_changed_are_stored_when_the_run_is_resumed(store):
    Dataset(name="d", cases=[Case(name="a", inputs=1, tags=["old"])]).evaluate_sync(
        task, progress=False, store=store
    )
    data = Dataset(name="d", cases=[Case(name="a", inputs=1, tags=["new"])])
    resumed = data.evaluate_sync(task, progress=False, store=store, resume="latest")
    assert resumed.reuse.attempts_made == 0
    report = score_again(store, evaluators=[setting], keep="all")
    assert settings_of(report) == ["a ['new'] None"]


def test_a_case_whose_tags_were_not_stored_is_noted_and_judged_again_once_it_is_given(store):
    data = Dataset(name="d", cases=TAGGED)
    data.evaluate_sync(task, progress=False, store=store)
    first = store.run("latest")
    old = store.begin_run(RunInfo(name="old", dataset_name="d"))
    store.append(old.id, [attempt for attempt, _ in store.judged(first.id)])
    store.finish_run(old.id)
    report = score_again(store, "old", evaluators=[setting, large])
    assert report.reuse.notes[0].startswith("attempts judged without the tags and the timeout of their case")
    assert report.reuse.notes[0].endswith(": 3")
    report = score_again(store, "old", evaluators=[setting, large], dataset=data, keep="all")
    assert settings_of(report) == SETTINGS
    assert (report.reuse.notes, report.reuse.cells_computed) == ([], 3)


def test_tags_are_redacted_like_all_else_of_a_case():
    with MemoryStore(redact=[hide_matches("vip")]) as store:
        Dataset(name="d", cases=TAGGED[:1]).evaluate_sync(task, progress=False, store=store)
        report = score_again(store, evaluators=[setting], keep="all")
    assert settings_of(report) == ["a ['[redacted]'] 5"]
    assert "judged without what redaction hid" in report.reuse.notes[0]
