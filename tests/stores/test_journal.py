"""Runs that are kept: resumed, reused, and computed anew exactly where something changed."""

import asyncio
import math
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from calipers import (
    Case,
    CaseLifecycle,
    Dataset,
    Evaluator,
    ToolCall,
    Trace,
    current_attempt,
    record_trace,
    set_eval_attribute,
)
from calipers.errors import InvalidOptionError, StoreError
from calipers.rollouts import GraphMetrics
from calipers.stores import MemoryStore, hide_keys, open_store, score_again, why
from calipers.stores.reuse import MADE_AGAIN

TIMES = ("started_at", "duration", "reuse", "blocked", "seed")


class Task:
    """A task that counts its calls; what it does is declared by its version."""

    def __init__(self, version: str = "1", fails: tuple[Any, ...] = ()) -> None:
        self.version = version
        self.fails = fails
        self.calls: list[Any] = []

    __name__ = "task"

    async def __call__(self, inputs):
        self.calls.append(inputs)
        if inputs in self.fails:
            raise ValueError(f"cannot do {inputs!r}")
        return f"{inputs}!"


@dataclass
class Count(Evaluator):
    """An evaluator that counts what it judges."""

    evaluation_name: str
    parameter: int = 0
    judged: list[Any] = field(default_factory=list, compare=False)

    def evaluate(self, ctx):
        self.judged.append(ctx.inputs)
        return (len(ctx.output) + self.parameter) / 2


def dataset(inputs, evaluators=(), **options):
    return Dataset(
        name="kept",
        cases=[Case(name=f"case {n}", inputs=x) for n, x in enumerate(inputs)],
        evaluators=list(evaluators),
        **options,
    )


def run(data, task, **options):
    return data.evaluate_sync(task, progress=False, **{"seed": 1, **options})


def comparable(report):
    """All that a report says, but for times and for the numbers of spans, of which there are some once any are captured."""
    data = report.to_dict()
    for name in TIMES:
        data.pop(name)
    for record in data["cases"] + data["failures"]:
        for name in ("task_duration", "total_duration", "error_stacktrace", "trace_id", "span_id"):
            record.pop(name, None)
    return data


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


# ---------------------------------------------------------------------- laws

few = settings(max_examples=min(25, settings().max_examples))
"""Each example is three runs."""


@few
@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_editing_one_of_several_evaluators_computes_its_column_and_nothing_else(cases, columns, data):
    edited = data.draw(st.integers(0, columns - 1))
    with MemoryStore() as store:
        run(dataset(range(cases), [Count(f"e{n}") for n in range(columns)]), Task(), store=store)
        task, evaluators = Task(), [Count(f"e{n}", int(n == edited)) for n in range(columns)]
        report = run(dataset(range(cases), evaluators), task, store=store, reuse=True)
        assert task.calls == []
        assert [sorted(one.judged) for one in evaluators] == [
            list(range(cases)) if n == edited else [] for n in range(columns)
        ]
        assert (report.reuse.cells_computed, report.reuse.cells_reused) == (cases, cases * (columns - 1))
        fresh = run(dataset(range(cases), [Count(f"e{n}", int(n == edited)) for n in range(columns)]), Task())
        assert comparable(report) == comparable(fresh) == comparable(store.report(report.reuse.run))


@few
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.data())
def test_editing_one_case_runs_that_case_and_no_other(inputs, data):
    edited = data.draw(st.integers(0, len(inputs) - 1))
    with MemoryStore() as store:
        run(dataset(inputs, [Count("e")]), Task(), store=store)
        changed = [*inputs]
        changed[edited] = "new"
        task = Task()
        report = run(dataset(changed, [Count("e")]), task, store=store, reuse=True)
        assert task.calls == ["new"]
        assert comparable(report) == comparable(run(dataset(changed, [Count("e")]), Task()))


@few
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(0, 6), st.integers(1, 2), st.booleans()
)
def test_a_run_that_stopped_after_any_attempt_ends_as_if_it_had_not(inputs, stop_after, repeat, also_fails):
    fails = (2,) if also_fails else ()
    with MemoryStore() as store:
        stopping = Task(fails=fails)

        def interrupt(record):
            if len(stopping.calls) > stop_after:
                raise KeyError("enough")

        options = {"store": store, "repeat": repeat, "max_concurrency": 1}
        first = run(dataset(inputs, [Count("e")]), stopping, on_record=interrupt, **options)
        task, judge = Task(fails=fails), Count("e")
        report = run(dataset(inputs, [judge]), task, resume=first.reuse.run, **options)
        assert len(stopping.calls) + len(task.calls) == len(inputs) * repeat
        assert report.reuse.run == first.reuse.run
        undisturbed = comparable(run(dataset(inputs, [Count("e")]), Task(fails=fails), repeat=repeat))
        assert comparable(report) == undisturbed == comparable(store.report(first.reuse.run))
        assert store.run(first.reuse.run).status == "finished"


