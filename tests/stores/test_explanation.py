"""Why a result was computed or taken over."""

from dataclasses import dataclass

import pytest

from calipers import Case, CaseLifecycle, Dataset, Evaluator, current_attempt
from calipers.errors import StoreError
from calipers.evaluators import Contains, Equals
from calipers.stores import MemoryStore, score_again, why


class Task:
    __name__ = "task"

    def __init__(self, version="1", fails=()):
        self.version = version
        self.fails = fails

    def __call__(self, inputs):
        if inputs in self.fails:
            raise ValueError("no")
        return inputs


@dataclass
class Long(Evaluator):
    threshold: float = 0.5

    def evaluate(self, ctx):
        return len(ctx.output) > self.threshold


def looks(results):
    return len(results)


@pytest.fixture
def store():
    with MemoryStore() as store:
        yield store


def run(store, inputs="ab", evaluators=(), task=None, *, reuse=True, **options):
    cases = [Case(name=f"case {n}", inputs=x) for n, x in enumerate(inputs)]
    data = Dataset(name="d", cases=cases, evaluators=[*evaluators] or [Long()])
    return data.evaluate_sync(task or Task(), progress=False, store=store, reuse=reuse, **options).reuse.run


def lines(store, which, case="case 0", evaluator="Long"):
    found = why(store, which, case, evaluator).split("\n")
    assert found[0] == f"{case}:"
    return [line.strip() for line in found[1:]]


def test_a_result_that_was_taken_over_says_from_where(store):
    first, second = run(store), run(store)
    assert lines(store, second) == [
        f"attempt: taken over from run {first}: case, task and repeat are the same",
        f"Long: taken over from run {first}: the evaluator and the attempt are the same",
    ]


def test_a_run_that_reuses_nothing_says_so(store):
    first = run(store, reuse=False)
    assert lines(store, first) == [
        "attempt: made in this run; it was not asked to reuse anything",
        "Long: computed in this run; it was not asked to reuse anything",
    ]


def test_a_changed_parameter_is_named(store):
    first, second = run(store), run(store, evaluators=[Long(0.6)])
    assert lines(store, second)[1] == (
        f"Long: computed in this run; since run {first}, parameter threshold changed from 0.5 to 0.6"
    )


def test_a_changed_case_is_named(store):
    first, second = run(store, "ab"), run(store, "xb")
    assert lines(store, second) == [
        f"attempt: made in this run; since run {first}, the case changed (inputs)",
        "Long: computed in this run; the attempt is new",
    ]


def test_a_changed_task_is_named(store):
    first, second = run(store), run(store, task=Task("2"))
    assert lines(store, second)[0] == (
        f"attempt: made in this run; since run {first}, the task changed (version changed from 1 to 2)"
    )


def test_a_new_case_and_a_new_evaluator_are_named(store):
    run(store, "ab")
    second = run(store, "abc", [Long(), looks])
    assert lines(store, second, "case 2")[0] == (
        "attempt: made in this run; no earlier run of this dataset has a case of that name"
    )
    assert lines(store, second, evaluator="looks")[1] == (
        "looks: computed in this run; no earlier run of this dataset has an evaluator of that name"
    )


def test_who_looks_at_others_says_so(store):
    run(store, evaluators=[Long(), looks])
    second = run(store, evaluators=[Long(0.7), looks])
    assert lines(store, second, evaluator="looks")[1] == (
        "looks: computed in this run; it looks at the results of evaluators before it, and those were computed"
    )


def test_what_cannot_be_known_says_why(store):
    judge = eval("lambda output: True")
    run(store, evaluators=[judge], task=eval("lambda inputs: inputs"))
    second = run(store, evaluators=[judge], task=eval("lambda inputs: inputs"))
    attempt, cell = lines(store, second, evaluator="function")
    assert attempt.startswith("attempt: made in this run; the task's identity is unknown: <lambda>")
    assert cell.startswith("function: computed in this run; its identity is unknown: <lambda>")


def test_a_failed_task_explains_that_no_evaluator_was_asked(store):
    run(store, task=Task(fails=("a",)))
    second = run(store, task=Task(fails=("a",)))
    attempt, cell = lines(store, second)
    assert "the task failed there" in attempt
    assert cell == "Long: not asked, since the task failed"


def parts(output):
    return {"length": len(output), "is_a": output == "a"}


def test_a_name_that_the_report_shows_is_found_and_said_whose_it_is(store):
    which = run(store, evaluators=[Long(), parts])
    assert list(store.report(which).summaries()) == ["Long", "length", "is_a"]
    found = why(store, which, "case 0", "is_a").split("\n")
    assert found[0] == "is_a is a result of parts"
    assert found[1:] == why(store, which, "case 0", "parts").split("\n")
    with pytest.raises(StoreError, match="there are: 'Long', 'parts', 'length', 'is_a'"):
        why(store, which, "case 0", "is_b")