@few
@given(st.permutations(range(5)), st.integers(0, 5))
def test_reordering_renaming_and_adding_cases_calls_the_task_for_new_ones_only(order, new):
    with MemoryStore() as store:
        run(dataset(range(5), [Count("e")]), Task(), store=store)
        task = Task()
        inputs = [*order[:new], "new", *order[new:]]
        cases = [Case(name=f"renamed {n}", inputs=x) for n, x in enumerate(inputs)]
        report = run(
            Dataset(name="kept", cases=cases, evaluators=[Count("e")]), task, store=store, reuse=True
        )
        assert task.calls == ["new"]
        assert [case.inputs for case in report.cases] == inputs
        assert [case.name for case in report.cases] == [case.name for case in cases]


# ---------------------------------------------------------------------- what is the same


def test_cases_of_equal_content_stay_apart(store):
    run(dataset(["a"], [Count("e")]), Task(), store=store)
    task = Task()
    run(dataset(["a", "a", "a"], [Count("e")]), task, store=store, reuse=True)
    assert task.calls == ["a", "a"], "one attempt is one measurement: it is not counted three times"


def test_further_repeats_are_made_and_those_there_are_taken_over(store):
    run(dataset(["a"]), Task(), store=store, repeat=2)
    task = Task()
    report = run(dataset(["a"]), task, store=store, repeat=5, reuse=True)
    assert len(task.calls) == 3
    assert [case.name for case in report.cases] == [f"case 0 [{n}/5]" for n in range(1, 6)]


def test_another_version_of_the_task_is_called_for_every_case(store):
    run(dataset("ab"), Task("1"), store=store)
    task = Task("2")
    run(dataset("ab"), task, store=store, reuse=True)
    assert task.calls == ["a", "b"]


def test_without_reuse_a_new_run_computes_everything(store):
    run(dataset("ab"), Task(), store=store)
    task = Task()
    report = run(dataset("ab"), task, store=store)
    assert task.calls == ["a", "b"]
    assert (report.reuse.attempts_made, report.reuse.attempts_reused) == (2, 0)


def test_a_task_of_unknown_identity_is_called_again_and_the_report_says_why(store):
    data = dataset("ab")
    task = eval("lambda inputs: inputs")
    run(data, task, store=store)
    report = run(data, task, store=store, reuse=True)
    assert report.reuse.attempts_made == 2
    assert "the task's identity is unknown: <lambda>" in report.reuse.notes[0]


def test_an_evaluator_of_unknown_identity_is_asked_again(store):
    data = dataset("ab", [eval("lambda output: True"), Count("e")])
    run(data, Task(), store=store)
    report = run(data, Task(), store=store, reuse=True)
    assert (report.reuse.cells_computed, report.reuse.cells_reused) == (2, 2)
    (note,) = report.reuse.notes
    assert note.startswith("evaluator function is computed again, since its identity is unknown: <lambda>")


def test_a_case_without_form_is_run_every_time(store):
    data = dataset([object()])
    run(data, Task(), store=store)
    report = run(data, Task(), store=store, reuse=True)
    assert report.reuse.attempts_made == 1
    assert report.reuse.notes == ["cases run every time, since their content cannot be compared: 1"]


class Unreadable(dict):
    def items(self):
        raise OSError("the disk is gone")


def test_a_case_whose_content_cannot_be_read_costs_its_own_reuse_and_no_more(store):
    data = dataset(["a", Unreadable(), "b"])
    task = Task()
    report = run(data, task, store=store)
    assert report.incomplete is None
    assert len(report.cases) + len(report.failures) == 3
    report = run(data, task, store=store, reuse=True)
    assert (report.reuse.attempts_reused, report.reuse.attempts_made) == (2, 1)


def test_an_evaluator_under_another_name_is_asked_again(store):
    run(dataset("a", [Count("old")]), Task(), store=store)
    judge = Count("new")
    report = run(dataset("a", [judge]), Task(), store=store, reuse=True)
    assert judge.judged == ["a"]
    assert list(report.cases[0].scores) == ["new"]


# ---------------------------------------------------------------------- what evaluators look at


@dataclass
class Looks(Evaluator):
    judged: list[Any] = field(default_factory=list, compare=False)

    def evaluate(self, ctx):
        self.judged.append(ctx.inputs)
        return sum(result.value for result in ctx.results.values())


def test_who_looks_at_earlier_results_is_asked_again_when_they_change(store):
    run(dataset("ab", [Count("e"), Looks()]), Task(), store=store)
    same, changed = Looks(), Looks()
    run(dataset("ab", [Count("e"), same]), Task(), store=store, reuse=True)
    assert same.judged == []
    report = run(dataset("ab", [Count("e", 1), changed]), Task(), store=store, reuse=True)
    assert sorted(changed.judged) == ["a", "b"]
    assert {case.scores["Looks"].value for case in report.cases} == {1.5}


def test_who_looks_at_earlier_results_is_asked_again_when_others_come_before_it(store):
    run(dataset("a", [Count("e"), Looks()]), Task(), store=store)
    looks = Looks()
    run(dataset("a", [Count("e"), Count("f"), looks]), Task(), store=store, reuse=True)
    assert looks.judged == ["a"]


def test_an_evaluator_that_reads_the_name_is_asked_again_for_a_renamed_case(store):
    def named(name):
        return name

    run(dataset("a", [named]), Task(), store=store)
    renamed = Dataset(name="kept", cases=[Case(name="other", inputs="a")], evaluators=[named])
    report = run(renamed, Task(), store=store, reuse=True)
    assert report.cases[0].labels["named"].value == "other"
    assert report.reuse.attempts_made == 0


@dataclass
class Named(Evaluator):
    """Reads the name of the case."""

    version: int

    def evaluate(self, ctx):
        return f"{ctx.name} {self.version}"


@dataclass
class Seeded(Evaluator):
    """Asks for the seed, which depends on the name of the case."""

    version: int

    def evaluate(self, ctx):
        return f"{ctx.seed} {self.version}"


@pytest.mark.parametrize("kind", [Named, Seeded])
def test_a_judgement_holds_for_the_name_that_the_case_had_in_the_run_it_comes_from(store, kind):
    def says(name, version, **options):
        cases = [Case(name=name, inputs="a")]
        report = run(Dataset(name="kept", cases=cases, evaluators=[kind(version)]), Task(), **options)
        return report.cases[0].results[0].value, report.reuse

    says("old", 0, store=store)
    says("new", 1, store=store, reuse=True)
    found, reuse = says("new", 0, store=store, reuse=True)
    assert found == says("new", 0)[0]
    assert (reuse.attempts_made, reuse.cells_computed) == (0, 1)
    found, reuse = says("new", 0, store=store, reuse=True)
    assert reuse.cells_computed == 0


@pytest.mark.parametrize(
    ("case", "judged"),
    [
        ({"tags": ["short"], "cluster": "k", "timeout": 9.0}, False),
        ({"tags": ["long"], "cluster": "k", "timeout": 9.0}, True),
        ({"tags": ["short"], "cluster": "l", "timeout": 9.0}, True),
        ({"tags": ["short"], "cluster": "k", "timeout": 8.0}, True),
    ],
    ids=["same", "tags", "cluster", "timeout"],
)
def test_an_evaluator_that_looks_at_the_case_is_asked_again_when_what_it_sees_has_changed(
    store, case, judged
):
    def of_context(ctx):
        return "short" in ctx.case.tags

    def of_case(test_case):
        return f"{test_case.cluster} {test_case.timeout}"

    def of_output(output):
        return True

    def data(**more):
        cases = [Case(name="a", inputs="a", **more)]
        return Dataset(name="kept", cases=cases, evaluators=[of_context, of_case, of_output])

    run(data(tags=["short"], cluster="k", timeout=9.0), Task(), store=store)
    report = run(data(**case), Task(), store=store, reuse=True)
    assert report.reuse.cells_computed == (2 if judged else 0)
    assert report.cases[0].assertions["of_context"].value is ("short" in case["tags"])
    assert report.cases[0].labels["of_case"].value == f"{case['cluster']} {case['timeout']}"


def draws(inputs):
    return current_attempt().seed


def test_a_task_that_asks_for_its_seed_is_called_again_under_another_seed(store):
    first = run(dataset("ab"), draws, store=store, seed=1)
    same = run(dataset("ab"), draws, store=store, reuse=True, seed=1)
    other = run(dataset("ab"), draws, store=store, reuse=True, seed=2)
    assert (same.reuse.attempts_made, other.reuse.attempts_made) == (0, 2)
    assert same.cases[0].output == first.cases[0].output != other.cases[0].output


LOOKS = {
    "tags": lambda inputs: ",".join(current_attempt().case.tags),
    "case name": lambda inputs: current_attempt().case_name,
    "name": lambda inputs: current_attempt().name,
    "repr": lambda inputs: "tags=('new',)" in repr(current_attempt()),
    "metrics": lambda inputs: len(current_attempt().metrics),
    "repeat": lambda inputs: current_attempt().repeat_index,
}


@pytest.mark.parametrize(
    ("look", "changed", "called"),
    [
        ("tags", {"tags": ["new"]}, True),
        ("tags", {"timeout": 9.0}, True),
        ("case name", {"name": "b"}, True),
        ("case name", {"repeat": 3}, False),
        ("name", {"repeat": 3}, True),
        ("name", {}, False),
        ("repr", {"tags": ["new"]}, True),
        ("metrics", {"name": "b", "tags": ["new"]}, False),
        ("repeat", {"name": "b", "tags": ["new"]}, False),
    ],
    ids=lambda value: str(value),
)
def test_a_task_that_looks_at_its_case_is_called_again_when_what_it_sees_has_changed(
    store, look, changed, called
):
    def judged(reuse, *, name="a", repeat=2, **more):
        data = Dataset(name="kept", cases=[Case(name=name, inputs="a", **more)])
        return run(data, LOOKS[look], repeat=repeat, store=store, reuse=reuse)

    judged(False)
    report = judged(True, **changed)
    fresh = judged(False, **changed)
    assert report.reuse.attempts_made == (len(fresh.cases) if called else max(len(fresh.cases) - 2, 0))
    assert [case.output for case in report.cases] == [case.output for case in fresh.cases]