def test_asking_makes_no_store(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        why(tmp_path / "typo.db", "latest", "case 0", "Long")
    assert list(tmp_path.iterdir()) == []


def test_every_repeat_is_explained(store):
    found = why(store, run(store, "a", repeat=2), "case 0", "Long").split("\n")
    assert [line for line in found if line.endswith("]:")] == ["case 0 [1/2]:", "case 0 [2/2]:"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("none", "case 0", "Long"), "none"),
        (("latest", "case 9", "Long"), "no attempt of a case 'case 9'"),
        (("latest", "case 0", "Short"), "no evaluator 'Short'; there are: 'Long'"),
    ],
    ids=["run", "case", "evaluator"],
)
def test_what_is_not_there_is_said(store, names, said):
    run(store)
    with pytest.raises(StoreError, match=said):
        why(store, *names)


def test_an_evaluator_that_changed_before_its_run_was_resumed_is_named(store):
    first = run(store, reuse=False)
    assert run(store, evaluators=[Long(0.6)], reuse=False, resume=first) == first
    assert lines(store, first)[1] == (
        "Long: computed in this run; it was resumed with another evaluator of that name: parameter threshold changed "
        "from 0.5 to 0.6"
    )


def test_an_evaluator_that_came_with_scoring_again_says_so_and_keeps_its_column_in_a_resumed_run(store):
    first = run(store, reuse=False)
    score_again(store, first, evaluators=[looks])
    said = "looks: computed when the run was scored again, which added this evaluator"
    assert lines(store, first, evaluator="looks")[1] == said
    run(store, evaluators=[Long(), looks], reuse=False, resume=first)
    assert [one.name for one in store.run(first).evaluators] == ["Long", "looks"]


def test_who_was_added_by_scoring_and_has_not_come_to_an_attempt_yet_says_so(store):
    which = run(store)
    score_again(store, which, evaluators=[looks])
    store.remove_attempts(which, [0])
    run(store, resume=which)
    assert lines(store, which, evaluator="looks")[1] == "looks: not asked yet: score the run with it again"


def test_a_task_that_was_not_known_when_its_run_was_resumed_is_told_from_a_case_without_form(store):
    which = run(store)
    store.remove_attempts(which, [0])
    shell = eval("lambda inputs: inputs", {})
    shell.__name__ = "task"
    run(store, task=shell, resume=which)
    assert lines(store, which)[0] == "attempt: made in this run; the task's identity was not known"


def test_of_an_evaluator_that_a_case_brings_the_one_of_that_case_is_named(store):
    def data(**instead):
        cases = [
            Case(name=each, inputs=each, evaluators=[Contains(instead.get(each, each))]) for each in "abc"
        ]
        return Dataset(name="own", cases=cases)

    task, options = Task(), {"store": store, "progress": False, "reuse": True}
    first = data().evaluate_sync(task, **options).reuse.run
    second = data(c="x").evaluate_sync(task, **options).reuse.run
    changed = f"Contains: computed in this run; since run {first}, parameter value changed from 'c' to 'x'"
    assert lines(store, second, "c", "Contains")[-1] == changed
    assert lines(store, second, "b", "Contains")[-1].startswith("Contains: taken over")
    more = Dataset(
        name="own", cases=[*data().cases[:2], Case(name="d", inputs="c", evaluators=[Contains("c")])]
    )
    third = more.evaluate_sync(task, **options).reuse.run
    assert "of that name on this case" not in lines(store, third, "a", "Contains")[-1]


def drawing(inputs):
    return current_attempt().seed


def tagging(inputs):
    return list(current_attempt().case.tags)


def constant(inputs):
    return 1


class Hooks(CaseLifecycle):
    async def setup(self):
        pass


def test_what_a_task_asks_for_beside_its_inputs_is_named(store):
    def run(task, *cases, value=1, **options):
        data = Dataset(name=task.__name__, cases=[*cases], evaluators=[Equals(value)])
        return data.evaluate_sync(task, progress=False, store=store, reuse=True, **options).reuse.run

    def reason(which, case="a", evaluator="Equals"):
        return why(store, which, case, evaluator).split("\n")[1].partition(", ")[2]

    case = Case(name="a", inputs=1)
    run(drawing, case, seed=3)
    assert reason(run(drawing, case, seed=4)) == (
        "the seed was 3 and is 4, and the task or an evaluator asks for it (the same seed: --seed 3)"
    )
    run(tagging, case)
    other = Case(name="a", inputs=1, tags=["x"], cluster="c")
    assert (
        reason(run(tagging, other)) == "tags and cluster of the case changed, and the task looks at its case"
    )
    first = Case(name="b", inputs=1)
    run(constant, case)
    assert reason(run(constant, first, case)) == "its place among cases of the same content changed"
    run(constant, Case(name="c", inputs=2), lifecycle=Hooks)
    again = run(constant, Case(name="c", inputs=2), value=2, lifecycle=Hooks)
    assert reason(again, "c") == (
        "an evaluator is new or changed, and the lifecycle prepares for it only in a new attempt"
    )