def test_a_task_that_reads_the_seed_of_the_run_is_called_again_under_another(store):
    def task(inputs):
        return current_attempt().run_seed

    outputs = [run(dataset("a"), task, store=store, reuse=True, seed=seed).cases[0].output for seed in (1, 2)]
    assert outputs == [1, 2]


def test_what_a_task_sets_on_its_attempt_is_set(store):
    def task(inputs):
        current_attempt().trace = Trace(output_text="set")
        return 1

    assert run(dataset("a"), task, store=store).cases[0].trace.output_text == "set"


def test_an_evaluator_that_asks_for_the_seed_is_asked_again_under_another_seed(store):
    def drawn(seed):
        return seed % 1000

    run(dataset("a", [drawn]), Task(), store=store, seed=1)
    same = run(dataset("a", [drawn]), Task(), store=store, seed=1, reuse=True)
    other = run(dataset("a", [drawn]), Task(), store=store, seed=2, reuse=True)
    assert (same.reuse.cells_computed, other.reuse.cells_computed) == (0, 1)


def smallest(output):
    output.sort()
    return output[0]


def first(output):
    return output[0]


def leading(output):
    return output[0] + 0


def shuffled(inputs):
    return [3, 1, 2]


@pytest.mark.parametrize(
    "after",
    [[first, smallest], [smallest, first], [smallest, leading, first], [leading], [smallest]],
    ids=lambda chosen: " ".join(one.__name__ for one in chosen),
)
@pytest.mark.parametrize("before", [[smallest], [smallest, first]], ids=["alone", "before another"])
def test_an_evaluator_that_changes_the_output_changes_nothing_that_is_reused(store, before, after):
    def said(report):
        return [(result.name, result.value) for result in report.cases[0].results]

    run(dataset("a", before), shuffled, store=store)
    again = run(dataset("a", after), shuffled, store=store, reuse=True)
    third = run(dataset("a", after), shuffled, store=store, reuse=True)
    assert again.reuse.attempts_made == 0
    assert again.reuse.cells_reused == len([each for each in after if each in before])
    assert third.reuse.cells_computed == 0
    assert said(third) == said(again) == said(run(dataset("a", after), shuffled))
    assert store.report(third.reuse.run).cases[0].output == [3, 1, 2]


@dataclass
class Basket:
    items: list[int]


@pytest.mark.parametrize("change", ["sort", "clear"])
def test_an_object_that_an_evaluator_changed_is_stored_as_it_was_and_made_again_for_others(store, change):
    def fill(inputs):
        return [Basket([3, 1, 2])]

    def sort(output):
        getattr(output[0].items if change == "sort" else output, change)()
        return True

    def shown(output):
        return str(output)

    stored = run(dataset("a", [sort]), fill, store=store)
    assert store.report(stored.reuse.run).cases[0].output == [{"items": [3, 1, 2]}]
    again = run(dataset("a", [shown]), fill, store=store, reuse=True)
    assert (again.reuse.attempts_made, again.reuse.judged_as_plain) == (1, 0)
    assert again.cases[0].labels["shown"].value == "[Basket(items=[3, 1, 2])]"


def test_that_an_evaluator_changed_an_object_is_said(store):
    def emptied(output):
        return output.items.clear() is None

    report = run(dataset("ab", [emptied]), lambda inputs: Basket([1]), store=store)
    assert report.reuse.notes == [
        "outputs that an evaluator changed in place: it failed, and those after it were not asked: 2"
    ]


def test_a_report_shows_an_output_as_the_task_returned_it_though_an_evaluator_changed_it(store):
    assert run(dataset("a", [smallest]), shuffled, store=store).cases[0].output == [3, 1, 2]


def test_keys_of_a_mapping_that_another_evaluator_took_meanwhile_are_named_anew(store):
    def details(output):
        return {"length": len(output)}

    run(dataset("a", [details]), Task(), store=store)
    report = run(dataset("a", [details, Count("length")]), Task(), store=store, reuse=True)
    fresh = run(dataset("a", [details, Count("length")]), Task())
    assert comparable(report) == comparable(fresh)
    assert sorted(report.cases[0].scores) == ["details.length", "length"]


# ---------------------------------------------------------------------- failures


def test_a_stored_failure_counts_as_done_when_a_run_is_resumed(store):
    first = run(dataset("ab"), Task(fails=("a",)), store=store)
    task = Task()
    report = run(dataset("ab"), task, store=store, resume=first.reuse.run)
    assert task.calls == []
    assert [failure.error_message for failure in report.failures] == ["ValueError: cannot do 'a'"]


def test_failed_attempts_are_made_again_on_request(store):
    first = run(dataset("abc"), Task(fails=("a",)), store=store)
    task = Task()
    report = run(dataset("abc"), task, store=store, resume=first.reuse.run, rerun_failed=True)
    assert task.calls == ["a"]
    assert report.failures == []
    assert [case.name for case in store.report(first.reuse.run).cases] == ["case 0", "case 1", "case 2"]


def test_a_failure_is_never_reused_by_another_run(store):
    run(dataset("ab"), Task(fails=("a",)), store=store)
    task = Task()
    report = run(dataset("ab"), task, store=store, reuse=True)
    assert task.calls == ["a"]
    assert report.failures == []


@dataclass
class Breaks(Evaluator):
    broken: list[bool] = field(default_factory=lambda: [True], compare=False)
    message: list[str] = field(default_factory=lambda: ["no judge today"], compare=False)

    def evaluate(self, ctx):
        if self.broken[0]:
            raise RuntimeError(self.message[0])
        return True


@pytest.mark.parametrize(
    ("options", "asked"),
    [({"resume": "latest"}, 0), ({"resume": "latest", "rerun_failed": True}, 1), ({"reuse": True}, 1)],
    ids=["resumed", "resumed on request", "reused"],
)
def test_an_evaluator_that_failed_is_asked_again_as_tasks_are(store, options, asked):
    run(dataset("a", [Breaks()]), Task(), store=store)
    report = run(dataset("a", [Breaks([False])]), Task(), store=store, **options)
    assert report.reuse.cells_computed == asked
    assert len(report.cases[0].evaluator_failures) == 1 - asked


class OnOtherLoop(Task):
    async def __call__(self, inputs):
        if inputs in self.fails:
            raise RuntimeError(OTHER_LOOP)
        return await super().__call__(inputs)


OTHER_LOOP = "Lock is bound to a different event loop"


@pytest.mark.parametrize("options", [{"resume": "latest"}, {"reuse": True}], ids=["resumed", "reused"])
def test_what_failed_on_another_event_loop_is_made_again(store, options):
    first = run(dataset("ab", [Breaks(message=[OTHER_LOOP])]), OnOtherLoop(fails=("a",)), store=store)
    assert [record.on_other_loop for record in (*first.failures, *first.cases)] == [True, True]
    task = OnOtherLoop()
    report = run(dataset("ab", [Breaks([False])]), task, store=store, **options)
    assert task.calls == ["a"]
    assert [case.passed for case in report.cases] == [True, True]


# ---------------------------------------------------------------------- resuming


def test_resuming_the_newest_unfinished_run_begins_one_where_there_is_none(store):
    first = run(dataset("ab"), Task(), store=store, resume=True)
    second = run(dataset("ab"), Task(), store=store, resume=True)
    assert first.reuse.run != second.reuse.run
    assert second.reuse.attempts_made == 2


def test_a_changed_evaluator_is_computed_again_in_the_resumed_run_and_said(store):
    first = run(dataset("ab", [Count("e"), Count("f"), Count("g")]), Task(), store=store)
    task, judges = Task(), [Count("g"), Count("e", 5), Count("h")]
    report = run(dataset("ab", judges), task, store=store, resume="latest")
    assert (task.calls, judges[0].judged) == ([], [])
    assert report.reuse.notes == [
        "evaluator e is computed again: parameter parameter changed from 0 to 5",
        "evaluator f is gone: its results are left out",
        "evaluator h is new",
    ]
    fresh = comparable(run(dataset("ab", [Count("g"), Count("e", 5), Count("h")]), Task()))
    assert comparable(report) == fresh == comparable(store.report(first.reuse.run))


def test_a_run_says_that_it_is_alive_while_its_first_attempt_is_made(store):
    seen = []

    def task(_):
        seen.extend(thread.name for thread in threading.enumerate())

    report = run(dataset("a"), task, store=store)
    assert f"calipers-writer-{report.reuse.run}" in seen


def test_what_became_of_the_evaluators_is_said_once(store):
    run(dataset("ab", [Count("e"), Count("f")]), Task(), store=store)
    for _ in range(2):
        report = run(dataset("ab", [Count("f", 5), Count("h")]), Task(), store=store, resume="latest")
    assert report.reuse.notes == []
    assert report.reuse.cells_reused == 4


def test_cases_that_are_gone_are_left_out_and_new_ones_are_run(store):
    first = run(dataset("abc", [Count("e")]), Task(), store=store)
    task = Task()
    report = run(dataset("cxa", [Count("e")]), task, store=store, resume=first.reuse.run)
    assert task.calls == ["x"]
    assert "stored attempts left out, since their cases are gone or changed: 1" in report.reuse.notes
    assert [case.inputs for case in report.cases] == ["c", "x", "a"]
    assert sorted(case.inputs for case in store.report(first.reuse.run).cases) == ["a", "c", "x"]
    again = Task()
    run(dataset("cxa", [Count("e")]), again, store=store, resume=first.reuse.run)
    assert again.calls == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": Task("2")}, "the task changed (version changed from 1 to 2)"),
        ({"name": "other"}, "the dataset was 'kept' and is 'other'"),
        ({"repeat": 2}, "repeat was 1 and is 2"),
        ({"seed": 9}, "the seed was 1 and is 9"),
    ],
    ids=["task", "dataset", "repeat", "seed"],
)
def test_another_run_is_not_resumed_and_every_difference_is_named(store, options, said):
    first = run(dataset("a"), Task(), store=store)
    data = Dataset(name=options.pop("name", "kept"), cases=[Case(inputs="a")])
    task = options.pop("task", None) or Task()
    with pytest.raises(StoreError) as caught:
        run(data, task, store=store, resume=first.reuse.run, **options)
    assert said in str(caught.value)
    assert "reuse=True" in str(caught.value)
    assert store.run(first.reuse.run).status == "finished"


def test_the_seed_of_a_resumed_run_is_its_own(store):
    data = dataset("ab")
    first = data.evaluate_sync(draws, progress=False, store=store)
    assert data.evaluate_sync(draws, progress=False, store=store, resume="latest").seed == first.seed


def test_a_task_of_unknown_identity_is_trusted_when_a_run_is_resumed_and_the_report_says_so(store):
    task = eval("lambda inputs: inputs")
    first = run(dataset("ab"), task, store=store)
    report = run(dataset("ab"), task, store=store, resume=first.reuse.run)
    assert report.reuse.attempts_made == 0
    assert "whether the task is the same could not be checked" in report.reuse.notes[0]


@pytest.mark.parametrize(
    "options",
    [{"resume": "latest"}, {"reuse": True}, {"rerun_failed": True}],
    ids=lambda options: "".join(options),
)
def test_options_that_need_a_store_say_so(options):
    with pytest.raises(InvalidOptionError, match="needs a store"):
        run(dataset("a"), Task(), **options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"resume": 7}, "resume must be the id of a run"),
        ({"resume": ""}, "resume must be the id of a run"),
        ({"reuse": "yes"}, "reuse must be True or False"),
        ({"rerun_failed": True}, "pass resume="),
    ],
    ids=["number", "empty", "word", "alone"],
)
def test_options_that_are_none_are_refused_before_anything_runs(store, options, error):
    task = Task()
    with pytest.raises(InvalidOptionError, match=error):
        run(dataset("a"), task, store=store, **options)
    assert task.calls == []


# ---------------------------------------------------------------------- what comes back


class Answer(BaseModel):
    text: str
    sources: tuple[str, ...] = ()


def answers(inputs) -> Answer:
    return Answer(text=inputs, sources=("a",))


def untyped(inputs):
    return Answer(text=inputs, sources=("a",))


def kind_of_output(output):
    return type(output).__name__


def judged_again(store, task, make=dataset):
    run(make("ab"), task, store=store)
    data = make("ab")
    data.add_evaluator(kind_of_output)
    return run(data, task, store=store, reuse=True)


def test_an_output_is_again_what_the_task_says_it_returns(store):
    report = judged_again(store, answers)
    assert report.cases[0].output == answers("a")
    assert report.cases[0].labels["kind_of_output"].value == "Answer"
    assert (report.reuse.attempts_made, report.reuse.judged_as_plain) == (0, 0)


def test_an_output_is_again_what_the_dataset_says_that_tasks_return(store):
    def typed(inputs):
        cases = [Case(name=x, inputs=x) for x in inputs]
        return Dataset[str, Answer, Any](name="kept", cases=cases)

    report = judged_again(store, untyped, typed)
    assert report.cases[0].labels["kind_of_output"].value == "Answer"


def test_a_new_evaluator_judges_the_object_that_the_task_returns_and_no_plain_data_of_it(store):
    report = judged_again(store, untyped)
    assert report.cases[0].labels["kind_of_output"].value == "Answer"
    assert (report.reuse.attempts_made, report.reuse.judged_as_plain) == (2, 0)
    assert report.reuse.notes == [f"{MADE_AGAIN}: 2 (name its type as the task's return annotation)"]
    assert "the store has plain data of what the task returned" in why(
        store, "latest", "case 0", "kind_of_output"
    )
    again = run(dataset("ab", [kind_of_output]), untyped, store=store, reuse=True)
    assert (again.reuse.attempts_made, again.reuse.notes) == (0, [])


@pytest.mark.parametrize(
    "output",
    [
        b"one",
        (1, 2),
        {1, 2},
        {1: 2},
        datetime(2020, 1, 1, tzinfo=UTC),
        Decimal("1.5"),
        1j,
        math.inf,
        {"a": [b"x"]},
    ],
    ids=repr,
)
def test_an_edited_evaluator_says_of_any_output_what_it_says_without_reuse(store, output):
    def task(inputs):
        return output

    def right(output):
        return (output == expected) is True

    task.version, expected = "1", output
    run(dataset("a", [type_name]), task, store=store)
    report = run(dataset("a", [right]), task, store=store, reuse=True)
    assert report.cases[0].output == output
    assert report.cases[0].assertions["right"].value is True


def test_what_score_said_of_plain_data_is_not_taken_over(store):
    run(dataset("ab"), untyped, store=store)
    score_again(store, evaluators=[kind_of_output])
    assert store.report("latest").cases[0].labels["kind_of_output"].value == "dict"
    data = dataset("ab", [kind_of_output])
    report = run(data, untyped, store=store, reuse=True)
    assert report.cases[0].labels["kind_of_output"].value == "Answer"


def test_results_on_plain_data_are_not_taken_for_results_on_the_object(store):
    judged_again(store, untyped)
    typed = judged_again(store, answers)
    assert typed.cases[0].labels["kind_of_output"].value == "Answer"


def test_a_trace_metrics_and_attributes_come_back(store):
    def traced(inputs):
        record_trace(Trace(tool_calls=[ToolCall("look", {"at": inputs})]))
        return inputs

    def tools(tool_calls):
        return [call.name for call in tool_calls] == ["look"]

    run(dataset("a"), traced, store=store)
    report = run(dataset("a", [tools]), traced, store=store, reuse=True)
    assert report.reuse.attempts_made == 0
    assert report.cases[0].assertions["tools"].value is True


class Turns:
    """A rollout metric."""

    def compute_metrics(self, graph):
        return GraphMetrics(overall={"turns": len(graph.children)}, per_turn=[])

    def aggregate_metrics(self, all_metrics):
        return {"total": sum(metrics.overall["turns"] for metrics in all_metrics)}


class Rollout:
    def __init__(self, turns):
        self.children = [0] * turns


def rolls(inputs):
    return Rollout(inputs)


rolls.version = "1"


@pytest.mark.parametrize(
    "options", [{"reuse": True}, {"resume": "latest"}], ids=lambda options: "".join(options)
)
def test_rollout_metrics_are_combined_over_stored_ones_too(store, options):
    run(dataset([1, 2], [Turns()]), rolls, store=store)
    report = run(dataset([1, 2], [Turns()]), rolls, store=store, **options)
    assert report.reuse.cells_computed == 0
    assert report.analyses[0].data == {"total": 3}


class Prepares(CaseLifecycle):
    set_up: ClassVar[list[str]] = []

    def setup(self):
        self.set_up.append(self.case.name)


def test_hooks_do_not_run_for_what_is_known_and_do_where_something_is_left_to_judge(store):
    run(dataset("a", [Count("e")]), Task(), store=store, lifecycle=Prepares)
    Prepares.set_up.clear()
    run(dataset("a", [Count("e")]), Task(), store=store, reuse=True, lifecycle=Prepares)
    assert Prepares.set_up == []
    task = Task()
    run(dataset("a", [Count("e", 1)]), task, store=store, reuse=True, lifecycle=Prepares)
    assert (Prepares.set_up, task.calls) == (["case 0"], ["a"])


def blocking(inputs):
    return inputs * 2


def test_a_blocking_task_is_kept_and_reused_as_well(store):
    first = run(dataset("abc", [Count("e")]), blocking, store=store)
    report = run(dataset("abc", [Count("e")]), blocking, store=store, reuse=True)
    assert report.reuse.attempts_reused == 3
    assert comparable(report) == comparable(first)


def test_evaluators_of_single_cases_are_kept_and_reused(store):
    def with_own(parameter):
        own = Count("own", parameter)
        cases = [Case(name="a", inputs="a", evaluators=[own]), Case(name="b", inputs="b")]
        return Dataset(name="kept", cases=cases, evaluators=[Count("e")]), own

    run(with_own(0)[0], Task(), store=store)
    data, own = with_own(0)
    report = run(data, Task(), store=store, reuse=True)
    assert own.judged == []
    assert list(report.cases[0].scores) == ["own", "e"]
    data, own = with_own(1)
    report = run(data, Task(), store=store, reuse=True)
    assert (own.judged, report.reuse.cells_computed) == (["a"], 1)
    assert comparable(report) == comparable(store.report(report.reuse.run))


def test_a_lazy_dataset_of_any_length_is_kept_and_reused(store):
    def lazy():
        return Dataset(name="kept", cases=(Case(inputs=n) for n in range(300)), evaluators=[Count("e")])

    run(lazy(), Task(), store=store)
    task = Task()
    report = run(lazy(), task, store=store, reuse=True, keep="failed")
    assert (task.calls, report.reuse.attempts_reused) == ([], 300)


def test_a_bad_item_of_a_dataset_is_a_failure_in_the_store_too(store):
    data = Dataset(name="kept", cases=iter([Case(inputs="a"), "no case"]))
    report = run(data, Task(), store=store)
    assert len(store.report(report.reuse.run).failures) == len(report.failures) == 1


def test_a_run_in_a_file_is_closed_at_its_end(tmp_path):
    path = tmp_path / "runs.db"
    report = run(dataset("ab"), Task(), store=path)
    with open_store(path) as store:
        info = store.run("latest")
        assert (info.id, info.status, info.attempts) == (report.reuse.run, "finished", 2)
        assert (info.dataset_name, info.task_name, info.task_version) == ("kept", "task", "1")


def test_an_interrupted_run_says_so_and_keeps_what_it_had(store):
    async def cancelled():
        task = Task()

        async def stuck(inputs):
            if inputs == "b":
                await asyncio.sleep(60)
            return await task(inputs)

        running = asyncio.ensure_future(
            dataset("ab").evaluate(stuck, progress=False, store=store, max_concurrency=1)
        )
        while not task.calls and not running.done():
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    info = store.run("latest")
    assert (info.status, info.attempts) == ("interrupted", 1)


def test_attributes_that_were_objects_are_made_again_as_well(store):
    def notes(inputs):
        set_eval_attribute("found", {1, 2})
        return inputs

    run(dataset("a"), notes, store=store)
    again = run(dataset("a", [Count("e")]), notes, store=store, reuse=True).reuse
    assert (again.attempts_made, again.judged_as_plain) == (1, 0)


def test_who_judges_what_a_store_hides_is_marked_and_the_report_says_so():
    def leaky(inputs):
        return {"secret": inputs}

    def kept(output):
        return output["secret"] == "a"

    with MemoryStore(redact=[hide_keys("secret")]) as store:
        run(dataset("a"), leaky, store=store)
        report = run(dataset("a", [kept]), leaky, store=store, reuse=True)
    assert report.cases[0].assertions["kept"].value is False
    assert report.reuse.judged_as_plain == 1
    assert report.reuse.notes == ["attempts judged without what redaction hid: 1"]


class Spans(Evaluator):
    needs_spans = True

    def evaluate(self, ctx):
        return ctx.span_tree.any({"name_equals": "inner"})


@dataclass
class MoreSpans(Spans):
    """Another evaluator of spans."""


def traced(inputs):
    from opentelemetry import trace

    with trace.get_tracer("test").start_as_current_span("inner"):
        return inputs


traced.version = "1"


def test_spans_are_kept_where_an_evaluator_reads_them(store):
    first = run(dataset("a", [Spans()]), traced, store=store)
    assert first.cases[0].assertions["Spans"].value is True, first.cases[0].evaluator_failures
    report = run(dataset("a", [Spans(), MoreSpans()]), traced, store=store, reuse=True)
    assert report.reuse.attempts_made == 0
    assert report.cases[0].assertions["MoreSpans"].value is True


def test_an_evaluator_of_spans_that_were_not_kept_fails_and_says_so(store):
    run(dataset("a"), traced, store=store)
    report = run(dataset("a", [Spans()]), traced, store=store, reuse=True)
    assert "were not kept" in report.cases[0].evaluator_failures[0].error_message


class Failing(MemoryStore):
    """A store that breaks when it is told to."""

    broken: tuple[str, ...] = ()

    def append(self, run, attempts=(), cells=(), **options):
        if "append" in self.broken:
            raise StoreError("the disk is gone")
        super().append(run, attempts, cells, **options)

    def find(self, keys, *, failed=False):
        if "find" in self.broken:
            raise StoreError("the disk is gone")
        return super().find(keys, failed=failed)


def test_a_run_whose_store_breaks_ends_early_keeps_its_results_and_can_be_resumed():
    with Failing() as store:
        store.broken = ("append",)
        report = run(dataset("abc"), Task(), store=store)
        assert "the disk is gone" in str(report.incomplete)
        assert [case.inputs for case in report.cases] == ["a", "b", "c"]
        store.broken = ()
        resumed = run(dataset("abc"), Task(), store=store, resume=report.reuse.run)
        assert (resumed.incomplete, resumed.reuse.attempts_made) == (None, 3)


def test_a_run_whose_store_cannot_be_read_says_so():
    with Failing() as store:
        run(dataset("abc"), Task(), store=store)
        store.broken = ("find",)
        report = run(dataset("abc"), Task(), store=store, reuse=True)
        assert "the store could not be read any further" in str(report.incomplete)
        assert store.run("latest").status == "interrupted"


@pytest.mark.parametrize("how", [True, "latest"], ids=["newest", "by name"])
def test_a_dataset_whose_name_has_half_a_character_can_be_resumed(store, how):
    data = Dataset(name="half \ud800", cases=[Case(name="a", inputs="a")])
    run(data, Task(), store=store)
    with store._writing() as db:
        db.run("UPDATE runs SET status = 'interrupted'")
    assert run(data, Task(), store=store, resume=how).reuse.attempts_reused == 1


class Left(BaseModel):
    a: int = 1


class Right(BaseModel):
    a: int = 1


def either(inputs) -> Left | Right:
    return Right()


def type_name(output):
    return type(output).__name__


def test_an_output_whose_type_cannot_be_told_of_its_data_is_made_again(store):
    run(dataset("a"), either, store=store)
    report = run(dataset("a", [type_name]), either, store=store, reuse=True)
    assert report.cases[0].labels["type_name"].value == "Right"
    assert (report.reuse.attempts_made, report.reuse.judged_as_plain) == (1, 0)
